"""``pdsketch fmt FILE…``: canonical layout, in place."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pdsketch.cli import output
from pdsketch.files import write_output
from pdsketch.lang import Diagnostic, Error, decode_source, format_source, read_source

EXAMPLE = """\
pdsketch fmt examples/blocks/domain.pddl
pdsketch fmt --check examples/*/*.pddl
cat examples/blocks/p01.pddl | pdsketch fmt -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and whether to write."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file to rewrite; `-`: stdin to stdout")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 31 if some file cannot be read as a sketch (it stays as it is); under ``--check`` 1."""
    changed: list[str] = []
    wrong: list[Diagnostic] = []
    text = ""
    for name in args.files:
        try:
            if name == "-":
                text += _format_stdin(changed)
            elif _format_file(name, write=not args.check):
                changed.append(name)
        except Error as problem:
            wrong.extend(problem.diagnostics)
    would = "would be rewritten" if args.check else "rewritten"
    for name in changed:
        output.say(f"{name}: {would}")
    code = output.BAD_INPUT if wrong else output.DIFFERENT if args.check and changed else output.OK
    payload = {"ok": code == output.OK, "files": args.files, "changed": changed}
    if text:
        payload["text"] = text
    return output.finish(
        code,
        payload,
        json=args.json,
        diagnostics=wrong,
        text="" if args.check else text.removesuffix("\n"),
    )


def _format_stdin(changed: list[str]) -> str:
    source = decode_source("<stdin>", sys.stdin.buffer.read())
    text = format_source(source)
    if text != source.text:
        changed.append("-")
    return text


def _format_file(name: str, *, write: bool) -> bool:
    """Whether the file is not in canonical layout; rewrites it if ``write``."""
    data = format_source(read_source(name)).encode()
    if Path(name).read_bytes() == data:
        return False
    if write:
        write_output(name, data)
    return True

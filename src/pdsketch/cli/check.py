"""``pdsketch check FILE…``: everything that is wrong, at once."""

from __future__ import annotations

import argparse

from pdsketch.cli import output
from pdsketch.lang import check_files

EXAMPLE = """pdsketch check examples/blocks/domain.pddl examples/blocks/p01.pddl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files to check."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a sketch, a domain or a problem; a problem is checked against the domain of its name "
        "among the files, else against domain.pddl beside it",
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if there are no errors (warnings do not count), else 1."""
    diagnostics = check_files(args.files)
    errors = sum(d.severity == "error" for d in diagnostics)
    warnings = len(diagnostics) - errors
    return output.finish(
        output.DIFFERENT if errors else output.OK,
        {"ok": not errors, "files": args.files, "errors": errors, "warnings": warnings},
        json=args.json,
        diagnostics=diagnostics,
        text=f"{_count(len(args.files), 'file')}: {_count(errors, 'error')}, {_count(warnings, 'warning')}",
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""``pdsketch sketch DOMAIN``: the sketch in which nothing but signatures is known."""

from __future__ import annotations

import argparse

from pdsketch.cli import output
from pdsketch.files import write_output
from pdsketch.lang import load_domain, sketch_of

EXAMPLE = """\
pdsketch sketch examples/blocks/domain.pddl -o blocks.pdsketch"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The domain, and where the sketch goes."""
    parser.add_argument("domain", metavar="DOMAIN", help="types, predicates, and headers of actions are read")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the sketch there instead of on stdout")


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or 31 for a file that is no domain."""
    sketch = sketch_of(load_domain(args.domain))
    text = sketch.source.text
    if args.output is not None:
        write_output(args.output, text)
        output.say(f"{args.output}: {len(sketch.blanks)} blanks in {len(sketch.actions)} actions")
    payload = {"ok": True, "sketch": text, "blanks": len(sketch.blanks), "output": args.output}
    return output.finish(output.OK, payload, json=args.json, text="" if args.output else text.rstrip())

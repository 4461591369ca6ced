"""``pdsketch demo``: data, training, planning and acting in Minigrid, and a page that shows it."""

from __future__ import annotations

import argparse
from pathlib import Path

from pdsketch.cli import output
from pdsketch.cli.imports import import_large

EXAMPLE = """
pdsketch demo -o demo
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to, and how much."""
    parser.add_argument("-o", "--output", default="demo", metavar="DIR", help="the folder to write (demo)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another seed, another run")
    parser.add_argument(
        "--quick", action="store_true", help="a smoke run: little data and training, poor plans"
    )


def run(args: argparse.Namespace) -> int:
    """Run and print the table."""
    import_large("torch", "pdsketch.learn.fit")
    from pdsketch.experiments.demo import DemoConfig, run_demo

    config = DemoConfig(seed=args.seed)
    if args.quick:
        config = DemoConfig(40, steps=20, problems=4, unseen=1, unseen_expansions=100, seed=args.seed)
    demo = run_demo(config, Path(args.output), output.say)
    text = f"{demo.table.markdown()}\n{demo.page} shows it ({demo.seconds:.0f} s)"
    payload = {"ok": True, **demo.table.as_json(), "page": str(demo.page), "seconds": demo.seconds}
    return output.finish(output.OK, payload, json=args.json, text=text)

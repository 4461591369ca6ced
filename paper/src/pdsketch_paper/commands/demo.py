"""``pdsketch demo``: data, training, planning and acting in Minigrid, and a page that shows it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.worlds import add_world_option, check_options, check_world, given_options
from pdsketch.lang import error

PURPOSE = "see the whole system at work in a minute"
EXAMPLE = """
pdsketch demo -o demo
pdsketch demo --goal "(exists (?o - item) (and (is-red ?o) (is-box ?o) (robot-holding agent ?o)))"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to, and how much."""
    parser.add_argument("world", metavar="WORLD", nargs="?", default="babyai", help="the world (babyai)")
    add_world_option(parser)
    parser.add_argument("-o", "--output", default="demo", metavar="DIR", help="the folder to write (demo)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another seed, another run")
    parser.add_argument("--goal", metavar="FORMULA", help="a goal of yours: planned for, and shown first")
    parser.add_argument(
        "--quick", action="store_true", help="a smoke run: little data and training, poor plans"
    )


def run(args: argparse.Namespace) -> int:
    """Run and print the table."""
    if check_world(args.world) != "babyai":
        raise error(
            "no-demo", f"there is no demo of the world `{args.world}`", help="there is one of `babyai`"
        )
    options = given_options(args)
    check_options(options, ("objects", "doors"), "the demo")
    import_large("torch", "pdsketch.training.fitting")
    from pdsketch_paper.experiments.demo import DemoConfig, run_demo

    config = DemoConfig(seed=args.seed, goal=args.goal, **options)
    if args.quick:
        config = replace(config, episodes=40, steps=20, problems=4, unseen=1, max_expansions=50)
    demo = run_demo(config, Path(args.output), output.say)
    plan = f"The plan for the goal that you typed:\n\n{demo.typed}\n\n" if demo.typed else ""
    tables = f"{demo.table.markdown()}\n{demo.counted.markdown()}"
    text = f"{tables}\n{plan}{demo.page} shows it ({demo.seconds:.0f} s)"
    payload = {"ok": True, **demo.table.as_json(), "page": str(demo.page), "seconds": demo.seconds}
    payload |= {"expansions": demo.counted.as_json(), **({"plan": demo.typed} if demo.typed else {})}
    return output.finish(output.OK, payload, json=args.json, text=text)

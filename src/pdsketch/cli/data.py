"""``pdsketch data babyai``: demonstrations to learn from."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict

from pdsketch.cli import output
from pdsketch.cli.imports import import_large

EXAMPLE = """
pdsketch data babyai --episodes 10000 --objects 4 --doors 4 --seed 0 -o babyai-data
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The setting, how much, and where to."""
    parser.add_argument("world", choices=["babyai"], help="the environment that makes the episodes")
    parser.add_argument("--episodes", type=_count, default=1000, metavar="N", help="how many (default: 1000)")
    parser.add_argument(
        "--objects", type=_amount, default=4, metavar="N", help="keys, balls and boxes in the room"
    )
    parser.add_argument("--doors", type=_amount, default=4, metavar="N", help="doors in its walls")
    parser.add_argument("--seed", type=_amount, default=0, metavar="N", help="another seed, other episodes")
    parser.add_argument(
        "--failures",
        type=_part,
        default=0.5,
        metavar="P",
        help="the part that approaches a wrong thing (0.5)",
    )
    parser.add_argument(
        "--sketch",
        choices=["abs", "rob", "base"],
        default="rob",
        help="whose predicates to write; those of `rob` (the default) serve `abs` too",
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder to write")


def run(args: argparse.Namespace) -> int:
    """Generate and save."""
    import_large("torch", "pdsketch.learn.files")
    from pdsketch.envs.babyai.data import DataConfig
    from pdsketch.envs.babyai.record import generate
    from pdsketch.envs.babyai.states import load_sketch
    from pdsketch.learn.files import save_episodes

    begin = time.perf_counter()
    config = DataConfig(args.episodes, args.objects, args.doors, args.seed, args.failures)
    try:
        columns = generate(config, load_sketch(args.sketch))
    except KeyboardInterrupt:
        raise output.Interrupted("nothing is kept") from None
    save_episodes(columns, args.output, options={"world": args.world, **asdict(config)})
    seconds = time.perf_counter() - begin
    states = int(columns.length.sum())
    speed = f"{len(columns) / seconds:.0f} episodes/s"
    text = f"{len(columns)} episodes with {states} states in {args.output} ({speed})"
    payload = {
        "ok": True,
        "episodes": len(columns),
        "states": states,
        "folder": str(args.output),
        "seconds": seconds,
    }
    return output.finish(output.OK, payload, json=args.json, text=text)


def _amount(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is below 0")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def _part(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{value} is not between 0 and 1")
    return value

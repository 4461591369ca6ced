"""``pdsketch data WORLD``: demonstrations to learn from."""

from __future__ import annotations

import argparse
import time
from inspect import signature
from typing import TYPE_CHECKING, Any

from pdsketch.cli import output
from pdsketch.cli.imports import ctrl_c_ends, import_large
from pdsketch.cli.worlds import add_world_option, check_world, given_options
from pdsketch.lang import error

if TYPE_CHECKING:
    from pdsketch.act import World

PURPOSE = "generate episodes to learn from"
EXAMPLE = """
pdsketch data babyai --episodes 10000 --objects 4 --doors 4 --seed 0 -o babyai-data
pdsketch data babyai --world-option objects=8 --world-option doors=6 -o fuller-rooms
pdsketch data painting --episodes 1000 --seed 0 -o painting-data
pdsketch data babyai --episodes 1000 --minari babyai/demos-v0
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The setting, how much, and where to."""
    parser.add_argument("world", metavar="WORLD", help="the world that makes the episodes: babyai, painting")
    parser.add_argument("--episodes", type=_count, default=1000, metavar="N", help="how many (default: 1000)")
    parser.add_argument("--objects", type=_amount, metavar="N", help="babyai: keys, balls and boxes (4)")
    parser.add_argument("--doors", type=_amount, metavar="N", help="babyai: doors in the room's walls (4)")
    parser.add_argument("--seed", type=_amount, default=0, metavar="N", help="another seed, other episodes")
    parser.add_argument(
        "--failures", type=_part, metavar="P", help="babyai: the part that approaches a wrong thing (0.5)"
    )
    parser.add_argument(
        "--sketch",
        choices=["abs", "rob", "base"],
        help="babyai: whose predicates to write; those of `rob` (the default) serve `abs` too",
    )
    add_world_option(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder to write")
    parser.add_argument("--minari", metavar="ID", help="a Minari data set to write, such as rooms/demos-v0")


def run(args: argparse.Namespace) -> int:
    """Generate and save."""
    name = check_world(args.world)
    if args.output is None and args.minari is None:
        raise output.UsageError("say where to: -o DIR, --minari ID, or both")
    output.when_interrupted(lambda _: ("nothing is kept", None))
    import_large("torch", "pdsketch.training.data.files")
    from pdsketch.act import make_world
    from pdsketch.training import save_episodes

    begin = time.perf_counter()
    options = _options(name, args)
    with ctrl_c_ends():
        world = make_world(name, **options)
        settings = _settings(name, world, args)
        episodes = world.demonstrations(**settings)  # type: ignore[attr-defined]
    places = [place for place in (args.output, args.minari) if place is not None]
    if args.output is not None:
        output.when_interrupted(lambda _: (f"{args.output} is as it was, or holds all new episodes", None))
        save_episodes(episodes, args.output, options={"world": name, **options, **settings})
    if args.minari is not None:
        from pdsketch.interchange import write_minari

        output.when_interrupted(lambda _: (f"the data set {args.minari} may be incomplete", None))
        write_minari(episodes, args.minari, description=f"demonstrations of the world {name}, {settings}")
    seconds = time.perf_counter() - begin
    states = int(episodes.length.sum())
    speed = f"{len(episodes) / seconds:.0f} episodes/s"
    text = f"{len(episodes)} episodes with {states} states in {' and '.join(places)} ({speed})"
    payload = {
        "ok": True,
        "episodes": len(episodes),
        "states": states,
        "folder": args.output,
        "seconds": seconds,
    }
    if args.minari is not None:
        payload["minari"] = args.minari
    return output.finish(output.OK, payload, json=args.json, text=text)


def _options(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """The world's options: those of ``--world-option``, and those with an option of their own."""
    options = given_options(args)
    for key in ("objects", "doors", "sketch"):
        value = getattr(args, key)
        if value is None:
            continue
        if key in options:
            raise output.UsageError(f"the world's option `{key}` is given twice")
        options[key] = value
    if name == "babyai":  # the sketch with the most predicates
        options.setdefault("sketch", "rob")
    return options


def _settings(name: str, world: World, args: argparse.Namespace) -> dict[str, Any]:
    """What the world's demonstrations are asked for."""
    make = getattr(world, "demonstrations", None)
    if make is None:
        raise error(
            "no-demonstrations",
            f"the world `{name}` has no demonstrations",
            help="act in it with pds.rollout, and save what comes of it: rollouts.save(folder)",
        )
    settings = {"episodes": args.episodes, "seed": args.seed}
    if args.failures is not None:
        if "failures" not in signature(make).parameters:
            raise output.UsageError(f"the demonstrations of `{name}` have no --failures")
        settings["failures"] = args.failures
    return settings


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

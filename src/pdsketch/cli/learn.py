"""``pdsketch learn WORLD SKETCH -o DIR``: learn the blanks of a sketch by acting in a world."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any, cast

from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.modules import add_module_argument, given_modules
from pdsketch.cli.worlds import add_world_option, check_world, given_options
from pdsketch.files import is_trace
from pdsketch.lang import Diagnostic, Error

EXAMPLE = """pdsketch learn babyai abs.pdsketch -o MODEL --episodes 500 --evaluate 100
pdsketch learn babyai abs.pdsketch -o MODEL --budget 20000     # environment steps, of all episodes together
pdsketch learn babyai abs.pdsketch -o MODEL --resume           # after an interruption
pdsketch learn babyai abs.pdsketch -o MODEL --resume --episodes 2000"""

CURVE = "curve.json"

_NUMBERS = {
    "episodes": (int, 500, "how many to collect in all (default: 500)"),
    "budget": (int, None, "environment steps of all episodes together (default: what they take)"),
    "max-steps": (int, 64, "of one episode (default: 64)"),
    "first": (int, 60, "random walks before the first fit (default: 60)"),
    "growth": (float, 2.0, "how many times as many episodes there are after each round (default: 2)"),
    "explore": (float, 0.1, "part of the actions that is random, beside subgoals (default: 0.1)"),
    "evaluate": (int, 0, "held-out problems on which each round is tried (default: 0)"),
    "fit-steps": (int, 1200, "training steps of a round (default: 1200)"),
    "max-expansions": (int, 500, "of one plan (default: 500)"),
    "at-once": (int, 64, "episodes side by side (default: 64)"),
    "seed": (int, 0, "of networks, problems and exploration (default: 0)"),
}
_OF_FIT = {
    "batch": (int, "states per training step"),
    "learning-rate": (float, "the peak of the learning rate"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The world, the sketch, where to write, and the settings."""
    parser.add_argument("world", metavar="WORLD", help="the world to act in, by name")
    parser.add_argument("sketch", metavar="SKETCH", help="the sketch whose blanks are to be learned")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for everything")
    for name, (kind, default, meaning) in _NUMBERS.items():
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=meaning)
    for name, (kind, meaning) in _OF_FIT.items():
        parser.add_argument(f"--{name}", type=kind, metavar="N", help=meaning)
    parser.add_argument("--warm", action="store_true", help="train on from the weights of the round before")
    parser.add_argument("--no-subgoals", action="store_true", help="explore by random actions alone")
    parser.add_argument("--search", default="astar", metavar="NAME", help="of plans (default: astar)")
    parser.add_argument("--heuristic", default="blind", metavar="NAME", help="of the search (default: blind)")
    parser.add_argument(
        "--resume", action="store_true", help="go on with what is in DIR, with more episodes too"
    )
    parser.add_argument("--force", action="store_true", help="begin anew, over what is in DIR")
    add_module_argument(parser)
    add_world_option(parser)


def run(args: argparse.Namespace) -> int:
    """Exit code 0 once the budget is used up."""
    name = check_world(args.world)
    folder = Path(args.output)
    output.when_interrupted(lambda _: _kept(folder))
    import_large("torch", "pdsketch.training.fitting")
    _check_free(folder, args)
    from pdsketch.act import learn, make_world, options_of
    from pdsketch.lang import load_domain

    domain = load_domain(args.sketch)
    options = given_options(args)
    shown = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
    if "sketch" in options_of(name):
        options.setdefault("sketch", domain)
    learned = learn(
        partial(make_world, name, **options),
        domain,
        folder,
        modules=given_modules(args),
        resume=not args.force,
        progress=lambda line: output.say(f"learn: {line}"),
        world_name=shown,
        **_settings(args),
    )
    payload = {"ok": True, "model": str(folder), "rounds": learned.curve}
    return output.finish(output.OK, payload, json=args.json, text=str(learned))


def _settings(args: argparse.Namespace) -> Any:
    named = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in _NUMBERS}
    fit = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in _OF_FIT}
    return {
        **named,
        "fit": {name: value for name, value in fit.items() if value is not None},
        "warm": args.warm,
        "subgoals": not args.no_subgoals,
        "search": args.search,
        "heuristic": args.heuristic,
    }


def _check_free(folder: Path, args: argparse.Namespace) -> None:
    """Refuse to go on with, or write over, what nobody asked to go on with."""
    if args.force or not folder.exists():
        return
    found = {path.name for path in folder.iterdir() if not is_trace(path.name)} if folder.is_dir() else {"."}
    if not found or (args.resume and found & {CURVE, "rounds"}):
        return
    learned = CURVE in found
    message = (
        "a run of `learn` stands here" if learned else "this folder holds other things than a run of `learn`"
    )
    fix = "--resume goes on with it, --force begins anew" if learned else "--force writes beside them"
    raise Error(
        [Diagnostic("folder-exists", message, help=f"{fix}; or name another folder", file=str(folder))]
    )


def _kept(folder: Path) -> output.Kept:
    """What an interruption leaves."""
    path = folder / CURVE
    if not path.exists():
        return "the first round is not finished", "the same command with --resume goes on"
    rounds = len(cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))["rounds"])
    return f"{rounds} finished rounds are kept in {folder}", "go on with the same command and --resume"

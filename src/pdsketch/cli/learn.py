"""``pdsketch learn WORLD SKETCH -o DIR``: learn the blanks of a sketch by acting in a world."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, cast

from pdsketch.act import LearnOptions
from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.modules import add_module_argument, given_modules
from pdsketch.cli.worlds import add_world_option, check_world, given_options, world_maker
from pdsketch.files import is_trace
from pdsketch.lang import Diagnostic, Error
from pdsketch.options import add_options, declared, read_options
from pdsketch.training import FitOptions, Options

EXAMPLE = """pdsketch learn babyai abs.pdsketch -o MODEL --episodes 500 --evaluate 100
pdsketch learn babyai abs.pdsketch -o MODEL --budget 20000     # environment steps, of all episodes together
pdsketch learn babyai abs.pdsketch -o MODEL --resume           # after an interruption
pdsketch learn babyai abs.pdsketch -o MODEL --resume --episodes 2000"""

CURVE = "curve.json"

_OPTIONS = [
    name for name in declared(LearnOptions) if name not in ("fit", "plan", "tolerance", "max_replans")
]
_OF_FIT = ("batch", "learning_rate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The world, the sketch, where to write, and the settings."""
    parser.add_argument("world", metavar="WORLD", help="the world to act in, by name")
    parser.add_argument("sketch", metavar="SKETCH", help="the sketch whose blanks are to be learned")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for everything")
    add_options(parser, LearnOptions, _OPTIONS)
    add_options(parser, Options, _OF_FIT)
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
    from pdsketch.act import learn
    from pdsketch.lang import load_domain

    domain = load_domain(args.sketch)
    shown = " ".join([name, *(f"{key}={value}" for key, value in given_options(args).items())])
    learned = learn(
        world_maker(args, name, domain),
        domain,
        folder,
        modules=given_modules(args),
        resume=not args.force,
        progress=lambda line: output.say(f"learn: {line}"),
        world_name=shown,
        **read_options(args, _OPTIONS),
        fit=cast("FitOptions", read_options(args, _OF_FIT)),
    )
    payload = {"ok": True, "model": str(folder), "rounds": learned.curve}
    return output.finish(output.OK, payload, json=args.json, text=str(learned))


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

"""``pdsketch baseline NAME SKETCH DATA -o DIR``: train what models are compared with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.worlds import add_world_option, check_world, given_options
from pdsketch.files import is_trace, lock_folder
from pdsketch.lang import error, load_domain

if TYPE_CHECKING:
    from pdsketch.lang import Domain
    from pdsketch_paper.baselines.dreamer.training import BaselineOptions

PURPOSE = "train what models are compared with, from the same episodes"
EXAMPLE = """
pdsketch baseline bc babyai.pdsketch DATA -o BC
pdsketch baseline gnn babyai.pdsketch DATA -o GNN                # then plan --heuristic gnn:GNN
pdsketch baseline dreamer babyai.pdsketch DATA -o DREAMER --world babyai --environment-steps 5000
pdsketch eval BC babyai --world-option objects=8
"""

_NUMBERS = {
    "batch": (int, "examples per step"),
    "learning-rate": (float, "the peak of the learning rate"),
    "validation": (float, "part of the episodes held out"),
    "evaluate-every": (int, "steps between measurements"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The baseline, the data, where to write, and the settings of the training."""
    parser.add_argument("name", metavar="NAME", help="bc, dt-s, dt-s+f, gnn or dreamer")
    parser.add_argument("sketch", metavar="SKETCH", help="the sketch whose states and goals it reads")
    parser.add_argument("data", metavar="DATA", help="a folder of episodes")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for the baseline")
    parser.add_argument("--types", metavar="T,T", help="the types of the objects that it sees (default: all)")
    parser.add_argument("--steps", type=int, default=2000, help="steps to make (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="of networks, batches and the split (default: 0)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, … (default: cpu)")
    for name, (kind, meaning) in _NUMBERS.items():
        parser.add_argument(f"--{name}", type=kind, help=meaning)
    parser.add_argument("--world", metavar="WORLD", help="of dreamer: a world to act in after DATA")
    add_world_option(parser)
    parser.add_argument(
        "--environment-steps", type=int, default=0, metavar="N", help="of dreamer: steps in that world (0)"
    )
    parser.add_argument("--cloning", type=float, metavar="W", help="of dreamer: weight of shown actions (1)")
    parser.add_argument("--force", action="store_true", help="write over what is in DIR")


def run(args: argparse.Namespace) -> int:
    """Train and save; the notes are the report."""
    output.when_interrupted(lambda _: ("nothing is kept", None))
    import_large("torch", "pdsketch.training.fitting")
    from pdsketch_paper.baselines.training import save_baseline, train_baseline

    folder = Path(args.output)
    _check_free(folder, force=args.force)
    domain = load_domain(args.sketch)
    names = [name.replace("-", "_") for name in _NUMBERS]
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    settings = cast("BaselineOptions", {**given, **_practice(domain, args), "device": args.device})
    types = args.types.split(",") if args.types else None
    with lock_folder(folder):
        _check_free(folder, force=args.force)  # again: what was free may have been taken
        baseline = train_baseline(
            args.name, domain, args.data, args.steps, args.seed, types=types, **settings
        )
        save_baseline(baseline, folder)
    text = "\n".join(f"{name}: {value}" for name, value in baseline.notes.items())
    payload = {"ok": True, "baseline": args.name, "folder": str(folder), **baseline.notes}
    return output.finish(output.OK, payload, json=args.json, text=text)


def _practice(domain: Domain, args: argparse.Namespace) -> dict[str, Any]:
    """The settings of acting while training, in a world that is seen as the sketch sees it."""
    from pdsketch.act import make_world, options_of

    for name in ("world", "world_option", "environment_steps", "cloning"):
        if args.name != "dreamer" and getattr(args, name):
            raise output.UsageError(f"--{name.replace('_', '-')} is for the baseline `dreamer` alone")
    if bool(args.environment_steps) != (args.world is not None):
        raise output.UsageError("--world and --environment-steps go together")
    found: dict[str, Any] = {} if args.cloning is None else {"cloning": args.cloning}
    if args.world is not None:
        name, options = check_world(args.world), given_options(args)
        if "sketch" in options_of(name):
            options.setdefault("sketch", domain)
        found["world"] = lambda: make_world(name, **options)
        found["environment_steps"] = args.environment_steps
    return found


def _check_free(folder: Path, *, force: bool) -> None:
    """Refuse to write over what stands in the folder."""
    if folder.exists() and not folder.is_dir():
        raise error("folder-exists", "this is a file, and a folder was wanted", file=str(folder))
    if not force and folder.is_dir() and any(not is_trace(path.name) for path in folder.iterdir()):
        raise error(
            "folder-exists",
            "there is something in this folder already",
            help="--force writes over it; or name another folder",
            file=str(folder),
        )

"""``pdsketch train SKETCH DATA -o DIR``: learn the blanks of a sketch, no Python needed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.modules import add_module_argument, given_modules
from pdsketch.files import is_trace, lock_folder
from pdsketch.lang import Diagnostic, Error
from pdsketch.options import add_options, declared, read_options
from pdsketch.training import FitOptions, Options

if TYPE_CHECKING:
    from pdsketch.tensor import Model
    from pdsketch.training import Report

EXAMPLE = """pdsketch train babyai.pdsketch DATA -o MODEL --steps 2000 --seed 0
pdsketch train babyai.pdsketch DATA -o MODEL --resume                  # after an interruption
pdsketch train babyai.pdsketch DATA -o MODEL --resume --steps 4000     # go on for longer
pdsketch train babyai.pdsketch MORE -o BETTER --from MODEL             # start from its weights
pdsketch train rob.pdsketch DATA -o MODEL --module facing=package:function"""

CHECKPOINT = "checkpoint.safetensors"
LOG = "log.csv"
ARCHITECTURE = "model.json"

_OWN = ("checkpoint", "log", "progress", "callback", "device", "resume")
"""What the command says itself of the output, or asks for in other words."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sketch, the data, where to write, and the settings of the fit."""
    parser.add_argument("sketch", metavar="SKETCH", help="the sketch whose blanks are to be learned")
    parser.add_argument("data", metavar="DATA", help="a folder of episodes")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for the model")
    parser.add_argument("--device", help="cpu, cuda, … (default: cpu)")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint in DIR, up to --steps in all"
    )
    parser.add_argument(
        "--from", dest="start", metavar="MODEL", help="start from the weights of a model of this sketch"
    )
    parser.add_argument("--force", action="store_true", help="write over what is in DIR")
    add_module_argument(parser)
    add_options(parser, Options, _names())
    parser.set_defaults(steps=Options.steps, seed=Options.seed)


def _names() -> list[str]:
    """The options of `fit` that the command takes."""
    return [name for name in declared(Options) if name not in _OWN]


def run(args: argparse.Namespace) -> int:
    """Exit code 0 once the model is written."""
    folder = Path(args.output)
    output.when_interrupted(lambda stop: _kept(folder, args, getattr(stop, "step", None)))
    import_large("torch", "pdsketch.training.fitting")
    _check_free(folder, args)
    report = _fitted(folder, args)
    payload = {"ok": True, "model": str(folder), **report.as_json()}
    return output.finish(output.OK, payload, json=args.json, text=str(report))


def _fitted(folder: Path, args: argparse.Namespace) -> Report:
    """The report of the fit, whose model and checkpoint are then in the folder."""
    from pdsketch.training import fit, gather

    model = _model(args)
    episodes = gather(args.data, model.domain)
    with lock_folder(folder):
        _check_free(folder, args)  # again: what was free may have been taken
        if not args.resume and (folder / CHECKPOINT).exists():
            output.say(f"pdsketch: {folder / CHECKPOINT} of an earlier fit is removed")
            (folder / CHECKPOINT).unlink()
        report = fit(model, episodes, args.steps, args.seed, **_settings(folder, args))
        model.save(str(folder))
    return report


def _kept(folder: Path, args: argparse.Namespace, step: int | None) -> output.Kept:
    """What an interruption leaves, after so many steps if that is known."""
    path = folder / CHECKPOINT
    if not path.exists():
        return "no step was made, and nothing is kept", None
    steps = "the last checkpoint is" if step is None else f"{step} of {args.steps} steps are"
    return f"{steps} kept in {path}", "go on with the same command and --resume"


def _model(args: argparse.Namespace) -> Model:
    """A fresh model of the sketch, or one with the weights of another."""
    from pdsketch.lang import load_domain
    from pdsketch.tensor import Model, load_model

    domain, modules = load_domain(args.sketch), given_modules(args)
    if args.start is not None:
        return load_model(args.start, modules, domain=domain)
    return Model(domain, modules, seed=args.seed)


def _check_free(folder: Path, args: argparse.Namespace) -> None:
    """Refuse to write over a model, or over what is none."""
    if folder.exists() and not folder.is_dir():
        raise _taken(folder, "this is a file, and a folder was wanted", "name a folder that is not there yet")
    if args.force or not folder.is_dir():
        return
    found = {path.name for path in folder.iterdir() if not is_trace(path.name)}
    if not found or (args.resume and (CHECKPOINT in found or found == {LOG})):
        return
    if CHECKPOINT in found:
        message, fix = "a model was trained here", "--resume goes on with it, --force writes over it"
    elif ARCHITECTURE in found:
        nothing = ", and no checkpoint to resume from" if args.resume else ""
        message, fix = f"this folder holds a model{nothing}", "--force writes over it"
    else:
        message, fix = "this folder holds other things than a model", "--force writes a model beside them"
    raise _taken(folder, message, f"{fix}; or name another folder")


def _taken(folder: Path, message: str, fix: str) -> Error:
    return Error([Diagnostic("folder-exists", message, help=fix, file=str(folder))])


def _settings(folder: Path, args: argparse.Namespace) -> FitOptions:
    """The options that were given on the command line, and what is written into the folder."""
    given = cast("FitOptions", read_options(args, [n for n in _names() if n not in ("steps", "seed")]))
    return {
        **given,
        "device": args.device or "cpu",
        "resume": args.resume,
        "checkpoint": str(folder / CHECKPOINT),
        "log": str(folder / LOG),
        "progress": True,
    }

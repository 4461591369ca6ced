"""``pdsketch train SKETCH DATA -o DIR``: learn the blanks of a sketch, no Python needed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pdsketch.cli import devices, output
from pdsketch.cli.imports import import_large
from pdsketch.cli.modules import add_module_argument, given_modules
from pdsketch.cli.worlds import add_world_option, check_world, given_options
from pdsketch.files import is_trace, lock_folder
from pdsketch.lang import Diagnostic, Error
from pdsketch.options import add_options, declared, read_options
from pdsketch.training import FitOptions, Options

if TYPE_CHECKING:
    from pdsketch.lang import Domain
    from pdsketch.tensor import Model
    from pdsketch.training import Report
    from pdsketch_paper.baselines.dreamer.options import BaselineOptions

EXAMPLE = """pdsketch train babyai.pdsketch DATA -o MODEL --steps 2000 --seed 0
pdsketch train babyai.pdsketch DATA -o MODEL --resume                  # after an interruption
pdsketch train babyai.pdsketch DATA -o MODEL --resume --steps 4000     # go on for longer
pdsketch train babyai.pdsketch MORE -o BETTER --from MODEL             # start from its weights
pdsketch train babyai.pdsketch DATA -o MODEL --devices 2               # two processes share each batch
pdsketch train rob.pdsketch DATA -o MODEL --module facing=package:function
pdsketch train --baseline bc babyai.pdsketch DATA -o BC                # clone the demonstrations instead
pdsketch train --baseline dreamer babyai.pdsketch DATA -o DREAMER --world babyai --environment-steps 5000"""

CHECKPOINT = "checkpoint.safetensors"
LOG = "log.csv"
ARCHITECTURE = "model.json"
BASELINE = "baseline.json"

_OWN = ("checkpoint", "log", "progress", "callback", "device", "resume")
"""What the command says itself of the output, or asks for in other words."""

_KINDS = "bc, dt-s, dt-s+f, gnn, dreamer"

_OF_FITS = {"resume": "resume", "from": "start", "module": "module"}

_OF_BASELINES = ("batch", "learning_rate", "validation", "evaluate_every")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sketch, the data, where to write, and the settings of the fit."""
    parser.add_argument("sketch", metavar="SKETCH", help="the sketch whose blanks are to be learned")
    parser.add_argument("data", metavar="DATA", help="a folder of episodes")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for the model")
    parser.add_argument(
        "--baseline", metavar="NAME", help=f"train what models are compared with instead: {_KINDS}"
    )
    parser.add_argument(
        "--types", metavar="T,T", help="of a baseline: the types of the objects that it sees (default: all)"
    )
    parser.add_argument("--world", metavar="WORLD", help="of dreamer: a world to act in after DATA")
    add_world_option(parser)
    parser.add_argument(
        "--environment-steps", type=int, default=0, metavar="N", help="of dreamer: steps in that world (0)"
    )
    parser.add_argument("--cloning", type=float, metavar="W", help="of dreamer: weight of shown actions (1)")
    parser.add_argument("--device", help="cpu, cuda, … (default: cpu)")
    parser.add_argument(
        "--devices", type=int, default=1, metavar="N", help="processes that share each batch (default: 1)"
    )
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
    if args.baseline is not None:
        return _train_baseline(folder, args)
    if args.types is not None:
        raise output.UsageError("--types is for baselines, and a model sees all objects")
    _refuse_practice(args)
    if args.devices < 1:
        raise output.UsageError("--devices is a number of processes, and at least 1")
    if args.devices > 1 and not devices.is_member():
        return devices.launch(args.words, args.devices)
    with devices.process_group(args.device or "cpu") as args.device:
        report = _fitted(folder, args) if devices.leads() else _helped(folder, args)
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


def _helped(folder: Path, args: argparse.Namespace) -> Report:
    """The same fit in a process that leads nothing and writes nothing."""
    from pdsketch.training import fit, gather

    model = _model(args)
    return fit(model, gather(args.data, model.domain), args.steps, args.seed, **_settings(folder, args))


def _train_baseline(folder: Path, args: argparse.Namespace) -> int:
    """A baseline from the same data; its notes are the report."""
    from pdsketch.lang import load_domain
    from pdsketch_paper.baselines.store import save_baseline
    from pdsketch_paper.baselines.training import train_baseline

    named = read_options(args, [name for name in _names() if name not in ("steps", "seed")])
    refused = [name for name in named if name not in _OF_BASELINES]
    refused += [word for word, name in _OF_FITS.items() if getattr(args, name)]
    refused += ["devices"] if args.devices != 1 else []
    if refused:
        word = refused[0].replace("_", "-")
        raise output.UsageError(f"--{word} is for models, and --baseline trains none")
    domain = load_domain(args.sketch)
    if args.baseline == "dreamer":
        named |= _practice(domain, args)
    else:
        _refuse_practice(args)
    settings = cast("BaselineOptions", {**named, "device": args.device or "cpu"})
    with lock_folder(folder):
        baseline = train_baseline(
            args.baseline,
            domain,
            args.data,
            args.steps,
            args.seed,
            types=args.types.split(",") if args.types else None,
            **settings,
        )
        save_baseline(baseline, folder)
    text = "\n".join(f"{name}: {value}" for name, value in baseline.notes.items())
    payload = {"ok": True, "baseline": args.baseline, "folder": str(folder), **baseline.notes}
    return output.finish(output.OK, payload, json=args.json, text=text)


def _refuse_practice(args: argparse.Namespace) -> None:
    """Acting while training is for one baseline alone."""
    for name in ("world", "world_option", "environment_steps", "cloning"):
        if getattr(args, name):
            raise output.UsageError(f"--{name.replace('_', '-')} is for --baseline dreamer alone")


def _practice(domain: Domain, args: argparse.Namespace) -> dict[str, Any]:
    """The settings of acting while training, in a world that is seen as the sketch sees it."""
    from pdsketch.act import make_world, options_of

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
    elif BASELINE in found:
        message, fix = "this folder holds a baseline", "--force writes over it"
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
    if args.devices > 1:
        given.setdefault("shares", args.devices)
    return {
        **given,
        "device": args.device or "cpu",
        "resume": args.resume,
        "checkpoint": str(folder / CHECKPOINT),
        "log": str(folder / LOG),
        "progress": True,
    }

"""``pdsketch train SKETCH DATA -o DIR``: learn the blanks of a sketch, no Python needed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pdsketch.cli import output

EXAMPLE = """pdsketch train babyai.pdsketch DATA -o MODEL --steps 2000 --seed 0
pdsketch train babyai.pdsketch DATA -o MODEL --resume     # after an interruption"""

CHECKPOINT = "checkpoint.safetensors"
LOG = "log.csv"

_NUMBERS = {
    "batch": (int, "states per step"),
    "learning-rate": (float, "the peak of the learning rate"),
    "goal": (float, "weight of the goal loss"),
    "transition": (float, "weight of the transition loss"),
    "lookahead": (float, "weight of the lookahead loss"),
    "horizon": (int, "how many steps the lookahead looks ahead"),
    "precondition": (float, "weight of the precondition loss"),
    "sparsity": (float, "how much networks prefer to read few of their inputs"),
    "rarity": (float, "how much learned predicates prefer to be false where nothing is known"),
    "validation": (float, "part of the episodes held out"),
    "patience": (int, "stop after so many measurements without improvement"),
    "time-limit": (float, "seconds after which to stop"),
    "evaluate-every": (int, "steps between measurements"),
    "checkpoint-every": (int, "steps between checkpoints"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sketch, the data, where to write, and the settings of the fit."""
    parser.add_argument("sketch", metavar="SKETCH", help="the sketch whose blanks are to be learned")
    parser.add_argument("data", metavar="DATA", help="a folder of episodes")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for the model")
    parser.add_argument("--steps", type=int, default=2000, help="steps to make (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="of networks, batches and the split (default: 0)")
    parser.add_argument("--device", help="cpu, cuda, … (default: cpu)")
    parser.add_argument(
        "--tnorm", choices=["godel", "product", "lukasiewicz"], help="the logic while training"
    )
    parser.add_argument(
        "--paper", action="store_true", help="Gödel logic and plain L1, as the paper has them"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in DIR")
    parser.add_argument("--tensorboard", metavar="FOLDER", help="write TensorBoard logs")
    for name, (kind, meaning) in _NUMBERS.items():
        parser.add_argument(f"--{name}", type=kind, help=meaning)


def run(args: argparse.Namespace) -> int:
    """Exit code 0 once the model is written."""
    from pdsketch.lang.load import load_domain
    from pdsketch.learn.fit import fit
    from pdsketch.tensor.model import Model

    domain = load_domain(args.sketch)
    model = Model(domain, seed=args.seed)
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    report = fit(
        model,
        args.data,
        args.steps,
        args.seed,
        checkpoint=str(folder / CHECKPOINT),
        log=str(folder / LOG),
        progress=not args.json and sys.stderr.isatty(),
        **_settings(args),
    )
    model.save(str(folder))
    for name in report.untrained:
        output.say(f"warning: blank `{name}` never received a gradient: nothing was learned for it")
    payload = {"ok": True, "model": str(folder), **report.as_json()}
    return output.finish(output.OK, payload, json=args.json, text=str(report))


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """The options that were given on the command line."""
    names = [name.replace("-", "_") for name in _NUMBERS] + ["tnorm", "tensorboard"]
    found = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return {**found, "device": args.device or "cpu", "paper": args.paper, "resume": args.resume}

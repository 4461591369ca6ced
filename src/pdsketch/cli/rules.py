"""``pdsketch rules MODEL``: what a trained model has learned, as first-order rules over codes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pdsketch.cli import output
from pdsketch.cli.imports import ctrl_c_ends, import_large
from pdsketch.cli.modules import add_module_argument, loaded_model
from pdsketch.lang import error

if TYPE_CHECKING:
    from pdsketch.tensor import Model

EXAMPLE = """pdsketch rules MODEL
pdsketch rules MODEL --codes --code-count pose=64
pdsketch rules MODEL --quantise data -o QUANTISED
pdsketch rules MODEL --state problem.pddl --full"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, and what of it."""
    parser.add_argument("model", metavar="MODEL", help="the folder of a trained model")
    parser.add_argument("--codes", action="store_true", help="also the codebooks, with quantisation errors")
    parser.add_argument("--full", action="store_true", help="all rules, where a function has many")
    parser.add_argument(
        "--state", metavar="PROBLEM", help="also the codes of a problem's initial state, and rules for them"
    )
    parser.add_argument(
        "--code-count",
        metavar="TYPE=N",
        action="append",
        default=[],
        type=_count,
        help="so many codes for a type of floats, instead of as many as the data ask for",
    )
    parser.add_argument("--save", action="store_true", help="keep --code-count with the model")
    parser.add_argument(
        "--quantise",
        metavar="DATA",
        help="train a copy on for one epoch with codes in the place of latent vectors; -o says where it goes",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder of the copy of --quantise")
    add_module_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Exit code 0, whatever the rules say."""
    import_large("torch", "pdsketch.tensor.store")
    from pdsketch.abstract import keep_counts, rules
    from pdsketch.lang import load_problem

    model = loaded_model(args)
    state = load_problem(args.state, model.domain).state if args.state is not None else None
    counts = dict(args.code_count)
    if (args.quantise is None) != (args.output is None):
        raise error("bad-option", "--quantise needs -o DIR for the copy, and -o is for --quantise alone")
    with ctrl_c_ends():
        if args.quantise is not None:
            model = _quantised(model, args.quantise, counts, args.output)
            counts = {}
        found = rules(model, state, codes=counts)
    if args.save:
        keep_counts(model, counts)
        model.save(args.model)
        output.say(f"{args.model}: saved with its codes")
    for warning in found.warnings():
        output.say(f"pdsketch: warning: {warning}")
    return output.finish(
        output.OK,
        {"ok": True, **found.as_json(), "warnings": found.warnings()},
        json=args.json,
        text=found.text(full=args.full, codes=args.codes),
    )


def _quantised(model: Model, data: str, counts: dict[str, int], folder: str) -> Model:
    """The copy of a model that was trained with codes, written to its folder; what came of it is said."""
    from pdsketch.abstract import quantise

    found = quantise(model, data, codes=counts)
    found.model.save(folder)
    kept = "written" if found.helps else "no better: a copy as the model was is written"
    output.say(
        f"{folder}: codes agree with {100 * found.agreement:.1f} % of values recorded, by k-means with "
        f"{100 * found.agreement_before:.1f} %; {kept}"
    )
    return found.model


def _count(text: str) -> tuple[str, int]:
    name, sign, number = text.partition("=")
    if not (name and sign and number.isascii() and number.isdigit() and int(number)):
        raise argparse.ArgumentTypeError(f"wanted TYPE=N, as in pose=64, found {text}")
    return name, int(number)

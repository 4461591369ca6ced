"""``pdsketch eval DIR DATA``: what a trained model gets right on episodes."""

from __future__ import annotations

import argparse

from pdsketch.cli import output

EXAMPLE = """pdsketch eval MODEL DATA
pdsketch eval MODEL DATA --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model and the data."""
    parser.add_argument("model", metavar="DIR", help="the folder of a trained model")
    parser.add_argument("data", metavar="DATA", help="a folder of episodes")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, … (default: cpu)")


def run(args: argparse.Namespace) -> int:
    """Exit code 0 whatever the accuracy."""
    from pdsketch.learn.fit import evaluate
    from pdsketch.learn.report import describe, summary
    from pdsketch.tensor.store import load_model

    model = load_model(args.model)
    measures, blanks = evaluate(model, args.data, device=args.device)
    for name, report in blanks.items():
        if report.verdict == "never-trained":
            output.say(f"warning: blank `{name}` never received a gradient: nothing was learned for it")
    payload = {
        "ok": True,
        **measures.as_json(),
        "blanks": {name: report.as_json() for name, report in blanks.items()},
    }
    text = "\n".join([summary("episodes", measures), *describe(measures, blanks)])
    return output.finish(output.OK, payload, json=args.json, text=text)

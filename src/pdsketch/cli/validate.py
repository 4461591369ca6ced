"""``pdsketch validate DOMAIN PROBLEM PLAN``: replay a plan through the reference semantics."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pdsketch.cli import output
from pdsketch.lang.diagnostics import Diagnostic
from pdsketch.lang.load import load_domain, load_problem, read_source
from pdsketch.lang.source import Source
from pdsketch.lang.steps import read_plan, span_of_step
from pdsketch.lang.validator import validate

EXAMPLE = """pdsketch validate examples/blocks/domain.pddl examples/blocks/p01.pddl plan"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Three files."""
    parser.add_argument("domain", metavar="DOMAIN", help="a domain without blanks")
    parser.add_argument("problem", metavar="PROBLEM", help="a problem of that domain")
    parser.add_argument(
        "plan",
        metavar="PLAN",
        help="one `(action object …)` a line, or `0: (action object …) [1]`; `;` begins a comment",
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if the plan is valid, 1 if it is not, 31 if something cannot be read."""
    problem = load_problem(args.problem, load_domain(args.domain))
    source = read_source(args.plan)
    steps = read_plan(source, problem.universe)
    verdict = validate(problem, steps)
    payload = {"valid": verdict.valid, "cost": verdict.cost, "steps": len(steps), "failed_step": verdict.step}
    if verdict.valid:
        count = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
        text = f"valid: {count}, cost = {verdict.cost:g}"
        return output.finish(output.OK, payload, json=args.json, text=text)
    reasons = [] if verdict.reason is None else [_placed(verdict.reason, source, verdict.step)]
    # A sketch whose blanks nobody fills can be replayed as little as a file that cannot be read.
    is_open = verdict.reason is not None and verdict.reason.code == "no-function"
    code = output.BAD_INPUT if is_open else output.DIFFERENT
    return output.finish(code, payload, json=args.json, diagnostics=reasons, text="invalid")


def _placed(reason: Diagnostic, source: Source, step: int | None) -> Diagnostic:
    """A reason without a place of its own stands at its step in the plan's file."""
    if reason.span is not None:
        return reason
    if step is None:
        return replace(reason, file=source.name)
    return replace(reason, span=span_of_step(source, step))

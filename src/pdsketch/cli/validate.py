"""``pdsketch validate DOMAIN PROBLEM PLAN``: replay a plan by the reference semantics, or by a model."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pdsketch.cli import output
from pdsketch.cli.modules import add_module_argument, domain_of, loaded_model, without_domain
from pdsketch.lang import Diagnostic, Source, load_problem, read_plan, read_source, span_of_step
from pdsketch.search import validate

EXAMPLE = """pdsketch validate examples/blocks/domain.pddl examples/blocks/p01.pddl plan
pdsketch validate --model MODEL problem.pddl plan"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Three files, or a model and two."""
    parser.add_argument(
        "domain", metavar="DOMAIN", help="a domain without blanks; with --model, a sketch, or left out"
    )
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help="a problem of that domain")
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        help="one `(action object …)` a line, or `0: (action object …) [1]`; `;` begins a comment",
    )
    parser.add_argument("--model", metavar="DIR", help="replay it through a trained model; each step costs 1")
    add_module_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if the plan is valid, 1 if it is not, 31 if something cannot be read."""
    without_domain(args, "problem", "plan")
    if args.module and args.model is None:
        raise output.UsageError("--module goes with --model: it gives the functions of a trained model")
    problem = load_problem(args.problem, domain_of(args))
    source = read_source(args.plan)
    steps = read_plan(source, problem.universe)
    if args.model is None:
        verdict = validate(problem, steps)
    else:
        verdict = validate(loaded_model(args), steps, problem.state, problem.goal)
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

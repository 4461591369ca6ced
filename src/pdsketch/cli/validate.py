"""``pdsketch validate DOMAIN PROBLEM PLAN``: replay a plan by the reference semantics, or by a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from pdsketch.cli import output
from pdsketch.cli.modules import add_module_argument, domain_of, loaded_model, without_domain
from pdsketch.lang import (
    Diagnostic,
    Error,
    Problem,
    Source,
    Step,
    Verdict,
    conjuncts,
    formula_text,
    load_problem,
    read_plan,
    read_source,
    resolve,
    show_atom,
    span_of_step,
    validate,
)

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
    verdict = validate(problem, steps) if args.model is None else _by_model(args, problem, steps)
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


def _by_model(args: argparse.Namespace, problem: Problem, steps: Sequence[Step]) -> Verdict:
    """The same as the model sees it: preconditions and the goal above 0.5."""
    import torch

    model, state, cost = loaded_model(args), problem.state, 0.0
    with torch.no_grad():
        for index, written in enumerate(steps):
            try:
                step = resolve(problem.domain, problem.universe, written)
                truth = float(model.applicable(state, step, crisp=True))
                state = model.step(state, step, crisp=True) if truth > 0.5 else state
            except Error as refused:
                return Verdict(False, cost, index, replace(refused.diagnostics[0], span=None))
            if truth <= 0.5:
                said = (
                    f"step {index + 1}, {show_atom(step)}: the model says that its precondition does not hold"
                )
                return Verdict(False, cost, index, Diagnostic("not-applicable", said))
            cost += 1
        for part in conjuncts(problem.goal):
            if float(model.holds(state, part, crisp=True)) <= 0.5:
                words = formula_text(part) if part.span is None else " ".join(part.span.text.split())
                said = f"the model says that the goal does not hold: `{words}` is false"
                return Verdict(False, cost, None, Diagnostic("goal-not-reached", said, part.span))
    return Verdict(True, cost)


def _placed(reason: Diagnostic, source: Source, step: int | None) -> Diagnostic:
    """A reason without a place of its own stands at its step in the plan's file."""
    if reason.span is not None:
        return reason
    if step is None:
        return replace(reason, file=source.name)
    return replace(reason, span=span_of_step(source, step))

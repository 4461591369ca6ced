"""``pdsketch explain DOMAIN PROBLEM``: which parts of a goal hold in the initial state."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pdsketch.cli import output
from pdsketch.cli.modules import add_module_argument, domain_of, loaded_model, without_domain
from pdsketch.lang import StaticContext, encode, evaluate, formula_text, load_problem, parse_goal, parts_of

EXAMPLE = """\
pdsketch explain examples/blocks/domain.pddl examples/blocks/p01.pddl
pdsketch explain --model lamps-model lamps.pddl --goal '(exists (?l - lamp) (lit ?l))'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The problem, and whose truth is asked for."""
    parser.add_argument(
        "domain", metavar="DOMAIN", help="a domain without blanks; with --model, leave it out"
    )
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help="its initial state, and its goal")
    parser.add_argument("--goal", metavar="FORMULA", help="in the place of the problem's goal")
    parser.add_argument("--model", metavar="DIR", help="the truth by a trained model, from 0 to 1")
    add_module_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Exit code 0, whatever is true; 31 for bad input."""
    without_domain(args, "problem")
    problem = load_problem(args.problem, domain_of(args))
    goal = problem.goal if args.goal is None else parse_goal(args.goal, problem)
    outside: tuple[str, ...] = ()
    if args.model is not None:
        from pdsketch.tensor import explain

        found = explain(loaded_model(args), problem.state, goal)
        truth, parts, outside = found.truth, found.parts, found.outside
    else:
        static = StaticContext.of(problem)
        state = encode(static, problem.init)
        parts = parts_of(
            goal, problem.domain, problem.universe, lambda part: float(evaluate(static, state, part))
        )
        truth = float(evaluate(static, state, goal))
    lines = [f"{truth:.3g}  {formula_text(goal)}"]
    for part in parts:
        lines.append(f"  {part.truth:.3g}  {part.text}")
        lines += [f"    {own:.3g}  {' '.join(objects)}" for objects, own in part.instances]
    payload = {
        "goal": formula_text(goal),
        "truth": truth,
        "parts": [asdict(part) for part in parts],
        "outside": outside,
    }
    return output.finish(output.OK, payload, json=args.json, text="\n".join([*lines, *outside]))

"""``pdsketch validate DOMAIN PROBLEM PLAN``: replay a plan through the reference semantics."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from re import fullmatch
from typing import Any

from pdsketch.cli import output
from pdsketch.lang.diagnostics import Diagnostic, Error
from pdsketch.lang.load import load_domain, load_problem, read_source
from pdsketch.lang.reader import Atom, Group, Node, read
from pdsketch.lang.source import Source, Span
from pdsketch.lang.validator import validate

EXAMPLE = """pdsketch validate examples/blocks/domain.pddl examples/blocks/p01.pddl plan"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Three files."""
    parser.add_argument("domain", metavar="DOMAIN", help="a domain without blanks")
    parser.add_argument("problem", metavar="PROBLEM", help="a problem of that domain")
    parser.add_argument("plan", metavar="PLAN", help="one `(action object …)` a line; `;` begins a comment")


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
    return output.finish(output.DIFFERENT, payload, json=args.json, diagnostics=reasons, text="invalid")


def read_plan(source: Source, objects: Collection[str] = ()) -> list[tuple[Any, ...]]:
    """The steps of a plan file; an `Error` if it is not one. An object may have a number for a name."""
    reading = read(source)
    if reading.diagnostics:
        raise Error(reading.diagnostics)
    return [_step(node, source, objects) for node in reading.nodes]


def _step(node: Node, source: Source, objects: Collection[str]) -> tuple[Any, ...]:
    if not isinstance(node, Group) or node.bracket != "(":
        raise _unreadable(node, source, "a plan is a list of steps `(action object …)`")
    if not node.items or not isinstance(node.items[0], Atom):
        raise _unreadable(node, source, "a step begins with the name of an action")
    return (node.items[0].text, *(_argument(item, source, objects) for item in node.items[1:]))


def _argument(node: Node, source: Source, objects: Collection[str]) -> Any:
    """A name, a number, or a tuple of numbers."""
    if isinstance(node, Atom):
        return node.text if node.text in objects else _number(node.text)
    if node.bracket != "[":
        raise _unreadable(node, source, "an argument is a name, a number, or a vector `[x, y]`")
    values = [_argument(item, source, ()) for item in node.items if not _is_comma(item)]
    if any(isinstance(value, str) for value in values):
        raise _unreadable(node, source, "a vector holds numbers")
    return tuple(values)


def _is_comma(node: Node) -> bool:
    return isinstance(node, Atom) and node.text == ","


def _number(text: str) -> int | float | str:
    if fullmatch(r"[+-]?\d+", text):
        return int(text)
    if fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text):
        return float(text)
    return text


def _unreadable(node: Node, source: Source, message: str) -> Error:
    return Error([Diagnostic("bad-plan", message, Span(source, node.start, node.end))])


def _placed(reason: Diagnostic, source: Source, step: int | None) -> Diagnostic:
    """A reason without a place of its own stands at its step in the plan's file."""
    if reason.span is not None:
        return reason
    if step is None:
        return replace(reason, file=source.name)
    node = read(source).nodes[step]
    return replace(reason, span=Span(source, node.start, node.end))

"""The declarations of predicates and functions, out of S-expressions."""

from __future__ import annotations

from collections.abc import Sequence

from pdsketch.lang.lists import is_name, parse_settings, parse_typed, type_at
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import CheckReport
from pdsketch.lang.syntax import PredicateSyntax, Setting, TypeSyntax


def parse_predicate(node: Node, report: CheckReport, *, what: str) -> PredicateSyntax | None:
    """``(name [settings] ?x - type …)``; None if it is none, which is reported."""
    if not isinstance(node, Group) or node.bracket != "(" or not node.items:
        report.error("bad-predicate", f"wanted {what} such as (name ?x - type)", node)
        return None
    name = node.items[0]
    if not isinstance(name, Token) or not is_name(name):
        report.error("bad-name", f"wanted the name of {what}", name)
        return None
    before = len(report.diagnostics)
    rest = node.items[1:]
    settings: tuple[Setting, ...] = ()
    if rest and isinstance(rest[0], Group) and rest[0].bracket == "[":
        settings = parse_settings(rest[0].items, report)
        rest = rest[1:]
    parameters = tuple(parse_typed(rest, report, variables=True))
    return PredicateSyntax(node, name, settings, parameters, is_wrong=len(report.diagnostics) > before)


def parse_predicates(items: Sequence[Node], report: CheckReport) -> list[PredicateSyntax]:
    """What stands in ``:predicates``."""
    found: list[PredicateSyntax] = []
    at = 0
    while at < len(items):
        item = items[at]
        at += 1
        if isinstance(item, Token) and item.text == "-" and found:
            report.error(
                "bad-predicate",
                f"`{found[-1].name.text}` is a predicate, true or false, and a type of values follows it",
                item,
                help="what has other values is a function: (:functions (NAME ?x - type) - int64)",
            )
            type_, at = type_at(items, at, item, report)
            found[-1] = found[-1]._replace(is_function=True, returns=type_)  # no errors where it is used
            continue
        predicate = parse_predicate(item, report, what="a predicate")
        if predicate is not None:
            found.append(predicate)
    return found


def parse_functions(items: Sequence[Node], report: CheckReport) -> list[PredicateSyntax]:
    """``(f ?x) (g ?x) - number``: the type behind a dash holds for all functions before it."""
    found: list[PredicateSyntax] = []
    waiting: list[PredicateSyntax] = []
    at = 0

    def settle(type_: TypeSyntax | None) -> None:
        found.extend(function._replace(is_function=True, returns=type_) for function in waiting)
        waiting.clear()

    while at < len(items):
        item = items[at]
        if isinstance(item, Token) and item.text == "-":
            type_, at = type_at(items, at + 1, item, report)
            settle(type_)
            continue
        at += 1
        function = parse_predicate(item, report, what="a function")
        if function is not None:
            waiting.append(function)
    settle(None)
    return found

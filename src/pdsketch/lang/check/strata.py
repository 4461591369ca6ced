"""The order in which derived predicates are evaluated, and which of them are recursive."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, pairwise

from pdsketch.lang.analysis import components, has_blank, names_in
from pdsketch.lang.check.tables import PredicateSignature
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.report import CheckReport, path
from pdsketch.lang.terms import Apply, Expr, Logic, Quantified, children
from pdsketch.lang.types import ValueType


def order_bodies(
    signatures: Mapping[str, PredicateSignature], bodies: Mapping[str, Expr], report: CheckReport
) -> tuple[tuple[tuple[str, ...], ...], frozenset[str]]:
    """The components, callees first, and the recursive predicates. Bad recursion is reported."""
    graph = {name: [r for r in sorted(names_in(body)) if r in bodies] for name, body in bodies.items()}
    found = tuple(components(graph))
    recursive: set[str] = set()
    for component in found:
        if len(component) > 1 or component[0] in graph[component[0]]:
            recursive.update(component)
            _check_recursion(component, signatures, bodies, graph, report)
    return found, frozenset(recursive)


def _check_recursion(
    component: tuple[str, ...],
    signatures: Mapping[str, PredicateSignature],
    bodies: Mapping[str, Expr],
    graph: Mapping[str, list[str]],
    report: CheckReport,
) -> None:
    """Only Booleans over objects, without blanks, and never through their own negation."""
    members = frozenset(component)
    for name in component:
        signature = signatures[name]
        if not signature.returns.is_bool or any(isinstance(p.type, ValueType) for p in signature.parameters):
            _report(name, name, "value-cycle", "through a value", signatures, graph, members, report)
            return
        if has_blank(bodies[name]):
            _report(name, name, "blank-cycle", "through a blank", signatures, graph, members, report)
            return
    for name in component:
        for callee in _negated(bodies[name]):
            if callee in members:
                _report(
                    name, callee, "negative-cycle", "through negation", signatures, graph, members, report
                )
                return


def _report(
    name: str,
    callee: str,
    code: str,
    how: str,
    signatures: Mapping[str, PredicateSignature],
    graph: Mapping[str, list[str]],
    members: frozenset[str],
    report: CheckReport,
) -> None:
    cycle = (
        [name, *_path(callee, name, graph, members)] if callee != name else _path_from(name, graph, members)
    )
    notes = [
        Note(signatures[other].span, f"reads `{after}`") for other, after in islice(pairwise(cycle[1:]), 6)
    ]
    report.error(
        code,
        f"`{name}` depends on itself {how}: {path(cycle, ' → ')}",
        signatures[name].span,
        label=f"reads `{cycle[1]}`",
        notes=notes,
        help="recursion is for Boolean predicates without blanks, and not through `not`",
    )


def _path_from(name: str, graph: Mapping[str, list[str]], members: frozenset[str]) -> list[str]:
    if name in graph[name]:
        return [name, name]
    first = next(c for c in graph[name] if c in members)
    return [name, *_path(first, name, graph, members)]


def _path(start: str, end: str, graph: Mapping[str, list[str]], members: frozenset[str]) -> list[str]:
    """A shortest way from one member to another."""
    before: dict[str, str | None] = {start: None}
    queue = [start]
    for name in queue:
        if name == end:
            break
        for callee in graph[name]:
            if callee in members and callee not in before:
                before[callee] = name
                queue.append(callee)
    way = [end]
    while (previous := before[way[-1]]) is not None:
        way.append(previous)
    return way[::-1]


def _negated(expr: Expr) -> frozenset[str]:
    """The predicates that an expression reads with negative polarity (or with both)."""
    found: set[str] = set()
    stack: list[tuple[Expr, int]] = [(expr, 1)]
    while stack:
        node, sign = stack.pop()
        match node:
            case Apply():
                if sign <= 0:
                    found.add(node.predicate)
                stack += [(arg, 0) for arg in node.args]
            case Logic(op="not"):
                stack.append((node.args[0], -sign))
            case Logic(op="implies"):
                stack += [(node.args[0], -sign), (node.args[1], sign)]
            case Logic() | Quantified():
                stack += [(child, sign) for child in children(node)]
            case _:
                stack += [(child, 0) for child in children(node)]
    return frozenset(found)

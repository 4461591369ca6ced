"""The role of each predicate, from what reads and writes it; and the order in which derived ones follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice, pairwise

from pdsketch.lang.analysis import action_reads, closure, components, cycle_of, has_blank, names_in
from pdsketch.lang.check.definitions import Definitions
from pdsketch.lang.check.tables import PredicateSignature, Tables
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.domain import Action, Role
from pdsketch.lang.report import CheckReport, path
from pdsketch.lang.terms import Apply, Expr, Logic, Quantified, Update, children
from pdsketch.lang.types import ValueType


def assign_roles(tables: Tables, found: Definitions, report: CheckReport) -> dict[str, Role]:
    """The role of each predicate. Wrong writes and stale encodings are reported."""
    written: dict[str, Update] = {}
    for action in found.actions.values():
        for update in action.effects:
            written.setdefault(update.target.predicate, update)
    body_reads = {name: names_in(body) for name, body in found.bodies.items()}
    roles: dict[str, Role] = {}
    for name, signature in tables.signatures.items():
        roles[name] = _role(signature, name in written)
    for name, update in written.items():
        if roles.get(name) == "encoded" and tables.signatures[name].returns.is_bool:
            _check_encoded(tables.signatures, update, found.bodies, body_reads, report)
    for name in _raw(roles, body_reads, found.actions.values(), written):
        roles[name] = "raw"
    _warn_stale(tables, found, roles, body_reads, report)
    return roles


def _role(signature: PredicateSignature, is_written: bool) -> Role:
    if signature.is_cost:
        return "cost"
    if signature.has_body:
        return "encoded" if is_written else "derived"
    return "external" if signature.is_external else "observed"


def _check_encoded(
    signatures: Mapping[str, PredicateSignature],
    update: Update,
    bodies: Mapping[str, Expr],
    body_reads: Mapping[str, frozenset[str]],
    report: CheckReport,
) -> None:
    """As in PDDL, no action writes a Boolean that is derived by logic alone."""
    signature = signatures[update.target.predicate]
    below = [name for name in closure([signature.name], body_reads) if signatures[name].has_body]
    if any(name not in bodies or has_blank(bodies[name]) for name in below):
        return
    assert update.span is not None
    report.error(
        "derived-assigned",
        f"`{signature.name}` is derived, so no action can write it",
        update.span,
        notes=[Note(signature.span, "derived here")],
        help="write what it is derived from; only a predicate with a blank in its body can be written",
    )


def _raw(
    roles: Mapping[str, Role],
    body_reads: Mapping[str, frozenset[str]],
    actions: Iterable[Action],
    written: Mapping[str, Update],
) -> list[str]:
    """Observed, never written, and read by the encoder alone, directly or through derived predicates."""
    by_action = frozenset().union(*map(action_reads, actions))
    readers: dict[str, set[str]] = {}
    for reader, names in body_reads.items():
        for name in names:
            readers.setdefault(name, set()).add(reader)
    # The derived predicates that the encoder alone reads: not those that an action or nobody reads, nor those
    # that only a circle of derived ones does, nor what such a predicate reads in turn.
    derived = {name for name, role in roles.items() if role == "derived"}
    encoded = [name for name, role in roles.items() if role == "encoded"]
    inner = derived.intersection(_below(encoded, body_reads, derived)) - by_action
    inner -= _below(derived - inner, body_reads, derived)
    return [
        name
        for name, role in roles.items()
        if role == "observed"
        and name not in written
        and name not in by_action
        and readers.get(name)
        and all(r in inner or roles[r] == "encoded" for r in readers[name])
    ]


def _below(names: Iterable[str], body_reads: Mapping[str, frozenset[str]], through: set[str]) -> set[str]:
    """The predicates, and what their bodies read, directly or through some others."""
    return closure(names, {name: read & through for name, read in body_reads.items()})


def _warn_stale(
    tables: Tables,
    found: Definitions,
    roles: Mapping[str, Role],
    body_reads: Mapping[str, frozenset[str]],
    report: CheckReport,
) -> None:
    """An action that writes what an encoded body reads, but not the encoded variable itself."""
    encoded = [name for name, role in roles.items() if role == "encoded"]
    read_by = {name: closure([name], body_reads, stop=encoded) - {name} for name in encoded}
    for action in found.actions.values():
        updates = {update.target.predicate: update for update in reversed(action.effects)}
        for name, sources in read_by.items():
            stale = next((updates[s] for s in updates if s in sources), None)
            if stale is None or name in updates or stale.span is None:
                continue
            report.warning(
                "stale-encoding",
                f"action `{action.name}` writes `{stale.target.predicate}`, which `{name}` is encoded from,"
                f" but not `{name}`",
                stale.span,
                help=f"assign `{name}` too, or it keeps its value from before",
            )


# The order in which derived predicates are evaluated, and which of them are recursive.


def order_bodies(
    signatures: Mapping[str, PredicateSignature], bodies: Mapping[str, Expr], report: CheckReport
) -> tuple[tuple[tuple[str, ...], ...], frozenset[str]]:
    """The components, callees first, and the recursive predicates. Bad recursion is reported."""
    graph = {name: [r for r in sorted(names_in(body)) if r in bodies] for name, body in bodies.items()}
    found = tuple(components(graph))
    recursive: set[str] = set()
    for component in found:
        # Stratification (Apt, Blair and Walker, 1988): a strongly connected component is one stratum.
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

    def tell(name: str, code: str, how: str, by: str | None = None) -> None:
        cycle = cycle_of(name, graph, members, by)
        reads = islice(pairwise(cycle[1:]), 6)
        report.error(
            code,
            f"`{name}` depends on itself {how}: {path(cycle, ' → ')}",
            signatures[name].span,
            label=f"reads `{cycle[1]}`",
            notes=[Note(signatures[other].span, f"reads `{after}`") for other, after in reads],
            help="recursion is for Boolean predicates without blanks, and not through `not`",
        )

    for name in component:
        signature = signatures[name]
        if not signature.returns.is_bool or any(isinstance(p.type, ValueType) for p in signature.parameters):
            return tell(name, "value-cycle", "through a value")
        if has_blank(bodies[name]):
            return tell(name, "blank-cycle", "through a blank")
    for name in component:
        negated = sorted(_negated(bodies[name]) & members)
        if negated:
            return tell(name, "negative-cycle", "through negation", negated[0])
    return None


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
                # Polarity 0 is both: a truth that is an argument may help and hinder.
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

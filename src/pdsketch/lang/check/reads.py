"""What reads and writes what; from that, the role of each predicate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pdsketch.lang.analysis import action_reads, closure, has_blank, names_in
from pdsketch.lang.check.definitions import Definitions
from pdsketch.lang.check.tables import PredicateSignature, Tables
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.domain import Action, Role
from pdsketch.lang.report import CheckReport
from pdsketch.lang.terms import Expr, Update


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

"""What was seen, as text: states as lists of atoms, with the actions between them.

The form is that of AMLGym, SAM and FAMA: ``((:state (on a b) …) (:action (pick-up a)) (:state …) …)``. A word
may stand in front, and ``:objects`` and ``:goal`` be among them; ``:init`` is the first state, ``operator:``
an action, and ``(:refused (pick-up a))`` one that was tried in vain, after which no state need follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from pdsketch.lang.check.init import check_init
from pdsketch.lang.check.problem import check_goal, declared_objects
from pdsketch.lang.diagnostics import Error, did_you_mean, in_order
from pdsketch.lang.domain import Data, Domain, Fact
from pdsketch.lang.reader import Group, Node, Token, read
from pdsketch.lang.records import dataclass
from pdsketch.lang.report import CheckReport
from pdsketch.lang.source import Source
from pdsketch.lang.steps import Step, resolve
from pdsketch.lang.terms import Expr, Variable
from pdsketch.lang.types import OBJECT, ObjectType

_MEANING: Final[Mapping[str, str]] = {
    "objects": "objects",
    "init": "state",
    "state": "state",
    "action": "action",
    "operator": "action",
    "refused": "refused",
    "goal": "goal",
}


@final
@dataclass(frozen=True, slots=True)
class Trace:
    """Every object with its type, constants included; states, and the steps between them.

    ``executed`` says of each step whether it was carried out.
    """

    universe: Mapping[str, ObjectType]
    states: tuple[Mapping[Fact, Data], ...]
    steps: tuple[Step, ...]
    executed: tuple[bool, ...]
    goal: Expr | None


def read_trace(source: Source, domain: Domain) -> Trace:
    """The trace that a text holds; an `Error` with all that is wrong with it.

    An object that no ``:objects`` declares is of the most general type that fits all it is said to be and do.
    """
    report = CheckReport(source)
    reading = read(source)
    report.diagnostics += reading.diagnostics
    entries = [] if report.has_errors else [*_entries(reading.nodes, report)]
    declared = [entry for word, entry in entries if word == "objects"]
    universe = {**domain.constants, **declared_objects(declared, domain, report)}
    universe |= _inferred(entries, domain, universe)
    goal: Expr | None = None
    states: list[Mapping[Fact, Data]] = []
    steps: list[Step] = []
    executed: list[bool] = []
    for word, entry in entries:
        if word == "state":
            if len(states) > len(steps):
                report.error("bad-trace", "a state stands behind a state, and no action between them", entry)
            states.append(check_init([entry], domain, universe, report)[0])
        elif word in ("action", "refused"):
            if states and len(states) == len(steps) and not executed[-1]:
                states.append(states[-1])  # a refusal changes nothing
            if len(states) != len(steps) + 1:
                report.error("bad-trace", "an action stands between two states, and none is before it", entry)
                break
            steps.append(_step(entry, domain, universe, report))
            executed.append(word == "action")
        elif word == "goal" and len(entry.items) == 2:
            goal = check_goal(entry.items[1], domain, universe, report)
    if steps and len(states) == len(steps) and not executed[-1]:
        states.append(states[-1])
    if not report.has_errors and len(states) != len(steps) + 1:
        at = entries[-1][1] if entries else Token("", 0)
        wanted = "there is no state" if not states else "the state behind the last action is missing"
        report.error("bad-trace", wanted, at, help="write (:state ATOM …) behind each action")
    if report.has_errors:
        raise Error(in_order(report.diagnostics))
    return Trace(universe, tuple(states), tuple(steps), tuple(executed), goal)


def _entries(nodes: list[Node], report: CheckReport) -> Iterable[tuple[str, Group]]:
    """The parts of a trace with what they are, whatever stands around them."""
    if len(nodes) == 1 and isinstance(nodes[0], Group) and _word(nodes[0]) not in _MEANING:
        nodes = nodes[0].items
        nodes = nodes[1:] if nodes and isinstance(nodes[0], Token) else nodes
    for node in nodes:
        word = _word(node)
        if not isinstance(node, Group) or word not in _MEANING:
            report.error(
                "bad-trace",
                "a trace is a list of (:state …) and (:action …)",
                node,
                help=did_you_mean(word, _MEANING),
            )
        else:
            yield _MEANING[word], node


def _word(node: Node) -> str:
    head = node.items[0] if isinstance(node, Group) and node.items else None
    return head.text.strip(":") if isinstance(head, Token) else ""


def _words(node: Node) -> list[str]:
    """The words of ``(p a b)``, of ``(not (p a b))`` and of ``(= (p a b) 3)``."""
    if isinstance(node, Group) and (plain := node.words) is not None:
        return plain
    while isinstance(node, Group) and len(node.items) > 1 and isinstance(node.items[1], Group):
        node = node.items[1]
    return [item.text for item in node.items if isinstance(item, Token)] if isinstance(node, Group) else []


def _inferred(
    entries: Iterable[tuple[str, Group]], domain: Domain, known: Mapping[str, ObjectType]
) -> dict[str, ObjectType]:
    """Types for the objects that are not ``known``."""
    wanted: dict[str, dict[ObjectType, None]] = {}

    def note(words: list[str], parameters: tuple[Variable, ...]) -> None:
        for name, parameter in zip(words[1:], parameters, strict=False):
            if name not in known and isinstance(parameter.type, ObjectType):
                wanted.setdefault(name, {})[parameter.type] = None

    for word, entry in entries:
        if word == "state":
            for node in entry.items[1:]:
                words = _words(node)
                if words and words[0] in domain.predicates:
                    note(words, domain.predicates[words[0]].parameters)
        elif word in ("action", "refused"):
            words = _call(entry)
            if words and words[0] in domain.actions:
                note(words, domain.actions[words[0]].parameters)
    return {name: _type(types, domain) for name, types in wanted.items()}


def _type(wanted: Iterable[ObjectType], domain: Domain) -> ObjectType:
    """The most general type that is each of these; if there is none, ``object``, and an error follows."""
    hierarchy = domain.hierarchy
    types = [ObjectType((name,)) for name in hierarchy.names]
    fitting = [t for t in types if all(hierarchy.is_subtype(t, other) for other in wanted)]
    return max(
        fitting, key=lambda t: sum(hierarchy.is_subtype(other, t) for other in fitting), default=OBJECT
    )


def _call(entry: Group) -> list[str]:
    """The words of ``(:action (pick-up a))`` or of ``(:action pick-up a)``."""
    if len(entry.items) == 2 and isinstance(entry.items[1], Group):
        return _words(entry.items[1])
    return [item.text for item in entry.items[1:] if isinstance(item, Token)]


def _step(entry: Group, domain: Domain, universe: Mapping[str, ObjectType], report: CheckReport) -> Step:
    words = _call(entry)
    try:
        return resolve(domain, universe, tuple(words))
    except Error as refused:
        for one in refused.diagnostics:
            report.error(one.code, one.message, entry, help=one.help)
        return tuple(words)

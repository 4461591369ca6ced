"""The initial state: ground atoms and values, checked one by one and fast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from pdsketch.budget import current
from pdsketch.lang.check.fit import describe
from pdsketch.lang.check.numbers import as_float, number_of, prim_of, read_vector
from pdsketch.lang.check.tables import UNKNOWN
from pdsketch.lang.check.typenames import RESERVED
from pdsketch.lang.data import flat
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.domain import Data, Domain, Fact, Predicate
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import CheckReport, count
from pdsketch.lang.types import ObjectType, ValueType


@final
class _Known:
    """A predicate with the objects that each of its parameters takes."""

    __slots__ = ("is_plain", "members", "predicate", "size")

    def __init__(self, predicate: Predicate, members: tuple[frozenset[str], ...]) -> None:
        self.predicate = predicate
        self.members = members
        self.size = len(members) + 1
        # Plain: an observed Boolean, given by naming it.
        self.is_plain = predicate.type.is_bool and predicate.role in ("observed", "raw", "encoded")


@final
class _Init:
    """The initial state in the making."""

    def __init__(self, domain: Domain, universe: Mapping[str, ObjectType], report: CheckReport) -> None:
        self.domain = domain
        self.universe = universe
        self.report = report
        self.facts: dict[Fact, Data] = {}
        self.places: dict[Fact, Node] = {}
        self.denied: dict[Fact, Node] = {}
        self.shapes: dict[str, tuple[tuple[int, ...], Node]] = {}
        self.known: dict[str, _Known] = {}
        members: dict[ObjectType, frozenset[str]] = {}
        for predicate in domain.predicates.values():
            for variable in predicate.parameters:
                type_ = variable.type
                if isinstance(type_, ObjectType) and type_ not in members:
                    members[type_] = _members(type_, domain, universe)
            self.known[predicate.name] = _Known(
                predicate,
                tuple(
                    members[v.type] if isinstance(v.type, ObjectType) else frozenset()
                    for v in predicate.parameters
                ),
            )


def _members(type_: ObjectType, domain: Domain, universe: Mapping[str, ObjectType]) -> frozenset[str]:
    by_type: dict[ObjectType, bool] = {}
    for own in universe.values():
        if own not in by_type:
            by_type[own] = own == UNKNOWN or domain.hierarchy.is_subtype(own, type_)
    return frozenset(name for name, own in universe.items() if by_type[own])


def check_init(
    sections: Iterable[Group], domain: Domain, universe: Mapping[str, ObjectType], report: CheckReport
) -> tuple[dict[Fact, Data], dict[Fact, Node]]:
    """The values of the ground atoms that ``:init`` names, and the places of those that are not plain.

    ``sections`` are the ``:init`` lists as read; atoms are of the predicates of ``domain`` and the objects of
    ``universe`` (its constants and the problem's own, with types). What is wrong goes to ``report``.
    """
    init = _Init(domain, universe, report)
    known, facts, budget = init.known, init.facts, current()
    for section in sections:
        for node in section.items[1:]:
            budget.tick()
            words = node.words if isinstance(node, Group) else None
            of = known.get(words[0]) if words else None
            if of is None or words is None or len(words) != of.size or not of.is_plain:
                _entry(init, node)
                continue
            for word, members in zip(words[1:], of.members, strict=True):
                if word not in members:
                    _entry(init, node)
                    break
            else:
                facts[tuple(words)] = True
    _check_denied(init)
    if not report.has_errors:
        _warn_undefined(init, sections)
    return facts, init.places


def _entry(init: _Init, node: Node) -> None:
    """An entry that is not a plain true atom: a value, a negation, or a mistake."""
    report = init.report
    head = node.items[0] if isinstance(node, Group) and node.bracket == "(" and node.items else None
    if not isinstance(node, Group) or not isinstance(head, Token):
        report.error("bad-init", "wanted (p a b) or (= (f a) VALUE)", node)
        return
    if head.text == "=" and "=" not in init.known:
        _value(init, node)
    elif head.text == "not":
        _negation(init, node)
    elif head.text in RESERVED:
        report.error("bad-init", f"`:init` lists atoms and values, not `{head.text}`", head)
    elif head.text == "at" and len(node.items) == 3 and _is_timed(node):
        report.error("unsupported-init", "timed initial literals are not supported", node)
    else:
        fact = _fact(init, node)
        if fact is not None:
            _true(init, fact, node)


def _is_timed(node: Group) -> bool:
    time, what = node.items[1], node.items[2]
    return isinstance(what, Group) and isinstance(time, Token) and time.text[:1].isdigit()


def _true(init: _Init, fact: Fact, node: Group) -> None:
    predicate = init.known[fact[0]].predicate
    if not predicate.type.is_bool:
        init.report.error(
            "type-mismatch",
            f"`{predicate.name}` is {describe(predicate.type)}, so it needs a value",
            node,
            help=f"write (= ({' '.join(fact)}) VALUE)",
        )
    elif _may_be_given(init, predicate, node):
        init.facts[fact] = True


def _may_be_given(init: _Init, predicate: Predicate, node: Group) -> bool:
    if predicate.role in ("derived", "external"):
        why = "is derived" if predicate.role == "derived" else "is an external function"
        init.report.error(
            "value-of-derived", f"`{predicate.name}` {why}, so `:init` cannot give it a value", node
        )
        return False
    return True


def _negation(init: _Init, node: Group) -> None:
    """``(not (p a))`` says what is so anyway, unless something else says otherwise."""
    inner = node.items[1] if len(node.items) == 2 else None
    if not isinstance(inner, Group) or not inner.items:
        init.report.error("bad-init", "wanted (not (p a))", node)
        return
    fact = _fact(init, inner)
    if fact is None:
        return
    if not init.known[fact[0]].predicate.type.is_bool:
        init.report.error("type-mismatch", f"`{fact[0]}` is not a Boolean, so it is not false", node)
    init.denied[fact] = node


def _check_denied(init: _Init) -> None:
    """Nothing is both true and false."""
    for fact, node in init.denied.items():
        if init.facts.get(fact) is True:
            init.report.error("duplicate-value", f"`({' '.join(fact)})` is given as true and as false", node)


def _fact(init: _Init, node: Group) -> Fact | None:
    """The ground atom that a node writes; None (reported) if it is none."""
    head = node.items[0]
    report = init.report
    if not isinstance(head, Token) or head.text not in init.known:
        name = head.text if isinstance(head, Token) else ""
        report.error(
            "unknown-predicate",
            f"there is no predicate `{name}`",
            head,
            help=init.report.near(name, init.known, "predicates"),
        )
        return None
    of = init.known[head.text]
    if len(node.items) != of.size:
        notes = [Note(of.predicate.span, "declared here")] if of.predicate.span is not None else []
        found = len(node.items) - 1
        report.error(
            "arity-mismatch",
            f"`{head.text}` takes {count(of.size - 1, 'argument')},"
            f" and here {'is' if found == 1 else 'are'} {found}",
            node,
            notes=notes,
        )
        return None
    is_right = True
    for item, members, variable in zip(node.items[1:], of.members, of.predicate.parameters, strict=True):
        if isinstance(item, Group):
            report.error("type-mismatch", f"`{head.text}` takes objects", item)
            is_right = False
        elif item.text not in members:
            _not_a_member(init, item, variable.type, head.text)
            is_right = False
            if isinstance(variable.type, ValueType):
                break
    return tuple(item.text for item in node.items if isinstance(item, Token)) if is_right else None


def _not_a_member(init: _Init, item: Token, type_: object, name: str) -> None:
    own = init.universe.get(item.text)
    if own is None:
        init.report.error(
            "unknown-object",
            f"there is no object `{item.text}`",
            item,
            help=init.report.near(item.text, init.universe, "objects"),
        )
    elif isinstance(type_, ObjectType):
        init.report.error(
            "type-mismatch",
            f"`{name}` takes {describe(type_)}, and `{item.text}` is {describe(own)}",
            item,
            label=describe(own),
        )
    else:
        init.report.error("value-of-derived", f"`{name}` takes values, so `:init` cannot give it one", item)


def _value(init: _Init, node: Group) -> None:
    """``(= (f a) VALUE)``."""
    target = node.items[1] if len(node.items) == 3 else None
    if not isinstance(target, Group) or not target.items:
        init.report.error("bad-init", "wanted (= (f a) VALUE)", node)
        return
    fact = _fact(init, target)
    if fact is None:
        return
    predicate = init.known[fact[0]].predicate
    if not _may_be_given(init, predicate, node):
        return
    value = _literal(init, node.items[2], predicate, fact)
    if value is None or predicate.role == "cost":
        return
    if init.facts.get(fact, value) != value:
        init.report.error(
            "duplicate-value",
            f"`({' '.join(fact)})` gets two values",
            node,
            notes=[Note(init.report.span(init.places[fact]), "first here")] if fact in init.places else [],
        )
        return
    init.places[fact] = node
    if value is False:
        init.denied[fact] = node
    else:
        init.facts[fact] = value


def _literal(init: _Init, node: Node, predicate: Predicate, fact: Fact) -> Data | None:
    """A value of the predicate's type; None (reported) if it is none."""
    report, type_ = init.report, predicate.type
    shape: tuple[int, ...] = ()
    value: Any
    if isinstance(node, Group) and node.bracket == "[":
        found = read_vector(node, report)
        if found is None:
            return None
        value, shape = found
    elif isinstance(node, Token) and node.text in ("true", "false"):
        value = node.text == "true"
    else:
        before = len(report.diagnostics)
        number = number_of(node, report) if isinstance(node, Token) else None
        if len(report.diagnostics) > before:
            return None
        if number is None:
            report.error("bad-init", f"wanted a value for `{fact[0]}`, which is {describe(type_)}", node)
            return None
        value = number
    prim = prim_of(value)
    if prim != type_.prim and not (prim == "int64" and type_.prim == "float32"):
        report.error(
            "type-mismatch", f"`{fact[0]}` is {describe(type_)}, and this is {prim}", node, label=prim
        )
        return None
    if type_.prim == "float32":
        value = as_float(value)
    if not _shape_fits(init, predicate, shape, node) or not _choices_fit(init, type_, value, node):
        return None
    return value  # type: ignore[no-any-return]


def _shape_fits(init: _Init, predicate: Predicate, shape: tuple[int, ...], node: Node) -> bool:
    """The declared dimensions, or those of the first value where none are declared."""
    wanted = predicate.type.shape
    notes = []
    if wanted is None:
        wanted, first = init.shapes.setdefault(predicate.name, (shape, node))
        notes = [Note(init.report.span(first), f"{_dims(wanted)} here")]
        if shape == ():
            wanted = (-1,)
    elif predicate.span is not None:
        notes = [Note(predicate.span, f"declared as {describe(predicate.type)}")]
    if shape == wanted:
        return True
    init.report.error(
        "dimension-mismatch",
        f"`{predicate.name}` has dimensions {_dims(wanted)}, and this {_dims(shape)}",
        node,
        notes=notes,
    )
    return False


def _dims(shape: tuple[int, ...]) -> str:
    return "none (a scalar)" if shape == () else "×".join("n" if d < 0 else str(d) for d in shape)


def _choices_fit(init: _Init, type_: ValueType, value: Any, node: Node) -> bool:
    if type_.choices is None or all(0 <= part < type_.choices for part in flat(value)):
        return True
    init.report.error("out-of-range", f"{type_} goes from 0 to {type_.choices - 1}", node)
    return False


def _warn_undefined(init: _Init, sections: Iterable[Group]) -> None:
    """Values that a state will need. PDDL's functions may be left undefined on purpose."""
    given: dict[str, int] = {}
    for fact in init.facts:
        given[fact[0]] = given.get(fact[0], 0) + 1
    for known in init.known.values():
        predicate = known.predicate
        if (
            predicate.type.is_bool
            or predicate.role not in ("observed", "raw")
            or predicate.type.alias == "number"
        ):
            continue
        wanted = 1
        for members in known.members:
            wanted *= len(members)
        missing = wanted - given.get(predicate.name, 0)
        at = next((section.items[0] for section in sections), None)
        if missing > 0 and at is not None:
            init.report.warning(
                "undefined-value",
                f"`{predicate.name}` has no value for {missing} of {wanted} arguments",
                at,
                help=f"add (= ({predicate.name} …) VALUE)",
            )

"""What a definition is checked against, and the scopes of its variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import NamedTuple, final

from pdsketch.budget import Budget, current
from pdsketch.lang.check.tables import UNKNOWN, Parameter, Slot, Tables
from pdsketch.lang.check.typenames import resolve_type
from pdsketch.lang.lists import parse_typed
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.records import dataclass
from pdsketch.lang.report import CheckReport, Placed
from pdsketch.lang.source import Span
from pdsketch.lang.syntax import Typed
from pdsketch.lang.terms import Apply, Arithmetic, BlankCall, Each, Expr, Quantified, Variable, walk
from pdsketch.lang.types import OBJECT, Hierarchy, ObjectType, Type, ValueType

# What inference has learned: types of untyped variables, values of blanks, dimensions.
#
# Checking a domain is repeated until a round learns nothing new; only the last
# round's diagnostics count. Everything here only grows, so this ends.

Shape = tuple[int, ...]


@final
@dataclass(slots=True)
class Knowledge:
    """``types`` is keyed by the offset of the variable's declaration."""

    types: dict[int, Type] = field(default_factory=dict)
    demands: dict[int, list[Type]] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    blanks: dict[str, ValueType] = field(default_factory=dict)
    unknown_blanks: set[str] = field(default_factory=set)
    parents: dict[Slot, Slot] = field(default_factory=dict)
    shapes: dict[Slot, tuple[Shape, Span]] = field(default_factory=dict)
    changed: bool = False

    def begin_round(self) -> None:
        """Forget the demands of the last round; keep what follows from them."""
        self.changed = False
        self.demands = {}

    def demand(self, key: int, type_: Type) -> None:
        """An untyped variable is used where a type is wanted."""
        self.demands.setdefault(key, []).append(type_)

    def type_of(self, key: int) -> Type:
        """The type of an untyped variable, as far as it is known."""
        self.open.add(key)
        return self.types.get(key, UNKNOWN)

    def settle_rest(self) -> bool:
        """Make ``object`` of every variable whose uses demand nothing; whether there was one."""
        rest = self.open - self.types.keys()
        self.types.update(dict.fromkeys(rest, OBJECT))
        return bool(rest)

    def settle(self, hierarchy: Hierarchy) -> None:
        """Give each untyped variable the type that its uses demand."""
        for key, demands in self.demands.items():
            type_ = _demanded(demands, hierarchy)
            if self.types.get(key) != type_:
                self.types[key] = type_
                self.changed = True

    def learn_blank(self, name: str, returns: ValueType) -> None:
        """A use tells what a blank returns; that is news if another use has asked for it before."""
        if name not in self.blanks:
            self.blanks[name] = returns
            self.changed |= name in self.unknown_blanks

    def blank(self, name: str) -> ValueType | None:
        """What a blank returns, if a use has told by now."""
        if name not in self.blanks:
            self.unknown_blanks.add(name)
        return self.blanks.get(name)

    def root(self, slot: Slot) -> Slot:
        """The slot that stands for all those of one shape."""
        while slot in self.parents:
            slot = self.parents[slot]
        return slot

    def refine(self, slot: Slot, type_: ValueType) -> ValueType:
        """The type, with its dimensions if they are known by now."""
        if type_.shape is not None:
            return type_
        known = self.shapes.get(self.root(slot))
        return type_ if known is None else replace(type_, shape=known[0])

    def origin(self, slot: Slot) -> Span | None:
        """Where the dimensions of a slot were learned."""
        known = self.shapes.get(self.root(slot))
        return None if known is None else known[1]

    def bind(self, slot: Slot, shape: Shape, span: Span) -> None:
        """Learn the dimensions of a slot. A conflict shows in the next round, where both are known."""
        root = self.root(slot)
        if root not in self.shapes:
            self.shapes[root] = (shape, span)
            self.changed = True

    def join(self, a: Slot, b: Slot) -> None:
        """Learn that two slots have the same dimensions."""
        root_a, root_b = self.root(a), self.root(b)
        if root_a != root_b:
            known = self.shapes.pop(root_b, None)
            self.parents[root_b] = root_a
            if known is not None:
                self.shapes.setdefault(root_a, known)
            self.changed = True


def _demanded(demands: list[Type], hierarchy: Hierarchy) -> Type:
    """The most specific of the demanded types, ``object`` where they do not agree."""
    distinct = list(dict.fromkeys(demands))
    if all(isinstance(type_, ValueType) for type_ in distinct):
        return distinct[0]
    objects = [type_ for type_ in distinct if isinstance(type_, ObjectType) and type_ != UNKNOWN]
    for candidate in objects:
        if len(objects) == len(distinct) and all(hierarchy.is_subtype(candidate, other) for other in objects):
            return candidate
    return OBJECT


Scope = Mapping[str, Variable]
"""The author's names of the variables in reach. No two stand for one `Variable` name.

A variable that is hidden by another of its name stays, under a name with a ``$`` that no author
can write: conditions outside may read it, so that its own name must not be bound again inside.
"""


@final
class BlankUse(NamedTuple):
    """One occurrence of a blank."""

    name: str
    args: tuple[Expr, ...]
    returns: ValueType
    span: Span
    settings: Mapping[str, object]


@final
@dataclass(slots=True)
class Context:
    """One definition under check.

    ``owner`` is ``derived::p`` or ``action::a``, the prefix of its blanks'
    names, and None in a goal, which has no blanks. ``slots`` and ``untyped``
    speak of its variables: where their dimensions are known, and which of them
    have no declared type.
    """

    tables: Tables
    knowledge: Knowledge
    report: CheckReport
    owner: str | None
    # Expressions hold expressions of every kind. Handed in, `check_expr` needs no import by the modules
    # below it.
    elaborate: Callable[[Context, Node, Scope, Type | None, Expr | None], Expr | None]
    slots: dict[str, Slot] = field(default_factory=dict)
    untyped: dict[str, int] = field(default_factory=dict)
    blanks: list[BlankUse] = field(default_factory=list)
    budget: Budget = field(default_factory=current)

    def expr(
        self, node: Node, scope: Scope, want: Type | None = None, against: Expr | None = None
    ) -> Expr | None:
        """The checked expression, or None where something in it is wrong (and reported).

        ``node`` may name the variables in ``scope``. ``want`` is the type that its place asks for,
        ``against`` the expression whose dimensions it must have.
        """
        return self.elaborate(self, node, scope, want, against)

    def span(self, node: Placed) -> Span:
        """The place of a node."""
        return Span(self.report.source, node.start, node.end)

    def words(self, node: Placed) -> str:
        """The author's words, on one line and not too many."""
        text = " ".join(self.report.source.text[node.start : min(node.end, node.start + 200)].split())
        return text if len(text) <= 40 else f"{text[:39]}…"

    def slot_of(self, expr: Expr) -> Slot | None:
        """The slot whose dimensions an expression has."""
        match expr:
            case Variable():
                return self.slots.get(expr.name)
            case Apply():
                return ("predicate", expr.predicate)
            case BlankCall():
                return ("blank", expr.blank)
            case Each():
                return self.slot_of(expr.body)
            case Arithmetic():
                open_ = (
                    self.slot_of(a)
                    for a in expr.args
                    if isinstance(a.type, ValueType) and a.type.shape is None
                )
                return next((slot for slot in open_ if slot is not None), None)
            case _:
                return None

    def bind(
        self, entries: Iterable[Typed], scope: Scope, beside: Iterable[Expr] = ()
    ) -> tuple[tuple[Variable, ...], Scope]:
        """New variables, and the scope with them.

        One that hides an outer variable is renamed apart, and so is one that is
        bound inside the conditions ``beside``, which it will stand around.
        """
        inner = dict(scope)
        taken = taken_names(scope, beside)
        found: dict[str, Variable] = {}
        for entry in entries:
            name = entry.name.text
            if name in found:
                self.report.error("duplicate-name", f"variable `{name}` stands twice", entry.name)
                continue
            fresh, number = name, 1
            while fresh in taken:
                fresh, number = f"{name}${number}", number + 1
            taken.add(fresh)
            variable = Variable(fresh, self._type_of(entry, fresh), self.span(entry.name))
            self.report.typed(entry.name, variable.type)
            if name in scope:
                inner[f"${scope[name].name}"] = scope[name]
            found[name] = inner[name] = variable
        return tuple(found.values()), inner

    def _type_of(self, entry: Typed, name: str) -> Type:
        self.untyped.pop(name, None)
        if entry.type is not None:
            found = resolve_type(entry.type, self.tables.hierarchy, self.tables.value_types, self.report)
            return found or UNKNOWN
        if self.tables.is_untyped:
            return OBJECT
        key = entry.name.start
        self.untyped[name] = key
        return self.knowledge.type_of(key)

    def parameter_type(self, parameter: Parameter) -> Type:
        """The type of a predicate's parameter, as far as it is known."""
        return self.knowledge.type_of(parameter.span.start) if parameter.untyped else parameter.type

    def quantified(
        self, group: Group, scope: Scope, beside: Iterable[Expr] = ()
    ) -> tuple[tuple[Variable, ...], Scope, Node] | None:
        """The variables and the body of ``(forall (?x - t) body)``, ``exists`` or ``foreach``."""
        head = group.items[0]
        assert isinstance(head, Token)
        rest = group.items[1:]
        if len(rest) >= 2 and isinstance(rest[0], Group) and rest[0].bracket == "(":
            entries = parse_typed(rest[0].items, self.report, variables=True)
            wrong = rest[2:]
        else:
            entries = parse_typed(rest[:-1], self.report, variables=True) if len(rest) > 1 else []
            wrong = [] if entries else rest[:1] or [head]
        if wrong:
            self.report.error(
                "bad-quantifier",
                f"wanted ({head.text} (?x - TYPE) BODY)",
                wrong[0],
                help="join several formulas with `and`" if len(rest) > 2 else None,
            )
            return None
        variables, inner = self.bind(entries, scope, beside)
        for variable in variables:
            self.check_range(variable)
        return variables, inner, rest[-1]

    def check_range(self, variable: Variable) -> None:
        """Only objects and ints with choices can be enumerated."""
        type_ = variable.type
        if isinstance(type_, ValueType) and not (type_.is_number and type_.choices):
            assert variable.span is not None
            self.report.error(
                "needs-choices",
                f"`{variable.name}` cannot range over {type_}, whose values are not finitely many",
                variable.span,
                help="quantify over objects, or over an int type such as int64[choices=4]",
            )


def taken_names(scope: Scope, beside: Iterable[Expr]) -> set[str]:
    """The names that a new variable cannot have: those in reach, and those bound inside some expressions."""
    taken = {variable.name for variable in scope.values()}
    for expr in beside:
        for node in walk(expr):
            if isinstance(node, Quantified | Each):
                taken.update(variable.name for variable in node.variables)
    return taken


def fresh_name(taken: set[str]) -> str:
    """A name that no author can write, not yet taken; from now on it is."""
    number = 0
    while f"?${number}" in taken:
        number += 1
    taken.add(f"?${number}")
    return f"?${number}"

"""What a checked file holds: a domain with its predicates, actions and blanks, or a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

from pdsketch.lang.analysis import Analysis
from pdsketch.lang.diagnostics import Diagnostic
from pdsketch.lang.records import dataclass
from pdsketch.lang.source import Source, Span
from pdsketch.lang.terms import Expr, Update, Variable
from pdsketch.lang.types import Hierarchy, ObjectType, ValueType

if TYPE_CHECKING:
    from pdsketch.tensor import State

Role = Literal["observed", "raw", "external", "derived", "encoded", "cost"]
"""What a predicate is.

- ``observed``: given with each state, carried from step to step.
- ``raw``: given with each state, but read by the encoder alone; absent after a step.
- ``external``: a function over values that the user registers by its name.
- ``derived``: has a body and is recomputed in every state.
- ``encoded``: has a body, and some action assigns it: computed once from the
  observation, then carried and written like any state variable.
- ``cost``: ``total-cost``; not part of the state.
"""


_MOST_FACTS = 50
"""Values of an initial state that notebooks show; set by hand."""

LARGEST_COST = 1e100
"""What an action may cost at most: so many of them that no plan is as long add up to a number."""


@final
@dataclass(frozen=True, slots=True)
class Predicate:
    """A function of objects (or, if external, of values) to a Boolean or another value."""

    name: str
    parameters: tuple[Variable, ...]
    type: ValueType
    role: Role
    body: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def object_types(self) -> tuple[ObjectType, ...]:
        """The types of its object parameters: the object axes of its table."""
        return tuple(p.type for p in self.parameters if isinstance(p.type, ObjectType))

    @property
    def is_state(self) -> bool:
        """Whether a state carries a value for this predicate from step to step."""
        return self.role in ("observed", "encoded")


@final
@dataclass(frozen=True, slots=True)
class BlankInput:
    """One argument of a blank: a value, or a set of values over some variables.

    ``over`` is None for a single value; the tuple of set variables otherwise
    (empty for ``(when c v)`` alone).
    """

    type: ValueType
    over: tuple[Variable, ...] | None = None

    def __str__(self) -> str:
        if self.over is None:
            return str(self.type)
        names = ("??" if v.name.startswith("?$") else v.name for v in self.over)
        variables = " ".join(f"{name} - {v.type}" for name, v in zip(names, self.over, strict=True))
        return f"{{{self.type} for {variables}}}" if variables else f"{{{self.type}}}"


@final
@dataclass(frozen=True, slots=True)
class Blank:
    """A function left for learning to fill in.

    ``name`` is ``derived::PRED::f`` or ``action::ACT::f``. ``residual`` is the
    input around which the blank starts as the identity, where it is the value
    of an assignment: the assigned variable itself, else the one input of its
    type, else None. ``settings`` are the author's keyword arguments.
    """

    name: str
    inputs: tuple[BlankInput, ...]
    returns: ValueType
    residual: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)

    @property
    def signature(self) -> str:
        """The blank as ``show`` prints it."""
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> {self.returns}"


@final
@dataclass(frozen=True, slots=True)
class Action:
    """An action schema.

    ``effects`` leaves out ``total-cost``; ``cost`` is the sum of its increases
    (None: this action does not increase it).
    """

    name: str
    parameters: tuple[Variable, ...]
    precondition: Expr
    effects: tuple[Update, ...]
    cost: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """A checked domain. Names are lower case; the mappings keep the order of declaration.

    ``components`` are the derived and encoded predicates in the order of
    evaluation, callees first; a component of several predicates, or one in
    ``recursive``, is a least fixpoint.
    """

    name: str
    source: Source
    requirements: tuple[str, ...]
    hierarchy: Hierarchy
    value_types: Mapping[str, ValueType]
    constants: Mapping[str, ObjectType]
    predicates: Mapping[str, Predicate]
    actions: Mapping[str, Action]
    blanks: Mapping[str, Blank]
    components: tuple[tuple[str, ...], ...]
    recursive: frozenset[str]
    warnings: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        """Its name, and how much it holds."""
        counts = {"predicate": self.predicates, "action": self.actions, "blank": self.blanks}
        held = ", ".join(f"{len(them)} {word}{'s' * (len(them) != 1)}" for word, them in counts.items())
        return f"Domain({self.name}: {held})"

    def _repr_html_(self) -> str:
        """Its declarations, for notebooks."""
        from pdsketch.lang.data import html_table

        rows: list[tuple[str, str]] = [
            (p.role, f"{p.name}({_types(p.parameters)}) -> {p.type}") for p in self.predicates.values()
        ]
        rows += [("action", f"{a.name}({_types(a.parameters)})") for a in self.actions.values()]
        rows += [("blank", blank.signature) for blank in self.blanks.values()]
        return html_table(repr(self), rows)

    @cached_property
    def analysis(self) -> Analysis:
        """What its expressions and actions read and write."""
        return Analysis(self)

    @property
    def state_predicates(self) -> tuple[Predicate, ...]:
        """What a state carries from step to step, in the order of declaration."""
        return tuple(p for p in self.predicates.values() if p.is_state)

    @property
    def has_costs(self) -> bool:
        """Whether some action says what it costs."""
        return any(action.cost is not None for action in self.actions.values())


def _types(parameters: tuple[Variable, ...]) -> str:
    return ", ".join(str(parameter.type) for parameter in parameters)


Fact = tuple[str, ...]
"""A ground atom: the predicate's name, then its objects."""

Scalar = bool | int | float
Data = Scalar | tuple[Any, ...]
"""A value in plain Python: a Boolean, a number, or (nested) tuples of numbers."""


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """Objects, an initial state and a goal.

    ``objects`` lists the problem's own objects under their declared type, as
    `State` takes them; ``universe`` maps every object, the domain's constants
    first, to its type. ``init`` maps ground atoms to values; a Boolean atom
    that is not in it is false. ``metric`` is ``cost`` under ``(:metric minimize
    (total-cost))``, else every action costs 1.
    """

    name: str
    domain: Domain
    source: Source
    objects: Mapping[str, tuple[str, ...]]
    universe: Mapping[str, ObjectType]
    init: Mapping[Fact, Data]
    goal: Expr
    metric: Literal["cost", "unit"] = "unit"
    warnings: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        """Its name and that of its domain, and how much it holds."""
        objects, facts = len(self.universe), len(self.init)
        held = f"{objects} object{'s' * (objects != 1)}, {facts} value{'s' * (facts != 1)}"
        return f"Problem({self.name} of {self.domain.name}: {held})"

    def _repr_html_(self) -> str:
        """The goal and the initial state, for notebooks."""
        from pdsketch.lang.data import html_table, show_atom, shown
        from pdsketch.lang.unparse import formula_text

        facts = list(self.init.items())
        rows = [("goal", formula_text(self.goal))]
        rows += [(show_atom(fact), shown(value)) for fact, value in facts[:_MOST_FACTS]]
        rows += [("…", f"{len(facts)} values")] if len(facts) > _MOST_FACTS else []
        return html_table(repr(self), rows)

    @property
    def state(self) -> State:
        """The initial state as a `pdsketch.State`."""
        # The one step from the language into a later room: no module of `lang` needs torch to be imported.
        from pdsketch.tensor import State

        return State.of_problem(self)

"""The checked form: typed expressions and updates, without sugar.

Every node carries its type and the place where the author wrote it. Later
rooms match on these nodes and assume what the checker promises:

- names are resolved, arities and types fit, every variable is bound;
- ``p::assign``, ``cond-assign``, ``cond-select`` and ``(p ??)`` are gone;
- an effect is a flat tuple of `Update`: quantifiers and conditions are
  collected, so that no effect nests;
- `Each` stands only as an argument of a `BlankCall`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

from pdsketch.lang.source import Span
from pdsketch.lang.types import BOOL, ObjectType, Type, ValueType


@final
@dataclass(frozen=True, slots=True)
class Variable:
    """``?o``: an object, or a value of a value type. ``name`` keeps its question mark."""

    name: str
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Object:
    """An object by its name: a constant of the domain or an object of a problem."""

    name: str
    type: ObjectType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Value:
    """``true``, ``3``, ``0.5`` or ``[1, 1]`` (a tuple of numbers)."""

    value: bool | int | float | tuple[float, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Apply:
    """``(p a b)``: the value of a predicate (observed, external, derived or encoded)."""

    predicate: str
    args: tuple[Expr, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class BlankCall:
    """``(??f a b)``: a function left for learning; ``blank`` is its full name."""

    blank: str
    args: tuple[Expr, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Logic:
    """``and``, ``or`` (any number of parts, none included), ``not`` (one), ``implies`` (two)."""

    op: Literal["and", "or", "not", "implies"]
    args: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> ValueType:
        """Boolean."""
        return BOOL


@final
@dataclass(frozen=True, slots=True)
class Quantified:
    """``forall`` or ``exists`` over objects, or over the choices of an int type."""

    op: Literal["forall", "exists"]
    variables: tuple[Variable, ...]
    body: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> ValueType:
        """Boolean."""
        return BOOL


@final
@dataclass(frozen=True, slots=True)
class Each:
    """A set of values for a blank: ``(foreach (?o - item) (when COND BODY))``.

    ``variables`` may be empty (``when`` alone: a set of at most one value);
    ``condition`` is the weight of each element, `TRUE` without ``when``.
    Nested sets are flattened into one, over all of their variables.
    """

    variables: tuple[Variable, ...]
    condition: Expr
    body: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Type:
        """The type of one element."""
        return self.body.type


@final
@dataclass(frozen=True, slots=True)
class Equal:
    """``=``: of two objects, two ints (exactly), two floats or vectors (within tolerance), two Booleans."""

    left: Expr
    right: Expr
    tolerance: float
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> ValueType:
        """Boolean."""
        return BOOL


@final
@dataclass(frozen=True, slots=True)
class Compare:
    """``<``, ``<=``, ``>``, ``>=`` of two scalar numbers."""

    op: Literal["<", "<=", ">", ">="]
    left: Expr
    right: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> ValueType:
        """Boolean."""
        return BOOL


@final
@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``+``, ``-``, ``*``, ``/`` of numbers or of vectors of one shape; ``-`` of one is negation.

    ``+`` and ``*`` take two or more, ``-`` one or two, ``/`` two. A scalar
    beside a vector applies to each of its elements.
    """

    op: Literal["+", "-", "*", "/"]
    args: tuple[Expr, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


Expr = (
    Variable | Object | Value | Apply | BlankCall | Logic | Quantified | Each | Equal | Compare | Arithmetic
)

TRUE = Value(True, BOOL)
FALSE = Value(False, BOOL)

UpdateOp = Literal["add", "delete", "assign", "increase", "decrease", "scale-up", "scale-down"]


@final
@dataclass(frozen=True, slots=True)
class Update:
    """One effect: for all ``variables``, when ``condition``, write ``target``.

    ``add`` and ``delete`` are the literal Boolean effects ``(p …)`` and
    ``(not (p …))`` and have no ``value``; ``assign`` writes ``value``; the rest
    are PDDL's numeric changes. ``target``'s arguments are variables, objects or
    values.
    """

    op: UpdateOp
    target: Apply
    value: Expr | None
    variables: tuple[Variable, ...] = ()
    condition: Expr = TRUE
    span: Span | None = field(default=None, compare=False, repr=False)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match expr:
        case Variable() | Object() | Value():
            return ()
        case Apply() | BlankCall() | Logic() | Arithmetic():
            return expr.args
        case Quantified():
            return (expr.body,)
        case Each():
            return (expr.condition, expr.body)
        case Equal() | Compare():
            return (expr.left, expr.right)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it, parents first."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def free_variables(expr: Expr) -> frozenset[str]:
    """The names of the variables that the expression does not bind itself."""
    match expr:
        case Variable():
            return frozenset({expr.name})
        case Quantified() | Each():
            inside = frozenset().union(*(free_variables(child) for child in children(expr)))
            return inside - {variable.name for variable in expr.variables}
        case _:
            return frozenset().union(*(free_variables(child) for child in children(expr)))

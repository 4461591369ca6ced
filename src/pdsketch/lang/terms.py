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

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal, TypeVar, final

from pdsketch.lang.records import dataclass
from pdsketch.lang.source import Span
from pdsketch.lang.types import BOOL, ObjectType, Type, ValueType

_T = TypeVar("_T", bound="_Term")


class _Term:
    """What is computed of a term at most once: its hash and its free variables.

    Both are left out of pickles: the hash of a string differs from process to process.
    """

    __slots__ = ("_free", "_hash")
    _free: tuple[str, ...]
    _hash: int


def _hashed_once(cls: type[_T]) -> type[_T]:
    """Tables keyed by terms need the hash again and again; by itself, it is a walk over the whole term."""
    structural = cls.__hash__

    def hash_once(self: _T) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", structural(self))
            return self._hash

    cls.__hash__ = hash_once  # type: ignore[assignment, method-assign]
    return cls


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class Variable(_Term):
    """``?o``: an object, or a value of a value type. ``name`` keeps its question mark."""

    name: str
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class Object(_Term):
    """An object by its name: a constant of the domain or an object of a problem."""

    name: str
    type: ObjectType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class Value(_Term):
    """``true``, ``3``, ``0.5`` or ``[1, 1]`` (a tuple of numbers)."""

    value: bool | int | float | tuple[float, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class Apply(_Term):
    """``(p a b)``: the value of a predicate (observed, external, derived or encoded)."""

    predicate: str
    args: tuple[Expr, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class BlankCall(_Term):
    """``(??f a b)``: a function left for learning; ``blank`` is its full name."""

    blank: str
    args: tuple[Expr, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class Logic(_Term):
    """``and``, ``or`` (any number of parts, none included), ``not`` (one), ``implies`` (two)."""

    op: Literal["and", "or", "not", "implies"]
    args: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> ValueType:
        """Boolean."""
        return BOOL


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class Quantified(_Term):
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
@_hashed_once
@dataclass(frozen=True, slots=True)
class Each(_Term):
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
@_hashed_once
@dataclass(frozen=True, slots=True)
class Equal(_Term):
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
@_hashed_once
@dataclass(frozen=True, slots=True)
class Compare(_Term):
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
@_hashed_once
@dataclass(frozen=True, slots=True)
class Arithmetic(_Term):
    """``+``, ``-``, ``*``, ``/`` of numbers or of vectors of one shape; ``-`` of one is negation.

    ``+`` and ``*`` take two or more, ``-`` one or two, ``/`` two. A scalar
    beside a vector applies to each of its elements.
    """

    op: Literal["+", "-", "*", "/"]
    args: tuple[Expr, ...]
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@_hashed_once
@dataclass(frozen=True, slots=True)
class Component(_Term):
    """``(component V 0)``: one element of a vector, by its place, from 0 on."""

    vector: Expr
    place: int
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


Expr = (
    Variable
    | Object
    | Value
    | Apply
    | BlankCall
    | Logic
    | Quantified
    | Each
    | Equal
    | Compare
    | Arithmetic
    | Component
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


def conjunction(parts: Sequence[Expr]) -> Expr:
    """Some expressions as one that is true if all are."""
    if not parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Logic("and", tuple(parts), parts[0].span)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match expr:
        case Variable() | Object() | Value():
            return ()
        case Apply() | BlankCall() | Logic() | Arithmetic():
            return expr.args
        case Quantified():
            return (expr.body,)
        case Component():
            return (expr.vector,)
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


def free_variables(expr: Expr) -> tuple[str, ...]:
    """The names of the variables that the expression does not bind itself, sorted."""
    try:
        return expr._free
    except AttributeError:
        found = {name for child in children(expr) for name in free_variables(child)}
        if isinstance(expr, Variable):
            found = {expr.name}
        elif isinstance(expr, Quantified | Each):
            found -= {variable.name for variable in expr.variables}
        object.__setattr__(expr, "_free", tuple(sorted(found)))
        return expr._free

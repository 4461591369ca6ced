"""The tree as the author wrote it: declarations around S-expressions.

Names, types and settings keep the reader's nodes, so every part knows its
place. Expressions and effects stay S-expressions: their form is uniform, and
the checker gives them meaning. The ``:objects`` and ``:init`` blocks of a
problem stay as read too, because they may hold a hundred thousand entries.

Named tuples, because they are made four times faster than dataclasses when the
program starts.
"""

from __future__ import annotations

from typing import NamedTuple, final

from pdsketch.lang.reader import Group, Node, Token


@final
class TypeName(NamedTuple):
    """``item``, ``vector[float32, 2]``, ``int64[choices=4]``: a name and its bracket, if any."""

    name: Token
    bracket: Group | None = None

    @property
    def start(self) -> int:
        """The offset of the first character."""
        return self.name.start

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        return self.name.end if self.bracket is None else self.bracket.end


@final
class Either(NamedTuple):
    """``(either a b)``: any of several object types."""

    members: tuple[TypeName, ...]
    start: int
    end: int


TypeSyntax = TypeName | Either


@final
class Typed(NamedTuple):
    """A name or a variable with the type written behind it, if any."""

    name: Token
    type: TypeSyntax | None = None


@final
class Setting(NamedTuple):
    """``key=value`` in brackets; ``bracket`` belongs to a value such as ``vector[float32]``."""

    key: Token
    value: Node
    bracket: Group | None = None


@final
class PredicateSyntax(NamedTuple):
    """``(name [settings] parameters)``: in ``:predicates``, in ``:functions`` or before a body.

    ``returns`` is the type behind a function, ``- number`` for instance. One
    ``is_wrong`` if a part of it could not be understood. ``form`` is all of it.
    """

    form: Group
    name: Token
    settings: tuple[Setting, ...]
    parameters: tuple[Typed, ...]
    is_function: bool = False
    returns: TypeSyntax | None = None
    is_wrong: bool = False


@final
class DerivedSyntax(NamedTuple):
    """``(:derived (name …) body)``, and the whole ``form``."""

    head: PredicateSyntax
    body: Node
    form: Group


@final
class ActionSyntax(NamedTuple):
    """``(:action name :parameters (…) :precondition … :effect …)``, and the whole ``form``."""

    name: Token
    parameters: tuple[Typed, ...]
    precondition: Node | None
    effect: Node | None
    form: Group


@final
class DomainSyntax(NamedTuple):
    """``(define (domain name) …)`` with the entries of all blocks of one kind together."""

    name: Token
    requirements: tuple[Token, ...] = ()
    types: tuple[Typed, ...] = ()
    constants: tuple[Typed, ...] = ()
    predicates: tuple[PredicateSyntax, ...] = ()
    derived: tuple[DerivedSyntax, ...] = ()
    actions: tuple[ActionSyntax, ...] = ()


@final
class ProblemSyntax(NamedTuple):
    """``(define (problem name) …)``."""

    name: Token
    domain: Token | None = None
    requirements: tuple[Token, ...] = ()
    objects: tuple[Group, ...] = ()
    init: tuple[Group, ...] = ()
    goal: Node | None = None
    metric: Group | None = None

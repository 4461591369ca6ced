"""What the declarations say: the names that expressions may use, and what each stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple, final

from pdsketch.lang.domain import Domain
from pdsketch.lang.records import dataclass
from pdsketch.lang.source import Span
from pdsketch.lang.syntax import DerivedSyntax
from pdsketch.lang.types import BOOL, Hierarchy, ObjectType, Type, ValueType

UNKNOWN = ObjectType(())
"""The type of a variable that its uses have not settled yet."""

NUMBER = ValueType("float32", alias="number")
"""PDDL's ``number``."""

Slot = tuple[str, ...]
"""A place whose dimensions may be left open: a predicate's value, a parameter, a blank's value."""


@final
class Parameter(NamedTuple):
    """A parameter as declared. ``untyped``: its uses decide its type, until then `UNKNOWN`."""

    name: str
    type: Type
    span: Span
    untyped: bool = False


@final
@dataclass(slots=True)
class PredicateSignature:
    """A predicate as declared, and the bodies that derive it.

    ``heads`` are the parameters of those bodies. One whose declaration is wrong
    is kept, so that its uses are not called unknown.
    """

    name: str
    span: Span
    parameters: tuple[Parameter, ...]
    returns: ValueType
    bodies: list[DerivedSyntax] = field(default_factory=list)
    heads: list[tuple[Parameter, ...]] = field(default_factory=list)
    is_declared: bool = True
    has_body: bool = False
    is_wrong: bool = False

    @property
    def is_external(self) -> bool:
        """Whether the user registers it: no body, and parameters that are values."""
        return (
            not self.has_body
            and bool(self.parameters)
            and all(isinstance(p.type, ValueType) for p in self.parameters)
        )

    @property
    def is_cost(self) -> bool:
        """Whether this is PDDL's ``total-cost``."""
        return self.name == "total-cost" and not self.parameters and self.returns.is_number

    def __str__(self) -> str:
        parts = " ".join(f"{p.name} - {p.type}" if p.type != UNKNOWN else p.name for p in self.parameters)
        settings = "" if self.returns == BOOL else f" [return_type={self.returns}]"
        return f"({self.name}{settings}{' ' + parts if parts else ''})"


@final
@dataclass(slots=True)
class Tables:
    """Every name of a domain. ``objects`` are the constants, and a problem's objects with them."""

    hierarchy: Hierarchy
    value_types: dict[str, ValueType]
    signatures: dict[str, PredicateSignature]
    objects: dict[str, ObjectType]

    @property
    def is_untyped(self) -> bool:
        """Whether ``object`` is the only type there is."""
        return not self.hierarchy.parents and not self.value_types


def tables_of(domain: Domain, objects: Mapping[str, ObjectType]) -> Tables:
    """The tables for text about a checked domain: a problem or a goal."""
    nowhere = Span(domain.source, 0, 0)
    signatures = {
        p.name: PredicateSignature(
            p.name,
            p.span or nowhere,
            tuple(Parameter(v.name, v.type, v.span or nowhere) for v in p.parameters),
            p.type,
            has_body=p.body is not None,
        )
        for p in domain.predicates.values()
    }
    return Tables(domain.hierarchy, dict(domain.value_types), signatures, {**domain.constants, **objects})

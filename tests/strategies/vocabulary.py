"""What a random formula may talk about: types, objects, predicates, and the blanks it makes up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pdsketch.lang.types import Hierarchy, ObjectType

from .functions import Linear

BOOL = "bool"


@dataclass(frozen=True)
class Signature:
    """A predicate: what it takes (object types, or names of value types) and what it returns.

    ``role`` is the one that the author has in mind; the checker must find the same.
    """

    name: str
    parameters: tuple[ObjectType | str, ...]
    returns: str = BOOL
    role: str = "observed"

    @property
    def header(self) -> str:
        """The predicate as it is declared, with parameters ``?x0``, ``?x1`` …"""
        returned = "" if self.returns == BOOL else f" [return_type={self.returns}]"
        return f"({self.name}{returned}{''.join(f' {v}' for v in self.typed_parameters)})"

    @property
    def typed_parameters(self) -> list[str]:
        return [f"?x{i} - {type_}" for i, type_ in enumerate(self.parameters)]

    @property
    def scope(self) -> dict[str, ObjectType | str]:
        return {f"?x{i}": type_ for i, type_ in enumerate(self.parameters)}


@dataclass
class Blanks:
    """The blanks of one definition; each gets a plain function."""

    prefix: str
    functions: dict[str, Linear]
    count: int = 0
    plain: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Blanks without sets, which may be used again: what each returns and takes."""

    def fresh(self, function: Linear) -> str:
        name = f"f{self.count}"
        self.count += 1
        self.functions[f"{self.prefix}::{name}"] = function
        return name


@dataclass(frozen=True)
class Vocabulary:
    """The names in scope of a formula."""

    hierarchy: Hierarchy
    objects: dict[str, ObjectType]
    predicates: tuple[Signature, ...]
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Some literals of each value type."""
    blanks: Blanks | None = None

    def with_predicates(self, *more: Signature) -> Vocabulary:
        return replace(self, predicates=(*self.predicates, *more))

    def without(self, *roles: str) -> Vocabulary:
        return replace(self, predicates=tuple(p for p in self.predicates if p.role not in roles))

    def terms(self, scope: dict[str, ObjectType | str], wanted: ObjectType) -> list[str]:
        """Variables and objects that can stand where an object of this type is wanted."""
        known = {**self.objects, **scope}
        return [
            name
            for name, type_ in known.items()
            if isinstance(type_, ObjectType) and self.hierarchy.is_subtype(type_, wanted)
        ]

    def wider_terms(self, scope: dict[str, ObjectType | str], wanted: ObjectType) -> list[str]:
        """Those, and others that are of this type for some objects: the atom is false of the rest."""
        known = {**self.objects, **scope}
        return [
            name
            for name, type_ in known.items()
            if isinstance(type_, ObjectType) and self.hierarchy.overlap(type_, wanted)
        ]

    def usable(
        self, scope: dict[str, ObjectType | str], returns: str, roles: tuple[str, ...] | None = None
    ) -> list[Signature]:
        """Predicates with this result for whose object parameters there are terms in scope."""
        return [
            p
            for p in self.predicates
            if p.returns == returns
            and (roles is None or p.role in roles)
            and all(isinstance(t, str) or self.terms(scope, t) for t in p.parameters)
        ]

"""What the passes resolved, with its places: which name stands for what, and the types of expressions.

Only an analysis of a text asks for it (`CheckReport.occurrences`); loading a file does not keep it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from pdsketch.lang.types import Type

if TYPE_CHECKING:
    from pdsketch.lang.check.tables import Tables
    from pdsketch.lang.domain import Blank, Role

Key = tuple[str, str | int]
"""What a name stands for: ``("type", t)``, ``("predicate", p)``, ``("object", o)``, ``("action", a)``,
``("blank", full name)``, or ``("variable", offset of its declaration)``."""


@final
class Occurrences:
    """The resolved names and the types of one source, by their offsets.

    ``references`` maps the offset of a name to its end and to what it stands for;
    ``types`` maps the place of an expression, or of a declared variable, to its type.
    ``tables``, ``blanks`` and ``roles`` are what is known of a domain in the end.
    """

    def __init__(self) -> None:
        self.references: dict[int, tuple[int, Key]] = {}
        self.types: dict[tuple[int, int], Type] = {}
        self.tables: Tables | None = None
        self.blanks: dict[str, Blank] = {}
        self.roles: dict[str, Role] = {}

    def adopt(self, other: Occurrences) -> None:
        """Take over what another pass resolved."""
        self.references.update(other.references)
        self.types.update(other.types)

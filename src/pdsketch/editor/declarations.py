"""Everything that a text declares: what an outline lists and references lead to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

from pdsketch.lang import (
    OBJECT,
    UNKNOWN,
    CheckReport,
    DomainSyntax,
    Key,
    ObjectType,
    Occurrences,
    Placed,
    PredicateSyntax,
    ProblemSyntax,
    Source,
    Span,
    Token,
    Type,
    Typed,
    TypeName,
    ValueType,
    lowered,
    parse_typed,
)

Kind = Literal[
    "domain",
    "problem",
    "type",
    "constant",
    "object",
    "predicate",
    "function",
    "derived",
    "action",
    "parameter",
    "variable",
    "blank",
]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """A name that a text declares.

    ``span`` is the name itself and ``form`` all of its declaration. ``signature`` shows it with its
    types, as far as they are known. ``owner`` is the action or predicate that a parameter, a bound
    variable or a blank belongs to, and empty for all else. ``key`` is what references name.
    """

    name: str
    kind: Kind
    span: Span
    form: Span
    signature: str
    owner: str
    key: Key


@final
class Collector:
    """The declarations of one source in the making."""

    def __init__(self, source: Source, occurrences: Occurrences) -> None:
        self.source = source
        self.occurrences = occurrences
        self.found: dict[Key, Declaration] = {}
        self.objects: dict[str, ObjectType] = {}

    def add(
        self, kind: Kind, name: Token, key: Key, signature: str, form: Placed | None = None, owner: str = ""
    ) -> None:
        """Declare a name, unless something of its kind has it already: then this is one more mention.

        ``name`` is where it is declared, ``key`` what mentions of it stand for, ``kind`` and ``signature``
        what an editor shows of it. ``form`` is the whole declaration (the name itself unless given),
        ``owner`` the definition that a parameter or a blank belongs to.
        """
        if not name.text:
            return
        if key in self.found:
            self.occurrences.references.setdefault(name.start, (name.end, key))
            return
        span = Span(self.source, name.start, name.end)
        whole = span if form is None else Span(self.source, form.start, form.end)
        self.found[key] = Declaration(name.text, kind, span, whole, signature, owner, key)

    def variables(self, entries: Sequence[Typed], kind: Kind, owner: str) -> dict[str, int]:
        """Declare parameters or bound variables; where each name is declared."""
        scope: dict[str, int] = {}
        for entry in entries:
            name = entry.name
            if name.text in scope:
                continue
            scope[name.text] = name.start
            type_ = self.occurrences.types.get((name.start, name.end)) or self._named(entry)
            self.add(kind, name, ("variable", name.start), typed(name.text, type_), owner=owner)
        return scope

    def _named(self, entry: Typed) -> str | None:
        """The type that is written behind a name, in its author's words."""
        if entry.type is None:
            return None
        return lowered(self.source.text[entry.type.start : entry.type.end])

    def domain(self, syntax: DomainSyntax, form: Placed) -> None:
        """Declare what a domain declares, but for bound variables and blanks."""
        self.add("domain", syntax.name, ("domain", syntax.name.text), f"domain {syntax.name.text}", form)
        for entry in syntax.types:
            self.add("type", entry.name, ("type", entry.name.text), self._type(entry))
        for entry in _parents(syntax.types):
            if ("type", entry.name.text) not in self.found and self._is_type(entry.name.text):
                self.add("type", entry.name, ("type", entry.name.text), self._type(entry))
        for entry in syntax.constants:
            self.add("constant", entry.name, ("object", entry.name.text), self._object(entry))
        for predicate in syntax.predicates:
            self._predicate("function" if predicate.is_function else "predicate", predicate, predicate.form)
        for derived in syntax.derived:
            self._predicate("derived", derived.head, derived.form)
        for action in syntax.actions:
            name = action.name
            self.variables(action.parameters, "parameter", f"action::{name.text}")
            shown = " ".join([name.text, *(self._variable(p) for p in action.parameters)])
            self.add("action", name, ("action", name.text), f"({shown})", action.form)

    def problem(self, syntax: ProblemSyntax, form: Placed) -> None:
        """Declare what a problem declares, but for bound variables."""
        self.add("problem", syntax.name, ("problem", syntax.name.text), f"problem {syntax.name.text}", form)
        silent = CheckReport(self.source)
        for section in syntax.objects:
            for entry in parse_typed(section.items[1:], silent):
                self.add("object", entry.name, ("object", entry.name.text), self._object(entry))
                members = _members(entry)
                type_ = ObjectType(tuple(m.name.text for m in members)) if members else OBJECT
                self.objects[entry.name.text] = type_
                for name, _ in members:
                    self.occurrences.references[name.start] = (name.end, ("type", name.text))
        if syntax.domain is not None and syntax.domain.text:
            self.occurrences.references[syntax.domain.start] = (
                syntax.domain.end,
                ("domain", syntax.domain.text),
            )

    def blanks(self) -> None:
        """Declare each blank where it is used first."""
        uses = [(at, end, key) for at, (end, key) in self.occurrences.references.items() if key[0] == "blank"]
        for start, end, key in sorted(uses):
            if key not in self.found:
                full = str(key[1])
                blank = self.occurrences.blanks.get(full)
                owner, _, _ = full.rpartition("::")
                name = Token(lowered(self.source.text[start:end]), start)
                self.add("blank", name, key, full if blank is None else blank.signature, owner=owner)

    def _predicate(self, kind: Kind, syntax: PredicateSyntax, form: Placed) -> None:
        name = syntax.name.text
        self.variables(syntax.parameters, "parameter", f"derived::{name}")
        tables = self.occurrences.tables
        signature = None if tables is None else tables.signatures.get(name)
        words = " ".join([name, *(self._variable(p) for p in syntax.parameters)])
        self.add(kind, syntax.name, ("predicate", name), str(signature or f"({words})"), form)

    def _variable(self, entry: Typed) -> str:
        declared = self.found.get(("variable", entry.name.start))
        return entry.name.text if declared is None else declared.signature

    def _object(self, entry: Typed) -> str:
        return typed(entry.name.text, self._named(entry) or "object")

    def _is_type(self, name: str) -> bool:
        tables = self.occurrences.tables
        return tables is not None and (name in tables.hierarchy.parents or name in tables.value_types)

    def _type(self, entry: Typed) -> str:
        name, tables = entry.name.text, self.occurrences.tables
        value = None if tables is None else tables.value_types.get(name)
        if value is not None and value.alias != "?":
            return f"{name} - {replace(value, alias=None)}"
        above = () if tables is None else tables.hierarchy.parents.get(name, ())
        if len(above) > 1:
            return f"{name} - (either {' '.join(above)})"
        return typed(name, above[0] if above else self._named(entry) or "object")


def typed(name: str, type_: Type | str | None) -> str:
    """A name with its type, if that is known."""
    return name if type_ is None or type_ == UNKNOWN else f"{name} - {type_}"


def shown_type(type_: Type) -> str:
    """A type, an alias together with what it stands for."""
    if isinstance(type_, ValueType) and type_.alias not in (None, "number", "?"):
        return f"{type_.alias} = {replace(type_, alias=None)}"
    return str(type_)


def _parents(entries: Sequence[Typed]) -> Iterator[Typed]:
    """The types that others stand on, as if declared there: they may be declared nowhere else."""
    for entry in entries:
        yield from (Typed(member.name) for member in _members(entry))


def _members(entry: Typed) -> tuple[TypeName, ...]:
    """The names of types behind a name: one, several under ``either``, or none."""
    match entry.type:
        case None:
            return ()
        case TypeName() as one:
            return (one,)
        case either:
            return either.members

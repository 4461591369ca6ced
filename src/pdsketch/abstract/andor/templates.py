"""Templates of ground tasks over codes, and how their facts are read off states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final

from pdsketch.abstract.abstraction import CodeReading
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.domain import SymbolicDomain, arguments
from pdsketch.abstract.andor.symbolic import apart, candidate_name, code_name, part_name
from pdsketch.budget import current
from pdsketch.lang import TRUE, Data, Domain, Fact, ObjectType, Predicate, Problem, Source
from pdsketch.task import Template
from pdsketch.tensor import StateBatch


def facts_of(
    books: Codebooks, predicates: Iterable[Predicate], state: StateBatch, names: Mapping[str, str]
) -> Iterator[Fact]:
    """The facts over the codes of ``books`` of one ``state``: some state variables, ``predicates``.

    ``names`` are those of its objects.
    """
    universe = state.universe(0)
    for predicate in predicates:
        table = state.tensors[predicate.name]
        members = [
            [names[n] for n in universe.members(p.type)]
            for p in predicate.parameters
            if isinstance(p.type, ObjectType)
        ]
        rows = [*product(*members)]
        if predicate.type.is_bool:
            truths = table.reshape(-1).tolist()
            yield from ((predicate.name, *row) for row, held in zip(rows, truths, strict=True) if held)
            continue
        for place, codes in enumerate(books.split(predicate.name, table)):
            book = books.parts(predicate.type)[place].book
            name = part_name(books, predicate, place)
            yield from ((name, *row, code_name(book, c)) for row, c in zip(rows, codes, strict=True))


MOST_SHARED: Final = 20_000
"""Ground actions, by types alone, up to which one template serves all states with such objects. Beyond, one
is made for each set of facts that no action changes: it is small, as they prune joins. Set by hand."""


def is_large(domain: Domain, types: tuple[ObjectType, ...]) -> bool:
    """Whether a template for objects of these types is made for the static facts of a state."""
    own = _objects(domain, types)
    counts = [
        prod(
            len(domain.hierarchy.members(p.type, own))
            for p in action.parameters
            if isinstance(p.type, ObjectType)
        )
        for action in domain.actions.values()
    ]
    return sum(counts) > MOST_SHARED


def static_variables(domain: Domain) -> list[Predicate]:
    """The state variables that no action writes."""
    written = {update.target.predicate for action in domain.actions.values() for update in action.effects}
    return [predicate for predicate in domain.state_predicates if predicate.name not in written]


def _objects(domain: Domain, types: tuple[ObjectType, ...]) -> dict[str, ObjectType]:
    constants = [*domain.constants]
    return {constants[i] if i < len(constants) else f"@{i}": type_ for i, type_ in enumerate(types)}


def template_of(
    symbolic: SymbolicDomain, types: tuple[ObjectType, ...], static: Sequence[Fact] | None = None
) -> Template:
    """A problem in whose initial state every fact is possible that can be read off a state.

    Of the state variables that no action writes, these are the ``static`` facts alone, where they are given.
    """
    domain, books = symbolic.translator.domain, symbolic.books
    own = _objects(domain, types)
    _reserve(domain, books, own, static is not None)
    codes = {n: t for n, t in symbolic.domain.constants.items() if n not in domain.constants}
    init: dict[Fact, Data] = {} if static is None else dict.fromkeys(static, True)
    known = {p.name for p in static_variables(domain)} if static is not None else set()
    for predicate in domain.state_predicates:
        if predicate.name in known:
            continue
        members = [
            domain.hierarchy.members(p.type, own)
            for p in predicate.parameters
            if isinstance(p.type, ObjectType)
        ]
        if predicate.type.is_bool:
            init.update({(predicate.name, *row): True for row in product(*members)})
            continue
        for place, part in enumerate(books.parts(predicate.type)):
            name = part_name(books, predicate, place)
            named = [code_name(part.book, code) for code in books.domains[predicate.name][place]]
            init.update({(name, *row, code): True for row in product(*members) for code in named})
    for action in domain.actions.values():
        for _, book in arguments(books, action):
            every = [code_name(book, code) for code in range(len(book))]
            init.update({(candidate_name(book), code): True for code in every})
    init.update(symbolic.facts)
    source, universe = Source("<abstraction>", ""), {**{n: apart(t) for n, t in own.items()}, **codes}
    problem = Problem("codes", symbolic.domain, source, {}, universe, init, TRUE)
    fixed = {name for p in static_variables(domain) if p.name in known for name in names_of(books, p)}
    free = {name for name in problem.domain.predicates if _is_state(symbolic, name)}
    return Template(problem, free - fixed)


FACT_BYTES: Final = 700
"""What a fact of a template takes: 1.0 GB for the 1.7 million of a relation of three among 120 objects."""


def _reserve(domain: Domain, books: Codebooks, own: Mapping[str, ObjectType], fixed: bool) -> None:
    """Refuse a template whose facts do not fit into the budget: they are listed one by one.

    ``fixed``: of what no action changes, the facts are given. Each object of ``own`` has its type; the facts
    are those of ``domain`` over the codes of ``books``.
    """
    known = {p.name for p in static_variables(domain)} if fixed else set()
    facts = 0
    for predicate in domain.state_predicates:
        if predicate.name not in known:
            sizes = [len(domain.hierarchy.members(t, own)) for t in predicate.object_types]
            parts = () if predicate.type.is_bool else books.domains[predicate.name]
            facts += prod(sizes) * (sum(map(len, parts)) if parts else 1)
    current().reserve(FACT_BYTES * facts)


def names_of(books: Codebooks, predicate: Predicate) -> list[str]:
    """The predicates over codes that stand for a state variable."""
    if predicate.type.is_bool:
        return [predicate.name]
    return [part_name(books, predicate, place) for place in range(len(books.parts(predicate.type)))]


def _is_state(symbolic: SymbolicDomain, name: str) -> bool:
    return (
        symbolic.domain.predicates[name].role == "observed"
        and name not in symbolic.translator.symbols.relations
    )


def readings_of(symbolic: SymbolicDomain, facts: Iterable[tuple[int, Fact]]) -> tuple[CodeReading, ...]:
    """How facts, each with its number, are read off a state: by state variable and part."""
    books, domain = symbolic.books, symbolic.translator.domain
    sources: dict[str, tuple[str, int]] = {}
    for predicate in domain.state_predicates:
        if predicate.type.is_bool:
            sources[predicate.name] = (predicate.name, -1)
        else:
            for place in range(len(books.parts(predicate.type))):
                sources[part_name(books, predicate, place)] = (predicate.name, place)
    found: dict[tuple[str, int], list[tuple[int, tuple[str, ...], int]]] = {}
    for fact, (name, *args) in facts:
        if name not in sources:
            continue  # of a relation, or the one of a goal that is out of reach
        own, place = sources[name]
        row, code = (args, 1) if place < 0 else (args[:-1], int(args[-1].rsplit("@", 1)[1]))
        found.setdefault((own, place), []).append((fact, tuple(row), code))
    return tuple(
        CodeReading(
            predicate,
            None if place < 0 else books.parts(domain.predicates[predicate].type)[place],
            tuple(row for _, row, _ in facts),
            tuple(code for _, _, code in facts),
            tuple(fact for fact, _, _ in facts),
        )
        for (predicate, place), facts in found.items()
    )

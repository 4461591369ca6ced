"""Templates of ground tasks over codes, and how their facts are read off states."""

from __future__ import annotations

from itertools import product

import numpy as np

from pdsketch.abstract.abstraction import CodeReading
from pdsketch.abstract.andor.domain import SymbolicDomain, arguments
from pdsketch.abstract.andor.symbolic import apart, candidate_name, code_name, part_name
from pdsketch.kernels import Ints
from pdsketch.lang import TRUE, Data, Fact, ObjectType, Problem, Source
from pdsketch.task import Task, Template


def template_of(symbolic: SymbolicDomain, types: tuple[ObjectType, ...]) -> Template:
    """A problem in whose initial state every fact is possible that can be read off a state."""
    domain, books = symbolic.translator.domain, symbolic.books
    constants = [*domain.constants]
    own = {constants[i] if i < len(constants) else f"@{i}": type_ for i, type_ in enumerate(types)}
    codes = {n: t for n, t in symbolic.domain.constants.items() if n not in domain.constants}
    init: dict[Fact, Data] = {}
    for predicate in domain.state_predicates:
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
    return Template(problem, {name for name in problem.domain.predicates if _is_state(symbolic, name)})


def _is_state(symbolic: SymbolicDomain, name: str) -> bool:
    return (
        symbolic.domain.predicates[name].role == "observed"
        and name not in symbolic.translator.symbols.relations
    )


def readings_of(symbolic: SymbolicDomain, task: Task) -> tuple[CodeReading, ...]:
    """How the basic facts of a task are read off a state: by state variable and part."""
    books, domain = symbolic.books, symbolic.translator.domain
    sources: dict[str, tuple[str, int]] = {}
    for predicate in domain.state_predicates:
        if predicate.type.is_bool:
            sources[predicate.name] = (predicate.name, -1)
        else:
            for place in range(len(books.parts(predicate.type))):
                sources[part_name(books, predicate, place)] = (predicate.name, place)
    found: dict[tuple[str, int], list[tuple[int, tuple[str, ...], int]]] = {}
    for fact, (name, *args) in enumerate(task.facts[: task.n_basic]):
        if name not in sources:
            continue  # the one fact of a goal that is out of reach
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


def groups_of(symbolic: SymbolicDomain, task: Task) -> Ints:
    """The state variable that each fact says the code of, as a number; -1 where it says none."""
    found = np.full(task.n_facts, -1, np.int32)
    numbers: dict[tuple[str, int, tuple[str, ...]], int] = {}
    for place, reading in enumerate(readings_of(symbolic, task)):
        if reading.part is not None:
            for row, fact in zip(reading.rows, reading.places, strict=True):
                found[fact] = numbers.setdefault((reading.predicate, place, row), len(numbers))
    return found

"""AO as an `Abstraction`: the symbolic domain of a model, ground for the objects of a problem.

What depends on the model alone (codes, relations, the domain) is kept with it; what depends on the types of
the objects and on the goal is kept, too, so that problems that differ in the names of their objects, or in
their states, share a task: all facts about states are read off them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, final
from weakref import WeakKeyDictionary

from pdsketch.abstract.abstraction import Abstraction, CodeReading
from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.domain import SymbolicDomain, constants_of, know_constants, symbolic_domain
from pdsketch.abstract.andor.symbolic import code_name, part_name
from pdsketch.kernels.arrays import Bools
from pdsketch.lang.domain import Data, Domain, Fact, Problem
from pdsketch.lang.rewrite import map_children
from pdsketch.lang.source import Source
from pdsketch.lang.terms import Expr, Object
from pdsketch.lang.types import ObjectType
from pdsketch.task.ground import Grounding
from pdsketch.task.task import Task
from pdsketch.tensor.model import Model
from pdsketch.tensor.state import StateBatch

KEPT: Final = 256
"""How many ground tasks are kept for a model."""


@final
class ModelAbstraction:
    """What is kept of a model: its codes, its symbolic domain, and ground tasks."""

    def __init__(self, model: Model) -> None:
        self.books = Codebooks(model.domain, model.notes)
        self._model = model
        self._symbolic: SymbolicDomain | None = None
        self._tasks: OrderedDict[Any, tuple[Task, tuple[CodeReading, ...]]] = OrderedDict()

    def observe(self, batch: StateBatch) -> None:
        """Give the values in some states codes where they have none."""
        before = self._size()
        for name, domains in self.books.domains.items():
            if name in batch.tensors:
                self.books.observe(name, batch.tensors[name])
            del domains
        if self._size() != before:
            self._forget()

    def _size(self) -> object:
        return [len(b) for b in self.books.books()], [
            [len(p) for p in parts] for parts in self.books.domains.values()
        ]

    def _forget(self) -> None:
        self._symbolic = None
        self._tasks.clear()

    def symbolic(self) -> SymbolicDomain:
        """The model over codes."""
        if self._symbolic is None:
            self._symbolic = symbolic_domain(self._model, self.books)
        return self._symbolic

    def task(self, types: tuple[ObjectType, ...], goal: Expr) -> tuple[Task, tuple[CodeReading, ...]]:
        """The ground task for objects of these types, the constants first, named by number."""
        before = self._size()
        know_constants(self.books, constants_of([goal]))
        if self._size() != before:
            self._forget()
        key = (types, goal)
        if key not in self._tasks:
            self._tasks[key] = _ground(self.symbolic(), types, goal)
            if len(self._tasks) > KEPT:
                self._tasks.popitem(last=False)
        self._tasks.move_to_end(key)
        return self._tasks[key]


_KNOWN: WeakKeyDictionary[Model, tuple[object, ModelAbstraction]] = WeakKeyDictionary()


def abstraction_of(model: Model) -> ModelAbstraction:
    """What is kept of a model; made anew where its weights have changed since."""
    version = tuple((id(p), p._version) for p in model.parameters())
    known = _KNOWN.get(model)
    if known is None or known[0] != version:
        known = _KNOWN[model] = (version, ModelAbstraction(model))
    return known[1]


def compile_and_or(
    model: Model, objects: Mapping[str, ObjectType], goal: Expr, state: StateBatch
) -> Abstraction:
    """Compile a goal for given objects, the domain's constants first. Every action costs 1."""
    kept = abstraction_of(model)
    kept.observe(state)
    names = numbered(model.domain, objects)
    task, readings = kept.task(tuple(objects.values()), _renamed(goal, names))

    def explain(state: Bools) -> Sequence[str]:
        del state
        return ()

    return Abstraction(task, (), infinity_is_proof=False, explain=explain, objects=objects, codes=readings)


def numbered(domain: Domain, objects: Mapping[str, ObjectType]) -> dict[str, str]:
    """The objects of a problem by number; constants keep their names."""
    return {
        name: name if name in domain.constants else f"@{i}" for i, name in enumerate(objects)
    }


def _renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    if isinstance(expr, Object):
        return Object(names[expr.name], expr.type, expr.span)
    return map_children(expr, lambda part: _renamed(part, names))


def template(symbolic: SymbolicDomain, types: tuple[ObjectType, ...], goal: Expr) -> Problem:
    """A problem in whose initial state every fact about a state is true that can be read off one."""
    model_domain, books = symbolic.translator.domain, symbolic.books
    constants = [*model_domain.constants]
    own = {
        constants[i] if i < len(constants) else f"@{i}": type_ for i, type_ in enumerate(types)
    }
    wanted = symbolic.translator.truth(goal, {})
    codes = {n: t for n, t in symbolic.domain.constants.items() if n not in model_domain.constants}
    init: dict[Fact, Data] = {}
    for predicate in model_domain.state_predicates:
        members = [
            model_domain.hierarchy.members(p.type, own)
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
    init.update(symbolic.facts)
    universe = {**own, **codes}
    return Problem("codes", symbolic.domain, Source("<abstraction>", ""), {}, universe, init, wanted)


def _ground(
    symbolic: SymbolicDomain, types: tuple[ObjectType, ...], goal: Expr
) -> tuple[Task, tuple[CodeReading, ...]]:
    problem = template(symbolic, types, goal)
    free = {name for name in problem.domain.predicates if _is_state(symbolic, name)}
    task = Grounding(problem, free).task()
    return task, readings_of(symbolic, task)


def _is_state(symbolic: SymbolicDomain, name: str) -> bool:
    return symbolic.domain.predicates[name].role == "observed" and name not in symbolic.translator.symbols.relations


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
        predicate, place = sources[name]
        if place < 0:
            found.setdefault((predicate, place), []).append((fact, tuple(args), 1))
        else:
            code = int(args[-1].rsplit("@", 1)[1])
            found.setdefault((predicate, place), []).append((fact, tuple(args[:-1]), code))
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

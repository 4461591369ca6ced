"""AO as an `Abstraction`: the symbolic domain of a model, ground for the objects of a problem.

What depends on the model alone (codes, relations, the domain) is kept with it; what depends on the types of
the objects and on the goal is kept, too, so that problems that differ in the names of their objects, or in
their states, share a task: all facts about states are read off them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from operator import attrgetter
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.abstraction import (
    Abstraction,
    CodeReading,
    CodeTables,
    NoAbstractionError,
    Values,
    numbered,
    with_names,
)
from pdsketch.abstract.andor.codebooks import MOST_CHOICES, Codebooks
from pdsketch.abstract.andor.domain import (
    SymbolicDomain,
    arguments,
    constants_of,
    goal_over_codes,
    know_constants,
    symbolic_domain,
)
from pdsketch.abstract.andor.functions import NotAbstractableError, TooManyCombinationsError
from pdsketch.abstract.andor.symbolic import apart, candidate_name, code_name, part_name
from pdsketch.abstract.andor.translate import counter_examples
from pdsketch.abstract.andor.unreachable import unreachable_parts
from pdsketch.budget import current
from pdsketch.core import Bools
from pdsketch.lang import (
    TRUE,
    Data,
    Domain,
    Expr,
    Fact,
    ObjectType,
    Predicate,
    Problem,
    Source,
    ValueType,
)
from pdsketch.task import UNREACHABLE, GoalFormula, Narrowing, Template
from pdsketch.tensor import COUNTS, Model, StateBatch, Universe, formed

# Templates of ground tasks over codes.


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
        for place, codes in enumerate(books.codes(predicate.name, table)):
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


# What is kept of a model.

KEPT: Final = 32
"""How many ground tasks, and goals over codes, are kept for a model; set by hand."""

MOST_PASSING: Final = 24
"""Codes of numbers that states and proposed values may add, where actions take such numbers, before rules
are made anew: those of earlier problems are of no use, and make rules over all codes large. Set by hand:
with more, a relation of two places in space is no longer tabulated."""

_Kind = tuple[tuple[ObjectType, ...], tuple[Fact, ...] | None]
"""The types of objects, and the facts that no action changes where a template is for these alone."""


@final
class ModelAbstraction:
    """What is kept of a model: its codes, its symbolic domain, and templates of ground tasks.

    ``sure``: actions are left out where their preconditions hold by a guess alone.
    """

    def __init__(self, model: Model, *, sure: bool = False) -> None:
        self._sure = sure
        self.books = Codebooks(model.domain, model.notes)
        self._model = model
        self._parameters = [*model.parameters()]
        self._formed = [
            p for name in model.domain.blanks for p in formed(model.blanks.network(name)).values()
        ]
        self._made = self._versions()
        self._symbolic: SymbolicDomain | None = None
        self._values: dict[str, Any] | None = None
        self._templates: OrderedDict[_Kind, Template] = OrderedDict()
        self._tables: dict[_Kind, CodeTables] = {}
        self._wanted: OrderedDict[Expr, GoalFormula] = OrderedDict()
        self._own_codes = self._numbers_coded()
        self._large: dict[tuple[ObjectType, ...], bool] = {}

    @property
    def is_overgrown(self) -> bool:
        """Whether most of the numbers that have codes are likely to be those of other problems."""
        return self._numbers_coded() - self._own_codes > MOST_PASSING

    def _numbers_coded(self) -> int:
        return sum(len(book) for book in self.books.books() if not book.whole and not book.fixed)

    @property
    def is_current(self) -> bool:
        """Whether the model's weights, and its numbers of codes, are those that the rules were made from."""
        return self._made == self._versions()

    def _versions(self) -> tuple[object, ...]:
        # Torch counts the changes of a tensor in place; networks may be made when a first state is seen.
        counts = tuple(self._model.notes.get(COUNTS, {}).items())
        made = (counts, len(self._model.blanks.networks), *map(attrgetter("form"), self._formed))
        return (*made, *map(attrgetter("_version"), self._parameters))

    @property
    def symbolic(self) -> SymbolicDomain:
        """The model over codes."""
        if self._symbolic is None:
            self._symbolic = symbolic_domain(self._model, self.books, sure=self._sure)
        return self._symbolic

    def extend_codes(
        self,
        tensors: Iterable[Mapping[str, Tensor]],
        goals: Iterable[Expr],
        values: Iterable[Values | None] = (),
    ) -> None:
        """Give the values in some states and goals, and those of arguments, codes where they have none."""
        before = self.books.sizes
        for tables in tensors:
            for name in self.books.domains:
                if name in tables:
                    self.books.observe(name, tables[name])
        know_constants(self.books, constants_of(goals))
        for pools in values:
            for type_, pool in (pools or {}).items():
                if not type_.is_bool and (type_.choices or 0) <= MOST_CHOICES:
                    self.books.know_values(type_, pool)
        if self.books.sizes != before:
            self._forget()

    def _forget(self) -> None:
        """All of it is made anew when it is asked for."""
        self._symbolic = None
        self._values = None
        self._templates.clear()
        self._tables.clear()
        self._wanted.clear()

    def correct(self, state: StateBatch, action: str | None, arguments: Mapping[str, Any]) -> bool:
        """Correct rules by what the model does in one state; whether any were wrong there.

        These are the rules of an action, taken with ``arguments``, of derived predicates, and of goals.
        """
        domain, before, translator = self._model.domain, self.books.sizes, self.symbolic.translator
        objects = state.universe(0).types
        names = {number: name for name, number in numbered(domain, objects).items()}
        owners = {"", *domain.predicates, *([] if action is None else [action])}
        cases = counter_examples(translator, state, owners, arguments, names)
        corrected = [translator.corrections.add(*case) for case in cases]
        if cases or self.books.sizes != before:
            self._forget()
            translator.correct()
            self._symbolic = symbolic_domain(self._model, self.books, translator, sure=self._sure)
        return any(corrected)

    def wanted(self, goal: Expr) -> GoalFormula:
        """A goal over numbered objects as a formula over codes."""
        if goal not in self._wanted:
            try:
                self._wanted[goal] = goal_over_codes(self.symbolic, goal)
            except (NotAbstractableError, TooManyCombinationsError) as why:
                said = str(why) or "it depends on too many combinations of codes"
                raise NoAbstractionError(said) from None
            if len(self._wanted) > KEPT:
                self._wanted.popitem(last=False)
        return self._wanted[goal]

    def kinds(
        self, types: tuple[ObjectType, ...], states: Mapping[int, StateBatch]
    ) -> dict[_Kind, list[int]]:
        """What templates are for: objects, and static facts where there are many; and whose each is."""
        domain = self._model.domain
        if types not in self._large:
            self._large[types] = is_large(domain, types)
        if not self._large[types]:
            return {(types, None): [*states]}
        found: dict[_Kind, list[int]] = {}
        for i, state in states.items():
            names = numbered(domain, state.universe(0).types)
            facts = tuple(facts_of(self.books, static_variables(domain), state, names))
            found.setdefault((types, facts), []).append(i)
        return found

    def template(self, kind: _Kind) -> Template:
        """The ground task for states of a kind; objects, the constants first, are named by number."""
        if kind not in self._templates:
            self._templates[kind] = template_of(self.symbolic, *kind)
            if len(self._templates) > KEPT:
                self._tables.pop(self._templates.popitem(last=False)[0], None)
        self._templates.move_to_end(kind)
        return self._templates[kind]

    def inits(
        self, kind: _Kind, universe: Universe, tensors: Mapping[str, Tensor], those: Sequence[int]
    ) -> Bools:
        """The facts of the template of a ``kind`` in some states, ``[state, fact]``.

        The states are ``those`` of ``tensors``, their tables; ``universe`` has their objects by own names.
        """
        template = self.template(kind)
        width = len(template.numbers)
        if kind not in self._tables:
            facts = ((number, fact) for fact, number in template.numbers.items())
            readings = [(readings_of(self.symbolic, facts), [*universe.types])]
            self._tables[kind] = CodeTables(self._model, readings, [universe], width)
        read = torch.zeros(len(those), width + 1, dtype=torch.bool, device=self._model.device)
        own = {name: table[[*those]] for name, table in tensors.items()}
        self._tables[kind].read(own, torch.zeros(len(those), dtype=torch.int64), read)
        return read[:, :width].cpu().numpy() | template.state(())

    @property
    def argument_values(self) -> dict[str, Any]:
        """What the codes stand for that are arguments of actions."""
        if self._values is not None:
            return self._values
        found = self._values = {}
        for name in self.symbolic.domain.actions:
            for parameter in self._model.domain.actions[name].parameters:
                if isinstance(parameter.type, ValueType):
                    (part,) = self.books.parts(parameter.type)
                    every = self.books.value_of(parameter.type, [np.arange(len(part.book))]).tolist()
                    found.update({code_name(part.book, i): _plain(value) for i, value in enumerate(every)})
        return found

    def candidates(self, values: Values | None = None) -> Iterator[Fact]:
        """Which codes may be arguments of actions: those of the values that are given, or all."""
        for action in self._model.domain.actions.values():
            for parameter, book in arguments(self.books, action):
                assert isinstance(parameter.type, ValueType)
                codes: Iterable[int] = range(len(book))
                if values is not None and (parameter.type.choices or 0) <= MOST_CHOICES:
                    codes = self.books.know_values(parameter.type, values[parameter.type])[0].tolist()
                yield from ((candidate_name(book), code_name(book, code)) for code in codes)


def _place(sure: bool) -> str:
    """Where it is kept."""
    return "sure abstraction" if sure else "abstraction"


def abstraction_of(model: Model, *, sure: bool = False) -> ModelAbstraction:
    """What is kept of a model; made anew where its weights, or its numbers of codes, have changed since.

    ``sure``: without guesses of preconditions.
    """
    known = model.engine.kept.get(_place(sure))
    if not isinstance(known, ModelAbstraction) or not known.is_current:
        known = model.engine.kept[_place(sure)] = ModelAbstraction(model, sure=sure)
    return known


def compile_and_or(
    model: Model,
    objects: Mapping[str, ObjectType],
    goal: Expr,
    state: StateBatch,
    values: Values | None = None,
    *,
    read: bool = True,
) -> Abstraction:
    """Compile a goal for given objects, the domain's constants first, and one state. Every action costs 1.

    ``model`` keeps what is made of its functions for the next call; ``objects`` maps names to types; ``goal``
    is a checked formula over them. ``state`` is a batch of one, encoded, whose values get codes. ``values``
    are what arguments of actions may be; if they are not given, all values that have codes. ``read``: facts
    are to be read off other states, too.
    """
    return Compilations(model, [objects], [goal], [state], [values]).abstraction(0, read=read)


@final
class Compilations:
    """The goals of many problems, compiled one by one; what they share is made at once.

    ``objects``, ``goals``, ``states`` and ``values`` have an entry for each problem, as `compile_and_or`
    takes them with ``model``. ``sure``: without guesses of preconditions.
    """

    def __init__(
        self,
        model: Model,
        objects: Sequence[Mapping[str, ObjectType]],
        goals: Sequence[Expr],
        states: Sequence[StateBatch],
        values: Sequence[Values | None],
        *,
        sure: bool = False,
    ) -> None:
        self._model = model
        self._sure = sure
        self._objects = objects
        self._goals, self._states = goals, states
        self._values = values
        self._wanted: dict[tuple[Any, ...], GoalFormula] = {}
        # Vectors whose dimensions only the states know have no codes.
        self._unsized = next((p.name for p in model.domain.state_predicates if p.type.shape is None), None)
        if self._unsized is not None:
            return
        groups: dict[tuple[ObjectType, ...], list[int]] = {}
        for i, own in enumerate(objects):
            groups.setdefault(tuple(own.values()), []).append(i)
        tensors = {tuple(own): _joined([states[i] for i in own]) for own in groups.values()}
        kept = abstraction_of(model, sure=sure)
        if kept.is_overgrown and any(t.prim == "float32" for own in values for t in own or ()):
            kept = model.engine.kept[_place(sure)] = ModelAbstraction(model, sure=sure)
        self._kept = kept
        kept.extend_codes(tensors.values(), dict.fromkeys(goals), values)
        self._symbolic = kept.symbolic
        self._templates: dict[int, tuple[Template, Bools]] = {}
        for (types, those), joined in zip(groups.items(), tensors.values(), strict=True):
            for kind, members in kept.kinds(types, {i: states[i] for i in those}).items():
                current().check()
                universe, places = states[members[0]].universe(0), [those.index(i) for i in members]
                inits = kept.inits(kind, universe, joined, places)
                template = kept.template(kind)
                self._templates.update({i: (template, init) for i, init in zip(members, inits, strict=True)})

    @property
    def per_effect(self) -> bool:
        """Whether hFF counts each conditional effect as an operator of its own."""
        return bool(self._kept.books.domains)

    def abstraction(self, i: int, *, read: bool = True) -> Abstraction:
        """Problem ``i``; `NoAbstractionError` where its goal has no form over codes."""
        if self._unsized is not None:
            raise NoAbstractionError(f"the sketch does not say the dimensions of `{self._unsized}`")
        model, kept, objects = self._model, self._kept, self._objects[i]
        symbolic = kept.symbolic
        if symbolic is not self._symbolic:  # there are more codes by now
            one = [objects], [self._goals[i]], [self._states[i]], [self._values[i]]
            own = Compilations(model, *one, sure=self._sure)
            return own.abstraction(0, read=read)
        template, init, wanted = self._posed(i)
        names = numbered(model.domain, objects)
        task = template.task(init, wanted)

        def reachable(part: Expr) -> bool:
            found = template.task(init, goal_over_codes(symbolic, with_names(part, names)))
            return found.facts[:1] != (UNREACHABLE,)

        def explain(state: Bools) -> Sequence[str]:
            del state  # the initial one
            return unreachable_parts(model.domain, objects, self._goals[i], reachable)

        return Abstraction(
            task,
            (),
            infinity_is_proof=False,
            explain=explain,
            objects=objects,
            codes=readings_of(symbolic, enumerate(task.facts[: task.n_basic])) if read else (),
            per_effect=self.per_effect,
            values=kept.argument_values,
        )

    def narrowing(self, i: int) -> tuple[Narrowing, Mapping[str, Any]] | None:
        """Problem ``i`` before it is narrowed, and what arguments stand for; None: codes have been added."""
        if self._unsized is not None or self._kept.symbolic is not self._symbolic:
            return None
        template, init, wanted = self._posed(i)
        return template.narrowing(init, wanted), self._kept.argument_values

    def _posed(self, i: int) -> tuple[Template, Bools, GoalFormula]:
        """The template, the initial state and the goal over codes of problem ``i``."""
        key = (self._goals[i], *self._objects[i])
        if key not in self._wanted:
            names = numbered(self._model.domain, self._objects[i])
            self._wanted[key] = self._kept.wanted(with_names(self._goals[i], names))
        template, init = self._templates[i]
        candidates = [template.numbers.get(fact) for fact in self._kept.candidates(self._values[i])]
        init[[fact for fact in candidates if fact is not None]] = True
        return template, init, self._wanted[key]


def _joined(states: Sequence[StateBatch]) -> dict[str, Tensor]:
    """The tables of states with equal numbers of objects."""
    if len(states) == 1:
        return states[0].tensors
    return {name: torch.cat([state.tensors[name] for state in states]) for name in states[0].tensors}


def _plain(value: Any) -> Any:
    """A value in the form in which steps have it."""
    return tuple(map(_plain, value)) if isinstance(value, list) else value

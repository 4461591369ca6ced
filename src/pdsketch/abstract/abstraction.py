"""What a compiler of models returns: a symbolic task that stands in for a goal, and how to use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Protocol, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.budget import Portions, current
from pdsketch.core import Bools, Floats, Task
from pdsketch.lang import (
    FALSE,
    Domain,
    Expr,
    Form,
    Object,
    ObjectType,
    Predicate,
    Step,
    ValueType,
    map_children,
    substitute,
)
from pdsketch.tensor import Model, Node, StateBatch, Universe

_FIRST_ROWS: Final = 4096
"""Facts of one form that are computed together before it is known what they take."""


class NoAbstractionError(Exception):
    """A goal has no form in an abstraction; says why."""


class NumberCodes(Protocol):
    """Codes for some of the numbers of a value."""

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Which numbers of a value, laid out flat, they are of."""

    def codes(self, numbers: Tensor) -> Tensor:
        """The code of each row of numbers: ``[n, d]`` → ``[n]``."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodeReading:
    """Facts that say which code a state variable has.

    Fact ``places[i]`` holds where the variable of the objects ``rows[i]`` has the code ``numbers[i]``; a
    Boolean variable has no ``part``, and is 0 or 1.
    """

    predicate: str
    part: NumberCodes | None
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]
    places: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Abstraction:
    """A symbolic task that stands in for a goal in the states of a model.

    - ``task``: what heuristics are computed on. Problems may share it: its operators may name an
      object by its number, ``@0``, ``@1`` …, and a value that is not known by its parameter, ``?p``.
    - ``readings``: which expressions give its facts in a state. Fact ``places[i]`` of a form holds where
      its expression is true of the objects ``rows[i]``. All other basic facts are false in every state.
    - ``infinity_is_proof``: where the relaxed task has no plan, the model has none, either. Otherwise
      infinity is only a bad sign.
    - ``explain``: given the basic facts of a state from which the relaxed task has no plan, why that is
      so, one sentence a reason.
    - ``objects``: those of the problem, with their types, in the order of their numbers.
    - ``codes``: facts that are read as codes of state variables. Their objects may be named by number.
    - ``per_effect``: hFF counts each conditional effect as an operator of its own; otherwise an
      action that moves a robot would count once however far it has to go.
    - ``values``: what the arguments of operators that are codes stand for.
    """

    task: Task
    readings: tuple[Form, ...]
    infinity_is_proof: bool
    explain: Callable[[Bools], Sequence[str]]
    objects: Mapping[str, ObjectType]
    codes: tuple[CodeReading, ...] = ()
    per_effect: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_read(self) -> int:
        """How many facts are read off a state; those that no reading says are false."""
        return self.task.n_basic

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions of the facts that are read, written out, in the order of the facts."""
        found: list[Expr] = [FALSE] * self.n_read
        for form in self.readings:
            for row, place in zip(form.rows, form.places, strict=True):
                objects = [Object(name, self.objects[name]) for name in row]
                names = [variable.name for variable in form.variables]
                found[place] = substitute(form.expr, dict(zip(names, objects, strict=True)))
        return tuple(found)

    @property
    def steps(self) -> list[Step]:
        """The ground action of each operator."""
        names = [*self.objects]
        return [step_named(operator, names, self.values) for operator in self.task.operators]

    def step_of(self, operator: int) -> Step:
        """The step that an operator is, in the model's own terms: names of objects, and values."""
        return step_named(self.task.operators[operator], [*self.objects], self.values)

    def states(self, facts: Bools) -> Bools:
        """The basic facts of states of which those that are read, ``[state, fact]``, are given."""
        states = np.zeros((len(facts), self.task.n_basic), dtype=np.bool_)
        states[:, : self.n_read] = facts[:, : self.n_read]
        return states

    def priced(self, costs: Sequence[float]) -> Abstraction:
        """The same where the operators cost so much; problems with the same costs share a task, too."""
        return replace(self, task=_priced(self.task, tuple(costs)))


def numbered(domain: Domain, objects: Mapping[str, ObjectType]) -> dict[str, str]:
    """The objects of a problem by number; constants keep their names."""
    return {name: name if name in domain.constants else f"@{i}" for i, name in enumerate(objects)}


def with_names(expr: Expr, names: Mapping[str, str]) -> Expr:
    """An expression in which objects have other names; those that are not among them keep theirs."""
    if isinstance(expr, Object):
        return Object(names.get(expr.name, expr.name), expr.type, expr.span)
    return map_children(expr, lambda part: with_names(part, names))


def step_named(operator: tuple[str, ...], names: Sequence[str], values: Mapping[str, Any]) -> Step:
    """An operator whose arguments are numbers of objects and codes, in the model's own terms."""
    given = [values[o] if o in values else names[int(o[1:])] if o[0] == "@" else o for o in operator[1:]]
    return (operator[0], *given)


Values = Mapping[ValueType, Tensor]
"""The values that arguments of actions may have, by type: ``[n, *shape]``."""

Compile = Callable[[Model, Mapping[str, ObjectType], Expr, StateBatch, Values], Abstraction]
"""Compiles a goal over the objects of a problem, the domain's constants first, in its initial state."""


@lru_cache
def _priced(task: Task, costs: tuple[float, ...]) -> Task:
    prices: Floats = np.array(costs, np.float64)
    return replace(task, costs=prices)


# The facts of abstractions, read off batches of states.
#
# Each form of facts is compiled once, and computed once for all states of a batch that need it, whatever
# their problems; the objects of a problem are rows of a table.


@final
class FactReader:
    """Reads the facts of each problem's abstraction off states of it."""

    def __init__(
        self, model: Model, abstractions: Sequence[Abstraction], universes: Sequence[Universe]
    ) -> None:
        self._engine = model.engine
        self.portions = Portions()
        self.width = max((abstraction.n_read for abstraction in abstractions), default=0)
        tables: dict[tuple[Expr, tuple[str, ...]], _Table] = {}
        budget = current()
        for problem, (abstraction, universe) in enumerate(zip(abstractions, universes, strict=True)):
            budget.check()
            for form in abstraction.readings:
                names = tuple(variable.name for variable in form.variables)
                key = (form.expr, (*names, *(str(v.type) for v in form.variables)))
                if key not in tables:
                    node = self._engine.grounded(form.expr, form.variables)
                    tables[key] = _Table(node, names, len(universes))
                tables[key].rows[problem] += object_places(form, universe)
                tables[key].facts[problem] += form.places
        for table in tables.values():
            table.seal(self.width, model.device)
        self._tables = list(tables.values())
        named = [(abstraction.codes, [*abstraction.objects]) for abstraction in abstractions]
        self._codes = CodeTables(model, named, universes, self.width)

    def facts(self, batch: StateBatch, problems: Tensor) -> Tensor:
        """The truth of every fact that is read, ``[state, fact]``, in as many portions as it takes."""
        parts = [self.read(batch.span(some), problems[some]) for some in self.portions.of(batch.size)]
        return torch.cat(parts) if parts else torch.zeros(0, self.width, dtype=torch.bool)

    def read(self, batch: StateBatch, problems: Tensor) -> Tensor:
        """The same for states that are few enough; what is too much of one state is read in rows."""
        # One column more than there are facts takes what fills the tables up.
        facts = torch.zeros(batch.size, self.width + 1, dtype=torch.bool, device=batch.device)
        run = self._engine.open(batch)
        most = 0
        for table in self._tables:
            everyone = bool(table.needed.all())
            here = None if everyone else table.needed[problems].nonzero().squeeze(1)
            if here is not None and not here.shape[0]:
                continue
            owners = problems if here is None else problems[here]
            some = run if here is None else self._engine.open(batch.select(here))
            for rows in table.rows_of(batch.size):
                count = rows.stop - rows.start
                places = {name: column[owners, rows] for name, column in table.places.items()}
                into = table.into[owners, rows]
                ground = some.ground(places, count)
                truth = table.node(ground)
                truth = truth.reshape(truth.shape[0], -1).expand(owners.shape[0], count)
                if here is None:
                    facts.scatter_(1, into, truth)
                else:
                    facts[here] |= torch.zeros_like(facts[here]).scatter_(1, into, truth)
                if self.portions.wants(batch.size):
                    table.portions.learn(count, ground.nbytes / batch.size)
                    most = max(most, ground.nbytes * table.count // count)
        self._codes.read(batch.tensors, problems, facts)
        if self.portions.wants(batch.size):
            self.portions.learn(batch.size, most + 4 * facts.numel())
        return facts[:, : self.width]


@final
class _Table:
    """One form of facts: for each problem the places of its objects, and which facts they are."""

    def __init__(self, node: Node, names: tuple[str, ...], problems: int) -> None:
        self.node = node
        self.names = names
        self.rows: list[list[tuple[int, ...]]] = [[] for _ in range(problems)]
        self.facts: list[list[int]] = [[] for _ in range(problems)]
        self.portions = Portions(_FIRST_ROWS)

    def seal(self, nowhere: int, device: torch.device) -> None:
        """Make the tensors: ``places`` ``[problem, n]`` for each variable, ``into`` ``[problem, n]``."""
        most = max(map(len, self.rows))
        blank = (0,) * len(self.names)
        rows = torch.tensor([row + [blank] * (most - len(row)) for row in self.rows], dtype=torch.int64)
        rows = rows.reshape(len(self.rows), most, len(self.names)).to(device)
        self.places = {name: rows[..., i].contiguous() for i, name in enumerate(self.names)}
        into = [facts + [nowhere] * (most - len(facts)) for facts in self.facts]
        self.into = torch.tensor(into, dtype=torch.int64, device=device)
        self.needed = torch.tensor([bool(row) for row in self.rows], device=device)
        self.count = most

    def rows_of(self, states: int) -> Iterable[slice]:
        """All rows at once of several states, which are no more than fit; of one alone, in portions."""
        return [slice(0, self.count)] if states > 1 else self.portions.of(self.count)


@final
class CodeTables:
    """Which codes the state variables of problems have, as facts: read off many states at once.

    Each of the ``problems`` of a ``model`` has its readings and the names of its objects by number;
    ``universes`` are theirs. Facts that fill the tables up are entered at ``nowhere``.
    """

    def __init__(
        self,
        model: Model,
        problems: Sequence[tuple[Sequence[CodeReading], Sequence[str]]],
        universes: Sequence[Universe],
        nowhere: int,
    ) -> None:
        self._tables: dict[tuple[str, int], _CodeTable] = {}
        for problem, ((readings, names), universe) in enumerate(zip(problems, universes, strict=True)):
            for reading in readings:
                predicate = model.domain.predicates[reading.predicate]
                key = (reading.predicate, id(reading.part))
                if key not in self._tables:
                    self._tables[key] = _CodeTable(predicate, reading.part, len(universes))
                table = self._tables[key]
                at: dict[tuple[str, ...], tuple[int, ...]] = {}
                for row in dict.fromkeys(reading.rows):
                    own = [names[int(name[1:])] if name[0] == "@" else name for name in row]
                    at[row] = tuple(map(universe.at, own, predicate.object_types))
                table.places[problem] = [at[row] for row in reading.rows]
                table.numbers[problem], table.facts[problem] = reading.numbers, reading.places
        for table in self._tables.values():
            table.seal(nowhere, model.device)

    def read(self, tensors: Mapping[str, Tensor], problems: Tensor, facts: Tensor) -> None:
        """Enter the facts of states into ``facts``, ``[state, fact]``; ``problems`` says whose each is."""
        for (predicate, _), table in self._tables.items():
            table.read(tensors[predicate], problems, facts)


@final
class _CodeTable:
    """The codes of one part of a state variable: for each problem the places of objects, and the facts."""

    def __init__(self, predicate: Predicate, part: NumberCodes | None, problems: int) -> None:
        self._predicate = predicate
        self._part = part
        self.places: list[list[tuple[int, ...]]] = [[] for _ in range(problems)]
        self.numbers: list[Sequence[int]] = [()] * problems
        self.facts: list[Sequence[int]] = [()] * problems

    def seal(self, nowhere: int, device: torch.device) -> None:
        """Make the tensors, ``[problem, n]`` each."""
        most = max(map(len, self.places))
        n = len(self._predicate.parameters)

        def padded(rows: Sequence[Sequence[int]], by: int) -> Tensor:
            return torch.tensor([[*row, *[by] * (most - len(row))] for row in rows], device=device)

        columns = [[[place[i] for place in row] for row in self.places] for i in range(n)]
        self._index = [padded(column, 0) for column in columns]
        self._wanted = padded(self.numbers, -1)
        self._into = padded(self.facts, nowhere)

    def read(self, table: Tensor, problems: Tensor, facts: Tensor) -> None:
        """Enter the facts of some states, of which ``table`` has the values."""
        if not self._wanted.shape[1]:
            return
        objects = table.shape[1 : 1 + len(self._index)]
        if self._part is None:
            codes = table.reshape(len(facts), -1).long()
        else:
            numbers = table.reshape(len(facts) * objects.numel(), -1)[:, list(self._part.dimensions)]
            codes = self._part.codes(numbers).to(table.device).reshape(len(facts), -1)
        at = torch.zeros_like(self._wanted[problems])
        for size, index in zip(objects, self._index, strict=True):
            at = at * size + index[problems]
        held = codes.gather(1, at) == self._wanted[problems]
        facts.scatter_(1, self._into[problems], held)


def object_places(form: Form, universe: Universe) -> list[tuple[int, ...]]:
    """Where the objects of each row of a form stand in the tensors of a state."""
    types = [v.type for v in form.variables if isinstance(v.type, ObjectType)]
    return [tuple(universe.at(n, t) for n, t in zip(row, types, strict=True)) for row in form.rows]

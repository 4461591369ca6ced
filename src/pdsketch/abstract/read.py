"""The facts of abstractions, read off batches of states.

Each form of facts is compiled once, and computed once for all states of a batch that need it,
whatever their problems; the objects of a problem are rows of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.abstract.abstraction import Abstraction, NumberCodes
from pdsketch.budget import Portions, current
from pdsketch.lang import Expr, Form, ObjectType, Predicate
from pdsketch.tensor import Model, Node, StateBatch, Universe

_FIRST_ROWS: Final = 4096
"""Facts of one form that are computed together before it is known what they take."""


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
        self._codes = list(_code_tables(model, abstractions, universes, self.width))

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
        for codes in self._codes:
            codes.read(batch, problems, facts)
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

    def read(self, batch: StateBatch, problems: Tensor, facts: Tensor) -> None:
        """Enter the facts of some states."""
        if not self._wanted.shape[1]:
            return
        table = batch.tensors[self._predicate.name]
        axes = len(self._index)
        objects = table.shape[1 : 1 + axes]
        if self._part is None:
            codes = table.reshape(batch.size, -1).long()
        else:
            numbers = table.reshape(batch.size * objects.numel(), -1)[:, list(self._part.dimensions)]
            codes = self._part.codes(numbers).to(batch.device).reshape(batch.size, -1)
        at = torch.zeros_like(self._wanted[problems])
        for size, index in zip(objects, self._index, strict=True):
            at = at * size + index[problems]
        held = codes.gather(1, at) == self._wanted[problems]
        facts.scatter_(1, self._into[problems], held)


def _code_tables(
    model: Model, abstractions: Sequence[Abstraction], universes: Sequence[Universe], nowhere: int
) -> Iterable[_CodeTable]:
    """The tables of all code readings, those of one variable and part together."""
    tables: dict[tuple[str, int], _CodeTable] = {}
    for problem, (abstraction, universe) in enumerate(zip(abstractions, universes, strict=True)):
        names = [*abstraction.objects]
        for reading in abstraction.codes:
            predicate = model.domain.predicates[reading.predicate]
            key = (reading.predicate, id(reading.part))
            if key not in tables:
                tables[key] = _CodeTable(predicate, reading.part, len(universes))
            types = [p.type for p in predicate.parameters if isinstance(p.type, ObjectType)]
            where: dict[tuple[str, ObjectType], int] = {}
            for row in reading.rows:
                for name, type_ in zip(row, types, strict=True):
                    if (name, type_) not in where:
                        own = names[int(name[1:])] if name[0] == "@" else name
                        where[name, type_] = universe.at(own, type_)
            tables[key].places[problem] = [
                tuple([where[name, t] for name, t in zip(row, types, strict=True)]) for row in reading.rows
            ]
            tables[key].numbers[problem] = reading.numbers
            tables[key].facts[problem] = reading.places
    for table in tables.values():
        table.seal(nowhere, model.device)
    return tables.values()


def object_places(form: Form, universe: Universe) -> list[tuple[int, ...]]:
    """Where the objects of each row of a form stand in the tensors of a state."""
    types = [v.type for v in form.variables if isinstance(v.type, ObjectType)]
    return [tuple(universe.at(n, t) for n, t in zip(row, types, strict=True)) for row in form.rows]

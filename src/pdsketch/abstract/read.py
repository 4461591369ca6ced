"""The facts of abstractions, read off batches of states.

Each form of facts is compiled once, and computed once for all states of a batch that need it,
whatever their problems; the objects of a problem are rows of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

import torch
from torch import Tensor

from pdsketch.abstract.abstraction import Abstraction
from pdsketch.budget import Portions, current
from pdsketch.lang.rewrite import Form
from pdsketch.lang.terms import Expr
from pdsketch.lang.types import ObjectType
from pdsketch.tensor.compile.node import Node
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch
from pdsketch.tensor.states.universe import Universe

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


def object_places(form: Form, universe: Universe) -> list[tuple[int, ...]]:
    """Where the objects of each row of a form stand in the tensors of a state."""
    types = [v.type for v in form.variables if isinstance(v.type, ObjectType)]
    return [tuple(universe.at(n, t) for n, t in zip(row, types, strict=True)) for row in form.rows]

"""The ground instances of every action, for problems with different objects and values, and their costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.lang import LARGEST_COST, Action, Domain, ObjectType, Step, ValueType, error
from pdsketch.tensor import Model, StateBatch, Universe

MOST_INSTANCES = 1_000_000
"""Ground instances of one action beyond which a search is refused; set by hand."""

TOO_MANY: Final = "too-many-instances"
"""The code of that refusal."""


@final
@dataclass(frozen=True, slots=True)
class Candidates:
    """The values that an action's value parameters may take in one problem, by type: ``[n, *shape]``.

    ``places`` says which of them a parameter may take that has a sampler of its own, by the action, the
    parameter and the action's objects.
    """

    values: Mapping[ValueType, Tensor]
    places: Mapping[tuple[str, str], Mapping[tuple[str, ...], Tensor]] = field(default_factory=dict)

    def of(self, type_: ValueType) -> Tensor:
        """The candidates of a type."""
        return self.values[type_]


NO_CANDIDATES: Final = Candidates({})


@final
class Instances:
    """The ground instances of one action.

    ``universes`` and ``candidates`` are the objects and the values of each problem that the arguments of
    ``action`` may be; tensors are on ``device``. ``index[kind[p], j, i]`` is where argument ``i`` of instance
    ``j`` stands in problem ``p``: on the axis of its object type, or among the candidates of its value type.
    ``valid[kind[p], j]`` says which instances exist; None: all do. ``sizes[p]`` is how many do.
    """

    def __init__(
        self,
        action: Action,
        universes: Sequence[Universe],
        candidates: Sequence[Candidates],
        device: torch.device,
    ) -> None:
        self.action = action
        self._universes = universes
        self._candidates = candidates
        self._device = device
        known: dict[tuple[int, ...], tuple[int, ...]] = {}
        values = [p.type for p in action.parameters if isinstance(p.type, ValueType)]
        alike = [(id(u), *(len(c.of(t)) for t in values)) for u, c in zip(universes, candidates, strict=True)]
        counts = [known.get(key) or known.setdefault(key, self._counts(p)) for p, key in enumerate(alike)]
        self._refuse_too_many(counts)
        sampled = any(action.name == name for c in candidates for name, _ in c.places)
        if sampled:  # which values there are depends on the objects: each problem has a table of its own
            tables = [self._chosen(p, _grid(count)) for p, count in enumerate(counts)]
            self._kinds = list(range(len(counts)))
        else:
            kinds = {count: i for i, count in enumerate(dict.fromkeys(counts))}
            self._kinds = [kinds[count] for count in counts]
            tables = [_grid(count) for count in kinds]
        self.kind = torch.tensor(self._kinds, device=device)
        self.count = max(table.shape[0] for table in tables)
        self._index = torch.stack([_padded(table, self.count) for table in tables])  # for steps of plans
        self.index = self._index.to(device)
        sizes = torch.tensor([table.shape[0] for table in tables], device=device)
        full = bool((sizes == self.count).all())
        self.sizes: NDArray[np.int64] = sizes[self.kind].cpu().numpy()
        self.valid = None if full else torch.arange(self.count, device=device) < sizes[:, None]
        self._pools = {
            i: self._pool(parameter.type)
            for i, parameter in enumerate(action.parameters)
            if isinstance(parameter.type, ValueType)
        }

    def arguments(self, problems: Tensor, some: slice) -> dict[str, Tensor]:
        """The arguments of some instances for some problems: ``[row, instance, *value]``."""
        kinds = self.kind.index_select(0, problems)
        index = self.index[:, some].index_select(0, kinds)
        found = {}
        for i, parameter in enumerate(self.action.parameters):
            places = index[..., i]
            pool = self._pools.get(i)
            found[parameter.name] = places if pool is None else pool[problems[:, None], places]
        return found

    def existing(self, problems: Tensor, some: slice) -> Tensor | None:
        """Which of some instances exist, ``[row, instance]``; None: all do."""
        return None if self.valid is None else self.valid[self.kind[problems], some]

    def step(self, problem: int, instance: int) -> Step:
        """An instance as a step of a plan."""
        index = self._index[self._kinds[problem], instance].tolist()
        args: list[Any] = []
        for place, parameter in zip(index, self.action.parameters, strict=True):
            if isinstance(parameter.type, ObjectType):
                args.append(self._universes[problem].members(parameter.type)[place])
            else:
                args.append(as_data(self._candidates[problem].of(parameter.type)[place]))
        return (self.action.name, *args)

    def _chosen(self, problem: int, table: Tensor) -> Tensor:
        """The rows whose values the samplers proposed for the objects beside them."""
        parameters = self.action.parameters
        own_types = {i: p.type for i, p in enumerate(parameters) if isinstance(p.type, ObjectType)}
        members = [self._universes[problem].members(type_) for type_ in own_types.values()]
        keep = torch.ones(len(table), dtype=torch.bool)
        for i, parameter in enumerate(parameters):
            own = self._candidates[problem].places.get((self.action.name, parameter.name))
            if own is None or isinstance(parameter.type, ObjectType):
                continue
            sizes = [len(m) for m in members]
            allowed = torch.zeros(*sizes, len(self._candidates[problem].of(parameter.type)), dtype=torch.bool)
            for names, places in own.items():
                at = tuple(m.index(name) for m, name in zip(members, names, strict=True))
                allowed[at][places] = True
            keep &= allowed[tuple(table[:, j] for j in (*own_types, i))]
        return table[keep]

    def _counts(self, problem: int) -> tuple[int, ...]:
        counts = []
        for parameter in self.action.parameters:
            if isinstance(parameter.type, ObjectType):
                counts.append(len(self._universes[problem].members(parameter.type)))
            else:
                counts.append(self._candidates[problem].of(parameter.type).shape[0])
        return tuple(counts)

    def _pool(self, type_: ValueType) -> Tensor:
        """The candidates of every problem, ``[problem, n, *shape]``."""
        pools = [c.of(type_).to(self._device) for c in self._candidates]
        return torch.stack([_padded(pool, max(p.shape[0] for p in pools)) for pool in pools])

    def _refuse_too_many(self, counts: Sequence[tuple[int, ...]]) -> None:
        most = max(int(torch.Size(count).numel()) for count in {*counts})
        if most > MOST_INSTANCES:
            raise error(
                TOO_MANY,
                f"`{self.action.name}` has {most:,} ground instances; {MOST_INSTANCES:,} is the most",
                self.action.span,
                help="plan with fewer objects or fewer candidate values",
            )


def _grid(counts: tuple[int, ...]) -> Tensor:
    """Every combination of places, ``[n, len(counts)]``, the last varying fastest."""
    if len(counts) == 0:
        return torch.zeros(1, 0, dtype=torch.int64)
    grids = torch.meshgrid(*(torch.arange(c) for c in counts), indexing="ij")
    return torch.stack([grid.reshape(-1) for grid in grids], dim=-1)


def _padded(table: Tensor, rows: int) -> Tensor:
    """The table with zero rows behind it."""
    return torch.cat([table, table.new_zeros(rows - table.shape[0], *table.shape[1:])])


def as_data(value: Tensor) -> Any:
    """A value as plans hold it: a number, or (nested) tuples of numbers."""

    def tupled(data: Any) -> Any:
        return tuple(tupled(part) for part in data) if isinstance(data, list) else data

    return tupled(value.tolist())


def value_types(domain: Domain) -> tuple[ValueType, ...]:
    """The types of all value parameters of actions."""
    found = {
        p.type: None for a in domain.actions.values() for p in a.parameters if isinstance(p.type, ValueType)
    }
    return tuple(found)


# What ground actions cost where a search begins.


def checked_cost(action: Action, cost: Tensor) -> Tensor:
    """What instances of an action cost; refused where it is too large a number."""
    if not bool((cost <= LARGEST_COST).all()):
        raise error(
            "cost-too-large",
            f"`{action.name}` costs {float(cost.max()):g}, and a cost must be a number of 32 bits",
            action.span,
            help="give smaller costs, or plan with `costs=False`",
        )
    return cost


def costs_of(model: Model, roots: StateBatch, problem: int, steps: Sequence[Step]) -> list[float]:
    """What ground actions cost in the root of a problem; an action over values is taken to cost nothing.

    ``roots`` are the initial states, of which that of ``problem`` is read; ``steps`` are the ground actions;
    ``model`` evaluates their costs.
    """
    state = roots[problem]
    run = model.engine.open(state.batch)
    found = [0.0] * len(steps)
    by_action: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        by_action.setdefault(step[0], []).append(number)
    for name, numbers in by_action.items():
        action = model.domain.actions[name]
        types = [p.type for p in action.parameters if isinstance(p.type, ObjectType)]
        if action.cost is None or len(types) < len(action.parameters):
            continue
        places = {}
        for i, (parameter, type_) in enumerate(zip(action.parameters, types, strict=True), start=1):
            at = [state.batch.universe(0).at(steps[number][i], type_) for number in numbers]
            places[parameter.name] = torch.tensor([at], device=state.device)
        cost = model.engine.cost(run.ground(places, len(numbers)), name)
        assert cost is not None
        for number, value in zip(numbers, cost[0].tolist(), strict=True):
            found[number] = min(max(value, 0.0), LARGEST_COST)
    return found

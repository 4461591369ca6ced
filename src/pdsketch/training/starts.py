"""Where offsets begin, and which beginning explains the examples best: several starts within one fit.

A relation that began in the wrong place stays there: gradients lead to the nearest explanation. Each
`Offset` that a derived predicate calls begins at the difference that tells most of its goals' success, or
of its preconditions' (`diverse_density`). What is as good without the rest of the model may be wrong with it:
*left of* and *right of* differ only by which block is red. So the other places are tried again as the fit
goes on, by the loss of the whole model with the offset there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.lang import BlankCall, walk
from pdsketch.nets import Offset
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diverse_density import Start, starts
from pdsketch.training.losses import Losses, real_entries
from pdsketch.training.time_slice import TimeSlice

MOST_BAGS: Final = 256
"""States of either label that starts are looked for in, and compared by; set by hand."""

CHOICES: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
"""The parts of the steps at which starts are compared: while the rest of the model takes shape, and not after
the priors begin to go (`optimiser.PRIORS`), when there must be time to settle. Set by hand."""

CLEAR: Final = 0.05
"""A start whose loss is greater by less than this (nats) is as good; set by hand."""


@final
class Rival(NamedTuple):
    """Two places for the offset of a blank that explain the examples alike."""

    blank: str
    chosen: tuple[float, ...]
    other: tuple[float, ...]


@final
class _Candidates(NamedTuple):
    """An offset, where it may begin, and the states by which that is judged."""

    blank: str
    network: Offset
    places: list[Start]
    judged: Array


@final
class Starts:
    """The offsets of a fit. ``fresh`` ones, that no fit has trained yet, are put where they begin."""

    def __init__(self, losses: Losses, train: Array, seed: int) -> None:
        self.losses = losses
        self.seed = seed
        self._train = train
        self._offsets: list[_Candidates] = []

    @torch.no_grad()
    def find(self) -> None:
        """Look for the places where offsets may begin."""
        self._offsets = [found for table in self._tables() if (found := self._candidates(*table)) is not None]

    def _tables(self) -> list[tuple[int, str, Offset]]:
        """The derived tables whose bodies call offsets that are to be learned, each with the blank."""
        training, found = self.losses.training, []
        for table, name in enumerate(training.tables):
            body = training.domain.predicates[name].body
            calls = [] if body is None else [node.blank for node in walk(body) if isinstance(node, BlankCall)]
            network = training.model.blanks.network(calls[0]) if len(calls) == 1 else None
            if isinstance(network, Offset) and network.shift.requires_grad:
                found.append((table, calls[0], network))
        return found

    def _candidates(self, table: int, blank: str, network: Offset) -> _Candidates | None:
        states, labels = self._labelled(table)
        rng = np.random.default_rng([self.seed, 3, table])
        sides = [rng.permutation(states[labels == side]) for side in (True, False)]
        if not all(map(len, sides)):
            return None
        bags = np.concatenate([side[:MOST_BAGS] for side in sides])
        seen = self._differences(table, network, bags)
        if seen is None:
            return None
        label = np.repeat([True, False], [min(len(side), MOST_BAGS) for side in sides])
        known = torch.from_numpy(label).to(seen[0].device)
        places = starts(*seen, known, self.seed)
        if places and network.modes > 1:  # each at its own place: of two at one, the second would not learn
            thetas = [places[at % len(places)].theta for at in range(network.modes)]
            places = [places[0]._replace(theta=torch.stack(thetas))]
        return _Candidates(blank, network, places, np.sort(bags)) if places else None

    def _labelled(self, table: int) -> tuple[Array, Array]:
        """The examples whose goals, or else whose actions' preconditions, read a table, and their labels."""
        training, train = self.losses.training, self._train
        data, wants = training.dataset, training.schedule.goal_wants[:, table].cpu().numpy()
        states = train[(data.goal[train] >= 0) & wants[data.goal[train]]]
        if len(states):
            return states, data.outcomes[states]
        name = training.tables[table]
        guarded = [
            at
            for at in training.guarded
            if name in training.reads.read_tables([training.actions[at].precondition])
        ]
        states = train[np.isin(data.action[train], guarded) & (data.executable[train] >= 0)]
        return states, data.executable[states] > 0

    def _differences(self, table: int, network: Offset, states: Array) -> tuple[Tensor, Tensor | None] | None:
        """What an offset is asked about in some states, ``[state, n, size]``, and which entries are real."""
        training, calls = self.losses.training, list[Tensor]()
        current = TimeSlice(training, self.losses.logic, training.dataset.place(states))
        callees = training.schedule.callees[table]
        if callees:
            current.prepare(goals=True, step=True)
        rows = torch.arange(len(states), device=current.states.device)
        run = current.open(rows, training.schedule.table_reads[table], callees)
        hook = network.register_forward_hook(lambda _, given, __: calls.append(given[0] - given[1]))
        try:
            training.engine.predicate(run, training.tables[table], self.losses.logic)
        finally:
            hook.remove()
        if len(calls) != 1 or len(calls[0]) != len(states) or calls[0].dim() < 2:
            return None
        found = calls[0].reshape(len(states), -1, network.size)
        real = real_entries(training, current.states, training.domain.predicates[training.tables[table]])
        if real is None:
            return found, None
        real = real.reshape(len(states), -1) > 0
        return (found, real) if real.shape == found.shape[:2] else None

    # -- in the course of a fit ----------------------------------------------------------

    def begin(self, fresh: list[Offset]) -> None:
        """Put offsets that were not trained before where they begin."""
        for one in self._offsets:
            if one.network in fresh:
                _put(one.network, one.places[0])

    @staticmethod
    def due(step: int, steps: int) -> bool:
        """Whether starts are to be compared before this step."""
        return step in {round(part * steps) for part in CHOICES}

    @torch.no_grad()
    def choose(self) -> list[Tensor]:
        """Put every offset where the loss is least; returns the parameters of those that moved."""
        moved = list[Tensor]()
        for one in self._offsets:
            own, others = self._compared(one)
            best = min(range(len(others)), key=others.__getitem__)
            if others[best] < own - CLEAR:
                _put(one.network, one.places[best])
                moved += one.network.parameters()
        return moved

    @torch.no_grad()
    def rivals(self) -> list[Rival]:
        """The offsets for which another place does as well as the one that was learned."""
        found = []
        for one in (one for one in self._offsets if one.network.modes == 1):
            theta, radius = one.network.theta, float(one.network.gamma.sqrt())
            own, others = self._compared(one)
            for place, loss in zip(one.places, others, strict=True):
                apart = float((place.theta - theta).norm()) > radius + place.radius
                if apart and loss < own + CLEAR:
                    found.append(Rival(one.blank, tuple(theta.tolist()), tuple(place.theta.tolist())))
                    break
        return found

    def _compared(self, one: _Candidates) -> tuple[float, list[float]]:
        """The loss of the states that judge an offset, where it is and with each of its starts."""
        training = self.losses.training
        states = training.dataset.place(one.judged)
        first = TimeSlice(training, self.losses.logic, states)
        own = self._loss(first)
        before = {name: value.clone() for name, value in one.network.state_dict().items()}
        others = []
        for place in one.places:
            _put(one.network, place)
            again = TimeSlice(training, self.losses.logic, states, encoded=first.encoded or None)
            others.append(self._loss(again))
        one.network.load_state_dict(before)
        return own, others

    def _loss(self, current: TimeSlice) -> float:
        current.prepare(goals=True, step=False)
        return float(self.losses.judgement(current))


def rival_warnings(rivals: Iterable[Rival]) -> tuple[str, ...]:
    """What the report says of offsets without a clear winner."""
    return tuple(
        f"the offset of `{one.blank}` is not settled: {_shown(one.other)} explains the examples as well as "
        f"{_shown(one.chosen)}, which was learned; add episodes, or goals that only one of them explains"
        for one in rivals
    )


def _shown(vector: Sequence[float]) -> str:
    return f"[{', '.join(f'{x:.3g}' for x in vector)}]"


def fresh_offsets(model: nn.Module) -> list[Offset]:
    """The offsets that have not seen any data."""
    return [m for m in model.modules() if isinstance(m, Offset) and not int(cast(Tensor, m.lengths.seen))]


def _put(network: Offset, place: Start) -> None:
    network.place(place.theta, place.radius)

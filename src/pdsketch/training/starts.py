"""Where offsets begin, and which beginning explains the examples best: several starts within one fit.

A relation that began in the wrong place stays there: gradients lead to the nearest explanation. Each
`Offset` that a derived predicate calls begins at the difference that tells most of its goals' success, or
of its preconditions' (`starts`). What is as good without the rest of the model may be wrong with it:
*left of* and *right of* differ only by which block is red. So the other places are tried again as the fit
goes on, by the loss of the whole model with the offset there.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, cast, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.lang import BlankCall, walk
from pdsketch.nets import Offset
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.losses import Losses, real_entries
from pdsketch.training.optimiser import DECIDED
from pdsketch.training.time_slice import TimeSlice

MOST_TRIED: Final = 256
"""States of either label that starts are looked for in, and compared by, and differences of successes that
are looked at: where one pair in 12 counts, 20 are of the relation."""

CLEAR: Final = 0.05
"""A start whose loss is greater by less than this (nats) is as good; set by hand."""

MOST_STARTS: Final = 6
"""Places to begin at; set by hand. Mirrored relations need two."""

RADII: Final = tuple(2.0**-k for k in range(8))
"""Radii that are tried, in root mean squares of the differences: from all of them to a hundredth."""

ROUNDS: Final = 3
"""How often a place is moved into the middle of the differences that it is near to; set by hand."""

NEARLY: Final = 0.9
"""What tells this part of the most tells nearly as much; set by hand."""

LEAST_SHARE: Final = 0.5
"""A place that tells less of the labels than this part of what the best one does is none; set by hand."""


@final
class Start(NamedTuple):
    """A place where an offset may begin, how far from it the relation holds, and what that tells (bits)."""

    theta: Tensor
    radius: float
    information: float


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
        bags = np.concatenate([side[:MOST_TRIED] for side in sides])
        seen = self._differences(table, network, bags)
        if seen is None:
            return None
        label = np.repeat([True, False], [min(len(side), MOST_TRIED) for side in sides])
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
        """Whether starts are to be compared before this step: while the rest of the model takes shape, and
        not when there must be time to settle.
        """
        return 0 < step <= DECIDED * steps and step % max(1, steps // 10) == 0

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
    def unsettled(self) -> tuple[str, ...]:
        """What the report says of offsets for which another place does as well as the learned one."""
        found = []
        for one in (one for one in self._offsets if one.network.modes == 1):
            theta, radius = one.network.theta, float(one.network.gamma.sqrt())
            own, others = self._compared(one)
            for place, loss in zip(one.places, others, strict=True):
                apart = float((place.theta - theta).norm()) > radius + place.radius
                if apart and loss < own + CLEAR:
                    found.append(
                        f"the offset of `{one.blank}` is not settled: {_shown(place.theta)} explains the"
                        f" examples as well as {_shown(theta)}, which was learned; add episodes, or goals"
                        " that only one of them explains"
                    )
                    break
        return tuple(found)

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


def _shown(vector: Tensor) -> str:
    return f"[{', '.join(f'{x:.3g}' for x in vector.tolist())}]"


def fresh_offsets(model: nn.Module) -> list[Offset]:
    """The offsets that have not seen any data."""
    return [m for m in model.modules() if isinstance(m, Offset) and not int(cast(Tensor, m.lengths.seen))]


def _put(network: Offset, place: Start) -> None:
    network.place(place.theta, place.radius)


# -- where offsets may begin --------------------------------------------------------------
#
# Diverse density (Maron and Lozano-Pérez, 1998): of a state in which a goal held it is known that some pair
# of its objects stands in the relation, and not which. A bag is the differences of all pairs of one state.
# The offset is where every bag of a success has a difference, and most others have none; several places may
# do as well (whoever stands left of another has it to the right), so all are found, the best first.


def starts(differences: Tensor, real: Tensor | None, label: Tensor, seed: int) -> list[Start]:
    """The best places for an offset to begin at, apart from each other (see the module).

    ``differences`` are the bags, ``[bag, n, size]``, of which the ``real`` entries ``[bag, n]`` count (None:
    all); ``label`` says of each bag whether the goal held, so that one of its differences may be the offset.
    ``seed`` draws the places that are tried.
    """
    if not bool(label.any()) or bool(label.all()) or not differences.shape[1]:
        return []
    if real is not None:
        differences = torch.where(real.unsqueeze(-1), differences, math.nan)
    instances = differences[label].flatten(0, 1)
    instances = instances[~instances.isnan().any(-1)]
    if not len(instances):
        return []
    unit = float(instances.square().sum(-1).mean().sqrt())
    if not unit > 0.0:
        return []
    order = torch.randperm(len(instances), generator=torch.Generator().manual_seed(seed))
    places = instances[order[:MOST_TRIED].to(instances.device)]
    radius, told = _best_radius(places, differences, label, unit)
    for _ in range(ROUNDS):
        moved = _centred(places, radius, differences[label])
        wider, more = _best_radius(moved, differences, label, unit)
        better = more >= told
        places = torch.where(better.unsqueeze(-1), moved, places)
        radius, told = torch.where(better, wider, radius), torch.where(better, more, told)
    return _apart(places, radius, told)


def _nearest(places: Tensor, differences: Tensor) -> tuple[Tensor, Tensor]:
    """The distance of each bag's nearest difference from each place ``[place, bag]``, and which it is."""
    far = torch.stack([(differences - place).square().sum(-1) for place in places])
    found = far.nan_to_num(math.inf).min(-1)
    return found.values.sqrt(), found.indices


def _best_radius(places: Tensor, differences: Tensor, label: Tensor, unit: float) -> tuple[Tensor, Tensor]:
    """The radius within which each place tells most of the labels, and how much that is.

    Of several that tell nearly as much, the one in the middle: a small ball misses examples, and from
    far within a large one, other differences than those of the relation count.
    """
    near, _ = _nearest(places, differences)
    radii = torch.tensor([unit * r for r in RADII], device=near.device)
    within = near.unsqueeze(-1) <= radii
    true, false = within[:, label].double().mean(1), within[:, ~label].double().mean(1)
    told = torch.where(true > false, information(true, false), torch.zeros_like(true))
    most = told.amax(1)
    good = (told >= NEARLY * most.unsqueeze(1)).to(radii.dtype)
    middle = (good * radii.log()).sum(1) / good.sum(1)
    return middle.exp(), most


def information(true: Tensor, false: Tensor) -> Tensor:
    """What an event tells of a label, in bits, if both labels are as likely; its probability given either."""

    def entropy(p: Tensor) -> Tensor:
        return -(torch.xlogy(p, p) + torch.xlogy(1.0 - p, 1.0 - p)) / math.log(2.0)

    return entropy((true + false) / 2.0) - (entropy(true) + entropy(false)) / 2.0


def _centred(places: Tensor, radius: Tensor, differences: Tensor) -> Tensor:
    """Each place in the middle of the nearest difference of each bag that has one within the radius."""
    near, which = _nearest(places, differences)
    bags = torch.arange(len(differences), device=which.device)
    nearest = differences[bags, which]
    counts = (near <= radius.unsqueeze(-1)).to(nearest.dtype)
    total = torch.einsum("pb,pbd->pd", counts, nearest.nan_to_num(0.0))
    return total / counts.sum(-1, keepdim=True).clamp_min(1.0)


def _apart(places: Tensor, radius: Tensor, told: Tensor) -> list[Start]:
    """The best ones, none within the radius of a better one."""
    found: list[Start] = []
    for at in told.argsort(descending=True, stable=True).tolist():
        least = LEAST_SHARE * found[0].information if found else 0.0
        if len(found) == MOST_STARTS or not float(told[at]) > least:
            break
        if all(float((places[at] - one.theta).norm()) > max(one.radius, float(radius[at])) for one in found):
            found.append(Start(places[at].clone(), float(radius[at]), float(told[at])))
    return found

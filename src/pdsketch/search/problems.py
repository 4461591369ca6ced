"""The problems of one call, while the stages of a strategy work on them: what is known, found and spent."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np

from pdsketch.budget import Budget
from pdsketch.lang import Expr, Step
from pdsketch.search.latent.candidates import CandidateSource
from pdsketch.search.latent.instances import NO_CANDIDATES, Candidates, value_types
from pdsketch.search.latent.margin import Margin
from pdsketch.search.latent.reasons import nothing_trained, untrained
from pdsketch.search.latent.replay import Trail, encoded, looked_at
from pdsketch.search.options import PlanOptions
from pdsketch.search.result import Outcome, Result, StageReport, Status, UntrainedWarning
from pdsketch.tensor import Model, State, StateBatch, Watch, strange_labels

NOT_REPLAYED = "a plan was found, and a limit reached before it was replayed: raise the limit"


class Allowed(NamedTuple):
    """What a stage may take: time and memory, and expansions for each problem; None: no limit of these."""

    budget: Budget
    expansions: int | None


@final
class Problems:
    """The problems of one call: ``states`` and ``goals``, planned for with one ``model`` at one confidence.

    ``options`` say how, and ``budget`` within which time and memory. ``found`` are the results so far,
    ``stages`` what each problem went through, ``counts`` its expansions, evaluations and successors.
    ``doubts`` are warnings, ``takes`` the types of values that actions take. Of those in ``ruled``, the rules
    have been made; ``explains`` says what these cannot reach, once they have no plan. ``started`` is when the
    call began.
    """

    def __init__(
        self,
        model: Model,
        states: Sequence[State],
        goals: Sequence[Expr],
        options: PlanOptions,
        started: float,
        budget: Budget,
    ) -> None:
        self.model = model
        self.states: Sequence[State] | StateBatch = list(states)
        self.goals = goals
        self.options = options
        self.started = started
        self.budget = budget
        self.margin = Margin(options.confidence)
        self.takes = value_types(model.domain)
        self.costs = model.domain.has_costs if options.costs is None else options.costs
        self.found: dict[int, Result] = {}
        self.stages: list[tuple[StageReport, ...]] = [()] * len(states)
        self.counts = np.zeros((len(states), 3), dtype=np.int64)
        self.ruled: set[int] = set()
        self.explains: dict[int, Callable[[], Sequence[str]]] = {}
        self._sources: dict[int, CandidateSource] = {}
        self._batch: StateBatch | None = None
        self._watch = Watch(model)
        self._untrained = nothing_trained(model)
        self.doubts = untrained(model, goals)
        for doubt in dict.fromkeys(doubt for doubts in self.doubts for doubt in doubts):
            warnings.warn(doubt, UntrainedWarning, stacklevel=2)

    def encode(self) -> None:
        """Compute the encoded variables of the states; from then on there are candidate values, too."""
        self._batch, self._watch = encoded(self.model, list(self.states))
        self.states = self._batch
        for doubt in strange_labels(self.model, self._batch):
            warnings.warn(doubt, UntrainedWarning, stacklevel=2)

    def candidates(self, i: int, number: int = 0, reached: Sequence[State] = ()) -> Candidates:
        """The values of arguments of a problem in round ``number``; the last has ``reached`` some states."""
        return self._source(i).advance(number, reached) if self.takes else NO_CANDIDATES

    def _source(self, i: int) -> CandidateSource:
        if i not in self._sources:
            self._sources[i] = CandidateSource(self.model, self.states[i], self.goals[i], self.options)
        return self._sources[i]

    def batch_of(self, which: Sequence[int]) -> StateBatch:
        """The states of some problems, in their order."""
        if self._batch is not None and len(which) == len(self.goals):
            return self._batch
        return StateBatch.of([self.states[i] for i in which])

    @property
    def open(self) -> list[int]:
        """Those that have no result."""
        return [i for i in range(len(self.goals)) if i not in self.found]

    @property
    def samples(self) -> bool:
        """Whether actions take values that cannot all be listed."""
        return any(t.choices is None and t.prim != "bool" for t in self.takes)

    @property
    def proposes(self) -> bool:
        """Whether values are proposed for arguments of actions."""
        return bool(self.takes) and any(self._source(i).goes_on for i in range(len(self.goals)))

    def expanded(self, some: Sequence[int]) -> list[int]:
        """The expansions for each of some problems so far."""
        found: list[int] = self.counts[list(some), 0].tolist()
        return found

    @property
    def expansions_left(self) -> int | None:
        """How many expansions each open problem still has."""
        most = self.options.max_expansions
        return None if most is None else max(0, most - max(self.expanded(self.open), default=0))

    def count(self, i: int, outcome: Outcome) -> None:
        """Add what a search took for a problem."""
        self.counts[i] += (outcome.expanded, outcome.evaluated, outcome.generated)

    def remembers(self, i: int) -> bool:
        """Whether something did not go as planned: rules know nothing of it."""
        memory = self.options.memories[i] if self.options.memories else None
        return memory is not None and memory.speaks

    def replayed(
        self,
        some: Sequence[int],
        plans: Mapping[int, list[Step]],
        trail: Trail | None = None,
    ) -> tuple[dict[int, str | None], dict[int, tuple[str, ...]]]:
        """Why each plan fails when it is replayed (None: it does not), and what is to be said of it.

        ``plans`` are by places in ``some``; the states on the way are left in ``trail``.
        """
        failed, said = looked_at(
            self.model,
            [self.states[some[place]] for place in plans],
            [self.goals[some[place]] for place in plans],
            [*plans.values()],
            snap=self.options.snap,
            trail=trail or Trail(),
            margin=self.margin,
        )
        places = [*plans]
        return {places[n]: why for n, why in failed.items()}, {places[n]: t for n, t in said.items()}

    def result(self, i: int, status: Status, warnings: Sequence[str] = (), **more: Any) -> Result:
        """A result of a problem, with what is said of any, further ``warnings``, and ``more``."""
        expanded, evaluated, generated = map(int, self.counts[i])
        return Result(
            status,
            expanded=expanded,
            evaluated=evaluated,
            generated=generated,
            seconds=time.monotonic() - self.started,
            warnings=(*self.doubts[i], *self._untrained, *self._watch.sentences(i), *warnings),
            **more,
        )

    def results(self) -> list[Result]:
        """The result of each problem, with the stages that it went through."""
        return [replace(self.found[i], stages=stages) for i, stages in enumerate(self.stages)]

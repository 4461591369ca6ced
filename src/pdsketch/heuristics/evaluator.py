"""Heuristic values of many states at once: the door for those who search elsewhere."""

from __future__ import annotations

from time import monotonic
from typing import Final, Protocol, final

import numpy as np

from pdsketch.budget import current
from pdsketch.heuristics.explore import Work, make_work
from pdsketch.heuristics.registry import evaluate, find_heuristic
from pdsketch.heuristics.relaxation import Relaxation, relax
from pdsketch.kernels import Bools, Floats, Ints, Words, kernel, n_words, pack
from pdsketch.task import Axioms, Task, evaluate_axioms, prepare_axioms

_SLICE: Final = 0.02
"""Seconds of a kernel from which on the states between two looks at the budget are not made more."""


class Evaluator(Protocol):
    """A heuristic of a task, for any states of it."""

    def values(self, states: Bools) -> Floats:
        """The value of each state, ``[state, fact]``; infinity where even the relaxed task has no plan."""


@final
class KernelEvaluator:
    """An `Evaluator` that computes one state after the other in compiled kernels.

    >>> KernelEvaluator(task, "ff").values(states)      # states: Bools[batch, facts]
    array([3., 0., inf])

    ``name`` is one of `registry.HEURISTICS`. ``costs`` stand in for the task's.
    With ``per_effect`` hFF counts each conditional effect as an operator of its
    own. An evaluator holds room to work in, and is not for several threads.
    """

    def __init__(
        self, task: Task, name: str = "ff", *, costs: Floats | None = None, per_effect: bool = False
    ) -> None:
        self.task = task
        self.heuristic = find_heuristic(name)
        self._relaxation = relax(task, costs, per_effect=per_effect, budget=current())
        self._work = make_work(task, self._relaxation)
        self._axioms = prepare_axioms(task)

    def values(self, states: Bools) -> Floats:
        """The value of each state; infinity where even the relaxed task has no plan.

        A row gives the truth of every fact, or of the basic facts alone; derived
        facts are computed anew from the basic ones in any case.
        """
        return self._run(states)[0]

    def preferred(self, state: Bools) -> tuple[float, Ints]:
        """The value of one state, and its preferred operators: applicable ones of the relaxed plan."""
        values, count = self._run(state[None])
        return float(values[0]), self._work.preferred[:count].copy()

    def _run(self, states: Bools) -> tuple[Floats, int]:
        words = pack(states[:, : self.task.n_basic], max(1, n_words(self.task.n_facts)))
        values = np.zeros(len(states))
        budget, first, size, count = current(), 0, 1, 0
        while first < len(states):
            started = monotonic()
            count = self._evaluate(words[first : first + size], values[first : first + size])
            budget.check()
            first += size
            size *= 2 if monotonic() - started < _SLICE else 1
        return values, count

    def _evaluate(self, words: Words, values: Floats) -> int:
        return _values(self.heuristic.code, self._relaxation, self._work, self._axioms, words, values)


@kernel
def _values(
    code: int, relaxation: Relaxation, work: Work, axioms: Axioms, states: Words, values: Floats
) -> int:
    for i in range(len(states)):
        evaluate_axioms(axioms, states[i])
        values[i] = evaluate(code, relaxation, work, states[i])
    return work.counts[0]  # type: ignore[no-any-return]

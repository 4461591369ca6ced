"""Heuristic values of many states at once: the door for those who search elsewhere."""

from __future__ import annotations

from typing import final

from pdsketch import core
from pdsketch.budget import current
from pdsketch.core import Bools, Floats, Ints, Task
from pdsketch.heuristics.registry import find_heuristic


@final
class EngineEvaluator:
    """A heuristic of a task in the engine, for any states of it, one after the other.

    >>> EngineEvaluator(task, "ff").values(states)      # states: Bools[batch, facts]
    array([3., 0., inf])

    ``name`` is one of `registry.HEURISTICS`. ``costs`` stand in for those of ``task``.
    With ``per_effect`` hFF counts each conditional effect as an operator of its
    own. An evaluator holds room to work in, and is not for several threads.
    """

    def __init__(
        self, task: Task, name: str = "ff", *, costs: Floats | None = None, per_effect: bool = False
    ) -> None:
        self.task = task
        self.heuristic = find_heuristic(name)
        self._evaluator = core.TaskEvaluator(task, name, costs, per_effect=per_effect, budget=current())

    def values(self, states: Bools) -> Floats:
        """The value of each state; infinity where even the relaxed task has no plan.

        A row gives the truth of every fact, or of the basic facts alone; derived
        facts are computed anew from the basic ones in any case.
        """
        return self._evaluator.values(states, current())

    def preferred(self, state: Bools) -> tuple[float, Ints]:
        """The value of one state, and its preferred operators: applicable ones of the relaxed plan."""
        (value,) = self.values(state[None])
        return float(value), self._evaluator.preferred()

"""Nodes of a search tree, as the page shows them: states, and which successors are not in the tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, final

from pdsketch.lang import Expr, Step
from pdsketch.search import SearchNode
from pdsketch.serve.subjects import Subject


@final
class Tree:
    """The nodes of a search for a goal, with the states that they stand for.

    States are predicted from the initial one, step by step, when they are asked for.
    """

    def __init__(self, subject: Subject, goal: Expr, nodes: Sequence[SearchNode]) -> None:
        self.nodes = nodes
        self.goal = goal
        self._subject = subject
        self._known: dict[int, int] | None = None

    def path(self, number: int) -> list[Step]:
        """The steps to a node."""
        found = []
        while (step := (node := self.nodes[number]).step) is not None:
            found.append(step)
            number = node.parent
        return found[::-1]

    def state(self, number: int) -> Any:
        """The state of a node."""
        state = self._subject.start
        for step in self.path(number):
            state = self._subject.step(state, step)
        return state

    def left_out(self, number: int) -> list[tuple[Step, int | None]]:
        """Applicable steps without a node here, and the node that has their state (None: there is none yet).

        Of nodes that are not expanded, and of searches that have nodes for them, there are none.
        """
        if self.nodes[number].fate != "expanded":
            return []
        subject, state = self._subject, self.state(number)
        taken = {node.step for node in self.nodes if node.parent == number}
        found: list[tuple[Step, int | None]] = []
        for step in subject.steps(self.goal):
            if step not in taken and subject.applicable(state, step) > 0.5:
                found.append((step, self._same(subject.step(state, step))))
        return found

    def why_dead(self, number: int) -> Sequence[str]:
        """Why a dead end is one."""
        if self.nodes[number].fate != "dead-end":
            return ()
        return self._subject.why_dead(self.state(number), self.goal)

    def _same(self, state: Any) -> int | None:
        if self._known is None:
            self._known = self._digests()
        return self._known.get(self._digest(state))

    def _digest(self, state: Any) -> int:
        return hash(frozenset(self._subject.facts(state).items()))

    def _digests(self) -> dict[int, int]:
        """The node of each state, from the root down, so that few states are held at a time."""
        children = defaultdict(list)
        for number, node in enumerate(self.nodes):
            children[node.parent].append(number)
        found: dict[int, int] = {}
        agenda = [(number, self._subject.start) for number in children[-1]]
        while agenda:
            number, state = agenda.pop()
            found.setdefault(self._digest(state), number)
            for child in children[number]:
                step = self.nodes[child].step
                assert step is not None
                agenda.append((child, self._subject.step(state, step)))
        return found

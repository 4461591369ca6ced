"""In any small world in which some actions always fail, a policy finds the way that is left."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings, strategies as st

import pdsketch as pds

GRAPH = pds.parse_domain("""
(define (domain graph)
  (:types robot edge - object)
  (:predicates (at [return_type=int64[choices=8]] ?r - robot)
               (source [return_type=int64[choices=8]] ?e - edge)
               (target [return_type=int64[choices=8]] ?e - edge))
  (:action go :parameters (?r - robot ?e - edge)
    :precondition (= (at ?r) (source ?e))
    :effect (assign (at ?r) (target ?e))))
""")
MODEL = pds.Model(GRAPH)


class Graph:
    """A robot goes along edges; some are refused, or lead nowhere, or elsewhere, always."""

    domain = GRAPH

    def __init__(self, edges: list[tuple[int, int]], failures: Mapping[int, str], goal: int) -> None:
        self.edges, self.failures, self.last = edges, failures, goal
        self.goal = f"(= (at r) {goal})"

    def reset(self, seed: int | None = None) -> pds.State:
        self.at, self.executed = 0, True
        return self.see()

    def step(self, action: tuple[str, ...]) -> pds.State:
        number = int(action[2][1:])
        how = self.failures.get(number)
        self.executed = how != "refused"
        if how is None:
            self.at = self.edges[number][1]
        elif how == "astray":
            self.at = 0
        return self.see()

    @property
    def success(self) -> bool:
        return self.at == self.last

    def see(self) -> pds.State:
        names = [f"e{i}" for i in range(len(self.edges))]
        source, target = ([edge[end] for edge in self.edges] for end in (0, 1))
        return pds.State(
            GRAPH, {"robot": ["r"], "edge": names}, {"at": [self.at], "source": source, "target": target}
        )

    def can_reach(self, start: int) -> bool:
        """Whether there is a way without failures."""
        seen, agenda = {start}, [start]
        while agenda:
            here = agenda.pop()
            for number, (source, target) in enumerate(self.edges):
                if source == here and number not in self.failures and target not in seen:
                    seen.add(target)
                    agenda.append(target)
        return self.last in seen


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A ring, so that no place is a trap, and chords; one way to the goal at least is left."""
    count = draw(st.integers(3, 6))
    ring = [(i, (i + 1) % count) for i in range(count)]
    places = st.integers(0, count - 1)
    chords = draw(st.lists(st.tuples(places, places), min_size=1, max_size=6))
    goal = draw(st.integers(1, count - 1))
    kinds = st.sampled_from(["refused", "in vain", "astray"])
    # What is left is the ring: every chord may fail.
    failures = draw(st.dictionaries(st.integers(count, count + len(chords) - 1), kinds, max_size=6))
    return Graph(ring + chords, failures, goal)


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_the_goal_is_reached_where_a_way_without_failures_is_left(world: Graph) -> None:
    assert world.can_reach(0)
    policy = pds.Policy(MODEL, heuristic="blind", search="astar")
    done = pds.rollout(policy, world, seeds=[0], max_steps=12 + 4 * len(world.edges))
    assert done.success == (True,), (done[0].actions, world.edges, world.failures)


@pytest.mark.parametrize("how", ["refused", "in vain"])
def test_a_plan_that_failed_twice_is_not_made_a_third_time(how: str) -> None:
    world = Graph([(0, 3), (0, 1), (1, 2), (2, 3)], {0: how}, 3)
    done = pds.rollout(pds.Policy(MODEL, heuristic="blind", search="astar"), world, seeds=[0], max_steps=9)
    names = [action[2] for action in done[0].actions]
    assert done.success == (True,)
    assert names.count("e0") == (1 if how == "refused" else 2)

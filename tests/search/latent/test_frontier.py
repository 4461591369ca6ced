"""The compiled lists against plain Python ones."""

import heapq

import numpy as np
from hypothesis import given, settings, strategies as st

from pdsketch.search.latent.frontier import Frontier

batches = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 5)), max_size=12), max_size=12
)


def add(frontier, rows):
    """Admit and open (problem, state, g) rows; whether each was kept."""
    problem = np.array([p for p, _, _ in rows], dtype=np.int64)
    prints = np.array([(s * 7919 + p * 104729, p) for p, s, _ in rows], dtype=np.int64).reshape(-1, 2)
    g = np.array([g for _, _, g in rows], dtype=np.float64)
    keep, entry = frontier.admit(prints, g)
    n = int(keep.sum())
    frontier.add(
        problem=problem[keep],
        parent=np.full(n, -1),
        action=np.zeros(n, dtype=np.int64),
        entry=entry[keep],
        g=g[keep],
        h=np.zeros(n),
        f=g[keep],
        depth=np.zeros(n, dtype=np.int64),
    )
    return keep.tolist()


@given(batches, st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_nodes_leave_in_the_order_of_a_plain_heap(rounds, k):
    frontier = Frontier(3, capacity=2)
    best: dict[tuple[int, int], int] = {}
    heaps: list[list[tuple[int, int, int]]] = [[], [], []]
    count = 0
    for rows in rounds:
        expected = []
        for problem, state, g in rows:
            new = g < best.get((problem, state), 99)
            expected.append(new)
            if new:
                best[problem, state] = g
                heapq.heappush(heaps[problem], (g, count, state))
                count += 1
        assert add(frontier, rows) == expected
        popped = frontier.pop(np.arange(3), np.full(3, k))
        wanted = []
        for problem, heap in enumerate(heaps):
            taken = 0
            while heap and taken < k:
                g, node, state = heapq.heappop(heap)
                if g <= best[problem, state]:
                    wanted.append(node)
                    taken += 1
        assert popped.tolist() == wanted


def test_a_trace_leads_from_the_root():
    frontier = Frontier(1, capacity=1)
    for node in range(40):
        prints = np.array([[node, 0]])
        _, entry = frontier.admit(prints, np.array([float(node)]))
        frontier.add(
            problem=np.array([0]),
            parent=np.array([node - 1]),
            action=np.array([node]),
            entry=entry,
            g=np.array([float(node)]),
            h=np.zeros(1),
            f=np.array([float(node)]),
            depth=np.array([node]),
        )
    assert frontier.trace(39) == list(range(1, 40))
    assert frontier.least_f(np.array([0])).tolist() == [0.0]


def opened(prints, f, h, g=None):
    """A list of one problem with these nodes open."""
    frontier = Frontier(1, capacity=2)
    n = len(f)
    cost = np.zeros(n) if g is None else np.array(g, dtype=np.float64)
    keep, entry = frontier.admit(np.array(prints, dtype=np.int64), cost)
    zeros = np.zeros(n, dtype=np.int64)
    columns = {"problem": zeros, "parent": zeros - 1, "action": zeros, "depth": zeros, "entry": entry}
    frontier.add(**columns, g=cost, h=np.array(h, dtype=np.float64), f=np.array(f, dtype=np.float64))
    return frontier, keep


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_among_equals_the_one_nearest_to_the_goal_leaves_first_then_the_oldest(keys):
    f, h = zip(*keys, strict=True)
    frontier, _ = opened([(i, 0) for i in range(len(keys))], f, h)
    out = frontier.pop(np.array([0]), np.array([len(keys)])).tolist()
    assert out == sorted(range(len(keys)), key=lambda i: (f[i], h[i], i))


def test_states_that_differ_in_the_second_half_of_their_fingerprint_are_two():
    _, keep = opened([(5, 1), (5, 2), (5, 1), (6, 1)], [0] * 4, [0] * 4)
    assert keep.tolist() == [True, True, False, True]


def test_what_was_removed_from_one_list_is_passed_over_in_the_others():
    frontier = Frontier(1, capacity=2, orders=2)
    _, entry = frontier.admit(np.array([[i, 0] for i in range(4)]), np.zeros(4))
    zeros = np.zeros(4, dtype=np.int64)
    up, down = np.arange(4.0), np.arange(4.0)[::-1]
    f = np.stack([up, down])
    frontier.add(f, f, problem=zeros, parent=zeros - 1, action=zeros, depth=zeros, entry=entry, g=np.zeros(4))
    who, one = np.array([0]), np.array([1])
    popped = [int(frontier.pop(who, one, order)[0]) for order in (0, 1, 0)]
    assert popped == [0, 3, 1]
    assert frontier.least_f(who, 0).tolist() == [2.0]
    assert frontier.least_f(who, 1).tolist() == [1.0]
    assert frontier.pop(who, np.array([5]), 1).tolist() == [2]
    assert frontier.least_f(who, 0).tolist() == [np.inf]

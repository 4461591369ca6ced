"""The open and closed lists against plain Python ones."""

from __future__ import annotations

import heapq
from math import inf

import pytest
import torch
from hypothesis import given, settings, strategies as st

from pdsketch.search.latent.frontier import ClosedTable, Frontier, OpenList

batches = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 5)), max_size=12), max_size=12
)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
CPU = torch.device("cpu")


def whole(*numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def real(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def add(frontier, rows):
    """Admit and open (problem, state, g) rows, in one order by g; whether each was kept."""
    problem = whole(*(p for p, _, _ in rows))
    prints = torch.tensor([(s * 7919 + p * 104729, p) for p, s, _ in rows], dtype=torch.int64).reshape(-1, 2)
    g = real(*(g for _, _, g in rows))
    keep, entry = frontier.closed.admit(prints, g)
    n = int(keep.sum())
    zeros = torch.zeros(n, dtype=torch.int64)
    columns = {"problem": problem[keep], "parent": zeros - 1, "action": zeros, "depth": zeros}
    frontier.add(g[keep], torch.zeros(n), g[keep], entry=entry[keep], **columns)
    return keep.tolist()


def cheapest(rows, best):
    """Which rows are cheaper than what is known, the first and cheapest of each state alone."""
    kept = []
    for i, (problem, state, g) in enumerate(rows):
        own = [(other, j) for j, (p, s, other) in enumerate(rows) if (p, s) == (problem, state)]
        kept.append(g < best.get((problem, state), inf) and min(own) == (g, i))
    return kept


@given(batches, st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_nodes_leave_in_the_order_of_a_plain_heap(rounds, k):
    frontier = Frontier(3, room=2)
    best: dict[tuple[int, int], int] = {}
    heaps: list[list[tuple[int, int, int]]] = [[], [], []]
    count = 0
    for rows in rounds:
        expected = cheapest(rows, best)
        for (problem, state, g), new in zip(rows, expected, strict=True):
            if new:
                best[problem, state] = g
                heapq.heappush(heaps[problem], (g, count, state))
                count += 1
        assert add(frontier, rows) == expected
        popped = frontier.pop(torch.arange(3), torch.full((3,), k))
        wanted = []
        for problem, heap in enumerate(heaps):
            taken = 0
            while heap and taken < k:
                g, node, state = heapq.heappop(heap)
                if g <= best[problem, state]:
                    wanted.append(node)
                    taken += 1
        assert popped.tolist() == wanted
        open_ = [
            [g for g, _, state in heap if g <= best[problem, state]] for problem, heap in enumerate(heaps)
        ]
        assert frontier.open.least_f(torch.arange(3)).tolist() == [min(own, default=inf) for own in open_]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=40), max_size=20),
    st.lists(st.integers(0, 60), min_size=3, max_size=3),
    st.sets(st.integers(0, 200)),
    st.integers(1, 200),
)
@settings(max_examples=100, deadline=None)
def test_many_runs_and_small_windows_give_the_same_order(pushed, wanted, closed, cells):
    """Nodes are closed behind the list's back, and few places are looked at at once."""
    is_closed = torch.zeros(1000, dtype=torch.bool)
    opened = OpenList(3, 1000, lambda nodes: ~is_closed[nodes], CPU)
    problem, plain = torch.zeros(1000, dtype=torch.int64), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pdsketch.search.latent.frontier._CELLS", cells)
        patch.setattr("pdsketch.search.latent.frontier._AHEAD", 1 + cells % 3)
        for rows in pushed:
            first = len(plain)
            nodes = torch.arange(first, first + len(rows))
            problem[nodes] = whole(*(p for p, _ in rows))
            opened.f[nodes] = real(*(f for _, f in rows))
            opened.h[nodes] = real(*(node * 5 % 7 for node in nodes.tolist()))
            opened.push(nodes, problem)
            plain += [(p, f, node * 5 % 7, node) for node, (p, f) in zip(nodes.tolist(), rows, strict=True)]
            is_closed[[node for node in closed if node % 7 == len(plain) % 7]] = True
        left = [sorted(row for row in plain if row[0] == p and not is_closed[row[3]]) for p in range(3)]
        who = whole(2, 0, 1)
        assert opened.least_f(who).tolist() == [left[p][0][1] if left[p] else inf for p in who.tolist()]
        found = opened.pop(who, whole(*wanted))
    expected = [row[3] for p, k in zip(who.tolist(), wanted, strict=True) for row in left[p][:k]]
    assert found.tolist() == expected


@given(st.lists(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), max_size=9), max_size=9))
@settings(max_examples=50, deadline=None)
def test_entries_are_those_of_a_dictionary(rounds):
    """Fingerprints that fall into the same slots among them: the first halves differ little."""
    table, known = ClosedTable(1, CPU), {}
    for rows in rounds:
        new = [row for row in dict.fromkeys(rows) if row not in known]
        _, entry = table.admit(
            torch.tensor(rows, dtype=torch.int64).reshape(-1, 2), torch.zeros(len(rows)).double()
        )
        known.update({row: int(entry[rows.index(row)]) for row in new})
        assert entry.tolist() == [known[row] for row in rows]
    assert sorted(known.values()) == [*range(len(known))]


@pytest.mark.parametrize("device", DEVICES)
def test_thousands_of_states_are_entered_at_once(device):
    generator = torch.Generator().manual_seed(0)
    prints = torch.randint(-(2**62), 2**62, (5000, 2), generator=generator)
    g = torch.rand(8000, generator=generator).double()
    table = ClosedTable(16, torch.device(device))
    keep, entry = table.admit(torch.cat([prints, prints[:3000]]).to(device), g.to(device))
    assert sorted(entry[:5000].tolist()) == [*range(5000)]
    assert entry[5000:].tolist() == entry[:3000].tolist()
    is_second = g[5000:] < g[:3000]
    assert keep.tolist() == [*(~is_second).tolist(), *[True] * 2000, *is_second.tolist()]
    assert table.best_g[entry[:3000]].tolist() == torch.minimum(g[:3000], g[5000:]).tolist()


def test_a_trace_leads_from_the_root():
    frontier = Frontier(1, room=1)
    for node in range(40):
        g = real(node)
        _, entry = frontier.closed.admit(whole(node, 0)[None], g)
        columns = {"parent": whole(node - 1), "action": whole(node), "depth": whole(node)}
        frontier.add(g, 0 * g, g, problem=whole(0), entry=entry, **columns)
    assert frontier.traces([39, 0, 3]) == [list(range(1, 40)), [], [1, 2, 3]]
    assert frontier.open.least_f(whole(0)).tolist() == [0.0]


def opened(prints, f, h):
    """A list of one problem with these nodes open."""
    frontier = Frontier(1, room=2)
    zeros = torch.zeros(len(f), dtype=torch.int64)
    keep, entry = frontier.closed.admit(torch.tensor(prints), zeros.double())
    columns = {"problem": zeros, "parent": zeros - 1, "action": zeros, "depth": zeros, "entry": entry}
    frontier.add(real(*f), real(*h), zeros.double(), **columns)
    return frontier, keep


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_among_equals_the_one_nearest_to_the_goal_leaves_first_then_the_oldest(keys):
    f, h = zip(*keys, strict=True)
    frontier, _ = opened([(i, 0) for i in range(len(keys))], f, h)
    out = frontier.pop(whole(0), whole(len(keys))).tolist()
    assert out == sorted(range(len(keys)), key=lambda i: (f[i], h[i], i))


def test_states_that_differ_in_the_second_half_of_their_fingerprint_are_two():
    _, keep = opened([(5, 1), (5, 2), (5, 1), (6, 1)], [0] * 4, [0] * 4)
    assert keep.tolist() == [True, True, False, True]

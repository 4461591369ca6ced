"""Where the boxes go: a layered layout from left to right.

The method is the usual one for directed graphs (Sugiyama, Tagawa and Toda,
1981): break cycles, give each node a column, let long arrows pass through
the columns between, order the columns so that few arrows cross, then move boxes
towards their neighbours without changing the order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

from pdsketch.draw.graph import Arrow, Graph, GraphNode

CHARACTER: Final = 7.3
"""The width of a character, in pixels, of the font that the pictures use."""
LINE: Final = 16.0
_GAP: Final = 14.0
_COLUMN_GAP: Final = 54.0
_LABEL_CHARACTER: Final = 6.2
_PORT: Final = 11.0
_SWEEPS: Final = 12


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A placed node: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The height at which arrows meet the box."""
        return self.y + self.height / 2


@final
@dataclass(frozen=True, slots=True)
class Route:
    """An arrow and the points that it passes, from the right of its source to the left of its target."""

    arrow: Arrow
    points: tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """A placed graph, and the size of the whole."""

    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(graph: Graph) -> Layout:
    """Place all boxes and route all arrows."""
    arrows = [arrow for arrow in graph.arrows if arrow.source != arrow.target]
    # The four steps of layered drawing (Sugiyama, Tagawa and Toda, 1981): break cycles, choose layers,
    # order them by barycentres, place the nodes.
    columns = _columns(len(graph.nodes), _without_cycles(len(graph.nodes), arrows))
    chains = _chains(arrows, columns)
    layers = _order(_layers(columns), chains)
    sizes = [size(node) for node in graph.nodes] + [(0.0, 4.0)] * (len(columns) - len(graph.nodes))
    ys = _heights(layers, chains, sizes)
    spans, width = _abscissas(layers, sizes, _label_room(arrows, columns))
    boxes = []
    for node in range(len(graph.nodes)):
        left, right = spans[columns[node]]
        x = (left + right - sizes[node][0]) / 2
        boxes.append(Box(x, ys[node] - sizes[node][1] / 2, *sizes[node]))
    routes = []
    for arrow, chain in zip(arrows, chains, strict=True):
        crossed = [(spans[columns[n]], ys[n]) for n in chain]
        routes.append(Route(arrow, _points(boxes[arrow.source], boxes[arrow.target], crossed)))
    routes = _with_ports(routes, boxes)
    height = max((box.y + box.height for box in boxes), default=0.0)
    return Layout(tuple(boxes), tuple(routes), width, height)


def _points(
    start: Box, end: Box, crossed: Sequence[tuple[tuple[float, float], float]]
) -> tuple[tuple[float, float], ...]:
    """The points of an arrow, which runs level inside every column; one that closes a cycle runs left."""
    forward = start.x <= end.x
    points = [point for (left, right), y in crossed for point in ((left, y), (right, y))]
    if not forward:
        points = [point for (left, right), y in crossed for point in ((right, y), (left, y))]
    points[0] = (start.x + start.width if forward else start.x, start.middle)
    points[-1] = (end.x if forward else end.x + end.width, end.middle)
    return tuple(points)


def _with_ports(routes: Sequence[Route], boxes: Sequence[Box]) -> list[Route]:
    """Let the arrows into a box end below each other, in the order in which they come."""
    into: dict[int, list[int]] = defaultdict(list)
    for number, route in enumerate(routes):
        into[route.arrow.target].append(number)
    placed = list(routes)
    for target, numbers in into.items():
        numbers.sort(key=lambda number: routes[number].points[-3][1])
        step = min(_PORT, 0.7 * boxes[target].height / len(numbers))
        for at, number in enumerate(numbers):
            *points, (before, _), (x, y) = routes[number].points
            y += step * (at - (len(numbers) - 1) / 2)
            placed[number] = Route(routes[number].arrow, (*points, (before, y), (x, y)))
    return placed


def size(node: GraphNode) -> tuple[float, float]:
    """The width and height of a node's box."""
    characters = max(len(node.label), 0.86 * len(node.detail))
    return characters * CHARACTER + 22, LINE * (2 if node.detail else 1) + 12


def _without_cycles(count: int, arrows: Sequence[Arrow]) -> list[tuple[int, int]]:
    """The arrows as pairs, those that close a cycle turned round: a depth-first walk without recursion."""
    after: dict[int, list[int]] = defaultdict(list)
    for arrow in arrows:
        after[arrow.source].append(arrow.target)
    done: set[int] = set()
    open_: set[int] = set()
    back: set[tuple[int, int]] = set()
    for root in range(count):
        stack = [] if root in done else [(root, iter(after[root]))]
        open_.update([root] if stack else [])
        while stack:
            node, rest = stack[-1]
            for target in rest:
                if target in open_:
                    back.add((node, target))
                elif target not in done:
                    open_.add(target)
                    stack.append((target, iter(after[target])))
                    break
            else:
                stack.pop()
                open_.discard(node)
                done.add(node)
    pairs = ((arrow.source, arrow.target) for arrow in arrows)
    return [(b, a) if (a, b) in back else (a, b) for a, b in pairs]


def _columns(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """The column of each node: behind all it is computed from, and inputs close to where they are used."""
    before: dict[int, set[int]] = defaultdict(set)
    after: dict[int, set[int]] = defaultdict(set)
    for a, b in pairs:
        after[a].add(b)
        before[b].add(a)
    waiting = [len(before[n]) for n in range(count)]
    ready = [n for n in range(count) if not waiting[n]]
    column = [0] * count
    for node in ready:  # grows while we walk: a topological order
        for target in after[node]:
            column[target] = max(column[target], column[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    # Longest paths put every input into the first column: it moves up to the first box that reads it.
    for node in reversed(ready):
        if after[node] and not before[node]:
            column[node] = min(column[target] for target in after[node]) - 1
    return column


def _chains(arrows: Sequence[Arrow], columns: list[int]) -> list[list[int]]:
    """Each arrow as a path with one invisible node in every column between its ends.

    The invisible nodes are numbered behind the others; ``columns`` grows by them.
    """
    chains = []
    for arrow in arrows:
        first, last = columns[arrow.source], columns[arrow.target]
        step = 1 if last >= first else -1
        between = range(first + step, last, step)
        chains.append([arrow.source, *range(len(columns), len(columns) + len(between)), arrow.target])
        columns.extend(between)
    return chains


def _layers(columns: Sequence[int]) -> list[list[int]]:
    layers: list[list[int]] = [[] for _ in range(max(columns, default=0) + 1)]
    for node, column in enumerate(columns):
        layers[column].append(node)
    return layers


def _neighbours(chains: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    near: dict[int, list[int]] = defaultdict(list)
    for chain in chains:
        for a, b in pairwise(chain):
            near[a].append(b)
            near[b].append(a)
    return near


def _order(layers: list[list[int]], chains: Sequence[Sequence[int]]) -> list[list[int]]:
    """Order each column by the mean place of its neighbours in the columns beside it, to and fro."""
    near = _neighbours(chains)
    column = {node: index for index, layer in enumerate(layers) for node in layer}
    place = {node: float(at) for layer in layers for at, node in enumerate(layer)}
    for sweep in range(_SWEEPS):
        side = -1 if sweep % 2 == 0 else 1
        for layer in layers if side < 0 else reversed(layers):

            def mean(node: int, side: int = side) -> float:
                beside = [place[n] for n in near[node] if column[n] == column[node] + side]
                return sum(beside) / len(beside) if beside else place[node]

            layer.sort(key=mean)
            for at, node in enumerate(layer):
                place[node] = float(at)
    return layers


def _heights(
    layers: Sequence[Sequence[int]], chains: Sequence[Sequence[int]], sizes: Sequence[tuple[float, float]]
) -> list[float]:
    """The middle of each node: near its neighbours, in the order of its column, without overlap."""
    near = _neighbours(chains)
    ys = [0.0] * len(sizes)
    for layer in layers:
        for node, y in zip(layer, _spread([0.0] * len(layer), layer, sizes), strict=True):
            ys[node] = y
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [sum(ys[n] for n in near[v]) / len(near[v]) if near[v] else ys[v] for v in layer]
            for node, y in zip(layer, _spread(wanted, layer, sizes), strict=True):
                ys[node] = y
    top = min((ys[n] - sizes[n][1] / 2 for layer in layers for n in layer), default=0.0)
    return [y - top for y in ys]


def _spread(
    wanted: Sequence[float], layer: Sequence[int], sizes: Sequence[tuple[float, float]]
) -> list[float]:
    """The places nearest to the wanted ones that keep the order and the gaps (isotonic regression)."""
    offsets = [0.0]
    for a, b in pairwise(layer):
        offsets.append(offsets[-1] + (sizes[a][1] + sizes[b][1]) / 2 + _GAP)
    # Pool adjacent violators (Ayer et al., 1955): neighbours that would change places share the mean of both.
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=False):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    flat = [mean for mean, count in pools for _ in range(count)]
    return [base + offset for base, offset in zip(flat, offsets, strict=False)]


def _label_room(arrows: Sequence[Arrow], columns: Sequence[int]) -> dict[int, float]:
    """How wide the gap before each column must be for the labels of the arrows that end there."""
    room: dict[int, float] = defaultdict(float)
    for arrow in arrows:
        target = columns[arrow.target]
        room[target] = max(room[target], len(arrow.label) * _LABEL_CHARACTER)
    return room


def _abscissas(
    layers: Sequence[Sequence[int]], sizes: Sequence[tuple[float, float]], room: dict[int, float]
) -> tuple[list[tuple[float, float]], float]:
    """The left and right of each column, and the width of all."""
    spans: list[tuple[float, float]] = []
    x = 0.0
    for index, layer in enumerate(layers):
        x += _COLUMN_GAP + room[index] if index else 0.0
        wide = max((sizes[n][0] for n in layer), default=0.0)
        spans.append((x, x + wide))
        x += wide
    return spans, x

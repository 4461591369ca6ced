"""Small learning tasks of everyday kinds, on which the defaults of `fit` are tried (see zoo.py).

Each task is a sketch with one or two blanks and a rule that makes examples of
it. Half of the tasks (``tune``) may be used to choose settings; the other half
(``check``) is only looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Rng = np.random.Generator


@dataclass(frozen=True)
class Examples:
    """``n`` states as arrays ``[n, *objects, *value]``, and what is known: a goal's truth, or what follows.

    ``after`` holds the variables that the action changes; everything else stays.
    ``truth`` is the truth of the goal, where the task is about one.
    """

    objects: Mapping[str, Sequence[str]]
    values: Mapping[str, np.ndarray]
    truth: np.ndarray | None = None
    after: Mapping[str, np.ndarray] = field(default_factory=dict)
    truth_after: np.ndarray | None = None


@dataclass(frozen=True)
class Task:
    """A sketch, its examples, and what is compared.

    ``tests`` are the splits on which a model is scored: "test" is drawn as the
    training examples are; others have other numbers of objects or values out of range.
    ``inputs`` says how a network fitted by hand would be given the examples: the
    predicates that the blank reads, and whether each is a set.
    """

    name: str
    kind: str
    half: str
    sketch: str
    sample: Callable[[Rng, int, str], Examples | list[Examples]]
    goal: str = ""
    action: tuple = ()
    tests: tuple[str, ...] = ("test",)
    sizes: tuple[int, ...] = (100, 1000)
    tolerance: float = 0.25
    inputs: Callable[[Examples], list] | None = None
    output: str = ""


TASKS: dict[str, Task] = {}


def _add(task: Task) -> None:
    assert task.name not in TASKS
    TASKS[task.name] = task


def _declared(columns) -> tuple[str, str]:
    """The types and predicates of a thing's values, from column → (type's name or "", type, draw)."""
    types = {alias: type_ for alias, type_, _ in columns.values() if alias and type_}
    predicates = [
        f"({c} [return_type={alias or type_}] ?o - thing)" for c, (alias, type_, _) in columns.items()
    ]
    return " ".join(f"{alias} - {type_}" for alias, type_ in types.items()), " ".join(predicates)


def _sketch(types: str, predicates: str, *, derived: str = "", action: str = "") -> str:
    return f"""(define (domain zoo)
  (:types thing robot - object {types})
  (:predicates {predicates})
  {derived}
  {action})"""


ONE = {"thing": ["x"]}


# -- Booleans of a single thing's values -------------------------------------------------------


def _atom(name, half, kind, columns, rule, *, sizes=(100, 1000), tests=("test",)) -> None:
    """``(ok ?o)`` is a blank over some values of one thing; columns: name → (type, draw(rng, n, split))."""
    types, predicates = _declared(columns)
    reads = " ".join(f"({column} ?o)" for column in columns)

    def sample(rng, n, split):
        # Half of the examples are true, as far as drawing gets there.
        drawn = {c: draw(rng, 40 * n, split) for c, (_, _, draw) in columns.items()}
        truth = np.asarray(rule(*drawn.values())).astype(bool)
        yes, no = np.flatnonzero(truth), np.flatnonzero(~truth)
        half_ = min(n // 2, len(yes))
        keep = np.concatenate([yes[:half_], no[: n - half_]])
        keep = keep[rng.permutation(len(keep))]
        return Examples(ONE, {c: v[keep][:, None] for c, v in drawn.items()}, truth=truth[keep])

    _add(
        Task(
            name,
            kind,
            half,
            _sketch(types, predicates, derived=f"(:derived (ok ?o - thing) (??f {reads}))"),
            sample,
            goal="(ok x)",
            sizes=sizes,
            tests=tests,
            inputs=lambda e: [e.values[c][:, 0] for c in columns],
            output="bool",
        )
    )


def ints(k, size=None):
    """Uniform ints below k."""
    return lambda rng, n, split: rng.integers(0, k, (n, *(() if size is None else (size,))))


def grid(low, high, d, beyond=3):
    """Whole numbers in d dimensions; the split "range" draws from beyond the range."""

    def draw(rng, n, split):
        lo, hi = (high + 1, high + 1 + beyond) if split == "range" else (low, high)
        return rng.integers(lo, hi + 1, (n, d)).astype(np.float32)

    return draw


def floats(low, high, d):
    """Uniform numbers in d dimensions."""
    return lambda rng, n, split: rng.uniform(low, high, (n, d)).astype(np.float32)


def bools(rng, n, split):
    """Fair coins."""
    return rng.integers(0, 2, n).astype(bool)


TABLE3 = np.random.default_rng(1).integers(0, 2, (5, 5, 5)).astype(bool)
TABLE2 = np.random.default_rng(2).integers(0, 6, (5, 5))
PERMUTATION = np.random.default_rng(3).permutation(9)
LINE = np.random.default_rng(4).normal(size=9)
AHEAD = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])

_atom(
    "colour",
    "tune",
    "ints",
    {"code": ("code", "vector[int64, 3, choices=6]", ints(6, 3))},
    lambda c: c[:, 1] == 2,
)
_atom(
    "type-and-colour",
    "check",
    "ints",
    {"code": ("code", "vector[int64, 3, choices=5]", ints(5, 3))},
    lambda c: (c[:, 0] == 1) & (c[:, 1] >= 2),
)
_atom(
    "parity",
    "tune",
    "ints",
    {"a": ("num", "int64[choices=4]", ints(4)), "b": ("num", "", ints(4))},
    lambda a, b: (a + b) % 2 == 0,
)
_atom(
    "same-int",
    "check",
    "ints",
    {"a": ("num", "int64[choices=8]", ints(8)), "b": ("num", "", ints(8))},
    lambda a, b: a == b,
)
_atom(
    "less-int",
    "tune",
    "ints",
    {"a": ("num", "int64[choices=10]", ints(10)), "b": ("num", "", ints(10))},
    lambda a, b: a < b,
)
_atom(
    "sum-mod-7",
    "check",
    "ints",
    {"a": ("num", "int64[choices=7]", ints(7)), "b": ("num", "", ints(7))},
    lambda a, b: (a + b) % 7 < 3,
)
_atom(
    "random-table",
    "tune",
    "ints",
    {"code": ("code", "vector[int64, 3, choices=5]", ints(5, 3))},
    lambda c: TABLE3[c[:, 0], c[:, 1], c[:, 2]],
    sizes=(1000,),
)
_atom(
    "two-codes-table",
    "check",
    "ints",
    {"a": ("row", "int64[choices=5]", ints(5)), "b": ("col", "int64[choices=5]", ints(5))},
    lambda a, b: TABLE2[a, b] % 2 == 0,
)
_atom(
    "xor-bools",
    "tune",
    "bools",
    {"a": ("", "bool", bools), "b": ("", "bool", bools), "c": ("", "bool", bools)},
    lambda a, b, c: a ^ b ^ c,
)
_atom(
    "majority", "check", "bools", dict.fromkeys("abcde", ("", "bool", bools)), lambda *xs: np.sum(xs, 0) >= 3
)

_atom(
    "interval",
    "check",
    "floats",
    {"x": ("", "float32", lambda r, n, s: r.uniform(0, 8, n).astype(np.float32))},
    lambda x: (x > 2) & (x < 5),
)
_atom(
    "region",
    "tune",
    "floats",
    {"pose": ("pose", "vector[float32, 2]", floats(0, 6, 2))},
    lambda p: (np.abs(p - 3) < 1.2).all(1),
)
_atom(
    "ring",
    "check",
    "floats",
    {"pose": ("pose", "vector[float32, 2]", floats(-3, 3, 2))},
    lambda p: (np.linalg.norm(p, axis=1) > 1) & (np.linalg.norm(p, axis=1) < 2),
)
_atom(
    "half-space-8",
    "tune",
    "floats",
    {"v": ("vec", "vector[float32, 8]", floats(-1, 1, 8))},
    lambda v: v @ LINE[:8] > 0,
)
_atom(
    "half-space-9",
    "check",
    "floats",
    {"v": ("vec", "vector[float32, 9]", floats(-1, 1, 9))},
    lambda v: v @ LINE > 0,
)
_atom(
    "ball-5",
    "tune",
    "floats",
    {"v": ("vec", "vector[float32, 5]", floats(-1, 1, 5))},
    lambda v: (v**2).sum(1) < 1.6,
)
_atom(
    "ball-9",
    "check",
    "floats",
    {"v": ("vec", "vector[float32, 9]", floats(-1, 1, 9))},
    lambda v: (v**2).sum(1) < 3.0,
)
_atom(
    "near",
    "tune",
    "relations",
    {"p": ("pose", "vector[float32, 2]", floats(0, 6, 2)), "q": ("pose", "", floats(0, 6, 2))},
    lambda p, q: np.linalg.norm(p - q, axis=1) < 1.5,
)
_atom(
    "left-of",
    "check",
    "relations",
    {"p": ("pose", "vector[float32, 3]", floats(0, 6, 3)), "q": ("pose", "", floats(0, 6, 3))},
    lambda p, q: (p[:, 0] < q[:, 0] - 0.5) & (np.abs(p[:, 1] - q[:, 1]) < 1.5),
)
_atom(
    "on-3d",
    "tune",
    "relations",
    {"p": ("pose", "vector[float32, 3]", floats(0, 3, 3)), "q": ("pose", "", floats(0, 3, 3))},
    lambda p, q: (np.abs(p - q)[:, :2] < 0.7).all(1) & (p[:, 2] - q[:, 2] > 0.3) & (p[:, 2] - q[:, 2] < 1.3),
)
_atom(
    "next-to",
    "check",
    "relations",
    {"p": ("cell", "vector[float32, 2]", grid(0, 6, 2)), "q": ("cell", "", grid(0, 6, 2))},
    lambda p, q: np.abs(p - q).sum(1) == 1,
    tests=("test", "range"),
)
_atom(
    "facing",
    "tune",
    "relations",
    {
        "p": ("cell", "vector[float32, 2]", grid(0, 6, 2)),
        "d": ("dir", "int64[choices=4]", ints(4)),
        "q": ("cell", "", grid(0, 6, 2)),
    },
    lambda p, d, q: (p + AHEAD[d] == q).all(1),
    tests=("test", "range"),
)


def _carried(rng, n, split):
    """Cells of a room, [-1, -1] in the hand, and [-2, -2] when gone: 1 in 100, or 1 in 2 ("rare")."""
    gone, held = (0.5, 0.5) if split == "rare" else (0.01, 0.15)
    drawn = rng.random(n)
    cells = np.where((drawn < gone + held)[:, None], -1, rng.integers(0, 7, (n, 2)))
    return np.where((drawn < gone)[:, None], -2, cells).astype(np.float32)


_atom(
    "carried",
    "tune",
    "floats",
    {"pose": ("pose", "vector[float32, 2]", _carried)},
    lambda p: (p == -1).all(1),
    sizes=(1000,),
    tests=("test", "rare"),
)
_atom(
    "limit-by-code",
    "check",
    "mixed",
    {
        "x": ("", "float32", lambda r, n, s: r.uniform(0, 8, n).astype(np.float32)),
        "k": ("kind", "int64[choices=4]", ints(4)),
    },
    lambda x, k: x > np.array([2, 6, 4, 1])[k],
)
_atom(
    "warm-and-on",
    "tune",
    "mixed",
    {"t": ("", "float32", lambda r, n, s: r.uniform(0, 40, n).astype(np.float32)), "on": ("", "bool", bools)},
    lambda t, on: (t > 25) & on,
)


# -- Booleans of sets ------------------------------------------------------------------------


def _of_set(name, half, element, rule, *, robot=None, counts=((8,), 14), sizes=(100, 1000)) -> None:
    """``(ok ?r)`` is a blank over a set of the things' values, perhaps beside a value of the robot's.

    ``counts`` are the numbers of things in the training examples, and in those of the split "counts".
    """
    alias, type_, draw = element
    predicates = f"(v [return_type={alias}] ?o - thing)"
    reads = "(foreach (?o - thing) (v ?o))"
    if robot is not None:
        predicates += f" (own [return_type={robot[0]}] ?r - robot)"
        reads = f"(own ?r) {reads}"
    types = f"{alias} - {type_}"
    if robot is not None and robot[0] != alias:
        types += f" {robot[0]} - {robot[1]}"

    def of_count(rng, n, split, count):
        many = 12 * n
        v = draw(rng, many * count, split)
        v = v.reshape(many, count, *v.shape[1:])
        own = robot[2](rng, many, split) if robot is not None else None
        truth = rule(v, own) if own is not None else rule(v)
        yes, no = np.flatnonzero(truth), np.flatnonzero(~truth)
        take = min(n // 2, len(yes))
        take_no = min(n - take, len(no))
        keep = np.concatenate([yes[:take], no[:take_no]])
        keep = keep[rng.permutation(len(keep))]
        values = {"v": v[keep]}
        if own is not None:
            values["own"] = own[keep][:, None]
        objects = {"robot": ["r"], "thing": [f"t{i}" for i in range(count)]}
        return Examples(objects, values, truth=truth[keep])

    def sample(rng, n, split):
        used = (counts[1],) if split == "counts" else counts[0]
        return [of_count(rng, n // len(used), split, count) for count in used]

    def inputs(e):
        return [*([e.values["own"][:, 0]] if robot is not None else []), {"set": e.values["v"]}]

    _add(
        Task(
            name,
            "sets",
            half,
            _sketch(types, predicates, derived=f"(:derived (ok ?r - robot) (??f {reads}))"),
            sample,
            goal="(ok r)",
            tests=("test", "counts"),
            sizes=sizes,
            inputs=inputs if len(counts[0]) == 1 else None,
            output="bool",
        )
    )


_cell = ("cell", "vector[float32, 2]", grid(0, 6, 2))
_of_set(
    "any-here",
    "tune",
    _cell,
    lambda v, own: (v == own[:, None]).all(-1).any(1),
    robot=_cell,
    counts=((8,), 14),
)
_of_set(
    "any-beside",
    "check",
    _cell,
    lambda v, own: ((v - own[:, None]) == [1, 0]).all(-1).any(1),
    robot=_cell,
    counts=((8,), 14),
)
_temperature = ("temperature", "float32", lambda r, n, s: r.uniform(0, 40, n).astype(np.float32))
_of_set("two-warm", "tune", _temperature, lambda v: (v > 28).sum(1) >= 2, counts=((4, 6, 8), 12))
_of_set("one-hot-thing", "check", _temperature, lambda v: (v > 36).any(1), counts=((6,), 12))
_weight = ("weight", "float32", lambda r, n, s: r.uniform(0, 2, n).astype(np.float32))
_of_set("total-weight", "check", _weight, lambda v: v.sum(1) > 6.5, counts=((4, 6, 8), 10))
_code = ("code", "int64[choices=6]", ints(6))
_of_set("any-red", "tune", _code, lambda v: (v == 2).any(1), counts=((4,), 9))
_of_set("none-blue", "check", _code, lambda v: ~(v == 4).any(1), counts=((4,), 9))
_of_set("three-red", "check", _code, lambda v: (v == 2).sum(1) >= 3, counts=((4, 6, 8), 12))


# -- Booleans of images -----------------------------------------------------------------------


def _image(name, half, size, channels, draw, sizes=(600,)) -> None:
    def sample(rng, n, split):
        truth = rng.integers(0, 2, n).astype(bool)
        pictures = np.stack([draw(rng, bool(t)) for t in truth]).astype(np.float32)
        return Examples(ONE, {"image": pictures[:, None]}, truth=truth)

    _add(
        Task(
            name,
            "images",
            half,
            _sketch(
                "",
                f"(image [return_type=vector[float32, {size}, {size}, {channels}]] ?o - thing)",
                derived="(:derived (ok ?o - thing) (??f (image ?o)))",
            ),
            sample,
            goal="(ok x)",
            sizes=sizes,
            inputs=lambda e: [e.values["image"][:, 0]],
            output="bool",
        )
    )


def _bar(rng, upright):
    picture = rng.normal(0, 0.2, (10, 10, 1))
    at, first = rng.integers(1, 9), rng.integers(0, 5)
    picture[(slice(first, first + 5), at) if upright else (at, slice(first, first + 5))] += 1
    return picture


def _square(rng, red):
    picture = rng.normal(0, 0.2, (12, 12, 3))
    x, y = rng.integers(0, 8, 2)
    picture[x : x + 4, y : y + 4, 0 if red else 2] += 1
    return picture


def _blob(rng, left):
    picture = rng.normal(0, 0.2, (16, 16, 1))
    x, y = rng.integers(0, 13), rng.integers(0, 6)
    picture[x : x + 3, (y if left else y + 7) : (y if left else y + 7) + 3] += 1
    return picture


_image("bar-direction", "tune", 10, 1, _bar)
_image("red-square", "check", 12, 3, _square, sizes=(100, 600))
_image("blob-left", "check", 16, 1, _blob)


# -- effects ----------------------------------------------------------------------------------


def _effect(
    name,
    half,
    kind,
    columns,
    effect,
    target,
    rule,
    *,
    sizes=(100, 1000),
    tests=("test",),
    tolerance=0.25,
    hand=True,
    derived="",
) -> None:
    """An action on one thing; ``effect`` is its text, ``rule`` gives the target's new value."""
    types, predicates = _declared(columns)

    def sample(rng, n, split):
        drawn = {c: draw(rng, n, split) for c, (_, _, draw) in columns.items()}
        new = rule(*drawn.values())
        return Examples(
            ONE, {c: v[:, None] for c, v in drawn.items()}, after={target: np.asarray(new)[:, None]}
        )

    reads = effect[effect.index("??") :] if hand else ""
    used = [c for c in columns if f"({c} ?o)" in reads]
    _add(
        Task(
            name,
            kind,
            half,
            _sketch(
                types,
                predicates,
                derived=derived,
                action=f"(:action act :parameters (?o - thing) :effect {effect})",
            ),
            sample,
            action=("act", "x"),
            sizes=sizes,
            tests=tests,
            tolerance=tolerance,
            inputs=(lambda e: [e.values[c][:, 0] for c in used]) if hand else None,
            output=target,
        )
    )


def _num(k):
    return ("num", f"int64[choices={k}]", ints(k))


_effect(
    "turn", "tune", "int effects", {"a": _num(4)}, "(a::assign ?o (??h (a ?o)))", "a", lambda a: (a + 3) % 4
)
_effect(
    "next-mod-12",
    "check",
    "int effects",
    {"a": _num(12)},
    "(a::assign ?o (??h (a ?o)))",
    "a",
    lambda a: (a + 1) % 12,
)
_effect(
    "max-int",
    "tune",
    "int effects",
    {"a": _num(6), "b": ("num", "", ints(6))},
    "(a::assign ?o (??h (a ?o) (b ?o)))",
    "a",
    np.maximum,
)
_effect(
    "min-int",
    "check",
    "int effects",
    {"a": _num(7), "b": ("num", "", ints(7))},
    "(a::assign ?o (??h (a ?o) (b ?o)))",
    "a",
    np.minimum,
)
_effect(
    "permutation",
    "check",
    "int effects",
    {"a": _num(9), "b": ("other", "int64[choices=9]", ints(9))},
    "(a::assign ?o (??h (b ?o)))",
    "a",
    lambda a, b: PERMUTATION[b],
)
_effect(
    "table-5x5",
    "tune",
    "int effects",
    {
        "a": ("out", "int64[choices=6]", ints(6)),
        "r": ("row", "int64[choices=5]", ints(5)),
        "c": ("col", "int64[choices=5]", ints(5)),
    },
    "(a::assign ?o (??h (r ?o) (c ?o)))",
    "a",
    lambda a, r, c: TABLE2[r, c],
)
_effect(
    "add-mod-7",
    "check",
    "int effects",
    {"a": _num(7), "b": ("num", "", ints(7))},
    "(a::assign ?o (??h (a ?o) (b ?o)))",
    "a",
    lambda a, b: (a + b) % 7,
    sizes=(1000,),
)
_effect(
    "paint-one",
    "tune",
    "int effects",
    {"v": ("code", "vector[int64, 3, choices=6]", ints(6, 3)), "k": ("brush", "int64[choices=6]", ints(6))},
    "(v::assign ?o (??h (v ?o) (k ?o)))",
    "v",
    lambda v, k: np.stack([v[:, 0], k, v[:, 2]], 1),
)

_effect(
    "step-by-direction",
    "tune",
    "float effects",
    {"p": _cell, "d": ("dir", "int64[choices=4]", ints(4))},
    "(p::assign ?o (??h (p ?o) (d ?o)))",
    "p",
    lambda p, d: p + AHEAD[d],
    tests=("test", "range"),
)
_effect(
    "shift",
    "check",
    "float effects",
    {"p": ("pose", "vector[float32, 3]", floats(-5, 5, 3))},
    "(p::assign ?o (??h (p ?o)))",
    "p",
    lambda p: p + np.array([1, -2, 0.5]),
    tolerance=0.1,
)
_effect(
    "half-way",
    "check",
    "float effects",
    {"p": ("pose", "vector[float32, 2]", floats(0, 6, 2)), "t": ("pose", "", floats(0, 6, 2))},
    "(p::assign ?o (??h (p ?o) (t ?o)))",
    "p",
    lambda p, t: (p + t) / 2,
    tolerance=0.15,
)
_effect(
    "copy",
    "tune",
    "float effects",
    {"p": ("pose", "vector[float32, 2]", floats(0, 6, 2)), "t": ("pose", "", floats(0, 6, 2))},
    "(p::assign ?o (??h (t ?o)))",
    "p",
    lambda p, t: t,
    tolerance=0.15,
)
_effect(
    "to-a-place",
    "check",
    "float effects",
    {"p": ("pose", "vector[float32, 2]", floats(0, 6, 2))},
    "(p::assign ?o (??h))",
    "p",
    lambda p: np.tile(np.float32([-1, 4]), (len(p), 1)),
    tolerance=0.1,
    hand=False,
)
_effect(
    "clamped",
    "check",
    "float effects",
    {"x": ("", "float32", lambda r, n, s: r.integers(0, 8, n).astype(np.float32))},
    "(x::assign ?o (??h (x ?o)))",
    "x",
    lambda x: np.minimum(x + 1, 7),
)
_effect(
    "quarter-turn",
    "tune",
    "float effects",
    {"p": ("pose", "vector[float32, 2]", floats(-3, 3, 2))},
    "(p::assign ?o (??h (p ?o)))",
    "p",
    lambda p: np.stack([-p[:, 1], p[:, 0]], 1),
    tolerance=0.2,
)
_effect(
    "product",
    "check",
    "float effects",
    {
        "x": ("", "float32", lambda r, n, s: r.uniform(0, 3, n).astype(np.float32)),
        "a": ("len", "float32", lambda r, n, s: r.uniform(0, 3, n).astype(np.float32)),
        "b": ("width", "float32", lambda r, n, s: r.uniform(0, 3, n).astype(np.float32)),
    },
    "(x::assign ?o (??h (a ?o) (b ?o)))",
    "x",
    lambda x, a, b: a * b,
    tolerance=0.4,
)
_effect(
    "speed-by-code",
    "tune",
    "float effects",
    {
        "x": ("", "float32", lambda r, n, s: r.uniform(0, 9, n).astype(np.float32)),
        "k": ("gear", "int64[choices=4]", ints(4)),
    },
    "(x::assign ?o (??h (x ?o) (k ?o)))",
    "x",
    lambda x, k: x + np.array([-1, 0.5, 2, 4])[k],
    tolerance=0.2,
)
_effect(
    "big-units",
    "check",
    "float effects",
    {"x": ("", "float32", lambda r, n, s: r.uniform(0, 9000, n).astype(np.float32))},
    "(x::assign ?o (??h (x ?o)))",
    "x",
    lambda x: x + 50,
    tolerance=10,
)

_effect(
    "toggle",
    "tune",
    "bool effects",
    {"on": ("", "bool", bools), "k": ("kind", "int64[choices=5]", ints(5))},
    "(on::assign ?o (??h (on ?o) (k ?o)))",
    "on",
    lambda on, k: on ^ (k >= 3),
)
_effect(
    "set-bool",
    "check",
    "bool effects",
    {"on": ("", "bool", bools), "a": _num(5), "b": ("num", "", ints(5))},
    "(on::assign ?o (??h (a ?o) (b ?o)))",
    "on",
    lambda on, a, b: a > b,
)
_effect(
    "added-when",
    "tune",
    "bool effects",
    {"on": ("", "bool", bools), "x": ("", "float32", lambda r, n, s: r.uniform(0, 8, n).astype(np.float32))},
    "(when (??g (x ?o)) (on ?o))",
    "on",
    lambda on, x: on | (x > 5),
    hand=False,
)

# -- gated effects ----------------------------------------------------------------------------

_effect(
    "gated-next-mod-8",
    "tune",
    "gates",
    {"a": _num(8), "b": ("", "bool", bools)},
    "(when (??g (b ?o)) (a::assign ?o (??h (a ?o))))",
    "a",
    lambda a, b: np.where(b, (a + 1) % 8, a),
    hand=False,
)
_effect(
    "gated-next-mod-6",
    "check",
    "gates",
    {"a": _num(6), "k": ("kind", "int64[choices=5]", ints(5))},
    "(when (??g (k ?o)) (a::assign ?o (??h (a ?o))))",
    "a",
    lambda a, k: np.where(k < 2, (a + 1) % 6, a),
    hand=False,
)
_effect(
    "gated-step",
    "check",
    "gates",
    {
        "x": ("", "float32", lambda r, n, s: r.integers(0, 9, n).astype(np.float32)),
        "k": ("kind", "int64[choices=5]", ints(5)),
    },
    "(when (??g (k ?o)) (x::assign ?o (??h (x ?o))))",
    "x",
    lambda x, k: np.where(k >= 2, x + 1, x),
    hand=False,
)
_effect(
    "gated-by-number",
    "tune",
    "gates",
    {
        "x": ("", "float32", lambda r, n, s: r.integers(0, 9, n).astype(np.float32)),
        "e": ("energy", "float32", lambda r, n, s: r.uniform(0, 1, n).astype(np.float32)),
    },
    "(when (??g (e ?o)) (x::assign ?o (??h (x ?o))))",
    "x",
    lambda x, e: np.where(e > 0.3, x + 1, x),
    hand=False,
)
_effect(
    "gated-constant",
    "check",
    "gates",
    {"a": _num(6), "k": ("kind", "int64[choices=4]", ints(4))},
    "(when (??g (k ?o)) (a::assign ?o (??h)))",
    "a",
    lambda a, k: np.where(k == 1, 4, a),
    hand=False,
)


def _locked_door(name, half) -> None:
    """With the key, opening writes *open*, to open doors too; goals say when the gate holds."""

    def sample(rng, n, split):
        door, key = rng.integers(0, 5, n), rng.integers(0, 2, n).astype(bool)
        after = np.where(key, 2, door)
        return Examples(
            ONE,
            {"door": door[:, None], "key": key[:, None]},
            truth=key,
            truth_after=key,
            after={"door": after[:, None]},
        )

    _add(
        Task(
            name,
            "gates",
            half,
            _sketch(
                "num - int64[choices=5]",
                "(door [return_type=num] ?o - thing) (key ?o - thing)",
                derived="(:derived (opens ?o - thing) (??g (key ?o)))",
                action="(:action act :parameters (?o - thing)"
                " :effect (when (opens ?o) (door::assign ?o (??h (door ?o)))))",
            ),
            sample,
            goal="(opens x)",
            action=("act", "x"),
        )
    )


_locked_door("locked-door", "tune")


def _relation_gate(name, half) -> None:
    """An action toggles what is near the robot, among four things."""

    def sample(rng, n, split):
        count = 7 if split == "counts" else 4
        things = rng.integers(0, 5, (n, count, 2)).astype(np.float32)
        robot = rng.integers(0, 5, (n, 1, 2)).astype(np.float32)
        some = rng.integers(0, count, n)
        robot[: n // 2, 0] = things[np.arange(n), some][: n // 2]
        state = rng.integers(0, 3, (n, count))
        near = np.abs(things - robot).sum(-1) <= 1
        after = np.where(near, (state + 1) % 3, state)
        objects = {"robot": ["r"], "thing": [f"t{i}" for i in range(count)]}
        return Examples(objects, {"at": robot, "pose": things, "state": state}, after={"state": after})

    _add(
        Task(
            name,
            "gates",
            half,
            _sketch(
                "cell - vector[float32, 2] num - int64[choices=3]",
                "(at [return_type=cell] ?r - robot) (pose [return_type=cell] ?o - thing)"
                " (state [return_type=num] ?o - thing)",
                derived="(:derived (near ?r - robot ?o - thing) (??g (at ?r) (pose ?o)))",
                action="(:action act :parameters (?r - robot)"
                " :effect (foreach (?o - thing) (when (near ?r ?o) (state::assign ?o (??h (state ?o))))))",
            ),
            sample,
            action=("act", "r"),
            tests=("test", "counts"),
        )
    )


_relation_gate("toggle-near", "check")


def _blocked(name, half) -> None:
    """The robot steps right unless one of the obstacles stands there."""

    def sample(rng, n, split):
        count = 14 if split == "counts" else 8
        things = rng.integers(0, 6, (n, count, 2)).astype(np.float32)
        robot = rng.integers(0, 6, (n, 1, 2)).astype(np.float32)
        robot[: n // 3, 0] = things[: n // 3, 0] - np.float32([1, 0])
        blocked = ((things - robot) == [1, 0]).all(-1).any(1)
        after = np.where(blocked[:, None, None], robot, robot + np.float32([1, 0]))
        objects = {"robot": ["r"], "thing": [f"t{i}" for i in range(count)]}
        return Examples(objects, {"at": robot, "pose": things}, after={"at": after.astype(np.float32)})

    _add(
        Task(
            name,
            "sets",
            half,
            _sketch(
                "cell - vector[float32, 2]",
                "(at [return_type=cell] ?r - robot) (pose [return_type=cell] ?o - thing)",
                action="(:action act :parameters (?r - robot)"
                " :effect (at::assign ?r (??h (at ?r) (foreach (?o - thing) (pose ?o)))))",
            ),
            sample,
            action=("act", "r"),
            tests=("test", "counts"),
        )
    )


_blocked("blocked-step", "tune")


# -- goals under quantifiers ------------------------------------------------------------------


def _quantified(name, half, columns, derived, goal, rule, counts=(5, 8), sizes=(100, 1000)) -> None:
    types, predicates = _declared(columns)

    def sample(rng, n, split):
        count = counts[1] if split == "counts" else counts[0]
        many = 12 * n
        drawn = {}
        for c, (_, _, draw) in columns.items():
            v = draw(rng, many * count, split)
            drawn[c] = v.reshape(many, count, *v.shape[1:])
        truth = rule(**drawn)
        yes, no = np.flatnonzero(truth), np.flatnonzero(~truth)
        take = min(n // 2, len(yes))
        keep = np.concatenate([yes[:take], no[: n - take]])
        keep = keep[rng.permutation(len(keep))]
        objects = {"thing": [f"t{i}" for i in range(count)]}
        return Examples(objects, {c: v[keep] for c, v in drawn.items()}, truth=truth[keep])

    _add(
        Task(
            name,
            "quantifiers",
            half,
            _sketch(types, predicates, derived=derived),
            sample,
            goal=goal,
            tests=("test", "counts"),
            sizes=sizes,
        )
    )


_quantified(
    "exists-red",
    "tune",
    {"code": ("code", "vector[int64, 2, choices=6]", ints(6, 2))},
    "(:derived (red ?o - thing) (??f (code ?o)))",
    "(exists (?o - thing) (red ?o))",
    lambda code: (code[..., 1] == 2).any(1),
)
_quantified(
    "forall-warm",
    "check",
    {"t": ("", "float32", lambda r, n, s: r.uniform(0, 40, n).astype(np.float32))},
    "(:derived (warm ?o - thing) (??f (t ?o)))",
    "(forall (?o - thing) (warm ?o))",
    lambda t: (t > 8).all(1),
)
_quantified(
    "some-pair-near",
    "check",
    {"p": ("pose", "vector[float32, 2]", floats(0, 6, 2))},
    "(:derived (near ?a - thing ?b - thing) (??f (p ?a) (p ?b)))",
    "(exists (?a - thing ?b - thing) (and (not (= ?a ?b)) (near ?a ?b)))",
    lambda p: (np.linalg.norm(p[:, :, None] - p[:, None], axis=-1) + 9 * np.eye(p.shape[1]) < 1.0).any(
        (1, 2)
    ),
    counts=(4, 6),
)
_quantified(
    "red-and-big",
    "tune",
    {
        "code": ("code", "vector[int64, 2, choices=4]", ints(4, 2)),
        "size": ("", "float32", lambda r, n, s: r.uniform(0, 4, n).astype(np.float32)),
    },
    "(:derived (red ?o - thing) (??f (code ?o))) (:derived (big ?o - thing) (??f (size ?o)))",
    "(exists (?o - thing) (and (red ?o) (big ?o)))",
    lambda code, size: ((code[..., 0] == 1) & (size > 2)).any(1),
)

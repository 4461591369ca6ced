"""What a whole sketch to be learned is made of, and how data, problems and figures are made from it.

A `Task` is a sketch with blanks, a world that knows what really happens
(`scene`, `simulate`), goals with their truth, and exact functions for the
blanks. Everything here is shared: walks through a scene become episodes, steps
to judge by, or problems to plan for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

import pdsketch as pds

Rng = np.random.Generator
Values = dict[str, np.ndarray]
"""A state: predicate → table ``[*objects, *value]``."""
Ground = tuple[Any, ...]
"""An action's name, then the numbers of its objects: ``("open", 0, 3)``."""
Truth = Callable[[Values], bool]

STREAMS = {"train": 0, "larger": 1, "problems": 2}
MOST_DRAWN = 400
"""So many scenes are drawn for a problem before the task is called wrong."""


@dataclass
class Walk:
    """States, the actions between them, and which of these were carried out."""

    objects: dict[str, list[str]]
    states: list[Values]
    actions: list[Ground]
    executed: list[bool]


@dataclass
class Problem:
    """A state, and a goal that does not hold there but can be reached."""

    objects: dict[str, list[str]]
    values: Values
    goal: str


class Task:
    """One whole sketch; subclasses fill in what is declared here. The docstring tells the story."""

    half: ClassVar[Literal["choose", "check"]]
    """Whether settings may be chosen on it, or whether it is only looked at."""
    sketch: ClassVar[str]
    """The parts of the domain, without ``(define (domain …) …)``."""
    episodes: ClassVar[int] = 150
    length: ClassVar[int] = 6
    sizes: ClassVar[tuple[int, ...]] = (1,)
    """The sizes of training scenes: what a size means is for `scene` to say."""
    larger: ClassVar[tuple[int, ...]] = (2,)
    labels: ClassVar[int] = 1
    """By how many of the goals each episode is judged."""
    refusals: ClassVar[Literal["kept", "dropped"]] = "kept"
    """Whether actions that were refused are among the data, or only those that were carried out."""
    depth: ClassVar[int] = 25
    """A random walk reaches the goal of a problem in so many steps."""
    most_expansions: ClassVar[int] = 4000
    goals: ClassVar[Mapping[str, Truth]]
    """Goals that episodes are judged by."""
    unseen: ClassVar[Mapping[str, Truth]] = {}
    """Goals that no episode is judged by; they are judged and planned for like the others."""
    exact: ClassVar[Mapping[str, Callable[..., Any]]]
    """Exact functions over plain values: ints as ints, single numbers and Booleans without a last axis."""

    def scene(self, rng: Rng, size: int) -> tuple[dict[str, int], Values]:
        """How many objects of each type there are, and the first state."""
        raise NotImplementedError

    def actions(self, v: Values) -> list[Ground]:
        """What may be tried."""
        raise NotImplementedError

    def simulate(self, v: Values, action: Ground) -> Values | None:
        """What really happens; None: the action is refused."""
        raise NotImplementedError

    def choose(self, rng: Rng, v: Values) -> Ground:
        """What is tried next while data are recorded."""
        tried = self.actions(v)
        return tried[rng.integers(len(tried))]

    # -- made from these --------------------------------------------------------------------------

    @cached_property
    def name(self) -> str:
        """``WallBlocks`` is called wall-blocks."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(self).__name__).lower()

    @cached_property
    def domain(self) -> Any:
        """The parsed sketch."""
        return pds.parse_domain(f"(define (domain {self.name}) {self.sketch})")

    @property
    def every_goal(self) -> dict[str, Truth]:
        """Goals of both kinds."""
        return {**self.goals, **self.unseen}

    def rng(self, seed: int, stream: str) -> Rng:
        """Randomness of its own for each task, seed and use."""
        return np.random.default_rng([seed, STREAMS[stream], crc32(self.name.encode())])

    def opened(self, rng: Rng, size: int) -> tuple[dict[str, list[str]], Values]:
        """A scene with names for its objects."""
        counts, values = self.scene(rng, size)
        return {type_: [f"{type_}{i}" for i in range(n)] for type_, n in counts.items()}, values

    def walk(self, rng: Rng, size: int, length: int, *, keep_refused: bool = True) -> Walk:
        """A walk through a fresh scene; without refusals, an action that is refused is not recorded."""
        objects, values = self.opened(rng, size)
        walk = Walk(objects, [values], [], [])
        for _ in range(length * 8):
            if len(walk.actions) == length:
                break
            action = self.choose(rng, walk.states[-1])
            after = self.simulate(walk.states[-1], action)
            if after is None and not keep_refused:
                continue
            walk.states.append(walk.states[-1] if after is None else after)
            walk.actions.append(action)
            walk.executed.append(after is not None)
        return walk

    def step(self, action: Ground) -> tuple[str, ...]:
        """An action as the library writes it."""
        name, *places = action
        types = [str(p.type) for p in self.domain.actions[name].parameters]
        return (name, *[f"{type_}{i}" for type_, i in zip(types, places, strict=True)])

    @staticmethod
    def ground(step: Sequence[str]) -> Ground:
        """An action of a plan as the simulator takes it."""
        return (step[0], *[int(re.sub(r"\D", "", argument)) for argument in step[1:]])

    def state(self, objects: Mapping[str, Sequence[str]], values: Values) -> Any:
        """A state as the library has it."""
        return pds.State(self.domain, {t: names for t, names in objects.items() if names}, values)

    @cached_property
    def guarded(self) -> bool:
        """Whether some action has a precondition, so that it can be refused."""
        return ":precondition" in self.sketch

    def data(self, seed: int) -> list[Any]:
        """The training episodes."""
        rng, found = self.rng(seed, "train"), []
        goals = list(self.goals)
        for _ in range(self.episodes):
            size = int(rng.choice(self.sizes))
            walk = self.walk(rng, size, self.length, keep_refused=self.refusals == "kept")
            picked = [goals[i] for i in rng.permutation(len(goals))[: self.labels]]
            found.append(
                pds.Episode(
                    [self.state(walk.objects, values) for values in walk.states],
                    [self.step(action) for action in walk.actions],
                    goals={goal: [int(self.goals[goal](v)) for v in walk.states] for goal in picked},
                    executable=walk.executed if self.guarded else None,
                )
            )
        return found

    def problems(self, seed: int, count: int) -> list[Problem]:
        """Goals that a random walk reaches in larger scenes."""
        rng, found = self.rng(seed, "problems"), []
        for _ in range(MOST_DRAWN * count):
            if len(found) == count:
                return found
            objects, first = self.opened(rng, int(rng.choice(self.larger)))
            goal, truth = list(self.every_goal.items())[rng.integers(len(self.every_goal))]
            values: Values | None = first
            for _ in range(self.depth):
                if truth(values):
                    break
                tried = self.actions(values)
                values = self.simulate(values, tried[rng.integers(len(tried))]) or values
            if truth(values) and not truth(first):
                found.append(Problem(objects, first, goal))
        if len(found) < count:
            raise ValueError(f"{self.name}: only {len(found)} problems can be reached by walking")
        return found

    def exact_modules(self) -> dict[str, Callable[..., Any]]:
        """The exact functions as modules of the sketch's blanks."""
        found = {}
        for name, blank in self.domain.blanks.items():
            owner, label = name.split("::")[1:]
            function = self.exact.get(f"{owner}::{label}") or self.exact[owner]
            found[name] = _module(blank, function)
        return found


def _module(blank: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """From plain values to what modules take and return (see *Modules of your own*)."""

    def called(*args: Any) -> Tensor:
        plain = [_plain(one, arg) for one, arg in zip(blank.inputs, args, strict=True)]
        out = function(*plain)
        returns = blank.returns
        if not isinstance(out, Tensor):
            out = torch.tensor(out, dtype=torch.float32 if returns.prim == "float32" else torch.int64)
        if returns.prim == "bool":
            return out.float().unsqueeze(-1) if args else out.float()
        if returns.choices is not None:
            return 20.0 * torch.nn.functional.one_hot(out.long(), returns.choices).float()
        out = out.float()
        return out.unsqueeze(-1) if not returns.shape and args else out

    return called


def _plain(declared: Any, arg: Any) -> Any:
    if declared.over is not None:
        values, weights = arg
        return _values(declared.type, values), weights > 0.5
    return _values(declared.type, arg)


def _values(type_: Any, tensor: Tensor) -> Tensor:
    if type_.choices is not None:
        return tensor.argmax(-1)
    if type_.prim == "bool":
        return tensor.squeeze(-1) > 0.5
    return tensor if type_.shape else tensor.squeeze(-1)


TASKS: dict[str, Task] = {}


def task(kind: type[Task]) -> type[Task]:
    """Register a task."""
    one = kind()
    assert one.name not in TASKS, one.name
    TASKS[one.name] = one
    return kind


# -- for worlds ----------------------------------------------------------------------------------------


def wrote(v: Values, *changes: tuple[str, Any, Any]) -> Values:
    """The state with (predicate, place, value) written; the others stay as they are."""
    after = dict(v)
    for name, place, value in changes:
        table = after[name].copy()
        table[place] = value
        after[name] = table
    return after


def floats(*rows: Any) -> np.ndarray:
    """A table of numbers."""
    return np.asarray(rows[0] if len(rows) == 1 else rows, dtype=np.float32)


def cells(rng: Rng, width: int, height: int, count: int, *, apart: Any = ()) -> np.ndarray:
    """So many different cells of a grid, none of those that are taken."""
    taken = {tuple(map(int, cell)) for cell in apart}
    free = [(x, y) for x in range(width) for y in range(height) if (x, y) not in taken]
    return floats([free[i] for i in rng.permutation(len(free))[:count]]).reshape(count, 2)


def border(width: int, height: int) -> np.ndarray:
    """The cells around a room, whose inside is 0 … width − 1 by 0 … height − 1."""
    return floats(
        [(x, y) for x in range(-1, width + 1) for y in range(-1, height + 1)
         if x in (-1, width) or y in (-1, height)]
    )  # fmt: skip


def among(cell: Any, table: np.ndarray) -> np.ndarray:
    """Which rows of a table are this cell."""
    return (np.abs(table - np.asarray(cell, dtype=np.float32)) < 0.5).all(-1)


def at_offset(x: float, y: float) -> Callable[..., Tensor]:
    """The exact relation *the second is so far from the first*."""
    return lambda a, b: ((b - a - torch.tensor([x, y], device=a.device)).abs() < 0.5).all(-1)


def moved(x: float, y: float) -> Callable[..., Tensor]:
    """The exact function *so much further*."""
    return lambda a: a + torch.tensor([x, y], device=a.device)


DIRECTIONS = floats([(1, 0), (0, 1), (-1, 0), (0, -1)])
"""East, north, west, south."""


def ahead(a: Tensor, direction: Tensor) -> Tensor:
    """The cell ahead."""
    return a + torch.as_tensor(DIRECTIONS, device=a.device)[direction]


def same_place(a: Tensor, b: Tensor) -> Tensor:
    """The exact relation *at the same place*."""
    return ((a - b).abs() < 0.5).all(-1)

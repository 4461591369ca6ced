"""A robot's table with blocks of many widths, trays, and skills that fail: ``python -m benchmarks.tables``.

Relations and preconditions are learned from random tries; ``--exact`` takes exact functions instead, and so
measures the planner and the executor alone. Then goals of the kinds that were judged in the tries, and of
others, are acted for: without failures, and where grips are lost and blocks are put down with noise. Success
is the world's word.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import torch

import pdsketch as pds

SKETCH = """
(define (domain tables)
  (:types thing - object block tray - thing
          pose - vector[float32, 3, tolerance=0.005]
          width - float32[tolerance=0.002])
  (:predicates (at [return_type=pose] ?t - thing)
               (size [return_type=width] ?t - thing)
               (held ?b - block))
  (:derived (on ?a - block ?b - block) (??f (at ?a) (at ?b) (size ?a) (size ?b)))
  (:derived (inside ?b - block ?t - tray) (??f (at ?b) (at ?t) (size ?t)))
  (:derived (near ?a - block ?b - block) (??f (at ?a) (at ?b)))
  (:derived (clear ?b - block) (not (exists (?o - block) (and (on ?o ?b) (not (held ?o))))))
  (:derived (busy) (exists (?b - block) (held ?b)))
  (:derived (blocked ?b - block ?p - pose)
    (exists (?o - block) (and (not (= ?o ?b)) (??f ?p (at ?o) (size ?b) (size ?o)))))
  (:action pick :parameters (?b - block)
    :precondition (and (not (busy)) (clear ?b))
    :effect (held ?b))
  (:action place :parameters (?b - block ?p - pose)
    :precondition (and (held ?b) (not (blocked ?b ?p)))
    :effect (and (not (held ?b)) (at::assign ?b ?p))))
"""
DOMAIN = pds.parse_domain(SKETCH)


class Table:
    """Blocks and two trays on a table; a block held is where it was picked up."""

    domain = DOMAIN

    def __init__(
        self, kind: str = "on", blocks: int | None = None, noise: float = 0.0, slips: float = 0.0
    ) -> None:
        self.kind, self.blocks, self.noise, self.slips = kind, blocks, noise, slips
        self.goal = ""
        self.executed = True

    def reset(self, seed: int | None = None) -> pds.State:
        """Blocks and trays in random places, apart from each other."""
        self.random = np.random.default_rng(seed)
        count = self.blocks or int(self.random.integers(3, 6))
        self.width = self.random.uniform(0.04, 0.07, count)
        self.tray_size = self.random.uniform(0.16, 0.2, 2)
        while True:
            at = self.random.uniform(0.1, 0.9, (count + 2, 2))
            room = np.concatenate([self.width, self.tray_size + 0.05])
            apart = np.abs(at[:, None] - at[None]).max(-1) - (room[:, None] + room[None]) / 2
            if (apart + np.eye(count + 2) > 0.01).all():
                break
        self.at = np.column_stack([at[:count], self.width / 2])
        self.trays = np.column_stack([at[count:], np.zeros(2)])
        self.hand: int | None = None
        self.executed = True
        self.goal = drawn(self.kind, count, self.random)
        return self.observe()

    def observe(self) -> pds.State:
        """All places and sizes."""
        count = len(self.at)
        return pds.State(
            DOMAIN,
            {"block": [f"b{i}" for i in range(count)], "tray": ["t0", "t1"]},
            {
                "at": np.concatenate([self.at, self.trays]),
                "size": np.concatenate([self.width, self.tray_size]),
                "held": np.arange(count) == (-1 if self.hand is None else self.hand),
            },
        )

    def step(self, action: tuple[Any, ...]) -> pds.State:
        """``("pick", block)`` or ``("place", block, pose)``."""
        number = int(action[1][1:])
        slipped = self.random.uniform() < self.slips
        if action[0] == "pick":
            free = not any(self.on(o, number) for o in range(len(self.at)) if o != number)
            self.executed = self.hand is None and free
            if self.executed and not slipped:
                self.hand = number
        else:
            place = np.array(action[2]) + np.append(self.random.normal(0, self.noise, 2), 0.0)
            self.executed = self.hand == number and self._fits(number, place)
            if self.executed:
                self.hand = None
                self._put(number, self.at[number].copy() if slipped else place)
        return self.observe()

    def _under(self, number: int, place: np.ndarray) -> list[int]:
        """The blocks whose middle is under, or nearly under, a place."""
        reach = (self.width[number] + self.width) / 2
        off = np.abs(self.at[:, :2] - place[:2]).max(-1)
        return [i for i in range(len(self.at)) if i != number and off[i] < reach[i] - 0.002]

    def _fits(self, number: int, place: np.ndarray) -> bool:
        """A block is put on one that is right below, and into none."""
        bottom = place[2] - self.width[number] / 2
        if bottom < -0.01:
            return False
        for i in self._under(number, place):
            top = self.at[i, 2] + self.width[i] / 2
            centred = np.abs(self.at[i, :2] - place[:2]).max() < 0.4 * self.width[i]
            if bottom < top - 0.01 or (bottom < top + 0.03 and not centred):
                return False
        return True

    def _put(self, number: int, place: np.ndarray) -> None:
        """It falls onto what is below it."""
        below = [self.at[i, 2] + self.width[i] / 2 for i in self._under(number, place)]
        self.at[number] = [*place[:2], max([0.0, *below]) + self.width[number] / 2]

    def on(self, a: int, b: int) -> bool:
        """Whether a block stands on another one."""
        gap = self.at[a, 2] - self.at[b, 2] - (self.width[a] + self.width[b]) / 2
        return (
            a != self.hand
            and abs(gap) < 0.005
            and np.abs(self.at[a, :2] - self.at[b, :2]).max() < 0.4 * self.width[b]
        )

    def inside(self, b: int, t: int) -> bool:
        """Whether a block lies in a tray."""
        off = np.abs(self.at[b, :2] - self.trays[t, :2]).max()
        return b != self.hand and off < self.tray_size[t] / 2 - 0.02

    def near(self, a: int, b: int) -> bool:
        """Whether two blocks are side by side."""
        off = np.linalg.norm(self.at[a] - self.at[b])
        return (
            a != self.hand
            and b != self.hand
            and 0.05 < off < 0.12
            and abs(self.at[a, 2] - self.at[b, 2]) < 0.03
        )

    def holds(self, atom: str) -> bool:
        """Whether a ground atom holds: ``on b0 b1``."""
        name, *arguments = atom.split()
        if name == "held":
            return self.hand == int(arguments[0][1:])
        return bool(getattr(self, name)(*(int(word[1:]) for word in arguments)))

    @property
    def success(self) -> bool:
        """Whether all atoms of the goal hold, and those after ``not`` do not."""
        text = self.goal.replace("(and ", "").replace("(not (", "!(").replace("))", ")").replace(")", "")
        parts = [part.strip() for part in text.split("(")]
        negated = False
        for part in parts:
            atom = part.rstrip("!").strip()
            if atom and self.holds(atom) == negated:
                return False
            negated = part.endswith("!")
        return True


SEEN = ("on", "inside", "near")
UNSEEN = ("tower", "on inside", "all inside", "near inside", "apart", "pair and tray")
GOALS = {
    "on": "(on A B)",
    "inside": "(inside A T)",
    "near": "(near A B)",
    "tower": "(and (on A B) (on B C))",
    "on inside": "(and (on A B) (inside B T))",
    "near inside": "(and (near A B) (inside A T) (inside B T))",
    "apart": "(and (inside A t0) (inside B t1) (inside C t1))",
    "pair and tray": "(and (on A B) (inside C T))",
    "walk": "(held b0)",
}
"""Kinds of goals: letters stand for different blocks, and T for a tray."""


def drawn(kind: str, count: int, random: np.random.Generator) -> str:
    """A goal of a kind for so many blocks."""
    if kind == "all inside":
        return f"(and {' '.join(f'(inside b{i} t{random.integers(2)})' for i in range(count))})"
    goal = GOALS[kind].replace("T", f"t{random.integers(2)}")
    for letter, block in zip("ABC", random.choice(count, 3, replace=False), strict=True):
        goal = goal.replace(letter, f"b{block}")
    return goal


def wanted(model: Any, state: pds.State, block: str) -> list[list[float]]:
    """For one block: above others, beside them, in trays, anywhere, with errors as a person makes them."""
    blocks = state.members("block")
    i = blocks.index(block)
    at, size = state["at"].numpy(), state["size"].numpy()
    random = np.random.default_rng(int(1e6 * at.sum()) % 2**31)
    found = []
    for j in range(len(blocks)):
        if j != i:
            found.append([*(at[j, :2] + random.normal(0, 0.008, 2)), at[j, 2] + (size[i] + size[j]) / 2])
            a = random.uniform(0, 2 * np.pi)
            far = random.uniform(0.05, 0.14)
            found.append([at[j, 0] + far * np.cos(a), at[j, 1] + far * np.sin(a), size[i] / 2])
    for t in range(2):
        for _ in range(2):
            off = random.uniform(-0.6, 0.6, 2) * size[len(blocks) + t]
            found.append([*(at[len(blocks) + t, :2] + off), size[i] / 2])
    found.append([*random.uniform(0.1, 0.9, 2), size[i] / 2])
    return found


def surest(model: Any, state: pds.State, block: str) -> list[list[float]]:
    """Places for a block while planning: on others, beside them and in trays."""
    blocks = state.members("block")
    i = blocks.index(block)
    at, size = state["at"].cpu().numpy(), state["size"].cpu().numpy()
    random = np.random.default_rng(i)
    found = []
    for j in range(len(blocks)):
        if j != i:
            found.append([*at[j, :2], at[j, 2] + (size[i] + size[j]) / 2])
            a = random.uniform(0, 2 * np.pi)
            found.append([at[j, 0] + 0.09 * np.cos(a), at[j, 1] + 0.09 * np.sin(a), size[i] / 2])
    for t in range(2):
        for dx, dy in ((0.0, 0.0), (-1, -1), (1, 1), (1, -1), (-1, 1)):
            off = 0.25 * size[len(blocks) + t] * np.array([dx, dy])
            found.append([*(at[len(blocks) + t, :2] + off), size[i] / 2])
    return found


def demonstrated(world: Table, state: pds.State, random: np.random.Generator) -> tuple[Any, ...]:
    """A random try: what is in hand is put somewhere, else something is picked up."""
    if world.hand is None or random.uniform() < 0.05:
        return ("pick", f"b{random.integers(len(world.at))}")
    block = f"b{world.hand}"
    options = wanted(None, state, block)
    return ("place", block, tuple(float(x) for x in options[random.integers(len(options))]))


def learned(seed: int, episodes: int, steps: int) -> pds.Model:
    """A model from random tries, with the world's word on every atom of the seen kinds."""
    random, found = np.random.default_rng(seed), []
    for number in range(episodes):
        world = Table("walk", blocks=3 + number % 2, noise=0.002)
        states = [world.reset(seed * 1_000_003 + number)]
        names = states[0].members("block")
        atoms = [f"{r} {a} {b}" for r in ("on", "near") for a in names for b in names if a != b]
        atoms += [f"inside {a} t{t}" for a in names for t in range(2)]
        told, actions, executed = {atom: [int(world.holds(atom))] for atom in atoms}, [], []
        for _ in range(10):
            actions.append(demonstrated(world, states[-1], random))
            states.append(world.step(actions[-1]))
            executed.append(world.executed)
            for atom in atoms:
                told[atom].append(int(world.holds(atom)))
        goals = {f"({atom})": labels for atom, labels in told.items()}
        found.append(pds.Episode(states, actions, executable=executed, goals=goals))
    model = pds.Model(DOMAIN, seed=seed)
    print(pds.fit(model, found, steps=steps, seed=seed))
    return model


def acted(model: pds.Model, kinds: tuple[str, ...], problems: int, **failures: float) -> float:
    """The rate of success over kinds of goals."""
    rates = []
    for kind in kinds:
        worlds = [Table(kind, **failures) for _ in range(problems)]
        options: Any = {"candidates": "generators", "time_limit": None, "max_expansions": 3000}
        policy = pds.Policy(model, samplers={"place.?p": surest}, options=options)
        done = pds.rollout(policy, worlds, seeds=range(9000, 9000 + problems), max_steps=30)
        rates.append(sum(map(bool, done.success)) / problems)
        print(f"    {kind:14} {rates[-1]:.2f}  {done}", flush=True)
    return sum(rates) / len(rates)


def _plain(width: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A width without an axis of its own."""
    return width[..., 0] if width.dim() == like.dim() else width


def _sure(truth: torch.Tensor) -> torch.Tensor:
    return torch.where(truth, 0.99, 0.01).unsqueeze(-1)


def _on(a: torch.Tensor, b: torch.Tensor, wide_a: torch.Tensor, wide_b: torch.Tensor) -> torch.Tensor:
    gap = a[..., 2] - b[..., 2] - (_plain(wide_a, a) + _plain(wide_b, b)) / 2
    return _sure((gap.abs() < 0.005) & ((a - b)[..., :2].abs().amax(-1) < 0.4 * _plain(wide_b, b)))


def _inside(block: torch.Tensor, tray: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
    return _sure((block - tray)[..., :2].abs().amax(-1) < _plain(wide, tray) / 2 - 0.02)


def _near(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    off = (a - b).norm(dim=-1)
    return _sure((off > 0.05) & (off < 0.12) & ((a - b)[..., 2].abs() < 0.03))


def _blocked(
    place: torch.Tensor, other: torch.Tensor, wide: torch.Tensor, wide_other: torch.Tensor
) -> torch.Tensor:
    wide, wide_other = _plain(wide, place), _plain(wide_other, other)
    off = (place - other)[..., :2].abs().amax(-1)
    bottom, top = place[..., 2] - wide / 2, other[..., 2] + wide_other / 2
    aside = (bottom < top + 0.03) & (off >= 0.4 * wide_other)
    return _sure((off < (wide + wide_other) / 2 - 0.002) & ((bottom < top - 0.01) | aside))


def exact() -> pds.Model:
    """A model whose relations are those of the world."""
    relations = {"on": _on, "inside": _inside, "near": _near, "blocked": _blocked}
    return pds.Model(
        DOMAIN, modules={f"derived::{name}::f": function for name, function in relations.items()}
    )


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=160)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--exact", action="store_true", help="nothing is learned")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for seed in range(1 if args.exact else args.seeds):
        began = time.process_time()
        model = exact() if args.exact else learned(seed, args.episodes, args.steps)
        print(f"seed {seed}: {time.process_time() - began:.0f} CPU s", flush=True)
        print(f"  seen kinds {acted(model, SEEN, args.problems):.3f}", flush=True)
        print(f"  unseen kinds {acted(model, UNSEEN, args.problems):.3f}", flush=True)
        harder = acted(model, SEEN + UNSEEN, max(1, args.problems // 2), noise=0.004, slips=0.1)
        print(f"  slips and noise {harder:.3f}", flush=True)


if __name__ == "__main__":
    main()

"""How much of the package the four everyday walks touch: modules, functions, rooms, and how deep calls go.

    python benchmarks/walks.py
    python benchmarks/walks.py --rooms      which rooms, and how many functions in each
    python benchmarks/walks.py plan fit     these walks alone

Each walk has a process of its own, and what comes before it (a model to plan with, say) is not
counted. Counted are functions that were called (`sys.setprofile`), however often; not what runs while
modules are imported. A room is the first folder below the package, or the package itself. Room changes:
in the order in which modules are first called, how often the next one is in another room, that is, how
often a reader who follows the walk turns to another folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pdsketch as pds

EXAMPLES = Path(__file__).parents[1] / "examples"
CO_OPTIMIZED = 1
"""The flag that functions have and bodies of modules and classes lack."""


@dataclass
class Walk:
    """What a walk touched. ``calls`` are the pairs of rooms of which one calls into the other."""

    modules: int
    functions: int
    changes: int
    deepest: int
    calls: int
    rooms: dict[str, int]


class Follower:
    """Notes which functions below a folder are called within ``with``, in the order of the first calls."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root.resolve()}/"
        self.seen: dict[CodeType, None] = {}
        self.pairs: set[tuple[str, str]] = set()
        self.deepest = 0
        self._stack: list[CodeType] = []
        self._importing = 0

    def __enter__(self) -> Follower:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self.root):
            return
        if not code.co_flags & CO_OPTIMIZED:
            self._importing += 1 if event == "call" else -1
        elif event == "call":
            self._enter(code)
        elif self._stack and self._stack[-1] is code:
            self._stack.pop()

    def _enter(self, code: CodeType) -> None:
        if not self._importing:
            self.seen.setdefault(code)
            if self._stack:
                self.pairs.add((self.room(self._stack[-1]), self.room(code)))
        self._stack.append(code)
        if not self._importing:
            self.deepest = max(self.deepest, len(self._stack))

    def room(self, code: CodeType) -> str:
        """The folder that a function is in."""
        return Path(code.co_filename).relative_to(Path(self.root).parent).parts[:-1][:2][-1]

    def walk(self) -> Walk:
        """What was noted, in numbers."""
        modules: dict[str, str] = {}
        for code in self.seen:
            modules.setdefault(code.co_filename, self.room(code))
        return Walk(
            modules=len(modules),
            functions=len(self.seen),
            changes=sum(one != other for one, other in pairwise(modules.values())),
            deepest=self.deepest,
            calls=sum(one != other for one, other in self.pairs),
            rooms=dict(Counter(map(self.room, self.seen))),
        )


def plan_a_problem() -> Callable[[], object]:
    """PDDL → plan."""

    def walk() -> None:
        domain = pds.load_domain(EXAMPLES / "blocks" / "domain.pddl")
        assert pds.plan(pds.load_problem(EXAMPLES / "blocks" / "p01.pddl", domain)).solved

    return walk


def fit_a_sketch(episodes: int = 40, steps: int = 100) -> Callable[[], pds.Model]:
    """Sketch and episodes → fitted model."""
    sys.path.insert(0, str(EXAMPLES / "lamps"))
    from world import demonstration

    path = EXAMPLES / "lamps" / "lamps.pdsketch"
    # Of a domain of their own: the walk reads the sketch itself.
    shown = [demonstration(pds.load_domain(path), seed) for seed in range(episodes)]

    def walk() -> pds.Model:
        model = pds.Model(pds.load_domain(path), seed=0)
        pds.fit(model, shown, steps=steps, seed=0)
        return model

    return walk


def plan_with_a_model() -> Callable[[], object]:
    """Model and goal → plan, by default."""
    model = fit_a_sketch(episodes=100, steps=180)()
    from world import Lamps

    state = Lamps(model.domain, lamps=5, seed=1000).observe()

    def walk() -> None:
        assert pds.plan(model, state, "(forall (?l - lamp) (lit ?l))").solved

    return walk


LAKE = """
(define (domain lake)
  (:types walker tile - object place - vector[int64, 2, choices=4] letter - int64[choices=4])
  (:constants elf - walker)
  (:predicates (at [return_type=place] ?w - walker)
               (where [return_type=place] ?t - tile) (drawn [return_type=letter] ?t - tile))
  (:derived (on ?w - walker ?t - tile) (= (at ?w) (where ?t)))
  (:derived (hole ?t - tile) (??f (drawn ?t)))
  (:derived (present ?t - tile) (??f (drawn ?t)))
  (:derived (fallen ?w - walker) (exists (?t - tile) (and (on ?w ?t) (hole ?t))))
  {actions})
"""
LAKE_ACTION = """(:action {name} :parameters (?w - walker) :precondition (not (fallen ?w))
    :effect (at::assign ?w (??f (at ?w))))"""
LAKE_MOVES = {"left": 0, "down": 1, "right": 2, "up": 3}


def act_in_gymnasium() -> Callable[[], object]:
    """A `Policy` in a Gymnasium environment, FrozenLake, after walks in it."""
    import gymnasium
    from gymnasium.envs.toy_text.frozen_lake import generate_random_map

    actions = "".join(LAKE_ACTION.format(name=name) for name in LAKE_MOVES)
    domain = pds.parse_domain(LAKE.format(actions=actions))
    places = [(row, column) for row in range(4) for column in range(4)]

    def observe(observation: int, env: Any) -> pds.State:
        letters = env.unwrapped.desc.astype(str)
        return pds.State(
            domain,
            {"tile": [f"t{row}{column}" for row, column in places]},
            {
                "at": [places[int(observation)]],
                "where": places,
                "drawn": ["SFHG".index(letters[place]) for place in places],
            },
        )

    def lake(seed: int) -> pds.GymWorld:
        return pds.GymWorld(
            gymnasium.make("FrozenLake-v1", is_slippery=False, desc=generate_random_map(4, seed=seed)),
            domain,
            observe=observe,
            act=LAKE_MOVES,
            goal="(exists (?t - tile) (and (on elf ?t) (present ?t)))",
            success="reward",
        )

    fallen = {"(fallen elf)": lambda env: env.unwrapped.desc.flat[env.unwrapped.s] == b"H"}
    walks = pds.record([lake(seed) for seed in range(3)], episodes=150, goals=fallen)
    model = pds.Model(domain, seed=0)
    pds.fit(model, walks, steps=200, seed=0)

    def walk() -> None:
        assert pds.rollout(pds.Policy(model), lake(10), seeds=[0]).summary["success"] == 1.0

    return walk


WALKS: dict[str, Callable[[], Callable[[], object]]] = {
    "plan": plan_a_problem,
    "fit": fit_a_sketch,
    "model": plan_with_a_model,
    "act": act_in_gymnasium,
}
"""What prepares each walk, and gives the walk."""

TITLES = {
    "plan": "PDDL → plan (blocks p01)",
    "fit": "lamps sketch + 40 episodes → model",
    "model": "model + goal → plan (lamps)",
    "act": "Policy in Gymnasium (FrozenLake)",
}


def follow(name: str) -> Walk:
    """Prepare a walk, make it, and count."""
    walk = WALKS[name]()
    with Follower(Path(pds.__file__).parent) as follower:
        walk()
    return follower.walk()


def in_own_process(name: str) -> Walk:
    """The walk in a new process."""
    command = [sys.executable, __file__, name, "--here"]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Walk(**json.loads(told.splitlines()[-1]))


def table(walks: dict[str, Walk], *, rooms: bool = False) -> str:
    """The walks as a Markdown table."""
    lines = [
        "| walk | modules | functions | room changes | deepest stack | room-to-room calls |",
        "|---|---|---|---|---|---|",
    ]
    for name, walk in walks.items():
        numbers = (walk.modules, walk.functions, walk.changes, walk.deepest, walk.calls)
        lines.append(f"| {TITLES[name]} | {' | '.join(f'{number:,}' for number in numbers)} |")
    if rooms:
        lines += ["", f"| functions by room | {' | '.join(walks)} |", "|---" * (1 + len(walks)) + "|"]
        for room in sorted({room for walk in walks.values() for room in walk.rooms}):
            counts = (f"{walk.rooms.get(room, 0):,}" for walk in walks.values())
            lines.append(f"| {room} | {' | '.join(counts)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("walks", nargs="*", choices=[[], *WALKS], help=f"{', '.join(WALKS)} (all)")
    parser.add_argument("--rooms", action="store_true", help="also how many functions in each room")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--here", action="store_true", help="one walk, once, in this process, as JSON")
    args = parser.parse_args()
    names = args.walks or list(WALKS)
    if args.here:
        print(json.dumps(asdict(follow(names[0]))))
        return
    walks = {name: in_own_process(name) for name in names}
    told = {name: asdict(walk) for name, walk in walks.items()}
    print(json.dumps(told) if args.json else table(walks, rooms=args.rooms))


if __name__ == "__main__":
    main()

"""BabyAI as a world: Minigrid's rooms, seen through one of the sketches."""

from __future__ import annotations

import contextlib
import io
from functools import cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.act import is_count
from pdsketch.lang import Domain, Step, did_you_mean, error
from pdsketch.tensor import Model, State
from pdsketch.training import EpisodeArrays
from pdsketch_paper.babyai.data import ACTION_NAMES, demonstrations, record
from pdsketch_paper.babyai.goals import UNSEEN, mission_goal, things_of
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.observation import SKETCHES, Scene, load_sketch, look, observe, to_state
from pdsketch_paper.babyai.world import PADDING, ActionObjDoor, make, problem_seed

STOCK_LEVELS = (
    "ActionObjDoor",
    "GoToObj",
    "GoToRedBall",
    "GoToRedBallGrey",
    "GoToLocal",
    "GoToDoor",
    "GoToObjDoor",
    "PickupDist",
    "OpenDoor",
    "OpenDoorColor",
    "OpenDoorLoc",
    "OpenRedDoor",
)
"""Minigrid's levels whose missions can be carried out in the room where they start."""

MISSION = "mission"
"""The goals that Minigrid itself sets."""

MOST_STEPS = 1000
"""After so many steps Minigrid ends an episode of our own room; rollouts have limits of their own."""

TILE = 44
"""Pixels along one side of a cell."""

_DRAWS = 1000
"""How many rooms are drawn for one that lends itself to a goal."""


@cache
def exact_model() -> Model:
    """PDS-Abs with exact modules: the judge of unseen goals, and the source of optimal plans."""
    return Model(load_sketch("abs"), modules=exact_modules("abs"))


@final
class BabyAIWorld:
    """Minigrid's rooms with keys, balls, boxes and doors: go to, pick up, open.

    A room has a mission, and is observed as states of a sketch.
    ``sketch`` is one that ships with the package (``base``, ``abs``, ``rob`` or, for
    agents that see pictures, ``pixels``), or a domain with predicates of the same names.
    ``level`` names one of Minigrid's own levels (`STOCK_LEVELS`); without it the
    room is the paper's, with ``objects`` things and ``doors``. ``goals`` is
    ``mission``, of which Minigrid's verifier says whether it is accomplished, or a
    kind of goal that no mission states (`UNSEEN`), or a formula: then the same formula
    with exact modules judges Minigrid's state. No goal holds at the start.
    """

    def __init__(
        self,
        objects: int = 4,
        doors: int = 4,
        sketch: str | Domain = "abs",
        level: str | None = None,
        goals: str = MISSION,
        max_steps: int = MOST_STEPS,
    ) -> None:
        if not isinstance(sketch, Domain):
            _choose("sketch", sketch, sorted(path.stem for path in SKETCHES.glob("*.pdsketch")))
        if not goals.lstrip().startswith("("):
            _choose("goals", goals, (MISSION, *UNSEEN))
        if level is not None:
            _choose("level", level, STOCK_LEVELS)
        for name, value in {"objects": objects, "doors": doors, "max_steps": max_steps}.items():
            if not is_count(value):
                raise error(
                    "bad-setting", f"`{name}` is a whole number and not negative; {value!r:.40} is given"
                )
        self.level, self.goals, self.objects, self.doors = level, goals, objects, doors
        self.domain = sketch if isinstance(sketch, Domain) else load_sketch(sketch)
        if level is not None and "view" in self.domain.predicates:
            raise error("bad-setting", "pictures show our own room alone", help="leave out `level`")
        self.env: Any = (
            ActionObjDoor(objects, doors, max_steps=max_steps)
            if level is None
            else make(f"BabyAI-{level}-v0")
        )
        self.goal = ""
        self.success: bool | None = None
        self.executed = True
        self.ended = False
        self._scene: Scene | None = None

    @property
    def mission(self) -> str:
        """Minigrid's words for the mission."""
        return str(self.env.mission)

    def reset(self, seed: int | None = None) -> State:
        """A new room. Where it does not lend itself to the goals, others are drawn from the same seed."""
        begin = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        for again in range(_DRAWS):
            if self.fits(problem_seed(begin, again, "again") if again else begin):
                return self._observed()
        raise error("no-such-room", f"no room of {_DRAWS} lends itself to goals of the kind `{self.goals}`")

    def fits(self, seed: int) -> bool:
        """Begin the room of this very seed: whether it has such a goal, which does not hold at the start."""
        with contextlib.redirect_stdout(io.StringIO()):  # Minigrid prints what it rejects
            self.env.reset(seed=seed)
        self._scene = look(self.env)
        self.success, self.executed, self.ended = False, True, False
        if self.goals == MISSION:
            self.goal = mission_goal(self.env, self._scene)
            # The paper's room is furnished so that no mission is accomplished at the start.
            return self.level is None or not self._holds()
        seen = observe(self.env, self._scene)
        make = UNSEEN.get(self.goals)
        goal = self.goals if make is None else make(things_of(seen), self.env.np_random)
        self.goal = goal or ""
        return goal is not None and not self._holds()

    def step(self, action: Step) -> State:
        """Minigrid's own step, which takes every action."""
        if self._scene is None:
            raise error("not-reset", "the world has no state yet", help="call world.reset(seed) first")
        name = action[0]
        if name not in ACTION_NAMES:
            raise error(
                "unknown-action", f"there is no action `{name}`", help=did_you_mean(str(name), ACTION_NAMES)
            )
        _, reward, terminated, truncated, _ = self.env.step(ACTION_NAMES.index(name))
        if self.goals == MISSION:
            self.success = bool(terminated and reward > 0)
            self.ended = bool(terminated or truncated)
        else:  # Minigrid's mission is not what is asked for: its end is none of ours
            self.success, self.ended = self._holds(), bool(truncated)
        return self._observed()

    def render(self) -> NDArray[Any]:
        """The room from above, without the cells around it."""
        whole = self.env.get_frame(highlight=False, tile_size=TILE)
        edge = 0 if self.level is not None else PADDING * TILE
        return np.asarray(whole[edge : len(whole) - edge, edge : whole.shape[1] - edge])

    def demonstrations(
        self, episodes: int, seed: int = 0, failures: float = 0.5, split: str = "train"
    ) -> EpisodeArrays:
        """An expert's episodes, of which a part approaches a wrong thing, as `pdsketch.fit` takes them."""
        if self.level is not None or self.goals != MISSION:
            raise error(
                "no-demonstrations",
                "the expert knows the missions of our own room alone",
                help="leave out `level` and `goals`",
            )
        shown = demonstrations(episodes, self.objects, self.doors, seed, failures, split)
        return record(shown, self.domain)

    def _observed(self) -> State:
        assert self._scene is not None
        state: State = to_state(self.domain, observe(self.env, self._scene))
        return state

    def _holds(self) -> bool:
        """Whether Minigrid's state satisfies the goal, by exact modules."""
        assert self._scene is not None
        judge = exact_model()
        state = to_state(judge.domain, observe(self.env, self._scene))
        return bool(judge.holds(state, self.goal, crisp=True) > 0.5)


def _choose(option: str, value: Any, known: Any) -> None:
    if value not in known:
        raise error(
            "bad-setting",
            f"`{option}` of the world `babyai` cannot be {value!r:.60}",
            help=did_you_mean(str(value), known) or f"one of: {', '.join(known)}",
        )

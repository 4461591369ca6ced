"""`learn`: act, train, act better."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, Unpack, final

import numpy as np

from pdsketch.act.onpolicy.explorer import Explorer
from pdsketch.act.onpolicy.options import LearnKeywords, LearnOptions
from pdsketch.act.policy import Policy
from pdsketch.act.recording import RandomAgent
from pdsketch.act.rollouts import Worlds, rollout, rooms
from pdsketch.act.world import Agent, World
from pdsketch.files import check_seal, digest_of, lock_folder, make_folder, read_json, sealed, write_file
from pdsketch.lang import Domain, Error, error, load_domain
from pdsketch.search import ModelOptions, UntrainedWarning
from pdsketch.tensor import Model, difference, load_model, same_domain
from pdsketch.training import (
    MANIFEST,
    Episode,
    EpisodeArrays,
    FitOptions,
    arrays_of,
    fit,
    join_episodes,
    load_episodes,
    save_episodes,
)

# What learning by acting keeps on disk, so that a kill at any moment loses a part of one round at most.
#
# ``rounds/0003/episodes`` and ``rounds/0003/model`` are what a round collected and learned. ``curve.json`` is
# written last: a round is finished once it stands there.

CURVE: Final = "curve.json"
ROUNDS: Final = "rounds"
CHECKPOINT: Final = "checkpoint.safetensors"
_FORMAT: Final = "pdsketch-curve-1"
_CODE: Final = "bad-curve"

Modules = Mapping[str, Callable[..., Any]]
Row = dict[str, Any]


@final
class Replay:
    """A folder of rounds."""

    def __init__(self, folder: Path, domain: Domain, modules: Modules) -> None:
        self.folder = folder
        self._domain = domain
        self._modules = modules
        self._episodes: list[EpisodeArrays] = []

    # -- what is finished ---------------------------------------------------------------

    def rows(self, setup: Mapping[str, Any]) -> list[Row]:
        """The rounds that are finished; an `Error` where they belong to other settings."""
        path = self.folder / CURVE
        if not os.path.lexists(path):
            return []
        content = read_json(path, _CODE)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise _bad(path, "not the curve of learning by acting")
        check_seal(content, path, _CODE)
        was, now = content["setup"], json.loads(json.dumps(setup))
        others = [name for name in dict.fromkeys([*was, *now]) if was.get(name) != now.get(name)]
        if others:
            told = "; ".join(f"`{n}` was {was.get(n)!r:.40}, and is {now.get(n)!r:.40}" for n in others[:4])
            raise _bad(path, f"belongs to another run: {told}")
        rows: list[Row] = content["rounds"]
        return rows

    def commit(self, setup: Mapping[str, Any], rows: list[Row]) -> None:
        """Say that these rounds are finished."""
        content = sealed({"format": _FORMAT, "setup": dict(setup), "rounds": rows})
        write_file(self.folder / CURVE, json.dumps(content, indent=1))
        self.checkpoint(len(rows) - 1).unlink(missing_ok=True)

    # -- one round ----------------------------------------------------------------------

    def place(self, round_: int) -> Path:
        """The folder of a round."""
        return self.folder / ROUNDS / f"{round_:04d}"

    def checkpoint(self, round_: int) -> Path:
        """The checkpoint of a round's fit, while it lasts."""
        return self.place(round_) / CHECKPOINT

    def episodes(self, round_: int, collect: Callable[[], EpisodeArrays]) -> EpisodeArrays:
        """The episodes of a round, collected unless they have been."""
        folder = self.place(round_) / "episodes"
        if not os.path.lexists(folder / MANIFEST):
            make_folder(folder)
            save_episodes(collect(), folder)
        found = load_episodes(folder, self._domain)
        self._episodes[round_:] = [found]
        return found

    def all_episodes(self) -> EpisodeArrays:
        """The episodes of all rounds that have been asked for."""
        return join_episodes(self._episodes, self._domain)

    def save(self, round_: int, model: Model) -> None:
        """Keep what a round has learned."""
        model.save(str(make_folder(self.place(round_) / "model")))

    def model(self, round_: int) -> Model:
        """What a round has learned."""
        return load_model(self.place(round_) / "model", self._modules, domain=self._domain)


def _bad(path: Path, message: str) -> Error:
    fix = "name another folder, or begin anew (learn: `resume=False`; pdsketch learn: --force)"
    return error(_CODE, message, file=str(path), help=fix)


# One round of acting: problems by their numbers, within a budget of environment steps.


def problem_seed(seed: int, index: int, stream: Literal["collect", "held-out"]) -> int:
    """The world's seed for a problem: streams and seeds do not meet."""
    return int(np.random.SeedSequence([seed, index, *stream.encode()]).generate_state(1)[0])


def open_worlds(worlds: Worlds, domain: Domain, options: LearnOptions) -> list[World]:
    """Worlds to act in side by side; they must show states of the sketch."""
    found = rooms(worlds, options.at_once)
    for world in found[:1]:
        if not same_domain(world.domain, domain):
            raise error(
                "other-domain",
                "the world shows states of another domain than the sketch",
                help=difference(world.domain, domain),
            )
    return found


def collect(
    agent: Agent, worlds: Sequence[World], seeds: Sequence[int], max_steps: int, budget: int | None
) -> list[Episode]:
    """An episode for each seed, as long as there are steps left; never more steps than the budget.

    ``agent`` acts in all ``worlds`` side by side, which take the ``seeds`` in turn, at most ``max_steps`` in
    an episode. ``budget`` is the number of steps in all episodes together; None: no limit.
    """
    found: list[Episode] = []
    left = list(seeds)
    while left and budget != 0:
        limit = max_steps if budget is None else min(max_steps, budget)
        width = len(worlds) if budget is None else min(len(worlds), budget // limit)
        done = rollout(agent, worlds[:width], left[:width], limit)
        found += done
        left = left[width:]
        budget = None if budget is None else budget - sum(done.steps)
    return found


WIDTH: Final = 16
"""Nodes of a plan that are expanded together: blind search in a young model costs less by the batch."""


def planner(model: Model, options: LearnOptions) -> Policy:
    """The policy of a model: what acts, within what explores, and what is evaluated."""
    own: ModelOptions = {"time_limit": None, "max_expansions": options.max_expansions, "k": WIDTH}
    return Policy(
        model,
        search=options.search,
        heuristic=options.heuristic,
        tolerance=options.tolerance,
        options={**own, **options.plan},
        max_replans=options.max_replans,
    )


Folder = str | os.PathLike[str]

Relabel = Callable[[list[Episode]], Iterable[Episode]]
"""From the episodes of a round to the same with further goals."""


@final
@dataclass(frozen=True, eq=False)
class Learned:
    """What came of learning by acting: the model, the rounds, and all episodes.

    Each round of the ``curve`` says how many episodes and environment steps there were by then
    (``all_episodes``, ``all_steps``) and in it, which part of its episodes succeeded by the world's word
    (None: it says nothing), what its model gets right on all of them, which blanks it has not learned, and
    how it did on the held-out problems.
    """

    model: Model
    curve: list[Row]
    episodes: EpisodeArrays

    def __str__(self) -> str:
        return "\n".join(described(row) for row in self.curve)


def described(row: Row) -> str:
    """A round in one line."""
    held_out = "" if row["held_out"] is None else f"; held-out problems {row['held_out']:.3f}"
    success = "unknown" if row["success"] is None else f"{row['success']:.3f}"
    return (
        f"round {row['round']}: {row['all_episodes']} episodes, {row['all_steps']} steps; "
        f"success while exploring {success}{held_out}"
    )


def learn(
    worlds: Worlds,
    sketch: Domain | Folder,
    folder: Folder | None = None,
    *,
    modules: Modules | None = None,
    relabel: Relabel | None = None,
    resume: bool = True,
    progress: Callable[[str], None] | None = None,
    world_name: str = "",
    **settings: Unpack[LearnKeywords],
) -> Learned:
    """Learn the blanks of a sketch by acting in worlds: collect, train on everything so far, repeat.

    ``worlds`` are a world, several, or a function that makes one, as `pdsketch.rollout` takes them;
    ``sketch`` is a domain or its file, ``modules`` fill blanks and external functions as in `Model`. The
    settings are the fields of `LearnOptions`.

    ``relabel(episodes)`` returns the episodes of a round with the world's word on further goals, where it has
    one: goals that happened to be reached then are successes to learn from.

    ``folder`` keeps everything, round by round, and in the end is the folder of the model. A run that was
    killed goes on from there (``resume``), and ends as it would have without; one that has ended goes on
    with more ``episodes`` or ``budget``. ``progress`` is called with a line for each round and what it does;
    its fits then show theirs on stderr. ``world_name`` is kept with the settings, so that a run is not
    resumed in another world.
    """
    options = LearnOptions.of(**settings)
    if not isinstance(sketch, Domain | str | os.PathLike):
        raise error(
            "bad-domain",
            f"`learn` takes worlds, then a Domain or its file; a {type(sketch).__name__} was given",
            help="pds.learn(world, domain)",
        )
    domain = sketch if isinstance(sketch, Domain) else load_domain(sketch)
    with _place(folder, resume) as place:
        run = _Run(open_worlds(worlds, domain, options), domain, modules or {}, options, place, world_name)
        run.relabel = relabel
        run.setup["relabel"] = relabel is not None
        run.shown = progress
        return run.whole()


@contextmanager
def _place(folder: Folder | None, resume: bool) -> Iterator[Path]:
    """The folder of a run, locked; without one, a folder for the time being."""
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            yield Path(made)
        return
    place = make_folder(folder)
    with lock_folder(place):
        if not resume:
            (place / CURVE).unlink(missing_ok=True)
            shutil.rmtree(place / ROUNDS, ignore_errors=True)
        yield place


_MAY_CHANGE = ("episodes", "budget")
"""Options that a run may be resumed with another value of."""


@final
class _Run:
    def __init__(
        self,
        worlds: list[World],
        domain: Domain,
        modules: Modules,
        options: LearnOptions,
        folder: Path,
        world_name: str,
    ) -> None:
        self.worlds = worlds
        self.domain = domain
        self.modules = modules
        self.options = options
        self.replay = Replay(folder, domain, modules)
        self.relabel: Relabel | None = None
        self.shown: Callable[[str], None] | None = None
        self.setup: dict[str, Any] = {
            "sketch": digest_of(domain.source.text),
            "modules": sorted(modules),
            "world": world_name,
            **{name: value for name, value in asdict(options).items() if name not in _MAY_CHANGE},
            "evaluate": options.problems,
            "at_once": len(worlds),
        }

    def _say(self, line: str) -> None:
        if self.shown is not None:
            self.shown(line)

    def whole(self) -> Learned:
        """All rounds, from the first that is not finished on."""
        rows = self.replay.rows(self.setup)
        if rows:
            self._say(f"goes on after round {rows[-1]['round']}")
        for at, row in enumerate(rows):
            self.replay.episodes(at, lambda at=at: _lost(self.replay, at))  # type: ignore[misc]
            self._say(described(row))
        while wanted := self._wanted(rows):
            with warnings.catch_warnings():
                # That early models have blanks without training is why they go exploring.
                warnings.simplefilter("ignore", UntrainedWarning)
                rows.append(self._round(rows, wanted))
            self.replay.commit(self.setup, rows)
            self._say(described(rows[-1]))
        model = self.replay.model(len(rows) - 1)
        model.save(str(self.replay.folder))
        return Learned(model, rows, self.replay.all_episodes())

    def _wanted(self, rows: list[Row]) -> int:
        """How many episodes the next round is to have; 0: none are left."""
        so_far, steps = (rows[-1]["all_episodes"], rows[-1]["all_steps"]) if rows else (0, 0)
        if self.options.budget is not None and steps >= self.options.budget:
            return 0
        aim = round(so_far * self.options.growth) if rows else self.options.first
        return max(0, min(max(aim, so_far + 1), self.options.episodes) - so_far)

    def _round(self, rows: list[Row], wanted: int) -> Row:
        at = len(rows)
        before = self.replay.model(at - 1) if rows else None
        self._say(f"acts in {wanted} episodes")
        arrays = self.replay.episodes(at, lambda: self._collected(rows, wanted, before))
        everything = self.replay.all_episodes()
        self._say(f"trains on {len(everything)} episodes")
        model = before if before is not None and self.options.warm else self._fresh()
        checkpoint = self.replay.checkpoint(at)
        kept: FitOptions = {"checkpoint": str(checkpoint), "resume": checkpoint.exists()}
        settings: FitOptions = {**self.options.fit, **kept, "progress": self.shown is not None}
        report = fit(model, everything, self.options.fit_steps, self.options.seed, **settings)
        self.replay.save(at, model)
        train = report.train
        return {
            "round": at,
            "episodes": len(arrays),
            "steps": int(arrays.length.sum()) - len(arrays),
            "all_episodes": len(everything),
            "all_steps": int(everything.length.sum()) - len(everything),
            "success": succeeded(arrays),
            "goals_right": train.goal_accuracy,
            "goals_balanced": train.judged.balanced,
            "steps_right": train.step_accuracy,
            "unlearned": sorted(
                name for name, b in report.blanks.items() if b.verdict not in ("learned", "given")
            ),
            "held_out": self._held_out(self.replay.model(at)),
        }

    def _collected(self, rows: list[Row], wanted: int, model: Model | None) -> EpisodeArrays:
        options, at = self.options, len(rows)
        so_far, steps = (rows[-1]["all_episodes"], rows[-1]["all_steps"]) if rows else (0, 0)
        seed = problem_seed(options.seed, at, "collect")
        agent: Agent = RandomAgent(self.domain, seed)
        if model is not None:
            agent = Explorer(planner(model, options), seed, options.explore, subgoals=options.subgoals)
        seeds = [problem_seed(options.seed, so_far + i, "collect") for i in range(wanted)]
        left = None if options.budget is None else options.budget - steps
        episodes = collect(agent, self.worlds, seeds, options.max_steps, left)
        return arrays_of(episodes if self.relabel is None else self.relabel(episodes), self.domain)

    def _fresh(self) -> Model:
        return Model(self.domain, self.modules, seed=self.options.seed)

    def _held_out(self, model: Model) -> float | None:
        """The part of the held-out problems in which the policy succeeds, without exploring."""
        problems = self.options.problems
        if isinstance(problems, int):
            problems = [problem_seed(self.options.seed, i, "held-out") for i in range(problems)]
        if not problems:
            return None
        return rollout(planner(model, self.options), self.worlds, problems, self.options.max_steps).summary[
            "success"
        ]


def succeeded(arrays: EpisodeArrays) -> float | None:
    """The part of the episodes whose goal held in the last state, of those of which the world says it."""
    ends = []
    for at in range(len(arrays)):
        labels = next(iter(arrays.judged(at).values()), None)
        if labels is not None and labels[-1] is not None:
            ends.append(labels[-1])
    return sum(ends) / len(ends) if ends else None


def _lost(replay: Replay, at: int) -> EpisodeArrays:
    raise error(
        "bad-curve",
        f"the episodes of round {at} are gone",
        file=str(replay.place(at)),
        help="begin anew (learn: `resume=False`; pdsketch learn: --force)",
    )

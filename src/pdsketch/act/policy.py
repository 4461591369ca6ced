"""The agent that plans: execute, watch, remember, replan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

from pdsketch.act.environment import ControlledWorld, Environment, Observer
from pdsketch.act.rollouts import Play, play
from pdsketch.act.settings import (
    Controller,
    Deviation,
    Tolerance,
    check_controllers,
    check_explore,
    check_loop,
    check_tolerance,
    deviations,
    is_count,
)
from pdsketch.lang import Step, error, short, show_atom
from pdsketch.search import (
    Generator,
    HeuristicSource,
    Memory,
    ModelOptions,
    ModelSearch,
    PlanOptions,
    Result,
    Sampler,
    SkillRates,
    given_heuristic,
    likeliest_step,
    plan_many,
    validate,
)
from pdsketch.tensor import Model, State, StateBatch
from pdsketch.training import Episode


@final
@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a run: what was done and why, and how the world answered.

    ``explored``: there was no plan, and the step is a guess at a precondition.
    """

    action: Step
    replanned: bool
    executed: bool
    deviations: tuple[Deviation, ...]
    explored: bool = False


@final
@dataclass(slots=True)
class _Course:
    """What a policy has in mind for one episode: the rest of a plan, and what the world should look like now.

    ``acted`` is the last action and the state that it was taken in, ``denied`` whether the world has said
    that the goal does not hold; ``results`` are the searches so far, towards this goal.
    """

    memory: Memory
    goal: str | None = None
    rest: list[Step] = field(default_factory=list)
    predicted: State | None = None
    acted: tuple[Step, State] | None = None
    denied: bool = False
    guessed: bool = False
    results: list[Result] = field(default_factory=list)
    trace: list[StepRecord] = field(default_factory=list)
    deviations: tuple[Deviation, ...] = ()


@final
@dataclass(slots=True)
class Policy:
    """A model and a planner as a goal-conditioned agent, with replanning.

    The policy follows its plan as long as each observation agrees with what the
    model predicted, up to ``tolerance``, and plans anew when it does not. That is
    one number, or numbers by predicate; else the tolerance of each variable's
    type or, of encoded ones, the noise that `fit` recorded, whichever is larger.
    It remembers what failed, was refused, or did not come about as predicted, by likeness of states: a step
    that failed ``tries`` times in the same state is avoided as long as something else leads to the goal, and
    less certain steps cost more. Where the model believes the goal and the world denies it, that state counts
    as no goal. ``explore=0.2``: where there is no plan, the step is tried whose precondition has the
    highest truth from 0.2 to 0.5.
    ``loop="open"`` carries out one plan, whatever happens; ``max_replans`` bounds
    how often an episode is planned for anew.
    ``options`` go to `pdsketch.plan_many`; their time limit holds for each decision.
    ``result`` is the outcome of the latest planning, ``trace`` the steps of the
    latest run.
    """

    model: Model
    search: ModelSearch | None = None
    heuristic: str | HeuristicSource | None = None
    controllers: Mapping[str, Controller] = field(default_factory=dict)
    generators: Mapping[str, Generator] = field(default_factory=dict)
    tolerance: Tolerance = None
    options: ModelOptions = field(default_factory=ModelOptions)
    loop: Literal["closed", "open"] = "closed"
    max_replans: int | None = None
    samplers: Mapping[str, Sampler] = field(default_factory=dict)
    tries: int = 2
    explore: float | None = None
    result: Result | None = field(default=None, init=False)
    rates: SkillRates = field(default_factory=SkillRates, init=False)
    _courses: dict[int, _Course] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            found = type(self.model).__name__
            raise error("bad-model", f"a Policy takes a Model, and a {found} was given")
        self.heuristic = given_heuristic(self.heuristic)  # loaded once, and not at each plan
        self.controllers = check_controllers(self.controllers, self.model.domain.actions)
        self.tolerance = check_tolerance(self.tolerance, self.model.domain)
        check_loop(self.loop, self.max_replans)
        if not is_count(self.tries) or not self.tries:
            raise error("bad-limit", f"`tries` is a whole number above 0; {self.tries!r:.40} is given")
        check_explore(self.explore)

    def act(self, state: State, goal: str) -> Step | None:
        """The next action towards the goal.

        None when it holds and the world has not denied it (`told`), or no plan was found (``result``).
        """
        return self.act_some({0: state}, {0: goal})[0]

    def act_many(self, states: Sequence[State], goals: Sequence[str] | str) -> list[Step | None]:
        """An action for each state, planned for in one batch. The i-th state belongs to the i-th episode."""
        each = [goals] * len(states) if isinstance(goals, str) else goals
        if len(each) != len(states):
            raise error("bad-goals", f"{len(each)} goals were given for {len(states)} states")
        given = dict(enumerate(states))
        return [action for _, action in sorted(self._act(given, dict(enumerate(each)), all_=True).items())]

    def act_some(self, states: Mapping[int, State], goals: Mapping[int, str]) -> dict[int, Step | None]:
        """Actions of the episodes that can go on without planning; where there is none, of all.

        Thus all plans that are needed are searched for in one batch.
        """
        return self._act(states, goals, all_=False)

    def told(self, success: bool | None, executed: bool, episode: int = 0) -> None:
        """The world's word after a step: whether the goal is reached, and whether the action was executed."""
        course = self._course(episode)
        course.denied = success is not None and not success
        if executed or not course.trace:
            return
        course.trace[-1] = replace(course.trace[-1], executed=False)
        if self.loop == "closed" and course.acted is not None:
            course.memory.failed(*course.acted, refused=True)
            course.rest, course.predicted = [], None

    def interrupted(self, episode: int = 0) -> None:
        """Somebody else acts: what was planned and predicted is void."""
        course = self._course(episode)
        course.rest, course.predicted = [], None

    def account(self, episode: int) -> dict[str, float]:
        """Whether there was a plan at first, what it took to find it, and how often there was another one."""
        results = self._course(episode).results
        return {
            "planned": float(bool(results) and results[0].solved),
            "expanded": float(results[0].expanded if results else 0),
            "replans": float(max(0, len(results) - 1)),
            "out-of-time": float(bool(results) and results[-1].status == "out-of-time"),
        }

    def reset(self) -> None:
        """Forget the current plans, and what was met in these episodes; how often skills succeed is kept."""
        self._courses = {}

    @property
    def trace(self) -> list[StepRecord]:
        """The steps of the latest run."""
        return self._course(0).trace

    def run(
        self,
        env: Environment,
        goal: str,
        *,
        observe: Observer,
        max_steps: int = 50,
        success: Callable[[Any], bool] | None = None,
    ) -> Episode:
        """Act in an environment, as it stands, until success, a dead end or ``max_steps``.

        ``goal`` is a formula, ``observe(env)`` returns the state. Controllers act on ``env``; without one,
        its ``step`` is given the action. Success is what ``success(env)`` says; else what ``info["success"]``
        says, or a positive reward at termination; else it is None: nobody said. Then the run also ends where
        the model believes that the goal holds, but that is no success for a model to learn from. Steps that a
        controller refused are kept in the episode, marked in ``executable``.
        """
        _check_run(observe, max_steps)
        world = ControlledWorld(
            env,
            self.model.domain,
            goal,
            observe,
            self.controllers,
            success,
            lambda s: self._believes(s, goal),
        )
        (done,) = play(self, [Play.begin(world, None)], max_steps)
        return done.episode(with_executed=bool(self.controllers))

    def _course(self, episode: int) -> _Course:
        if episode not in self._courses:
            self._courses[episode] = _Course(Memory(self.model, self.rates, self.tries))
        return self._courses[episode]

    def _believes(self, state: State, goal: str) -> bool:
        return bool(self.model.holds(state, goal, crisp=True) > 0.5)

    def _act(
        self, states: Mapping[int, State], goals: Mapping[int, str], *, all_: bool
    ) -> dict[int, Step | None]:
        if not states:
            return {}
        encoded = self.model.encode(StateBatch.of(list(states.values())), crisp=True)
        seen = dict(zip(states, encoded, strict=True))
        # As long as somebody can act on a plan in hand, nobody is planned for: then all who want one are
        # one batch.
        wanting = [i for i in seen if self._wants_plan(self._course(i), seen[i], goals[i])]
        planned = wanting if all_ or len(wanting) == len(seen) else []
        self._plan({i: seen[i] for i in planned}, goals)
        acting = [i for i in seen if i in planned or i not in wanting]
        return self._next({i: seen[i] for i in acting}, set(planned))

    def _wants_plan(self, course: _Course, state: State, goal: str) -> bool:
        """Whether the plan in hand, if there is one, is no longer good."""
        if course.goal != goal:
            course.goal, course.rest, course.results, course.guessed = goal, [], [], True
        if self.loop == "closed" and course.predicted is not None:
            course.deviations = deviations(course.predicted, state, self.tolerance, self.model.notes)
            self._remember(course, state)
            course.predicted = None
        if course.rest and not course.deviations:
            return False
        course.rest = []
        most = 0 if self.loop == "open" else self.max_replans
        return most is None or len(course.results) <= most

    def _remember(self, course: _Course, state: State) -> None:
        """Whether the last step did what it should: the rest of the plan still leads to the goal.

        Of a guess, or of a step towards another goal, it is not known where it was to lead; it did what it
        should where nothing differs.
        """
        assert course.acted is not None
        assert course.goal is not None
        done = not course.deviations
        if not course.guessed and (course.deviations or not course.rest):
            done = validate(self.model, course.rest, state, course.goal).valid
        (course.memory.succeeded if done else course.memory.failed)(*course.acted)

    def _plan(self, states: Mapping[int, State], goals: Mapping[int, str]) -> None:
        """A new plan for each of these episodes; first without what failed again and again.

        What failed may succeed later: where nothing else leads to the goal, it is tried again.
        """
        self._note_denials(states, goals)
        burdened = [i for i in states if self._course(i).memory.speaks]
        self._search([i for i in states if i not in burdened], states, goals)
        self._search(burdened, states, goals, share=0.5)
        failed = [i for i in burdened if not self._course(i).rest]
        self._search(failed, states, goals, share=0.5, again=True)
        if self.explore is not None:
            for i in states:
                if not self._course(i).rest and self._course(i).results[-1].plan is None:
                    self._explore(self._course(i), states[i], goals[i])

    def _note_denials(self, states: Mapping[int, State], goals: Mapping[int, str]) -> None:
        """Where the model believes a goal that the world denies, that state is no goal."""
        denied = [i for i in states if self._course(i).denied and self.loop == "closed"]
        if not denied:
            return
        held = self.model.holds(
            StateBatch.of([states[i] for i in denied]), [goals[i] for i in denied], crisp=True
        )
        for i, holds in zip(denied, (held > 0.5).tolist(), strict=True):
            if holds:
                goal = self.model.formula(states[i].batch, goals[i])
                self._course(i).memory.denied(goal, states[i])

    def _search(
        self,
        episodes: Sequence[int],
        states: Mapping[int, State],
        goals: Mapping[int, str],
        *,
        share: float = 1.0,
        again: bool = False,
    ) -> None:
        """Plan for some episodes, each with this share of the time limit; ``again``: with nothing barred."""
        if not episodes:
            return
        limit = self.options.get("time_limit", PlanOptions().time_limit)
        memories = [self._course(i).memory for i in episodes]
        options: ModelOptions = {
            "search": self.search,
            "heuristic": self.heuristic,
            "generators": self.generators,
            "samplers": self.samplers,
            **self.options,
            "time_limit": None if limit is None else limit * share * len(episodes),
            "memories": [memory.unbarred() for memory in memories] if again else memories,
        }
        results = plan_many(
            self.model, [states[i] for i in episodes], [goals[i] for i in episodes], **options
        )
        for i, result in zip(episodes, results, strict=True):
            course = self._course(i)
            course.rest, course.guessed = list(result.plan or ()), False
            course.results = [*(course.results[:-1] if again else course.results), result]
            self.result = result

    def _explore(self, course: _Course, state: State, goal: str) -> None:
        """The likeliest step that the model does not think possible, where there is no plan."""
        options = {**self.options, "generators": self.generators, "samplers": self.samplers}
        found = likeliest_step(self.model, state, goal, course.memory, self.explore or 0.0, options)
        if found is None:
            return
        step, truth = found
        said = (
            f"no plan was found: {show_atom(short(step))} is tried, whose precondition has truth {truth:.2f}"
        )
        result = replace(course.results[-1], warnings=(*course.results[-1].warnings, said))
        course.rest, course.guessed, course.results[-1], self.result = [step], True, result, result

    def _next(self, states: Mapping[int, State], planned: set[int]) -> dict[int, Step | None]:
        """The first step of each plan, and what it should lead to."""
        chosen: dict[int, Step | None] = {}
        for i in states:
            course = self._course(i)
            chosen[i] = course.rest.pop(0) if course.rest else None
            action = chosen[i]
            if action is not None:
                record = StepRecord(action, i in planned, True, course.deviations, course.guessed)
                course.trace.append(record)
            course.deviations = ()
        taken = {i: action for i, action in chosen.items() if action is not None}
        if self.loop == "closed" and taken:
            before = StateBatch.of([states[i] for i in taken])
            after = self.model.step(before, list(taken.values()), crisp=True)
            for i, state in zip(taken, after, strict=True):
                self._course(i).predicted = state
                self._course(i).acted = (taken[i], states[i])
        return chosen


def _check_run(observe: Any, max_steps: Any) -> None:
    if not callable(observe):
        found = type(observe).__name__
        raise error("bad-observer", f"`observe` is a function from the environment to a State, not a {found}")
    if not is_count(max_steps):
        raise error(
            "bad-limit", f"`max_steps` is a whole number and not negative; {max_steps!r:.40} is given"
        )

"""How a plan is found for a model: one loop over named stages.

Each stage is given the problems that those before it left open, and its share of the time, the memory and
the expansions that are left by then:

- ``sure rules``: the next stage without the actions whose preconditions hold by a guess alone, where there
  are any: where forms and their rivals do not agree.
- ``rules``: the model's symbolic rules over codes are a task of its own (AO), which the engine searches; the
  plan is replayed through the model. Where the model does something else than a rule says, the rule is
  corrected, which is remembered with the model, and the task is searched again. No values are proposed there.
- ``latent``: best-first search over the model's own states. It alone proposes values for the arguments of
  actions, in rounds. Of a model with too many ground actions, the rules go on alone.

A stage that reaches the limit of its share is over; one that reaches the limit of the call ends all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, isinf
from typing import Any, Final, final

import torch

from pdsketch.abstract import is_guessed
from pdsketch.budget import MEGABYTE, UNLIMITED, Budget, LimitError, current, taken
from pdsketch.lang import Error, Expr, dataclass, error
from pdsketch.search.latent.engine import LatentOutcome
from pdsketch.search.latent.instances import TOO_MANY
from pdsketch.search.latent.limits import LIMITS, status_of
from pdsketch.search.latent.margin import CRISP_TRUTH
from pdsketch.search.latent.reasons import ending
from pdsketch.search.latent.stage import search_in_model
from pdsketch.search.options import PlanOptions, options_for
from pdsketch.search.problems import Allowed, Problems
from pdsketch.search.result import Result, StageReport
from pdsketch.search.rules import search_by_rules, search_by_sure_rules
from pdsketch.tensor import Model, State, StateBatch

SHARE: Final = 0.5
"""Of what is left, what each stage but the last may take. Set by hand: on missions, doors and goals with
numbers in rooms, and on the lamps, the first stage finds every plan, and takes milliseconds."""

MOST_EXPANSIONS: Final = 50_000
"""The most of the rules in the library's own strategy, where the model can be searched, too. Set by hand."""


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a strategy.

    ``run`` settles some of the problems that are given to it, and says why it ended for each of the others.
    ``needed`` says of which models there is such a stage; ``is_last``: it takes all that is left.
    """

    name: str
    run: Callable[[Problems, Sequence[int], Allowed], Mapping[int, str]]
    is_last: bool = False
    needed: Callable[[Model], bool] = lambda _: True

    def allowed(self, problems: Problems) -> Allowed:
        """What it may take."""
        left = problems.expansions_left
        if self.is_last:
            return Allowed(problems.budget, left)
        most = None if left is None else ceil(SHARE * left)
        if problems.options.search == "portfolio":
            most = MOST_EXPANSIONS if most is None else min(most, MOST_EXPANSIONS)
        return Allowed(_part_of(problems.budget), most)


def search_what_fits(problems: Problems, some: Sequence[int], allowed: Allowed) -> Mapping[int, str]:
    """Search in the model; where it is too large, the rules have all that is left. All are settled."""
    try:
        return search_in_model(problems, some, allowed)
    except Error as why:
        (diagnostic,) = why.diagnostics
        if diagnostic.code != TOO_MANY or not problems.explains.keys() >= {*problems.open}:
            raise
    ended = search_by_rules(problems, problems.open, allowed)
    problems.budget.check()
    for i in problems.open:
        reason = f"{ended[i]}, and the model is too large to be searched: {diagnostic.message}"
        reasons = (reason, *problems.explains[i]())
        problems.found[i] = problems.result(i, "gave-up", best=[], reasons=reasons)
    return ended


LATENT: Final = Stage("latent", search_what_fits, is_last=True)

STAGES: Final = (
    Stage("sure rules", search_by_sure_rules, needed=is_guessed),
    Stage("rules", search_by_rules),
    LATENT,
)
"""The library's strategy."""


def follow(problems: Problems) -> None:
    """Let each stage of the strategy that is asked for have the problems that are open."""
    for stage in STAGES if problems.options.search in ("portfolio", "abstract") else (LATENT,):
        left = problems.open
        if not left:
            return
        if not stage.needed(problems.model):
            continue
        began, spent = time.monotonic(), problems.expanded(left)
        allowed = stage.allowed(problems)
        try:
            with allowed.budget.running():
                ended = stage.run(problems, left, allowed)
        except LimitError as limit:
            problems.budget.check()
            if stage.is_last:
                raise
            ended = dict.fromkeys(left, f"{limit.status}: its share of the limits is used up")
        seconds = (time.monotonic() - began) / len(left)
        for i, before in zip(left, spent, strict=True):
            expanded = problems.expanded([i])[0] - before
            problems.stages[i] += (StageReport(stage.name, seconds, expanded, ended.get(i, "solved")),)


def _part_of(budget: Budget) -> Budget:
    """A share of the time and of the memory that are left."""
    left, room = budget.left(), budget.room()
    return budget.narrowed(
        None if isinf(left) else SHARE * left, None if isinf(room) else max(0.0, SHARE * room / MEGABYTE)
    )


# One call: what is given is checked, and the strategy followed.


def checked_states(model: Model, states: Sequence[State] | StateBatch) -> list[State]:
    """The states as a list."""
    if isinstance(states, State):
        states = states.batch
    if not isinstance(states, Iterable):
        raise error("bad-state", f"a list of states was wanted, and a {type(states).__name__} was given")
    listed = list(states)
    for state in listed:
        if not isinstance(state, State):
            raise error("bad-state", f"a State was wanted, and a {type(state).__name__} was given")
        model.ready(state)
    return listed


def checked_goals(
    model: Model, states: Sequence[State], goals: Sequence[str | Expr] | str | Expr
) -> list[Expr]:
    """The goal of each state; one is the goal of all."""
    each = list(goals) if isinstance(goals, list | tuple) else [goals] * len(states)
    if len(each) != len(states):
        raise error("bad-goals", f"{len(each)} goals were given for {len(states)} states")
    found = []
    seen: set[Expr] = set()
    for state, goal in zip(states, each, strict=True):
        checked = model.formula(state.batch, goal)  # type: ignore[arg-type]
        found.append(checked)
        if checked in seen:
            continue
        seen.add(checked)
        absent = model.domain.analysis.absent_reads(checked)
        if absent:
            raise error(
                "absent-predicate",
                f"the goal reads `{absent[0]}`, which only the encoder reads: it is absent after a step",
                checked.span,
                help="read an encoded predicate instead",
            )
    return found


def plan_models(
    model: Model,
    states: Sequence[State] | StateBatch,
    goals: Sequence[str | Expr] | str | Expr,
    given: Mapping[str, Any],
) -> list[Result]:
    """Find a plan for each state and goal; the frontiers share tensor batches.

    ``states`` are observations, which ``model`` encodes; ``goals`` is one goal for all of them, or one for
    each; ``given`` are the `PlanOptions`. The limits of expansions and depth hold for each problem, those
    of time and memory for all of them together.
    """
    if not isinstance(model, Model):
        raise error("bad-model", f"a Model was wanted to plan with, and a {type(model).__name__} was given")
    started = time.monotonic()
    options = options_for(model.domain, given)
    with _budget(model, options).running() as budget:
        listed = checked_states(model, states)
        if not listed:
            return []
        wanted = checked_goals(model, listed, goals)
        with torch.inference_mode():
            found: dict[int, Result] = {}
            # The confidence that is asked for, half as far from 0.5, and 0.5.
            asked = options.confidence
            for level in dict.fromkeys((asked, (asked + CRISP_TRUTH) / 2, CRISP_TRUTH)):
                left = [i for i in range(len(listed)) if i not in found]
                with (budget if level == CRISP_TRUTH else _part_of(budget)).running() as share:
                    some = [listed[i] for i in left], [wanted[i] for i in left]
                    memories = tuple(options.memories[i] for i in left) if options.memories else ()
                    own = replace(options, confidence=level, memories=memories)
                    results = _planned(Problems(model, *some, own, started, share)) if left else []
                for i, result in zip(left, results, strict=True):
                    if result.solved or level == CRISP_TRUTH:
                        found[i] = _lowered(result, asked, level)
            return [found[i] for i in range(len(listed))]


def _budget(model: Model, options: PlanOptions) -> Budget:
    """The budget of a call; where the model is on a GPU, its memory counts, too."""
    outer, device = current(), model.device
    if outer is UNLIMITED and device.type == "cuda":
        outer = Budget(meter=lambda: taken() + torch.cuda.memory_allocated(device), device="cuda")
    return options.budget(outer)


def _planned(problems: Problems) -> list[Result]:
    """The results of problems by the strategy, within the limits of the call."""
    try:
        problems.encode()
        follow(problems)
    except LIMITS as limit:
        status = status_of(limit)
        if status is None:
            raise
        reasons = (ending(LatentOutcome(status), problems.options),)
        for i in problems.open:
            problems.found[i] = problems.result(i, status, best=[], reasons=reasons)
    return problems.results()


def _lowered(result: Result, wanted: float, level: float) -> Result:
    """A result with a warning where its plan holds by less than was asked for."""
    if not result.solved or level >= wanted:
        return result
    said = (
        f"no plan was found whose goal, preconditions and gates hold with a truth above {wanted:g}: "
        f"those of this one hold with a truth above {level:g}"
    )
    return replace(result, warnings=(*result.warnings, said))

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil, isinf
from time import monotonic
from typing import Final, final

from pdsketch.abstract import is_guessed
from pdsketch.budget import MEGABYTE, Budget, LimitError
from pdsketch.lang import Error, dataclass
from pdsketch.search.latent.instances import TOO_MANY
from pdsketch.search.latent.stage import search_in_model
from pdsketch.search.problems import Allowed, Problems
from pdsketch.search.result import StageReport
from pdsketch.search.rules import search_by_rules, search_by_sure_rules
from pdsketch.tensor import Model


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a strategy, its ``share`` of what is left, and the most expansions that it may take.

    ``run`` settles some of the problems that are given to it, and says why it ended for each of the others.
    ``needed`` says of which models there is such a stage.
    """

    name: str
    run: Callable[[Problems, Sequence[int], Allowed], Mapping[int, str]]
    share: float = 1.0
    most_expansions: int | None = None
    needed: Callable[[Model], bool] = lambda _: True

    def allowed(self, problems: Problems) -> Allowed:
        """What it may take."""
        return Allowed(_part_of(problems.budget, self.share), self._most(problems))

    def _most(self, problems: Problems) -> int | None:
        left = problems.expansions_left
        own = None if left is None else ceil(self.share * left)
        known = [most for most in (own, self.most_expansions) if most is not None]
        return min(known, default=None)


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
        problems.found[i] = replace(problems.result(i, "gave-up"), best=[], reasons=reasons)
    return ended


_LATENT: Final = Stage("latent", search_what_fits)

PORTFOLIO: Final = (
    Stage("sure rules", search_by_sure_rules, share=0.4, most_expansions=50_000, needed=is_guessed),
    Stage("rules", search_by_rules, share=0.5, most_expansions=50_000),
    _LATENT,
)
"""The library's strategy. The shares are set by hand: on missions, doors and goals with numbers in rooms, and
on the lamps, the first stage finds every plan, and takes milliseconds."""

STRATEGIES: Final[Mapping[str, tuple[Stage, ...]]] = {
    "portfolio": PORTFOLIO,
    "abstract": (
        Stage("sure rules", search_by_sure_rules, share=0.4, needed=is_guessed),
        Stage("rules", search_by_rules, share=0.5),
        _LATENT,
    ),
}
"""By the name of a search; all others are the latent stage alone."""


def follow(problems: Problems) -> None:
    """Let each stage of the strategy that is asked for have the problems that are open."""
    for stage in STRATEGIES.get(problems.options.search, (_LATENT,)):
        left = problems.open
        if not left:
            return
        if not stage.needed(problems.model):
            continue
        began, spent = monotonic(), problems.expanded(left)
        allowed = stage.allowed(problems)
        try:
            with allowed.budget.running():
                ended = stage.run(problems, left, allowed)
        except LimitError as limit:
            problems.budget.check()
            if stage.share == 1.0:
                raise
            ended = dict.fromkeys(left, f"{limit.status}: its share of the limits is used up")
        seconds = (monotonic() - began) / len(left)
        for i, before in zip(left, spent, strict=True):
            expanded = problems.expanded([i])[0] - before
            problems.stages[i] += (StageReport(stage.name, seconds, expanded, ended.get(i, "solved")),)


def _part_of(budget: Budget, share: float) -> Budget:
    """A share of the time and of the memory that are left."""
    left, room = budget.left(), budget.room()
    if share == 1.0:
        return budget
    return budget.narrowed(
        None if isinf(left) else share * left, None if isinf(room) else max(0.0, share * room / MEGABYTE)
    )

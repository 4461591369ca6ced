"""Why there is no plan, in words: the limit, the goal's parts at the best node, blanks with holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

from pdsketch.lang import Error, Expr, Predicate, Step, conjuncts, effect_expressions, located, quote
from pdsketch.search.latent.doubts import doubts_of
from pdsketch.search.latent.heuristics import StateHeuristic
from pdsketch.search.latent.limits import suppress_limits
from pdsketch.search.latent.options import LatentOptions
from pdsketch.search.latent.replay import Trail, follow
from pdsketch.search.latent.settings import LatentOutcome
from pdsketch.search.latent.undecided import known_blanks, undecided
from pdsketch.tensor import Model, State
from pdsketch.training import MEANINGS, NOTE, REMEDIES, Verdict

_MOST_PARTS: Final = 12
"""Reasons that are given."""


def why_not(
    model: Model,
    state: State,
    goal: Expr,
    outcome: LatentOutcome,
    best: Sequence[Step],
    options: LatentOptions,
    blocked: Sequence[StateHeuristic],
    place: int,
) -> tuple[str, ...]:
    """Why there is no plan, one sentence a reason, the most important first.

    ``model``, ``state`` and ``goal`` are the problem, number ``place`` of the search; ``outcome`` says how it
    ended and ``options`` within which limits; ``best`` leads to the most promising state; heuristics that are
    ``blocked`` saw no way to the goal. Of blanks that cannot decide, or were never trained, that is said, and
    not what they lead to.
    """
    reasons = [ending(outcome, options)]
    stuck: list[str] = []
    with suppress_limits():
        for heuristic in blocked:
            if outcome.status == "unsolvable" or not heuristic.infinity_is_proof:
                stuck += heuristic.explain(state.batch, place)
        if outcome.status != "unsolvable":
            reasons += undecided(model, state.batch, goal)
            reasons += _at_best(model, state, goal, best, snap=options.snap)
    reasons += [*untrained(model, [goal])[0], *nothing_trained(model)]
    doubted = [name for name in model.domain.blanks if any(f"`{name}`" in reason for reason in reasons)]
    stuck = [reason for reason in stuck if not any(f"`{name}`" in reason for name in doubted)]
    reasons += _verdicts(model, goal, reasons)
    return tuple(dict.fromkeys([reasons[0], *stuck, *reasons[1:]]))[:_MOST_PARTS]


def _at_best(model: Model, state: State, goal: Expr, best: Sequence[Step], *, snap: bool) -> list[str]:
    """The parts of the goal that do not hold at the most promising state, and what is a guess there."""
    where = f"after {len(best)} steps, at the most promising state" if best else "in the initial state"
    reasons = []
    try:
        trail = Trail()
        reached = follow(model, state, best, trail, snap=snap)
        if not isinstance(reached, State):
            return []
        trail.ends.append((reached.batch, [goal], [0]))
        for part in conjuncts(goal):
            truth = float(model.holds(reached, part))
            if truth <= 0.5:
                reasons.append(
                    f"{where}, {quote(part.span, 'the goal')} has truth {truth:.2f}{located(part.span)}"
                )
        way = "on the way there" if best else where
        reasons += [f"{way}, {doubt}" for doubt in doubts_of(model, trail).sentences(0)]
    except Error as failed:
        reasons.append(f"{where}, the model cannot be evaluated: {failed.diagnostics[0].message}")
    return reasons


def ending(outcome: LatentOutcome, options: LatentOptions) -> str:
    """How a search ended."""
    if outcome.limit == "undecided":
        return "no plan was found, and that proves nothing: the model has blanks that cannot decide"
    best = f"best h {outcome.best_h:g} after " if isfinite(outcome.best_h) else ""
    seen = f"{best}{outcome.expanded} expansions"
    match outcome.status, outcome.limit:
        case "unsolvable", _:
            return "there is no plan: no reachable state can satisfy the goal"
        case "out-of-time", _:
            limit = "" if options.time_limit is None else f" of {options.time_limit:g} s"
            return f"the time limit{limit} was reached ({seen}): raise it, or try k=64"
        case "out-of-memory", _:
            return f"the memory limit of {options.memory_limit:g} MB was reached ({seen}): raise memory_limit"
        case _, "expansions":
            return f"the limit of expansions was reached ({seen}): raise max_expansions, or try search='gbfs'"
        case _, "depth":
            return f"no plan within max_depth={options.max_depth} was found ({seen}): raise max_depth"
        case _:
            return (
                f"all states that could be told apart were searched ({seen}), which proves nothing: "
                "values are quantised or sampled"
            )


def untrained(model: Model, goals: Sequence[Expr]) -> list[tuple[str, ...]]:
    """What to say of each blank that a goal reads and no training reached; given modules need none."""
    known = known_blanks(model)
    said: dict[Expr, tuple[str, ...]] = {}
    for goal in dict.fromkeys(goals):
        read = [name for name in model.domain.analysis.blanks(goal) if name not in known]
        said[goal] = tuple(
            f"the goal reads the blank `{name}`, which was never trained{_first(model, name)}"
            for name in read
        )
    return [said[goal] for goal in goals]


def _verdicts(model: Model, goal: Expr, said: Sequence[str]) -> list[str]:
    """What the report on the training says of blanks that the goal or an action reads, if it is a hole.

    Blanks of which something was said already are left out.
    """
    words: Mapping[str, Verdict] = model.notes.get(NOTE, {})
    expressions = [goal]
    for action in model.domain.actions.values():
        expressions += [action.precondition, *effect_expressions(action.effects)]
    read = dict.fromkeys(name for expr in expressions for name in model.domain.analysis.blanks(expr))
    spoken_of = " ".join(said)
    return [
        f"`{name}` is {words[name]} ({MEANINGS[words[name]]}): {REMEDIES[words[name]]}"
        for name in read
        if words.get(name) in REMEDIES and f"`{name}`" not in spoken_of
    ]


def nothing_trained(model: Model) -> tuple[str, ...]:
    """What to say of a model whose networks are as they were made."""
    if model.notes.get("trained"):
        return ()
    blanks = [name for name in model.domain.blanks if name not in model.blanks.given]
    listed = ", ".join(f"`{name}`" for name in blanks[:3])
    more = f" and {len(blanks) - 3} more" if len(blanks) > 3 else ""
    return (f"the model was not trained: {listed}{more} are networks as they were made",) if blanks else ()


def runaways(counts: Mapping[tuple[str, str], int], predicates: Mapping[str, Predicate]) -> tuple[str, ...]:
    """What to say of successors that were dropped because they are not finite."""
    return tuple(
        f"the model predicts a `{predicate}` after `{action}` that is {_beyond(predicates[predicate])}; "
        f"{count} such successors were left out: {_remedy(predicates[predicate])}"
        for (action, predicate), count in counts.items()
    )


def _beyond(predicate: Predicate) -> str:
    return "not finite" if predicate.type.prim == "float32" else "beyond the ints of 64 bits"


def _remedy(predicate: Predicate) -> str:
    if predicate.type.prim == "float32":
        return "train the model, or check the modules that you gave it"
    return "let a precondition bound it, or declare it as float32"


def _first(model: Model, blank: str) -> str:
    spans = model.domain.blanks[blank].spans
    return located(spans[0] if spans else None)

"""Why there is no plan, in words: the limit, the goal's parts at the best node, blanks with holes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Final, final

import torch
from torch import Tensor

from pdsketch.budget import PORTION
from pdsketch.lang import (
    Action,
    Apply,
    BlankCall,
    Error,
    Expr,
    Logic,
    ObjectType,
    Predicate,
    Step,
    ValueType,
    conjuncts,
    effect_expressions,
    located,
    quote,
    unfold_all,
    walk,
)
from pdsketch.search.latent.candidates import (
    MOST_PROPOSED,
    can_sample,
    input_types,
    name_of,
    pairs_in,
    same_type,
    thinned,
)
from pdsketch.search.latent.instances import Candidates
from pdsketch.search.latent.limits import suppress_limits
from pdsketch.search.latent.margin import CRISP_TRUTH, NO_MARGIN
from pdsketch.search.latent.replay import PlanReplay, Trail, doubts_of
from pdsketch.search.options import PlanOptions
from pdsketch.tensor import SURE, VERDICTS, Callee, Given, Model, Run, State, StateBatch, pardoning
from pdsketch.training import MEANINGS, REMEDIES, Verdict

if TYPE_CHECKING:
    from pdsketch.search.latent.engine import LatentOutcome
    from pdsketch.search.latent.heuristics import StateHeuristic

_MOST_PARTS: Final = 12
"""Reasons that are given."""


def why_not(
    model: Model,
    state: State,
    goal: Expr,
    outcome: LatentOutcome,
    best: Sequence[Step],
    options: PlanOptions,
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
        PlanReplay(model, snap, NO_MARGIN).run([state], [goal], [best], trail, {})
        if not trail.ends:
            return []
        reached = trail.ends[0][0][0]
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


def ending(outcome: LatentOutcome, options: PlanOptions) -> str:
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
    words: Mapping[str, Verdict] = model.notes.get(VERDICTS, {})
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
        f"{count} such successors were left out: {_bound(predicates[predicate])}"
        for (action, predicate), count in counts.items()
    )


def _beyond(predicate: Predicate) -> str:
    return "not finite" if predicate.type.prim == "float32" else "beyond the ints of 64 bits"


def _bound(predicate: Predicate) -> str:
    if predicate.type.prim == "float32":
        return "train the model, or check the modules that you gave it"
    return "let a precondition bound it, or declare it as float32"


def _first(model: Model, blank: str) -> str:
    spans = model.domain.blanks[blank].spans
    return located(spans[0] if spans else None)


# Relations of a goal in which no candidate value stands, or not at once: what was never proposed.


def never_proposed(model: Model, state: State, goal: Expr, candidates: Candidates) -> list[str]:
    """What to say of the goal's relations of values that no candidate makes true, beside any other value.

    Asked of ``model`` is whether any of the ``candidates``, for its value arguments, makes a relation of
    ``goal`` true in ``state``. Where each can be true, so of those that are wanted of the same two things at
    once.
    """
    said: dict[str, str] = {}
    for call in pairs_in(model, [goal]):
        if name_of(call) not in said and _never(model, state, [call], candidates):
            said[name_of(call)] = _sentence(model, [call], candidates)
    if said:
        return [*said.values()]
    together = [calls for calls in _wanted_together(model, goal) if _never(model, state, calls, candidates)]
    return [_sentence(model, calls, candidates) for calls in together]


def _wanted_together(model: Model, goal: Expr) -> list[list[BlankCall | Apply]]:
    """The relations of the same two things among the parts of a conjunction; none where not all is wanted."""
    plain = unfold_all(goal, model.domain)
    if any(isinstance(node, Logic) and node.op != "and" for node in walk(plain)):
        return []
    groups: dict[tuple[Expr, ...], list[BlankCall | Apply]] = {}
    for call in pairs_in(model, [plain]):
        groups.setdefault(call.args, []).append(call)
    return [calls for calls in groups.values() if len(calls) > 1]


def _never(model: Model, state: State, calls: Sequence[BlankCall | Apply], candidates: Candidates) -> bool:
    """Whether relations of the same two things are never true at once, with values that were proposed."""
    types = input_types(model, calls[0])
    proposed = [_candidates(candidates, type_) for type_ in types]
    if all(values is None for values in proposed):
        return False
    sides = [_known(model, state, t, values) for t, values in zip(types, proposed, strict=True)]
    return not _may_hold(model, calls, *sides)


def _sentence(model: Model, calls: Sequence[BlankCall | Apply], candidates: Candidates) -> str:
    types = input_types(model, calls[0])
    counted = [(len(v), str(t)) for t in types if (v := _candidates(candidates, t)) is not None]
    count, type_ = max(counted)
    values = f"none of the {count} values" if count > 1 else f"no value of {count}"
    if len(calls) > 1:
        named = " and ".join(f"`{name_of(call)}`" for call in calls)
        return f"{values} that were proposed for `{type_}` makes {named} true at once{located(calls[0].span)}"
    (call,) = calls
    name = name_of(call)
    fix = (
        "the module proposes values for which it is not true itself"
        if can_sample(model.blanks.calls.get(name))
        else f'give generators={{"{type_}": fn}}, or a module that proposes values, as pds.nets.Offset does'
    )
    return f"{values} that were proposed for `{type_}` makes `{name}` true{located(call.span)}: {fix}"


def _candidates(candidates: Candidates, type_: ValueType) -> Tensor | None:
    """The candidates of a type; None where no action takes values of it."""
    own = [values for other, values in candidates.values.items() if same_type(other, type_)]
    return torch.cat(own) if own and type_.choices is None and type_.prim == "float32" else None


def _known(model: Model, state: State, type_: ValueType, proposed: Tensor | None) -> Tensor:
    """The candidates of a type and its values in the state."""
    own = [] if proposed is None else [proposed]
    for predicate in model.domain.state_predicates:
        if same_type(predicate.type, type_) and type_.shape is not None:
            own.append(state[predicate.name].reshape(-1, *type_.shape))
    return torch.cat(own) if own else torch.zeros(0)


def _may_hold(model: Model, calls: Sequence[BlankCall | Apply], first: Tensor, second: Tensor) -> bool:
    """Whether relations hold of some pair; also where it cannot be seen."""
    modules = [model.blanks.calls.get(name_of(call)) for call in calls]
    if None in modules or not len(first) or not len(second):
        return True
    few = (thinned(values, MOST_PROPOSED).float() for values in (first, second))
    a, b = (v if v.dim() > 1 else v.unsqueeze(-1) for v in few)
    pairs = a[:, None].expand(-1, len(b), *a.shape[1:]), b[None].expand(len(a), *b.shape)
    held = torch.ones(len(a), len(b), dtype=torch.bool, device=a.device)
    for module in modules:
        assert module is not None
        held &= (module(*pairs) > CRISP_TRUTH).reshape(held.shape)  # modules may keep a last axis of one
    return bool(held.any())


# Boolean blanks that cannot decide: a truth between 0.1 and 0.9 (`SURE`), or no training at all. Search is
# crisp, so that a precondition whose blank says 0.5 keeps its action from ever being applied.


def decides_nothing(least: float, greatest: float) -> bool:
    """Whether truths between these are all as little sure as guesses are."""
    return 1 - SURE < least <= greatest < SURE


def known_blanks(model: Model) -> frozenset[str]:
    """The blanks that were trained, or whose function the user gave."""
    return frozenset({*model.notes.get("trained", ()), *model.blanks.given})


@final
class _Answers:
    """What blanks answer in an evaluation: give it to `Functions.watched`.

    ``truths`` holds the least and the greatest truth of each Boolean blank, ``asked`` all blanks.
    """

    def __init__(self) -> None:
        self.truths: dict[str, tuple[float, float]] = {}
        self.asked: dict[str, None] = {}

    def __call__(self, callee: Callee, given: Sequence[Given], leading: torch.Size, result: Tensor) -> None:
        """Look at one call."""
        del given
        self.asked[callee.name] = None
        if callee.returns.prim == "bool" and result.numel() and 0 not in leading:
            low, high = self.truths.get(callee.name, (1.0, 0.0))
            least, most = result.float().aminmax()
            self.truths[callee.name] = min(low, float(least)), max(high, float(most))


@torch.no_grad()
def undecided(model: Model, batch: StateBatch, goal: Expr) -> tuple[str, ...]:
    """What to say of blanks that decide nothing in a state, or were not trained: of the goal, of actions."""
    run = model.engine.open(batch, checked=False)
    with pardoning():
        told = _doubts(
            model,
            "the goal",
            "whose goals read it",
            lambda: model.engine.truth(run, goal, model.logic),
        )
        for action in model.domain.actions.values():
            told = {**_of_action(model, run, action), **told}
    return tuple(told.values())


def _of_action(model: Model, run: Run, action: Action) -> dict[str, str]:
    """The doubtful blanks of an action; not of one that takes values, which are not known here."""
    if not all(isinstance(p.type, ObjectType) for p in action.parameters):
        return {}
    blanks = model.domain.analysis.blanks
    if not any(blanks(expr) for expr in (action.precondition, *effect_expressions(action.effects))):
        return {}
    grounding = model.engine.ground(run.batch, action.name)
    # A successor has a table of its own for whatever is written.
    room = PORTION // max(1, sum(t.nbytes for t in run.batch.tensors.values()))
    most = min(grounding.count, room)
    if not most:
        return {}
    places = {name: table[:, :most] for name, table in grounding.of(run.batch).items()}
    ground = run.ground(places, most)
    effects = _doubts(
        model,
        f"the effects of `{action.name}`",
        f"with `{action.name}`",
        lambda: model.engine.successors(ground, action.name, model.logic),
    )
    precondition = _doubts(
        model,
        f"the precondition of `{action.name}`",
        f"with `{action.name}` that say `executable`",
        lambda: model.engine.precondition(ground, action.name, model.logic),
        f", so that `{action.name}` is never applicable",
    )
    return {**effects, **precondition}


def _doubts(
    model: Model, where: str, episodes: str, evaluate: Callable[[], object], closed: str = ""
) -> dict[str, str]:
    """What to say of each doubtful blank that an evaluation asks; ``closed`` if it never says true."""
    answers, known = _Answers(), known_blanks(model)
    with model.blanks.watched(answers):
        evaluate()
    told = {}
    for blank in answers.asked:
        low, high = answers.truths.get(blank, (0.0, 1.0))
        if not decides_nothing(low, high) and blank in known:
            continue
        truth = ""
        if blank in answers.truths:
            shown = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
            truth = f" (truth {shown} in the initial state){closed if high <= 0.5 else ''}"
        verb = "is undecided" if blank in known else "was never trained"
        told[blank] = f"`{blank}` in {where} {verb}{truth}: {_remedy(model, blank, episodes)}"
    return told


def _remedy(model: Model, blank: str, episodes: str) -> str:
    if blank in model.blanks.given:
        return "its function was given; check what it returns"
    more = "more " if blank in known_blanks(model) else ""
    return f"train on {more}episodes {episodes}, or give a module for it"

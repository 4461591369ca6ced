"""What the data does not show: missing examples, and predicates that nothing tells apart, as sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from pdsketch.lang import (
    Apply,
    BlankCall,
    Domain,
    Expr,
    Logic,
    Predicate,
    Variable,
    effect_expressions,
    formula_text,
    map_children,
    names_in,
    substitute,
)
from pdsketch.tensor import SHOWN
from pdsketch.training.diagnosis.blanks import MEANINGS, REMEDIES, BlankReport, Verdict
from pdsketch.training.diagnosis.measures import Judged, Measures
from pdsketch.training.training_set import TrainingSet

_NOTABLE_FALL = 0.05
"""A held-out accuracy is worth a warning if it is lower by more than this. Set by hand."""

_LEAST_JUDGED = 20
"""A warning of that is given for no fewer held-out judgements: one alone is then no more than the fall."""


def warnings_of(
    training: TrainingSet,
    measures: Measures,
    blanks: Mapping[str, BlankReport],
    held_out: Measures | None = None,
) -> tuple[str, ...]:
    """All warnings about a model on its data, the gravest kinds first.

    ``training`` joins the model to the data, ``measures`` is how right it was on them, ``blanks`` are the
    reports by name; what is right there and wrong on those ``held_out`` is a warning of its own.
    """
    silent = _silent(training, blanks)
    told = {name for names in silent.values() for name in names}
    unsaid = (
        f"the precondition of `{action}` has no signal: no step says whether it was executable, so "
        f"{_listed(names)} is taken to be what held in all of its steps; "
        "give `executable` with the episodes, or a precondition without blanks"
        for action, names in silent.items()
    )
    twins = (
        f"`{p}` and `{q}` cannot be told apart by the data: they occur only together, in the same goals, "
        "and read the same values; add goals that name one without the other"
        for p, q in non_identifiable(training)
    )
    return (
        *unsaid,
        *_contradictions(training),
        *twins,
        *_refused(training, measures),
        *_blanks(training, {name: report for name, report in blanks.items() if name not in told}),
        *_worse_held_out(measures, held_out),
    )


def _silent(training: TrainingSet, blanks: Mapping[str, BlankReport]) -> dict[str, list[str]]:
    """The actions that are taken without a word on ``executable``, and the blanks that wait for it."""
    found = {}
    for at, action in enumerate(training.actions):
        word = training.dataset.executable[training.dataset.action == at]
        names = sorted(training.reads.blanks(action.precondition, encoders=False))
        untrained = [name for name in names if blanks[name].verdict == "never-trained"]
        if untrained and len(word) and (word < 0).all():
            found[action.name] = untrained
    return found


def _contradictions(training: TrainingSet) -> Iterator[str]:
    """States that are alike in all that the data holds, with one goal and both labels."""
    dataset = training.dataset
    judged = np.flatnonzero(dataset.goal >= 0)
    keys = np.stack([dataset.hashes()[dataset.state[judged]], dataset.goal[judged]], axis=1)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    labelled = np.bincount(group)
    true = np.bincount(group, dataset.outcomes[judged], minlength=len(labelled))
    both = (true > 0) & (true < labelled)
    count = int(labelled[both].sum())
    if count:
        at = judged[np.flatnonzero(both[group])[0]]
        yield (
            f"the labels of {count} states contradict each other: the same state and goal "
            f"(such as `{dataset.arrays.goals[dataset.goal[at]]}`, episode {dataset.episode[at]}) with "
            "and without success; add a predicate that tells them apart, or correct `success`"
        )


def _refused(training: TrainingSet, measures: Measures) -> Iterator[str]:
    """Written preconditions that hold where the world refused."""
    for action in (training.actions[at].name for at in training.refused):
        found = measures.preconditions.get(action, Judged())
        held = found.right_positives + (wrong := found.negatives - found.right_negatives)
        if wrong:
            yield (
                f"`{action}` was refused in {wrong} of {held} steps in which its precondition holds as it is "
                "written: if that is no chance, give it a blank over what may matter, such as (??can …)"
            )


def _blanks(training: TrainingSet, blanks: Mapping[str, BlankReport]) -> Iterator[str]:
    """What is not known of blanks, a line for each kind."""
    by_verdict: dict[Verdict, list[str]] = defaultdict(list)
    for name, report in blanks.items():
        by_verdict[report.verdict].append(name)
    plain: tuple[Verdict, ...] = ("never-trained", "never-varied", "one-sided", "collapsed", "ambiguous")
    for word in plain:
        if names := by_verdict[word]:
            yield f"{word}: {_listed(names)} ({MEANINGS[word]}): {REMEDIES[word]}"
    if outside := by_verdict["outside"]:
        name, *others = sorted(outside, key=lambda one: -blanks[one].outside / blanks[one].calls)
        found = blanks[name]
        more = f"; so are inputs of {_listed(others)}" if others else ""
        yield (
            f"`{name}` {found.such_as}; {found.outside} of its {found.calls} inputs here are such{more}: "
            f"{REMEDIES['outside']}"
        )
    if open_ := [name for name in by_verdict["undecided"] if blanks[name].outside]:
        name, *others = open_
        forms, rivals = training.model.forms, training.model.rivals
        part = next((one for one in (name, f"{name}#gate") if one in rivals), None)
        said = blanks[name].such_as if part is None else f"may be `{forms[part]}` or `{rivals[part][0]}`"
        more = f"; more than one form fits {_listed(others)}, too" if others else ""
        yield f"`{name}` {said}{more}: {REMEDIES['undecided']}"
    if thin := by_verdict["thin"]:
        some = ", ".join(f"{blanks[name].examples} of `{name}`" for name in thin[:SHOWN])
        more = f" and few of {len(thin) - SHOWN} more" if len(thin) > SHOWN else ""
        yield f"few examples show a case: {some}{more}: {REMEDIES['thin']}"


def _worse_held_out(train: Measures, held_out: Measures | None) -> Iterator[str]:
    if held_out is None:
        return
    pairs = (
        ("goals", train.goal_accuracy, held_out.goal_accuracy, held_out.judged.count),
        ("steps", train.step_accuracy, held_out.step_accuracy, held_out.steps),
    )
    for what, own, other, count in pairs:
        if count >= _LEAST_JUDGED and own - other > _NOTABLE_FALL:
            yield (
                f"{what} right {other:.3f} on held-out episodes and {own:.3f} on the training episodes: "
                "more episodes would help, or a sketch with more structure"
            )


def _listed(names: list[str]) -> str:
    some = ", ".join(f"`{name}`" for name in names[:SHOWN])
    return some if len(names) <= SHOWN else f"{some} and {len(names) - SHOWN} more"


# Predicates that are blanks and stand only side by side: nothing tells which of them is false.


def non_identifiable(training: TrainingSet) -> list[tuple[str, str]]:
    """Pairs of Boolean predicates that are one blank each and that the data cannot tell apart.

    To swap the two changes no goal, nothing else reads either, and they read a value in common; over
    different values, what one of them learns is not the other's to explain.
    """
    domain = training.domain
    elsewhere = _read_outside_goals(domain)
    inputs = {
        name: _inputs(p)
        for name, p in domain.predicates.items()
        if p.role == "derived" and p.type.is_bool and isinstance(p.body, BlankCall) and name not in elsewhere
    }
    return [
        (p, q) for p, q in combinations(inputs, 2) if inputs[p] & inputs[q] and _alike(training.goals, p, q)
    ]


def _read_outside_goals(domain: Domain) -> set[str]:
    """The predicates that actions and bodies of other predicates name."""
    expressions = [p.body for p in domain.predicates.values() if p.body is not None]
    for action in domain.actions.values():
        expressions += [action.precondition, *effect_expressions(action.effects)]
    return set().union(*map(names_in, expressions))


def _inputs(predicate: Predicate) -> frozenset[Expr]:
    """What a predicate's blank reads, with parameters named by their places."""
    assert isinstance(predicate.body, BlankCall)
    names: dict[str, Expr] = {p.name: Variable(f"${i}", p.type) for i, p in enumerate(predicate.parameters)}
    return frozenset(substitute(argument, names) for argument in predicate.body.args)


def _alike(goals: Iterable[Expr], p: str, q: str) -> bool:
    """Whether some goals name two predicates, and stay as they are if these are swapped."""
    naming = [goal for goal in goals if not names_in(goal).isdisjoint((p, q))]
    swap = {p: q, q: p}
    return bool(naming) and all(_sorted(goal, {}) == _sorted(goal, swap) for goal in naming)


def _sorted(expr: Expr, renamed: Mapping[str, str]) -> Expr:
    """An expression with other names for predicates, and the parts of each conjunction in one order."""
    found = map_children(expr, lambda part: _sorted(part, renamed))
    if isinstance(found, Apply):
        return replace(found, predicate=renamed.get(found.predicate, found.predicate))
    if isinstance(found, Logic) and found.op == "and":
        return replace(found, args=tuple(sorted(found.args, key=formula_text)))
    return found

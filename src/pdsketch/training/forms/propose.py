"""Forms that might stand for a network, from weighted answers to what it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final, cast, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.nets import (
    NEAR,
    Argument,
    Base,
    BlankForm,
    ComponentForm,
    Condition,
    CountForm,
    InputReading,
    LinearForm,
    Node,
    Reads,
    Signature,
    Spec,
    TableForm,
    TreeForm,
    component,
    design,
    element,
    elements,
    held_elements,
    readings_of,
)
from pdsketch.training.forms.trees import MOST_VALUES, Grown, ReadingRows, step

Array = np.ndarray[Any, Any]
Known = Mapping[Reads, int]
"""What other blanks of the sketch read, and how many do: like blanks share it."""

NOTHING: Final[Known] = MappingProxyType({})

SAMPLED: Final = 2048
"""So many examples, inputs or answers are enough to compare forms by, or to fit a handful of coefficients."""

MOST_TERMS: Final = 5
"""No linear function has more columns, no kind of elements more tests, no count is higher; set by hand."""

SAME: Final = 0.02
"""Numbers nearer to each other than this part of their deviation are one value; set by hand."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What a blank was asked ``[n, *axes]``, what it should say ``[n, size]`` (codes, truths or numbers), and
    how much that matters ``[n, size]``. ``blamed``: the weight of what it should not have said.
    """

    args: list[Argument]
    values: Tensor
    weights: Tensor
    blamed: float = 0.0

    def __len__(self) -> int:
        return len(self.values)

    def of(self, place: int) -> Answers:
        """Those of one component."""
        return Answers(self.args, self.values[:, place : place + 1], self.weights[:, place : place + 1])


@final
@dataclass(frozen=True, slots=True, eq=False)
class FormProposal:
    """A form, and the part of the weight of the answers that it gets wrong."""

    form: BlankForm
    error: float


def propose(signature: Signature, answers: Answers, known: Known = NOTHING) -> list[FormProposal]:
    """Forms that might do, whatever they cost; ``known`` is what others read."""
    if not signature.inputs:
        return [FormProposal(form, 0.0) for form in _constant(signature, answers)]
    if not len(answers):
        return []
    sets = [at for at, one in enumerate(signature.inputs) if one.is_set]
    output, found = signature.output, list[FormProposal]()
    if len(sets) == 1 and output == Spec("bool"):
        found += _counts(signature, sets[0], answers, known)
    if output.prim == "float":
        return [*found, *_numbers(signature, answers, known)]
    if output.shape:
        return [*found, *_components(signature, answers, known)]
    found += _choices(signature, answers, known)
    return [*found, *_conditions(signature, answers)] if output.prim == "bool" else found


# -- choices between classes --------------------------------------------------------------


@final
class _Read:
    """The readings of some examples."""

    def __init__(self, signature: Signature, args: Sequence[Argument], known: Known = NOTHING) -> None:
        self.readings = readings_of(signature)
        self.values = read_all(self.readings, args, signature)
        self.typed = [reading.typed(signature) for reading in self.readings]
        self.known = [one for one in known if one.issubset(self.typed)]

    def allowed(self) -> Iterator[list[int]]:
        """Readings to make trees of: what others read, relations alone, then codes too, then all."""
        for own in self.known:
            yield [at for at, one in enumerate(self.typed) if one in own]
        prices, before = [reading.price for reading in self.readings], list[int]()
        for most in sorted(set(prices)):
            found = [at for at, price in enumerate(prices) if price <= most]
            if found != before:
                yield found
            before = found


def read_all(listed: Sequence[InputReading], args: Sequence[Argument], signature: Signature) -> Array:
    """The values of readings ``[n, reading]``."""
    if not listed:
        first = args[0]
        return np.zeros((len(first[0] if isinstance(first, tuple) else first), 0), dtype=np.float32)
    found: Array = torch.stack([one.of(args, signature) for one in listed], 1).cpu().numpy()
    return found


def _choices(signature: Signature, answers: Answers, known: Known) -> Iterator[FormProposal]:
    """Trees and tables over classes: values, or what is added to an argument of the same type."""
    output = signature.output
    count = output.choices if output.is_categorical else 2
    assert count is not None
    codes = answers.values[:, 0].long()
    read = _Read(signature, answers.args, known)
    weights = answers.weights[:, 0].double().cpu().numpy()
    yield from _classified(
        signature, read, codes.cpu().numpy(), weights, [(float(c),) for c in range(count)], None
    )
    for base in _bases(signature):
        own = InputReading("code", base.argument, place=base.place or 0).of(answers.args, signature).long()
        apart = ((codes - own) % count).cpu().numpy()
        yield from _classified(signature, read, apart, weights, [(float(c),) for c in range(count)], base)


def _bases(signature: Signature) -> Iterator[Base]:
    """The codes among the arguments that a code may be counted from."""
    output = signature.output
    for at, one in enumerate(signature.inputs):
        alike = one.spec.is_categorical and one.spec.choices == output.choices and not one.is_set
        if output.is_categorical and alike:
            yield from (Base(at, place) for place in range(one.spec.size))


def _classified(
    signature: Signature,
    read: _Read,
    classes: Array,
    weights: Array,
    leaves: Sequence[tuple[float, ...]],
    base: Base | None,
) -> Iterator[FormProposal]:
    rows = ReadingRows.of(read.readings, read.values, classes, weights, len(leaves))
    whole = max(float(weights.sum()), 1e-12)
    constant = True
    for allowed in [*read.allowed()] or [[]]:
        grown, last = Grown(rows, allowed), None
        for size in grown.sizes():
            tests, node, ends = grown.of(size)
            error = float((ends.sum(1) - ends.max(1)).sum()) / whole
            if (size > 1 or constant) and (last is None or error < last - 1e-9):
                values = [leaves[at] for at in ends.argmax(1)]
                yield FormProposal(TreeForm(signature, tests, node, values, base), error)
            last = error
        constant = False
    keys = [at for at, reading in enumerate(read.readings) if reading.kind == "code"]
    if not keys:
        return
    table = ReadingRows.of(
        [read.readings[at] for at in keys], read.values[:, keys], classes, weights, len(leaves)
    )
    if 1 < len(table.values) <= MOST_VALUES:
        said = {
            tuple(int(code) for code in row): leaves[at]
            for row, at in zip(table.values, table.weights.argmax(1), strict=True)
        }
        otherwise = leaves[int(table.weights.sum(0).argmax())]
        error = float((table.weights.sum(1) - table.weights.max(1)).sum()) / whole
        yield FormProposal(TableForm(signature, table.readings, said, otherwise, base), error)


def _components(signature: Signature, answers: Answers, known: Known) -> Iterator[FormProposal]:
    """One component changes, the others stay: the best form of each; of one at a time also the next best."""
    own = component(signature)
    best: list[list[FormProposal]] = []
    for place in range(signature.output.size):
        found = propose(own, answers.of(place), known)
        found.sort(key=lambda one: _kept(one, place, known) + 60.0 * one.error)
        if not found:
            return
        best.append(found[:4])
    yield _together(signature, [found[0] for found in best])
    for place, found in enumerate(best):
        for other in found[1:]:
            yield _together(signature, [other if at == place else one[0] for at, one in enumerate(best)])


def _kept(proposal: FormProposal, place: int, known: Known) -> float:
    """The cost of a component's form: hardly any where it is that of the argument at the same place."""
    form = proposal.form
    if not isinstance(form, TreeForm) or form.tests or form.base is None or form.base.place != place:
        return form.price(known)
    return form.cost if any(form.leaves[0]) else 0.1


def _together(signature: Signature, parts: Sequence[FormProposal]) -> FormProposal:
    return FormProposal(
        ComponentForm(signature, [part.form for part in parts]), max(part.error for part in parts)
    )


# -- truths -------------------------------------------------------------------------------


def _conditions(signature: Signature, answers: Answers) -> Iterator[FormProposal]:
    """Thresholds, and the specific end: what all that is true has in common, or a list of it."""
    read = _Read(signature, answers.args)
    weights = answers.weights[:, 0].double().cpu().numpy()
    true = answers.values[:, 0].cpu().numpy() > 0.5
    whole = max(float(weights.sum()), 1e-12)

    def wrong(held: Array) -> float:
        return float(weights[held != true].sum()) / whole

    positives = read.values[true & (weights > 0)]
    if not len(positives):
        return
    alike = [at for at, reading in enumerate(read.readings) if (positives[:, at] == positives[0, at]).all()]
    steps = [
        0.0 if reading.is_discrete else step(read.values[:, at]) for at, reading in enumerate(read.readings)
    ]
    for some in [
        [*own] for n in (1, 2, len(alike)) if n == 1 or len(alike) <= 6 for own in combinations(alike, n)
    ]:
        tests = [Condition(read.readings[at], float(positives[0, at]), NEAR * steps[at]) for at in some]
        held = (read.values[:, some] == positives[0, some]).all(1)
        yield FormProposal(all_of(signature, tests), wrong(held))
    for allowed in read.allowed():
        keys = [at for at in allowed if read.readings[at].kind in ("code", "turn", "difference")]
        listed = np.unique(positives[:, keys], axis=0)
        if not keys or len(listed) > MOST_VALUES or (np.abs(listed - listed.round()) > 1e-3).any():
            continue
        rows = {tuple(int(code) for code in row.round()): (1.0,) for row in listed}
        form = TableForm(signature, [read.readings[at] for at in keys], rows, (0.0,))
        yield FormProposal(form, wrong(among(read.values[:, keys], listed)))
    yield from _thresholds(signature, read, answers, true, weights)


def what_held(signature: Signature, answers: Answers, rows: Array) -> list[Condition]:
    """The codes and comparisons that are the same in some ``rows`` of the ``answers``, of a ``signature``."""
    return _always(_Read(signature, answers.args), rows)


def _always(read: _Read, rows: Array) -> list[Condition]:
    """The codes and comparisons that are the same in all of some rows."""
    some = read.values[rows]
    return [
        Condition(reading, float(some[0, at]))
        for at, reading in enumerate(read.readings)
        if len(some) and reading.is_discrete and (some[:, at] == some[0, at]).all()
    ]


def rows_of(args: Sequence[Argument], some: Array) -> list[Argument]:
    """Some rows of arguments."""
    at = torch.from_numpy(some)
    return [(x[0][at], x[1][at]) if isinstance(x, tuple) else x[at] for x in args]


def among(values: Array, rows: Array) -> Array:
    """Which of some values are one of the rows."""
    found: Array = (values[:, None] == rows[None]).all(-1).any(1)
    return found


def all_of(signature: Signature, tests: Sequence[Condition], truth: bool = True) -> TreeForm:
    """True where all tests hold, or where not all of them do."""
    node: Node = 1
    for at in reversed(range(len(tests))):
        node = (at, node, 0)
    return TreeForm(signature, tests, node, [(float(not truth),), (float(truth),)])


def _columns(read: _Read) -> list[tuple[InputReading, float | None]]:
    found: list[tuple[InputReading, float | None]] = []
    for at, reading in enumerate(read.readings):
        if reading.is_discrete:
            found += [(reading, float(value)) for value in np.unique(read.values[:, at])[:16]]
        else:
            found.append((reading, None))
    return found


def _thresholds(
    signature: Signature, read: _Read, answers: Answers, true: Array, weights: Array
) -> Iterator[FormProposal]:
    """Logistic regressions over the columns that matching pursuit chooses, each with round slopes if these
    separate as well.
    """
    columns = _columns(read)
    if not columns or true.all() or not true.any():
        return
    rng = np.random.default_rng(0)
    some = np.concatenate([rng.permutation(np.flatnonzero(m))[: SAMPLED // 2] for m in (true, ~true)])
    given = rows_of(answers.args, some)
    every = design(columns, given, signature, len(some)).double().cpu().numpy()
    label, by = true[some], weights[some]
    by = np.where(label, by / by[label].sum(), by / by[~label].sum()) / 2
    chosen: list[int] = []
    rest = np.where(label, 1.0, -1.0)
    while len(chosen) < MOST_TERMS and (at := _next_column(every[:, 1:], rest * by, chosen)) is not None:
        chosen.append(at)
        own = every[:, [1 + at for at in chosen]]
        mean, spread = own.mean(0), own.std(0)
        fitted = _logistic(*(torch.from_numpy(x) for x in ((own - mean) / spread, label * 1.0, by)))
        slopes = fitted[1:].numpy() / spread
        short = np.round(2 * slopes / max(float(np.abs(slopes).max()), 1e-12)) / 2
        (error, cut), (wrong, place) = (_cut(own @ by_column, label, by) for by_column in (slopes, short))
        if wrong <= error:
            slopes, error, cut = short, wrong, place
        rows = [(-cut,), *((slope,) for slope in slopes.tolist())]
        if len(chosen) > 1 or columns[at][1] is None:  # whether one code is a value is a test
            yield FormProposal(LinearForm(signature, [columns[at] for at in chosen], rows), error)
        if error < 1e-9:
            return
        linear = every[:, [0, *(1 + at for at in chosen)]] * np.sqrt(by)[:, None]
        target = np.where(label, 1.0, -1.0)
        rest = (
            target
            - every[:, [0, *(1 + at for at in chosen)]]
            @ np.linalg.lstsq(linear, target * np.sqrt(by), rcond=None)[0]
        )


def _next_column(columns: Array, rest: Array, chosen: Sequence[int]) -> int | None:
    """The column that goes along most with what is left to explain; None: none does."""
    spread = columns.std(0)
    gain = np.abs((columns - columns.mean(0)).T @ rest)
    gain = gain.reshape(len(gain), -1).sum(1)
    gain = np.where(spread > 1e-6, gain / (spread + 1e-6), 0.0)
    gain[list(chosen)] = 0.0
    return int(gain.argmax()) if gain.max() >= 1e-6 else None


def _cut(sums: Array, label: Array, weights: Array) -> tuple[float, float]:
    """What is wrong at least, if what is above a number is true, and that number."""
    order = np.argsort(sums, kind="stable")
    ends = np.concatenate([[sums.min() - 1.0], sums[order], [sums.max() + 1.0]])
    missed = np.concatenate([[0.0], np.cumsum(np.where(label, weights, -weights)[order])])
    wrong = np.where(ends[1:] > ends[:-1], missed + weights[~label].sum(), np.inf)
    at = int(wrong.argmin())
    return float(wrong[at]), float((ends[at] + ends[at + 1]) / 2)


def _logistic(x: Tensor, label: Tensor, weights: Tensor) -> Tensor:
    """Weighted logistic regression, the constant first, with a slight ridge, by Newton's steps.

    Optimisers of torch import its compiler, which takes longer than most fits of truths.
    """
    every = torch.cat([torch.ones_like(x[:, :1]), x], 1)
    found = torch.zeros(every.shape[1], dtype=torch.float64)
    ridge = torch.full_like(found, 1e-5)  # set by hand

    def loss(found: Tensor) -> Tensor:
        wrong = torch.nn.functional.softplus((1 - 2 * label) * (every @ found))
        return (wrong * weights).sum() + (ridge * found.square()).sum()

    for _ in range(30):  # most take ten
        truth = torch.sigmoid(every @ found)
        slope = every.T @ (weights * (truth - label)) + 2 * ridge * found
        bend = (every * (weights * truth * (1 - truth))[:, None]).T @ every + torch.diag(2 * ridge)
        step = torch.linalg.solve(bend, slope)
        tried = (found - 0.5**halved * step for halved in range(20))
        better = next((one for one in tried if loss(one) < loss(found)), None)
        if better is None:
            break
        found = better
    return found


# -- numbers ------------------------------------------------------------------------------


def _constant(signature: Signature, answers: Answers) -> Iterator[BlankForm]:
    """The value without arguments that answers ask for on average, or most often."""
    weights = answers.weights.double()
    if signature.output.prim == "float":
        mean = (answers.values.double() * weights).sum(0) / weights.sum(0).clamp_min(1e-12)
        yield TreeForm(signature, [], 0, [tuple(_rounded(mean.cpu().numpy()).tolist())])
        return
    leaf = []
    for values, own in zip(answers.values.T, weights.T, strict=True):
        codes = torch.bincount(values.long(), own)
        leaf.append(float(codes.argmax()))
    yield TreeForm(signature, [], 0, [tuple(leaf)])


def _numbers(signature: Signature, answers: Answers, known: Known) -> Iterator[FormProposal]:
    """A choice between few values, or what is added to an argument of the same type; or sparse linear."""
    weights = answers.weights.double().mean(1).cpu().numpy()
    values = answers.values.double().cpu().numpy()
    read = _Read(signature, answers.args, known)
    spread = float(values.std(0).max()) + 1e-9
    bases = [
        None,
        *(
            Base(at)
            for at, one in enumerate(signature.inputs)
            if one.spec == signature.output and not one.is_set
        ),
    ]
    for base in bases:
        apart = values
        if base is not None:
            apart = (
                values
                - cast(Tensor, answers.args[base.argument]).reshape(len(values), -1).double().cpu().numpy()
            )
        classes, leaves = _grouped(apart, weights, max(SAME * spread, 1e-6))
        if len(leaves) <= MOST_VALUES:
            yield from _classified(signature, read, classes, weights, leaves, base)
        yield from _linear(signature, read, answers, apart, weights, spread, base)


def _grouped(values: Array, weights: Array, width: float) -> tuple[Array, list[tuple[float, ...]]]:
    """The class of each of some vectors that are few values, and these."""
    cells = np.round(values / width).astype(np.int64)
    _, classes = np.unique(cells, axis=0, return_inverse=True)
    classes = classes.reshape(-1)
    total = np.bincount(classes, weights)
    means = np.stack([np.bincount(classes, weights * own) / np.maximum(total, 1e-12) for own in values.T], 1)
    return classes, [tuple(row) for row in _rounded(means).tolist()]


def _rounded(values: Array) -> Array:
    """Numbers that are nearly round are meant to be."""
    short: Array = np.round(values * 20) / 20
    found: Array = np.where(np.abs(values - short) < 1e-3, short, values)
    return found


def _linear(
    signature: Signature,
    read: _Read,
    answers: Answers,
    apart: Array,
    weights: Array,
    spread: float,
    base: Base | None,
) -> Iterator[FormProposal]:
    """Sparse linear functions by matching pursuit (Mallat and Zhang, 1993)."""
    columns = _columns(read)
    some = np.random.default_rng(0).permutation(len(apart))[:SAMPLED]
    given = rows_of(answers.args, some)
    every = design(columns, given, signature, len(some)).double().cpu().numpy()
    wanted, by = apart[some], np.sqrt(weights[some])[:, None]
    total = max(float(weights[some].sum()), 1e-12)
    chosen: list[int] = []
    for _ in range(1 + MOST_TERMS):
        own = every[:, [0, *(1 + at for at in chosen)]]
        matrix = np.linalg.lstsq(own * by, wanted * by, rcond=None)[0]
        short = np.round(matrix * 2) / 2
        if np.abs(wanted - own @ short).mean() <= np.abs(wanted - own @ matrix).mean() + SAME * spread:
            matrix = short
        rest = wanted - own @ matrix
        error = float((np.minimum(np.abs(rest).max(1) / spread, 1.0) * weights[some]).sum()) / total
        if chosen:
            rows = [tuple(row) for row in matrix.tolist()]
            yield FormProposal(LinearForm(signature, [columns[at] for at in chosen], rows, base), error)
        if error < 1e-4 or not columns:
            return
        at = _next_column(every[:, 1:], rest * by**2, chosen)
        if at is None:
            return
        chosen.append(at)


# -- sets ---------------------------------------------------------------------------------


def _counts(signature: Signature, set_: int, answers: Answers, known: Known) -> Iterator[FormProposal]:
    """At least, or fewer than, so many elements that are of a kind: one test, then two together."""
    own = element(signature, set_)
    weights = answers.weights[:, 0].double()
    true = answers.values[:, 0] > 0.5
    whole = float(weights.sum().clamp_min(1e-12))
    count = len(answers)
    tables = {
        reading: elements(set_, answers.args, count, lambda flat, r=reading: r.of(flat, own))
        for reading in readings_of(own)
    }
    there = cast(tuple[Tensor, Tensor], answers.args[set_])[1] > 0.5
    tests: list[tuple[Condition, Tensor]] = []
    for reading, table in tables.items():
        seen = torch.unique(table[there])
        few = len(seen) <= 32
        step = float(seen.diff().min()) if len(seen) > 1 else 1.0
        if reading.is_discrete or few:
            near = 0.0 if reading.is_discrete else 0.25 * step
            tests += [
                (test, there & ((table - test.value).abs() <= near + 1e-6))
                for test in (Condition(reading, float(value), near) for value in seen[:32])
            ]
        if not reading.is_discrete and len(seen) > 1:
            cuts = (seen[1:] + seen[:-1]) / 2
            cuts = cuts[torch.linspace(0, len(cuts) - 1, min(32, len(cuts))).long()]
            for cut in cuts.tolist():
                tests.append((Condition(reading, cut, order=True), there & (table <= cut)))
    scored: list[tuple[float, float, list[Condition], bool, int, bool]] = []

    def score(some: list[Condition], of: Tensor) -> float:
        best, price = 1.0, 1.0 + sum(one.reading.price for one in some)
        for other, members in ((False, of), (True, there & ~of)) if some else ((False, of),):
            numbers = members.sum(1)
            for k in range(1, min(MOST_TERMS, int(numbers.max()) if count else 0) + 1):
                enough = numbers >= k
                for fewer in (False, True):
                    error = float(weights[(enough != fewer) != true].sum()) / whole
                    scored.append((error, 0.5 * (k - 1) + price, some, other, k, fewer))
                    best = min(best, error)
        return best

    score([], there)
    ranked = sorted(((score([t], m), at) for at, (t, m) in enumerate(tests)), key=lambda one: one[0])
    for _, at in ranked[:6]:
        first, members = tests[at]
        for second, more in tests:
            if second is not first:
                score([first, second], members & more)
    scored.sort(key=lambda one: one[0] + 0.02 * one[1])
    for error, _, some, other, k, fewer in scored[:24]:
        kind = all_of(own, some, not other)
        yield FormProposal(CountForm(signature, set_, kind, k, few=fewer), error)
    yield from _compared(signature, set_, tests, true, weights / whole)
    for few in (False, True):
        for inner in _kinds_of_elements(own, set_, answers, there, true != few, known):
            enough = held_elements(inner, set_, answers.args, count).any(1)
            error = float(weights[(enough != few) != true].sum()) / whole
            yield FormProposal(CountForm(signature, set_, inner, 1, few=few), error)


def _compared(
    signature: Signature, set_: int, tests: list[tuple[Condition, Tensor]], true: Tensor, weights: Tensor
) -> Iterator[FormProposal]:
    """More elements of one kind than of another: the best for each kind, each told by one test."""
    own, found = element(signature, set_), list[tuple[float, Condition, Condition, bool]]()
    totals = [members.sum(1) for _, members in tests]
    for (test, _), mine in zip(tests, totals, strict=True):
        more = mine > torch.stack(totals)
        for few in (False, True):
            wrong = ((more != few) != true).double() @ weights
            at = int(wrong.argmin())
            found.append((float(wrong[at]), test, tests[at][0], few))
    for error, test, other, few in sorted(found, key=lambda one: one[0])[:MOST_TERMS]:
        against = all_of(own, [other])
        yield FormProposal(
            CountForm(signature, set_, all_of(own, [test]), 1, few=few, against=against), error
        )


def _kinds_of_elements(
    own: Signature, set_: int, answers: Answers, there: Tensor, hit: Tensor, known: Known
) -> Iterator[BlankForm]:
    """Trees that tell the only elements of sets that are hit from all elements of others."""
    single = there.sum(1) == 1
    counted = there & (~hit | single).unsqueeze(1)
    if not bool((counted & hit.unsqueeze(1)).any()):
        return
    row, at = counted.nonzero(as_tuple=True)
    args = [x[0][row, at] if isinstance(x, tuple) else x[row] for x in answers.args]
    weights = answers.weights[row, 0].double().cpu().numpy()
    classes = hit[row].long().cpu().numpy()
    read = _Read(own, args, known)
    for kind in (True, False):  # what all of a kind have in common, or all others
        alike = _always(read, classes == kind)
        if 0 < len(alike) <= MOST_TERMS:
            yield all_of(own, alike, kind)
    for one in _classified(own, read, classes, weights, [(0.0,), (1.0,)], None):
        if isinstance(one.form, TreeForm) and len(one.form.tests) <= MOST_TERMS:
            yield one.form

"""What each blank does on the data, whether what depends on it comes out right, and all of that in a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any, Final, Literal, final

import torch
from torch import Tensor

from pdsketch.lang import Blank, ValueType
from pdsketch.tensor import EXAMPLES, SURE, TRAINED, Callee, Given, Model, doubt_of, formed, is_categorical
from pdsketch.training.diagnosis.measures import Judged, Measures, TransitionErrors
from pdsketch.training.training_set import TrainingSet

Verdict = Literal[
    "learned",
    "thin",
    "given",
    "one-sided",
    "undecided",
    "ambiguous",
    "collapsed",
    "never-varied",
    "never-trained",
    "never-called",
    "outside",
]

MEANINGS: Final[Mapping[Verdict, str]] = {
    "learned": "decided on the data, and whatever depends on it is right",
    "thin": "right, on fewer than 5 examples of a case that its form tells apart, or of values it made",
    "given": "a function of yours, with nothing to learn",
    "one-sided": "a Boolean that is true on all inputs of the data, or on none",
    "undecided": "on over 5 % of inputs a truth from 0.1 to 0.9, or forms that fit the data disagree",
    "ambiguous": "unsure of its value, or what depends on it is wrong on the data",
    "collapsed": "an encoder that returns one value for all inputs, though these differ",
    "never-varied": "its inputs were always the same, or the variable that it writes never changed",
    "never-trained": "no gradient ever reached it: nothing in the data depends on it",
    "never-called": "no measurement evaluates it",
    "outside": "out of distribution: over 5 % of its inputs on other data are unlike all training inputs",
}
"""What each word means."""

REMEDIES: Final[Mapping[Verdict, str]] = {
    "thin": "add episodes with more of them",
    "one-sided": "add episodes in which it should be otherwise",
    "undecided": "add goals or transitions that depend on it, or train longer",
    "ambiguous": "look at `worst`; give it the inputs that decide, or more data, or train longer",
    "collapsed": "train again with another seed, or add goals that need the difference",
    "never-varied": "add episodes in which it differs",
    "never-trained": "add goals, transitions or `executable` that depend on it, or remove it",
    "outside": "add episodes with such values",
}
"""What helps against each word that tells of a hole."""

MOST_UNSURE: Final = 0.05
"""A blank may be unsure on this part of its inputs, or not trained near them, and be sure; set by hand."""

FEWEST: Final = 5
"""With fewer examples of one kind, what was learned is thin; set by hand."""

RIGHT: Final = 0.95
"""What depends on a blank comes out right when this part of it does; set by hand."""


# Where each blank is used: in effects, in goals, in preconditions, as an encoder.


@final
@dataclass
class Uses:
    """The uses of one blank, through derived predicates too.

    ``values`` and ``gates`` are effects, each an action and the predicate that it
    writes; ``goals`` are indices of the training's goals; ``preconditions`` are actions;
    ``encodes`` is the encoded variable whose body calls it, if one does.
    """

    values: set[tuple[str, str]] = field(default_factory=set)
    gates: set[tuple[str, str]] = field(default_factory=set)
    goals: set[int] = field(default_factory=set)
    preconditions: set[str] = field(default_factory=set)
    encodes: str | None = None


def uses_of(training: TrainingSet) -> dict[str, Uses]:
    """The uses of every blank of a training set's domain."""
    domain = training.domain
    found = {name: Uses() for name in domain.blanks}
    for predicate in domain.predicates.values():
        if predicate.role == "encoded" and predicate.body is not None:
            for name in domain.analysis.blanks(predicate.body, encoders=False):
                found[name].encodes = predicate.name
    for action in domain.actions.values():
        for update in action.effects:
            effect = (action.name, update.target.predicate)
            for name in domain.analysis.blanks(update.condition, encoders=False):
                found[name].gates.add(effect)
            if update.value is not None:
                for name in domain.analysis.blanks(update.value, encoders=False):
                    found[name].values.add(effect)
        for name in domain.analysis.blanks(action.precondition, encoders=False):
            found[name].preconditions.add(action.name)
    for at, goal in enumerate(training.goals):
        for name in domain.analysis.blanks(goal):
            found[name].goals.add(at)
    return found


CLOSE = 0.1
"""A predicted number is right, too, where its error is this part of the change; set by hand."""


@final
@dataclass
class BlankReport:
    """What the data says about one blank.

    ``trained``: whether it ever received a gradient. ``calls``: how many inputs it
    was evaluated on; for Booleans ``true`` and ``undecided`` (truth between 0.1 and 0.9)
    how many of them, for ints ``undecided`` those whose likeliest choice has less than
    0.9. ``spread`` is the standard deviation of the numbers it returned, ``codes_used``
    how many of ``codes`` choices an encoder used. ``reads``: it has inputs. ``writes``: it is the
    value of an effect. ``inputs_varied`` and ``target_changed`` say whether its inputs and the variables
    that it writes ever differed. ``right`` is the accuracy of what depends on it (None: nothing measured
    does). ``form`` is the simple function that answers for its network, in a few words. ``outside``
    counts the inputs on which its form is a guess or, where a network answers, which are unlike those
    that it was trained on; ``such_as`` is one. ``examples``: on how many answers that mattered the
    rarest case of its form rests, with those of like blanks whose forms read the same.
    """

    signature: str
    trained: bool = False
    learnable: bool = True
    boolean: bool = False
    calls: int = 0
    true: int = 0
    undecided: int = 0
    spread: float | None = None
    codes: int | None = None
    codes_used: int | None = None
    inputs_varied: bool = True
    target_changed: bool = True
    right: float | None = None
    reads: bool = True
    writes: bool = False
    form: str | None = None
    outside: int = 0
    such_as: str | None = None
    examples: int | None = None

    @property
    def verdict(self) -> Verdict:
        """The report in a word; `MEANINGS` says what each means."""
        if not self.learnable:
            return "given"
        if not self.trained:
            return "never-trained"
        if not self.calls:
            return "never-called"
        if self.outside > MOST_UNSURE * self.calls:
            return "outside" if {*(self.form or "network").split(" if ")} == {"network"} else "undecided"
        if self.boolean and self.true in (0, self.calls) and not self.writes:
            return "one-sided"
        unsure = self.undecided > MOST_UNSURE * self.calls
        # A threshold between two examples may lie anywhere between them: unsure there, and yet right.
        if self.boolean and unsure and (self.right is None or self.right < RIGHT):
            return "undecided"
        if not self.boolean and not (self.inputs_varied and self.target_changed):
            return "never-varied"
        if self.codes_used == 1 or (self.spread is not None and self.spread < 1e-6):
            return "collapsed"
        if (unsure and not self.boolean) or (self.right is not None and self.right < RIGHT):
            return "ambiguous"
        is_few = self.examples is not None and self.examples < (FEWEST if self.reads else 1)
        return "thin" if is_few else "learned"

    @property
    def note(self) -> str:
        """What else is worth a word: codes used, or the spread of what an encoder returns."""
        if self.codes is not None:
            return f"{self.codes_used} of {self.codes} codes used"
        return "" if self.spread is None else f"spread {self.spread:.3g}"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "verdict": self.verdict}


@final
class Watched:
    """Counts what the networks of blanks are asked and return, while inside `watching`."""

    def __init__(self, training: TrainingSet) -> None:
        self.training = training
        self._watches = {
            name: _Watch(training.model, blank)
            for name, blank in training.domain.blanks.items()
            if training.model.blanks.network(name) is not None
        }

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within, every call of a blank's network is counted."""
        with self.training.model.blanks.watched(self._see):
            yield

    def _see(self, callee: Callee, given: Sequence[Given], leading: torch.Size, result: Tensor) -> None:
        if callee.name in self._watches and 0 not in leading:
            self._watches[callee.name].see(callee, given, leading, result)

    def reports(self, measures: Measures) -> dict[str, BlankReport]:
        """A report on every blank, of the data measured."""
        notes = self.training.model.notes
        trained, examples = set(notes.get(TRAINED, ())), notes.get(EXAMPLES, {})
        uses, reports = uses_of(self.training), {}
        for name, blank in self.training.domain.blanks.items():
            network = self.training.model.blanks.network(name)
            learnable = network is not None and any(p.requires_grad for p in network.parameters())
            report = BlankReport(blank.signature, name in trained, learnable, blank.returns.is_bool)
            report.reads = bool(blank.inputs)
            if name in self._watches:
                self._watches[name].tell(report, encoder=uses[name].encodes is not None)
            kinds = [part.form.kind if part.form else "network" for part in formed(network).values()]
            report.form = " if ".join(kinds) or None
            _judge(report, uses[name], measures)
            if report.examples is not None:
                report.examples = examples.get(name, report.examples)
            reports[name] = report
        return reports


@final
class _Watch:
    """What one network was given and returned, counted in passing: to keep it would take the memory of the
    whole data.
    """

    def __init__(self, model: Model, blank: Blank) -> None:
        self.model, self.blank = model, blank
        self.calls, self.true, self.undecided, self.outside = 0, 0, 0, 0
        self.such_as: str | None = None
        self.varied = False
        self.first: list[Tensor] = []
        self.used: Tensor | None = None
        self.moments: Tensor | None = None

    @torch.no_grad()
    def see(self, callee: Callee, given: Sequence[Given], leading: torch.Size, result: Tensor) -> None:
        """Count one batch of calls."""
        doubt = doubt_of(self.model.blanks, self.model.notes, callee, given, leading)
        if doubt is not None:
            self.outside += int(doubt.rows.sum())
            self.such_as = self.such_as or doubt.words(tuple(doubt.rows.nonzero()[0].tolist()))
        self._see_inputs([one[0] if isinstance(one, tuple) else one for one in given])
        type_ = self.blank.returns
        if type_.prim == "bool":
            self.calls += result.numel()
            self.true += int((result > 0.5).sum())
            self.undecided += int(((result > 1 - SURE) & (result < SURE)).sum())
        elif is_categorical(type_):
            likeliest, which = torch.softmax(result, -1).max(-1)
            self.calls += likeliest.numel()
            self.undecided += int((likeliest < SURE).sum())
            used = torch.bincount(which.flatten(), minlength=result.shape[-1])
            self.used = used if self.used is None else self.used + used
        else:
            flat = result.reshape(-1, _width(type_, result)).double()
            self.calls += len(flat)
            new = torch.stack([flat.sum(0), flat.square().sum(0)])
            self.moments = new if self.moments is None else self.moments + new

    def _see_inputs(self, values: Sequence[Tensor]) -> None:
        """Whether any input is another than the first one was."""
        if self.varied or not all(t.numel() for t in values):
            return
        widths = [_width(i.type, t) for i, t in zip(self.blank.inputs, values, strict=True)]
        flat = [t.reshape(-1, n) for t, n in zip(values, widths, strict=True)]
        self.first = self.first or [t[0] for t in flat]
        self.varied = any(bool((t != one).any()) for t, one in zip(flat, self.first, strict=True))

    def tell(self, report: BlankReport, *, encoder: bool) -> None:
        """Enter what was seen into the report."""
        report.calls, report.true, report.undecided = self.calls, self.true, self.undecided
        report.outside, report.such_as = self.outside, self.such_as
        report.inputs_varied = self.varied or not self.first
        if not encoder or not self.calls:
            return
        if self.used is not None:
            report.codes, report.codes_used = len(self.used), int((self.used > 0).sum())
        elif self.moments is not None:
            mean, square = self.moments / self.calls
            report.spread = float((square - mean.square()).clamp_min(0).sqrt().mean())


def _width(type_: ValueType, value: Tensor) -> int:
    """How many numbers one value has in a tensor of them."""
    if type_.shape is None:
        return value.shape[-1]
    return prod(type_.shape) * ((type_.choices or 1) if is_categorical(type_) else 1)


def not_learned(training: TrainingSet, measures: Measures) -> list[str]:
    """The blanks of a ``training`` set of which nothing that depends on them is right, by ``measures``."""
    found = []
    for name, uses in uses_of(training).items():
        _judge(report := BlankReport(training.domain.blanks[name].signature), uses, measures)
        if report.right is not None and report.right < RIGHT:
            found.append(name)
    return found


def _judge(report: BlankReport, uses: Uses, measures: Measures) -> None:
    """How right what depends on a blank is.

    Of a value that effects write: the value alone, where the variable changed.
    Otherwise the use that comes out best: what else a formula reads may be to
    blame for the others.
    """
    written = _pooled(measures, uses.values)
    if written.variables:
        report.writes = True
        report.target_changed = written.changed > 0
        report.right = _right_value(written)
        report.examples = written.changed
        return
    goals = [Judged.of(measures.by_goal[sorted(uses.goals)])] if uses.goals else []
    could = [measures.preconditions[name] for name in uses.preconditions if name in measures.preconditions]
    found = [judged.balanced for judged in (*goals, *could) if judged.count]
    gated = _pooled(measures, uses.gates)
    kinds = [(judged.positives, judged.negatives) for judged in (*goals, *could)]
    if gated.changed:
        found.append(min(gated.right_changed, gated.right_unchanged))
    if gated.variables:
        kinds.append((gated.changed, gated.variables - gated.changed))
    report.right = max(found) if found else None
    if uses.encodes is None:
        report.examples = max((min(kind) for kind in kinds if all(kind)), default=None)


def _pooled(measures: Measures, effects: set[tuple[str, str]]) -> TransitionErrors:
    total = TransitionErrors()
    for action, predicate in effects:
        errors: Mapping[str, TransitionErrors] = measures.effects.get(action, {})
        if predicate in errors:
            total.add(errors[predicate])
    return total


def _right_value(written: TransitionErrors) -> float | None:
    if not written.changed:
        return None
    if written.change and written.value_distance <= CLOSE * written.change:
        return max(RIGHT, 1.0 - written.wrong_value / written.changed)
    return 1.0 - written.wrong_value / written.changed

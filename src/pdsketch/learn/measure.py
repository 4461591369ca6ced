"""How good a model is on episodes, crisply: goals, transitions by predicate, and each blank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.lang.domain import Predicate
from pdsketch.learn.columns import Array
from pdsketch.learn.frame import Frame, Move
from pdsketch.learn.losses import differs, real_entries
from pdsketch.learn.study import Study
from pdsketch.tensor.codes import Codes, Quantiser, codes_of
from pdsketch.tensor.logic import CRISP

CHUNK = 4096


@final
@dataclass
class TransitionErrors:
    """How often one predicate was mispredicted.

    ``variables`` and ``changed`` count ground variables over all steps; ``wrong``
    and ``wrong_changed`` those whose prediction falls on another code than the
    outcome; ``distance`` is the sum of absolute errors of their numbers.
    """

    variables: int = 0
    changed: int = 0
    wrong: int = 0
    wrong_changed: int = 0
    distance: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Counts and rates."""
        return {
            **asdict(self),
            "error": self.wrong / max(1, self.variables),
            "error_changed": self.wrong_changed / max(1, self.changed),
            "distance": self.distance / max(1, self.variables),
        }


@final
@dataclass(frozen=True)
class Measures:
    """Goal accuracy and transition errors on some episodes.

    ``right`` counts states where the goal's crisp truth was the recorded
    success, of ``positives`` and ``negatives``. ``steps_right`` counts steps of
    which every variable was predicted right, of ``steps``.
    """

    positives: int
    negatives: int
    right_positives: int
    right_negatives: int
    steps: int
    steps_right: int
    transitions: dict[str, TransitionErrors] = field(default_factory=dict)

    @property
    def goal_accuracy(self) -> float:
        """The part of all states whose goal was judged right."""
        total = self.positives + self.negatives
        return (self.right_positives + self.right_negatives) / total if total else 1.0

    @property
    def step_accuracy(self) -> float:
        """The part of all steps predicted right in every variable."""
        return self.steps_right / self.steps if self.steps else 1.0

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "goal_accuracy": self.goal_accuracy,
            "goal_accuracy_positives": self.right_positives / max(1, self.positives),
            "goal_accuracy_negatives": self.right_negatives / max(1, self.negatives),
            "positives": self.positives,
            "negatives": self.negatives,
            "step_accuracy": self.step_accuracy,
            "steps": self.steps,
            "transitions": {name: found.as_json() for name, found in self.transitions.items()},
        }


@torch.no_grad()
def measure(study: Study, states: Array, most: int | None = None) -> Measures:
    """Measure on some states of a study, at most so many of them, evenly spread."""
    if most is not None and len(states) > most:
        states = states[np.linspace(0, len(states) - 1, most).astype(np.int64)]
    transitions = {p.name: TransitionErrors() for p in study.domain.state_predicates}
    labels, truths, steps, steps_right = [], [], 0, 0
    quantisers = _quantisers(study)
    for some in np.array_split(states, max(1, -(-len(states) // CHUNK))):
        if not len(some):
            continue
        frame = Frame(study, CRISP, some)
        frame.prepare(goals=True, step=True)
        truths.append(frame.truth().cpu().numpy() > 0.5)
        labels.append(study.packed.outcomes[some[frame.judged]])
        after = frame.step(study.packed.once[some])
        for move in after.moves:
            right = _compare(frame, after, move, transitions, quantisers)
            steps += len(right)
            steps_right += int(right.sum())
    label = np.concatenate(labels) if labels else np.zeros(0, dtype=np.bool_)
    truth = np.concatenate(truths) if truths else label
    return Measures(
        positives=int(label.sum()),
        negatives=int((~label).sum()),
        right_positives=int((label & truth).sum()),
        right_negatives=int((~label & ~truth).sum()),
        steps=steps,
        steps_right=steps_right,
        transitions=transitions,
    )


def _quantisers(study: Study) -> dict[str, Quantiser]:
    """How finely each float variable is told apart, as a planner would."""
    known = codes_of(study.model.notes)
    found = {}
    for predicate in study.domain.state_predicates:
        tensor = study.packed.states.tensors.get(predicate.name)
        if predicate.type.prim == "float32" and tensor is not None:
            width = int(np.prod(tensor.shape[1 + len(predicate.parameters) :], dtype=np.int64))
            codes = known.get(predicate.name, Codes.uniform(width, predicate.type.tolerance))
            found[predicate.name] = Quantiser(codes, study.packed.device)
    return found


def _compare(
    frame: Frame,
    after: Frame,
    move: Move,
    transitions: dict[str, TransitionErrors],
    quantisers: dict[str, Quantiser],
) -> Array:
    """Count the errors of one action's predictions; which of its steps were right throughout."""
    study = frame.study
    states = after.states[move.first : move.first + len(move.rows)]
    target = Frame(study, CRISP, states)
    right = torch.ones(len(states), dtype=torch.bool, device=study.packed.device)
    for name, count in transitions.items():
        predicate = study.domain.predicates[name]
        before = frame.value(name, move.rows)
        wanted = target.value(name, np.arange(len(states)))
        found = move.new.get(name, before)
        wrong = _wrong(found, wanted, predicate, quantisers.get(name))
        changed = differs(before, wanted, predicate)
        real = real_entries(study, states, predicate)
        if real is not None:
            wrong, changed = wrong & (real > 0), changed & (real > 0)
        count.variables += int(changed.numel() if real is None else real.sum())
        count.changed += int(changed.sum())
        count.wrong += int(wrong.sum())
        count.wrong_changed += int((wrong & changed).sum())
        gap = (found.float() - wanted.float()).abs().unsqueeze(-1).flatten(wrong.dim()).sum(-1)
        count.distance += float((gap if real is None else gap * real).sum())
        right &= ~wrong.reshape(len(states), -1).any(-1)
    return right.cpu().numpy()


def _wrong(found: Tensor, wanted: Tensor, predicate: Predicate, quantiser: Quantiser | None) -> Tensor:
    """Which ground variables a planner would take for another value than the outcome."""
    if quantiser is None:
        return differs(found, wanted, predicate)
    own = found.shape[1 + len(predicate.parameters) :]
    leading = found.shape[: 1 + len(predicate.parameters)]
    width = int(np.prod(own, dtype=np.int64))
    codes = [quantiser.codes(t.reshape(-1, width)) for t in (found, wanted)]
    return (codes[0] != codes[1]).any(-1).reshape(leading)


@final
@dataclass
class BlankReport:
    """What the data says about one blank.

    ``trained``: whether it ever received a gradient. ``calls``: how many inputs
    it was evaluated on, ``true`` and ``undecided`` (truth between 0.1 and 0.9) how
    many of them, for Booleans. ``verdict`` is one of ``given`` (a function of the
    user's, without parameters to learn), ``never-trained``, ``one-sided`` (always true
    or never, on all the data), ``undecided`` (more than 5 % of the inputs) and
    ``determined``.
    """

    signature: str
    trained: bool = False
    learnable: bool = True
    boolean: bool = False
    calls: int = 0
    true: int = 0
    undecided: int = 0

    @property
    def verdict(self) -> str:
        """The report in a word."""
        if not self.learnable:
            return "given"
        if not self.trained:
            return "never-trained"
        if self.boolean and self.calls and self.true in (0, self.calls):
            return "one-sided"
        if self.boolean and self.undecided > 0.05 * self.calls:
            return "undecided"
        return "determined"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "verdict": self.verdict}


def blank_reports(study: Study, states: Array, most: int = 2 * CHUNK) -> dict[str, BlankReport]:
    """A report on every blank, from its behaviour on the data."""
    domain, functions = study.domain, study.model.blanks
    trained = set(study.model.notes.get("trained", ()))
    reports, networks = {}, {}
    for name, blank in domain.blanks.items():
        network = functions.network(name)
        learnable = network is not None and any(p.requires_grad for p in network.parameters())
        reports[name] = BlankReport(
            blank.signature, name in trained, learnable, boolean=blank.returns.is_bool
        )
        if network is not None and blank.returns.is_bool:
            networks[name] = network
    with _watching(networks, reports):
        measure(study, states, most)
    return reports


@contextmanager
def _watching(networks: dict[str, nn.Module], reports: dict[str, BlankReport]) -> Iterator[None]:
    """Within, the truth values that networks return are counted."""

    def watcher(report: BlankReport) -> Any:
        def count(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            report.calls += output.numel()
            report.true += int((output > 0.5).sum())
            report.undecided += int(((output > 0.1) & (output < 0.9)).sum())

        return count

    hooks = [network.register_forward_hook(watcher(reports[name])) for name, network in networks.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()

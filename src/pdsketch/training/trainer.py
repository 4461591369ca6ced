"""The loop of a fit: draw, compute, step; now and then measure, log and save, which other modules do."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any, Literal, final

import torch
from torch import Tensor, nn

from pdsketch.nets import Offset
from pdsketch.training.checkpoint import resume, save, setup_of
from pdsketch.training.data.device_dataset import ROWS
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.diagnosis import measure, not_learned
from pdsketch.training.forms.simplify import forget
from pdsketch.training.losses import Losses, LossMeans
from pdsketch.training.optimiser import clip, doubt, learning_rate, make_optimiser
from pdsketch.training.options import Options
from pdsketch.training.progress import Watchers, postponed
from pdsketch.training.rounds import Rounds, weights_of
from pdsketch.training.sampler import Sampler
from pdsketch.training.starts import Starts, fresh_offsets
from pdsketch.training.statistics import record_statistics
from pdsketch.training.training_set import TrainingSet

Status = Literal["finished", "stopped", "out-of-time", "interrupted"]

_TICK_STEPS = 25
"""Steps between two words on how far it is."""


@final
class Trainer:
    """A fit under way. ``seconds`` are split into data, forward, backward and optimiser.

    ``training`` joins the model to its data, of which the examples ``train`` are learned from and
    ``held_out`` are measured on now and then; ``options`` are those of `fit`.
    """

    def __init__(self, training: TrainingSet, options: Options, train: Array, held_out: Array) -> None:
        self.training = training
        self.options = options
        self.train = train
        self.held_out = held_out
        self.losses = Losses(training, options)
        self.sampler = Sampler(training.dataset.kinds, train, options.batch, options.seed)
        self.rounds = Rounds(self.losses, train, held_out)
        self.starts = Starts(self.losses, train, options.seed)
        self.model: nn.Module = training.model
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.offsets = [part for part in self.model.modules() if isinstance(part, Offset)]
        self.optimiser = make_optimiser(self.parameters, options)
        self.step = 0
        self.resumed: int | None = None
        self.seconds = dict.fromkeys(("data", "forward", "backward", "optimiser"), 0.0)
        self.history: list[dict[str, float]] = []
        self.synchronise = False
        self.done = False
        self.unlearned: list[str] = []
        self.means = LossMeans()

    # -- one step ---------------------------------------------------------------------

    def advance(self) -> None:
        """Make one step."""
        clock = time.perf_counter()
        if self.starts.due(*self._progress):
            for parameter in self.starts.choose():
                self.optimiser.state.pop(parameter, None)
            clock = self._spent("forward", clock)
        states = self.sampler.draw(self.step)
        clock = self._spent("data", clock)
        for parameter in self.parameters:
            parameter.grad = None
        unknown = doubt(*self._progress)
        terms = self.losses.terms(states, unknown)
        loss = self.losses.total(terms, unknown)
        clock = self._spent("forward", clock)
        if loss is not None and loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
            clock = self._spent("backward", clock)
            self._update(unknown)
        self.means.add(terms)
        self._spent("optimiser", clock)
        self.step += 1

    def _update(self, unknown: float) -> None:
        for offset in self.offsets:
            offset.shrink(unknown / len(self.train))
        clip(self.parameters)
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.learning_rate * learning_rate(*self._progress)
        self.optimiser.step()

    @property
    def _progress(self) -> tuple[int, int]:
        """The step within the round, and the steps of that."""
        return self.step - self.rounds.began, self.rounds.end() - self.rounds.began

    def _next_round(self) -> bool:
        """End the round and begin the next; False where there is none, or nothing is left to learn."""
        if self.rounds.close() or not self.rounds.begin(self.step):
            return False
        self.optimiser = make_optimiser(self.parameters, self.options)
        return True

    def _stopped(self, status: Status) -> Status:
        """End before the last step, so that the fit can be resumed, and with what there is by now."""
        save(self)
        self._finish()
        return status

    def _finish(self) -> None:
        """Leave the model of the best round."""
        if not self.done:
            self.rounds.close()
        self.rounds.leave()

    def _spent(self, what: str, since: float) -> float:
        if self.synchronise and self.training.dataset.device.type == "cuda":
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.seconds[what] += now - since
        return now

    # -- the whole ----------------------------------------------------------------------

    def run(self) -> Status:
        """All steps, from the checkpoint on if there is one to resume from."""
        options = self.options
        started = time.monotonic()
        resumed = resume(self)
        self.starts.find()
        if options.forms:
            forget(self.training.model.blanks)
        if not resumed:
            fresh = fresh_offsets(self.model)
            record_statistics(self.losses, self.sampler)
            self.starts.begin(fresh)
            self.rounds.first = weights_of(self.model)
            self.done = self.rounds.closed()
        with Watchers(options, self.history) as watchers, postponed() as interrupted:
            while not self.done and self.step < options.steps and self.parameters:
                if interrupted():
                    return self._stopped("interrupted")
                if options.time_limit is not None and time.monotonic() - started > options.time_limit:
                    return self._stopped("out-of-time")
                if self.step >= self.rounds.end() and not self._next_round():
                    self.done = True
                    break
                self.advance()
                if self.step % options.evaluate_every == 0 or self.step == options.steps:
                    ends = watchers.update(self.step, self._measured(), self.unlearned)
                    self.model.train()  # whatever a callback did with it
                    if ends:
                        return self._stopped("stopped")
                    save(self)
                elif self.step % _TICK_STEPS == 0:
                    watchers.tick(self.step, lambda: self.means.figures(self.step))
            self._finish()
            return "interrupted" if interrupted() else "finished"

    def _measured(self) -> dict[str, float]:
        """The figures of a measurement: losses, and accuracies on training and held-out states."""
        figures = self.means.figures(self.step)
        self.means = LossMeans()
        found = measure(self.training, self.train, ROWS)
        self.unlearned = not_learned(self.training, found)
        figures |= {"accuracy": found.goal_accuracy, "step_accuracy": found.step_accuracy}
        if len(self.held_out):
            held = measure(self.training, self.held_out, ROWS)
            figures |= {
                "held_out_loss": self._held_out_loss(),
                "held_out_accuracy": held.goal_accuracy,
                "held_out_step_accuracy": held.step_accuracy,
            }
        self.history.append({"step": float(self.step), **figures})
        return figures

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        some = self.held_out[: 4 * ROWS]
        total, count = 0.0, 0
        for part in self.training.dataset.parts(some):
            loss = self.losses.total(self.losses.terms(part))
            total += 0.0 if loss is None else float(loss) * len(part)
            count += len(part)
        return total / max(1, count)

    @cached_property
    def setup(self) -> dict[str, Any]:
        """What must be the same for a fit to be resumed."""
        return setup_of(self.training.model, self.training.dataset.arrays, self.options)

    def reached(self) -> list[str]:
        """The blanks whose networks received a gradient, or whose forms were read off the data."""
        training, found = self.training, []
        settled = self.rounds.found.settled if self.rounds.found is not None else ()
        for name in training.domain.blanks:
            network = training.model.blanks.network(name)
            if name in settled or (network is not None and any(self._moved(p) for p in network.parameters())):
                found.append(name)
        return found

    def _moved(self, parameter: Tensor) -> bool:
        state = self.optimiser.state.get(parameter)
        return state is not None and "exp_avg_sq" in state and bool(state["exp_avg_sq"].sum() > 0)

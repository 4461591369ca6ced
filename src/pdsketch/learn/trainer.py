"""The loop: draw, compute, step, and now and then measure, log and write a checkpoint."""

from __future__ import annotations

import math
import sys
import time
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.lang.diagnostics import error
from pdsketch.learn.checkpoint import (
    Checkpoint,
    Facts,
    OverwriteWarning,
    load_checkpoint,
    moments_of,
    restore_moments,
    save_checkpoint,
)
from pdsketch.learn.columns import Array
from pdsketch.learn.interrupt import postponed
from pdsketch.learn.levels import Levels
from pdsketch.learn.losses import Losses
from pdsketch.learn.measure import measure
from pdsketch.learn.options import Options
from pdsketch.learn.prepare import prepare_networks
from pdsketch.learn.progress import Watchers
from pdsketch.learn.sampler import Sampler
from pdsketch.learn.setup import setup_of
from pdsketch.learn.steps import clip, make_optimiser, schedule
from pdsketch.learn.study import Study
from pdsketch.nets.default import Sparsity
from pdsketch.nets.nested import drawing, is_worse

Status = Literal["finished", "stopped", "stopped-early", "out-of-time", "interrupted"]

EASE = ((0.0, 0.4, 0.6, 0.85), (0.0, 1.0, 1.0, 0.0))
"""Parts of the steps, and how much of sparsity and rarity holds there."""

FEWEST, MOST_TRIAL = 600, 0.6
"""A trial has so many steps, or this part of all of them where they are fewer."""

EARLY = 0.6
"""The part of the steps within which the prior on codes goes."""

_BARS = 25
_MEASURED = 4096


@final
class Trainer:
    """A fit under way. ``seconds`` are split into data, forward, backward and optimiser."""

    def __init__(self, study: Study, options: Options, train: Array, held_out: Array) -> None:
        self.study = study
        self.options = options
        self.train = train
        self.held_out = held_out
        self.losses = Losses(study, options)
        strata = study.packed.strata
        kind = study.packed.changed if options.balanced else None
        self.sampler = Sampler(strata, train, options.batch, options.seed, kind)
        self.levels = Levels(self.losses, train, options.seed)
        rest = np.setdiff1d(train, self.levels.apart)
        self.trial_sampler = Sampler(strata, rest, options.batch, options.seed, kind)
        self.model: nn.Module = study.model
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self._sparsity = Sparsity(self.model)
        self.optimiser = make_optimiser(self.parameters, options)
        self.step = 0
        self.resumed: int | None = None
        # The first step after the trial; None while it lasts.
        self.settled_at: int | None = None if self.levels.networks else 0
        self.seconds = dict.fromkeys(("data", "forward", "backward", "optimiser"), 0.0)
        self.history: list[dict[str, float]] = []
        self.synchronise = False
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}
        self._best: dict[str, Tensor] = {}
        self._best_loss = math.inf
        self._waited = 0
        # What can be gone back to: during the trial the first weights, afterwards those of the trial.
        self._earlier: dict[str, Tensor] = {}
        self._earlier_risks: list[float] = []

    # -- one step ---------------------------------------------------------------------

    def advance(self) -> None:
        """Make one step."""
        clock = time.perf_counter()
        trial = self.settled_at is None
        states = (self.trial_sampler if trial else self.sampler).draw(self.step)
        clock = self._spent("data", clock)
        with drawing(self.levels.networks if trial else (), self.step):
            terms = self.losses.terms(states)
        loss = self.losses.total(terms, {"rarity": self._ease, "usage": self._early})
        clock = self._spent("forward", clock)
        for parameter in self.parameters:
            parameter.grad = None
        if loss is not None and loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
            clock = self._spent("backward", clock)
            self._update()
        self._spent("optimiser", clock)
        for name, term in terms.items():
            self._sums[name] = self._sums.get(name, 0.0) + term.detach().double()
            self._counts[name] = self._counts.get(name, 0) + 1
        self.step += 1

    def _update(self) -> None:
        options = self.options
        if options.sparsity:
            self._sparsity.add(options.sparsity / len(self.train) * self._ease)
        if options.clip:
            clip(self.parameters, options.clip)
        for group in self.optimiser.param_groups:
            group["lr"] = options.learning_rate * schedule(*self._progress, options.warmup)
        self.optimiser.step()

    @property
    def _ease(self) -> float:
        """How much of the priors holds by now: they come, stay and go, as `EASE` says.

        A predicate that is pressed to be false before anything is known of it
        closes the gates that it stands in, and nothing is learned behind them. One
        that is pressed to the end stays unsure, and effects behind its gate overshoot.
        """
        step, steps = self._progress
        return float(np.interp(step / max(1, steps), *EASE))

    @property
    def _early(self) -> float:
        """How much of the prior on codes holds: which code stands for what is decided at the beginning."""
        step, steps = self._progress
        return max(0.0, 1.0 - step / max(1, steps) / EARLY)

    @property
    def _progress(self) -> tuple[int, int]:
        """The step within the trial or within what follows it, and the steps of that."""
        if self.settled_at is None:
            return self.step, self._trial_steps
        return self.step - self.settled_at, self.options.steps - self.settled_at

    @property
    def _trial_steps(self) -> int:
        """By the option, but no fewer than a flexible network needs to show what it can do."""
        steps = self.options.steps
        return max(1, round(self.options.trial * steps), min(FEWEST, round(MOST_TRIAL * steps)))

    def _settle(self) -> None:
        """Choose how far each network grows, and begin again from the first weights, with all examples.

        What a network of several levels has learned is a compromise between them,
        and a part of the examples was kept for the choice. Where too few steps are left
        to begin again, the fit goes on from where it is.
        """
        self.levels.choose()
        chosen = [network.level for network in self.levels.networks]
        first, self._earlier = self._earlier, self._weights()
        self._earlier_risks = self.levels.risks().tolist()
        if self.options.steps - self.step >= self.step:
            self.model.load_state_dict(first)
            for network, level in zip(self.levels.networks, chosen, strict=True):
                network.level = level
        self.optimiser = make_optimiser(self.parameters, self.options)
        self.settled_at = self.step

    def _stopped(self, status: Status) -> Status:
        """End before the last step, so that the fit can be resumed, and with what there is by now."""
        if self.options.checkpoint:
            self._save()
        self._finish()
        return status

    def _finish(self) -> None:
        """Leave the best weights: of all measurements, and not worse than those of the trial."""
        if self.settled_at is None and self.step:
            self.levels.choose()
        if self._best:
            self.model.load_state_dict(self._best)
        if self._earlier_risks and self.settled_at is not None:
            earlier = torch.tensor(self._earlier_risks, dtype=torch.float64)
            if is_worse(self.levels.risks(), earlier):
                self.model.load_state_dict(self._earlier)

    def _spent(self, what: str, since: float) -> float:
        if self.synchronise and self.study.packed.device.type == "cuda":
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.seconds[what] += now - since
        return now

    # -- the whole ----------------------------------------------------------------------

    def run(self) -> Status:
        """All steps, from the checkpoint on if there is one to resume from."""
        options = self.options
        started = time.monotonic()
        if not self._resumed():
            prepare_networks(self.losses, self.sampler, self.train)
            self._earlier = self._weights() if self.settled_at is None else {}
        with Watchers(options, self.history) as watchers, postponed() as interrupted:
            while self.step < options.steps and self.parameters:
                if interrupted():
                    return self._stopped("interrupted")
                if options.time_limit is not None and time.monotonic() - started > options.time_limit:
                    return self._stopped("out-of-time")
                if self.settled_at is None and self.step >= self._trial_steps:
                    self._settle()
                self.advance()
                last = self.step == options.steps
                if self.step % options.evaluate_every == 0 or last:
                    figures = self._measured()
                    told_to_stop = watchers.update(self.step, figures)
                    self.model.train()  # whatever a callback did with it
                    if self._enough(figures):
                        self._finish()
                        return "stopped-early"
                    if told_to_stop:
                        return self._stopped("stopped")
                elif options.progress and self.step % _BARS == 0:
                    watchers.bar(self.step, self._figures())
                if options.checkpoint and (self.step % options.checkpoint_every == 0 or last):
                    self._save()
            self._finish()
            return "interrupted" if interrupted() else "finished"

    def _figures(self) -> dict[str, float]:
        """The mean of each loss since the last measurement."""
        found = {name: float(total) / self._counts[name] for name, total in self._sums.items()}
        for name, value in found.items():
            if not math.isfinite(value):
                raise error(
                    "diverged",
                    f"the {name} loss is no longer a number at step {self.step}",
                    help="lower `learning_rate`, or look for extreme values in the data",
                )
        return found

    def _measured(self) -> dict[str, float]:
        """The figures of a measurement: losses, and accuracies on training and held-out states."""
        figures = self._figures()
        self._sums, self._counts = {}, {}
        found = measure(self.study, self.train, _MEASURED)
        figures |= {"accuracy": found.goal_accuracy, "step_accuracy": found.step_accuracy}
        if len(self.held_out):
            held = measure(self.study, self.held_out, _MEASURED)
            figures |= {
                "held_out_loss": self._held_out_loss(),
                "held_out_accuracy": held.goal_accuracy,
                "held_out_step_accuracy": held.step_accuracy,
            }
        self.history.append({"step": float(self.step), **figures})
        return figures

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        some = self.held_out[: 4 * _MEASURED]
        total, count = 0.0, 0
        for part in np.array_split(some, max(1, -(-len(some) // _MEASURED))):
            loss = self.losses.total(self.losses.terms(part))
            total += 0.0 if loss is None else float(loss) * len(part)
            count += len(part)
        return total / max(1, count)

    def _enough(self, figures: dict[str, float]) -> bool:
        """Whether to stop early; remembers the best weights on the way."""
        if self.options.patience is None or "held_out_loss" not in figures or self.settled_at is None:
            return False
        if figures["held_out_loss"] < self._best_loss:
            self._best_loss, self._waited = figures["held_out_loss"], 0
            self._best = self._weights()
            return False
        self._waited += 1
        return self._waited >= self.options.patience

    def _weights(self) -> dict[str, Tensor]:
        return {name: t.detach().clone() for name, t in self.model.state_dict().items()}

    # -- checkpoints ----------------------------------------------------------------------

    @cached_property
    def setup(self) -> dict[str, Any]:
        """What must be the same for a fit to be resumed."""
        return setup_of(self.study.model, self.study.packed.columns, self.options)

    def _save(self) -> None:
        assert self.options.checkpoint is not None
        facts = Facts(
            step=self.step,
            history=self.history,
            sums={name: float(total) for name, total in self._sums.items()},
            counts=self._counts,
            best_loss=None if math.isinf(self._best_loss) else self._best_loss,
            waited=self._waited,
            settled_at=self.settled_at,
            earlier_risks=self._earlier_risks,
        )
        moments = moments_of(self.model, self.optimiser)
        weights = self.model.state_dict()
        found = Checkpoint(weights, moments, self._best, self._earlier, facts)
        save_checkpoint(self.options.checkpoint, found, self.setup)

    def _resumed(self) -> bool:
        """Take over the checkpoint, if there is one and it was asked for."""
        path = self.options.checkpoint
        if path is None:
            return False
        if not self.options.resume:
            if Path(path).exists():
                message = f"{path} holds a checkpoint, which is written over: `resume` goes on from it"
                warnings.warn(message, OverwriteWarning, stacklevel=4)
            return False
        found = load_checkpoint(path, self.model, self.setup, self.levels.count)
        if found is None:
            self._say(f"nothing to resume: there is no {path}")
            return False
        device = self.study.packed.device
        self.model.load_state_dict(dict(found.weights))
        restore_moments(self.model, self.optimiser, found.moments)
        facts = found.facts
        self.step = facts.step
        self.history = list(facts.history)
        self._sums = {
            name: torch.tensor(total, dtype=torch.float64, device=device)
            for name, total in facts.sums.items()
        }
        self._counts = dict(facts.counts)
        self._best_loss = math.inf if facts.best_loss is None else facts.best_loss
        self._waited = facts.waited
        self._best = {name: t.to(device) for name, t in found.best.items()}
        self._earlier = {name: t.to(device) for name, t in found.earlier.items()}
        self._earlier_risks = list(facts.earlier_risks)
        self.settled_at = facts.settled_at
        self.resumed = self.step
        self._say(f"resumes {path}, at step {self.step} of {self.options.steps}")
        return True

    def _say(self, message: str) -> None:
        if self.options.progress:
            sys.stderr.write(f"fit: {message}\n")
            sys.stderr.flush()

    def reached(self) -> list[str]:
        """The blanks whose networks received a gradient."""
        study, found = self.study, []
        for name in study.domain.blanks:
            network = study.model.blanks.network(name)
            if network is not None and any(self._moved(p) for p in network.parameters()):
                found.append(name)
        return found

    def _moved(self, parameter: Tensor) -> bool:
        state = self.optimiser.state.get(parameter)
        return state is not None and "exp_avg_sq" in state and bool(state["exp_avg_sq"].sum() > 0)

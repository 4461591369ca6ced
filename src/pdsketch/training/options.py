"""The settings of a fit, in four groups: the optimiser, the data, the losses, and what is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, TypedDict, final

from pdsketch.lang import error
from pdsketch.options import at_least, between, checked, option


@dataclass(frozen=True)
class OptimiserOptions:
    """AdamW with a cosine schedule down to 1 %, and for how long."""

    steps: int = option(2000, "training steps, at most: a fit ends earlier where forms explain everything")
    seed: int = option(0, "of networks, batches and the split; another one, to see whether a result is luck")
    learning_rate: float = option(3e-3, "its peak; lower where the losses jump or a fit diverged")
    weight_decay: float = option(1e-3, "AdamW's; more of it against overfitting by a perceptron")
    time_limit: float | None = option(None, "seconds by the clock, after which to stop")


@dataclass(frozen=True)
class DataOptions:
    """What a fit reads, how much of it at once, and where."""

    batch: int = option(512, "states per step, fewer where there are fewer; larger on a GPU", at_least(1))
    validation: float | None = option(
        None, "the part of the episodes held out; unless given, a tenth of 200 or more", between(0, 0.99)
    )
    device: str | None = option(None, "`cuda`, say; unless given, where the model is")
    resident_gib: float | None = option(
        None, "GiB of data that are kept on the device; unless given, 2 on a CPU, a quarter of a GPU's memory"
    )


@dataclass(frozen=True)
class LossOptions:
    """What is minimised."""

    goal: float = option(1.0, "the weight of the goals' loss; 0: do not learn from goals")
    transition: float = option(1.0, "the weight of the loss of predicted variables")
    lookahead: float = option(0.1, "the weight of the goals' loss on predicted states")
    precondition: float = option(
        1.0, "the weight of the preconditions' loss, where the data has `executable`"
    )
    usage: float = option(
        1.0, "how much encoded ints prefer to use all their codes; less where many codes are not wanted"
    )
    forms: bool = option(
        True,
        "whether simple functions take the places of networks; without, those that a model has stay as they"
        " are",
    )
    paper: bool = option(False, "Gödel's logic and plain L1, as in the paper; no forms")


@dataclass(frozen=True)
class OutputOptions:
    """What is measured, written and said, and when."""

    evaluate_every: int = option(250, "steps between measurements, and between checkpoints", at_least(1))
    checkpoint: str | None = option(None, "a file to go on from")
    resume: bool = option(
        False, "go on from the checkpoint, with the learning rate that a run of `steps` has there"
    )
    log: str | None = option(None, "a CSV file of all measurements")
    progress: bool = option(
        False,
        "also where stderr is no terminal, where there is a line for each measurement",
    )
    callback: Callable[..., Any] | None = option(
        None, "a function that gets a `Progress` each time, and may stop the fit: by True or `StopIteration`"
    )


@final
@dataclass(frozen=True)
class Options(OutputOptions, LossOptions, DataOptions, OptimiserOptions):
    """How to fit; the defaults are what was seen to work.

    ``paper=True`` trains as PDSketch (Mao et al., 2022) does: Gödel's logic, the mean L1 of all variables
    that were written, and networks alone.
    """

    @staticmethod
    def of(**settings: Any) -> Options:
        """Checked options."""
        options = checked(Options, settings, "`fit`", synonyms=_SYNONYMS)
        if options.resume and options.checkpoint is None:
            raise error("bad-option", "`resume` needs a `checkpoint` to resume from")
        if options.callback is not None:
            _check_callback(options.callback)
        return replace(options, forms=False) if options.paper else options


# begin: FitOptions, written by `make options`
class FitOptions(TypedDict, total=False):
    """The options of `fit` beside steps and seed, for type checkers and editors; see `Options`."""

    learning_rate: float
    weight_decay: float
    time_limit: float | None
    batch: int
    validation: float | None
    device: str | None
    resident_gib: float | None
    goal: float
    transition: float
    lookahead: float
    precondition: float
    usage: float
    forms: bool
    paper: bool
    evaluate_every: int
    checkpoint: str | None
    resume: bool
    log: str | None
    progress: bool
    callback: Callable[..., Any] | None


# end: FitOptions


_SYNONYMS = {
    "lr": "learning_rate",
    "epochs": "steps",
    "iterations": "steps",
    "max_steps": "steps",
    "batch_size": "batch",
    "random_state": "seed",
    "val_split": "validation",
    "validation_split": "validation",
    "timeout": "time_limit",
    "verbose": "progress",
    "callbacks": "callback",
    "l2": "weight_decay",
    "eval_every": "evaluate_every",
}
"""What other libraries call our options."""


def _check_callback(callback: Any) -> None:
    """Refuse now what would fail at the first measurement."""
    if not callable(callback):
        kind = type(callback).__name__
        raise error(
            "bad-option",
            f"`callback` must be a function, not a {kind}",
            help="def callback(progress): print(progress.step, progress.figures)",
        )
    try:
        signature(callback).bind(None)
    except TypeError:
        raise error(
            "bad-option",
            "`callback` must take one argument: what was measured",
            help="def callback(progress): print(progress.step, progress.figures)",
        ) from None
    except ValueError:  # a builtin that does not tell its signature
        return

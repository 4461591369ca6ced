"""The settings of a fit, in four groups: the optimiser, the data, the losses, and what is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Final, Literal, TypedDict, final

from pdsketch.lang import TNorm, error
from pdsketch.options import ANYTHING, FLAG, at_least, between, checked, not_negative, one_of, option

VariableLoss = Literal["likelihood", "distance"]
"""How predicted variables are compared with what came about."""


@dataclass(frozen=True)
class OptimiserOptions:
    """AdamW with a cosine schedule down to 1 %, for how long, and with networks how flexible."""

    steps: int = option(
        2000,
        at_least(0),
        "training steps; more for flexible functions of many examples, fewer for a first look (400 or more,"
        " else the trial is too short)",
    )
    seed: int = option(
        0, at_least(0), "of networks, batches and the split; another one, to see whether a result is luck"
    )
    learning_rate: float = option(
        3e-3, not_negative(), "the peak of the learning rate; lower where the losses jump or a fit diverged"
    )
    warmup: float = option(0.05, between(0, 1), "the part of the steps in which the learning rate rises")
    weight_decay: float = option(
        1e-3, not_negative(), "AdamW's; more of it against overfitting by a perceptron"
    )
    clip: float = option(10.0, not_negative(), "the largest norm of a gradient")
    trial: float = option(
        0.4,
        between(0, 0.9),
        "the part of the steps that only chooses how flexible each default network is to be, before all begin"
        " again; 0: as flexible as can be, for sketches without structure and many examples",
    )
    patience: int | None = option(
        None,
        at_least(1),
        "stop after so many measurements without a better held-out loss, and keep the best weights; else"
        " only where the last ones get more of what is held out wrong",
    )
    time_limit: float | None = option(None, not_negative(), "seconds after which to stop")


@dataclass(frozen=True)
class DataOptions:
    """What a fit reads, how much of it at once, and where."""

    batch: int = option(512, at_least(1), "states per step, fewer where there are fewer; larger on a GPU")
    validation: float | None = option(
        None, between(0, 0.99), "the part of the episodes held out; unless given, a tenth of 200 or more"
    )
    shares: int = option(
        1,
        at_least(1),
        "parts of a batch whose losses are averaged, which takes less memory; where torch.distributed is"
        " initialised, its processes share them (`train --devices 2`)",
    )
    device: str | None = option(None, ANYTHING, '`"cuda"`, say; unless given, where the model is')
    resident_gib: float | None = option(
        None,
        not_negative(),
        "how much of the data is kept on the device, in GiB of padded values; unless given, 2 on a CPU, a"
        " quarter of a GPU's memory; the rest is gathered batch by batch",
    )


@dataclass(frozen=True)
class LossOptions:
    """What is minimised."""

    goal: float = option(1.0, not_negative(), "the weight of the goals' loss; 0: do not learn from goals")
    transition: float = option(1.0, not_negative(), "the weight of the loss of predicted variables")
    lookahead: float = option(0.1, not_negative(), "the weight of the goals' loss on predicted states")
    precondition: float = option(
        1.0, not_negative(), "the weight of the preconditions' loss, where the data has `executable`"
    )
    horizon: int = option(
        1,
        at_least(1),
        "how many predicted steps the lookahead goes; more for effects that only goals can see",
    )
    sparsity: float = option(
        1.0,
        not_negative(),
        "what reading an input costs a network, in nats over all examples, so that more examples outweigh it;"
        " 0 where every input matters and examples are few",
    )
    rarity: float = option(
        0.03,
        not_negative(),
        "how much derived predicates that are blanks prefer to be false where nothing is known; 0 where most"
        " are true",
    )
    usage: float = option(
        1.0,
        not_negative(),
        "how much encoded ints prefer to use all their codes; less where many codes are not wanted",
    )
    tnorm: TNorm = option("product", one_of(TNorm), "the logic while training")
    balanced: bool = option(
        True, FLAG, "whether changed and unchanged variables weigh alike; else by their number"
    )
    variable_loss: VariableLoss = option(
        "likelihood",
        one_of(VariableLoss),
        "how predicted variables are compared: by their `likelihood`, where a conditional effect is a choice"
        " between writing and keeping, or by the plain `distance` of the blend, in the data's own units",
    )
    paper: bool = option(False, FLAG, "the losses and the logic of the paper, and no trial")
    latent_gradient: bool = option(
        False,
        FLAG,
        "whether encodings of the next state are trained by transitions, too; they collapse more easily",
    )


@dataclass(frozen=True)
class OutputOptions:
    """What is measured, written and said, and when."""

    evaluate_every: int = option(250, at_least(1), "steps between measurements")
    checkpoint: str | None = option(None, ANYTHING, "a file to go on from")
    checkpoint_every: int = option(250, at_least(1), "steps between checkpoints")
    resume: bool = option(
        False,
        FLAG,
        "go on from the checkpoint, perhaps with more `steps`: then the learning rate and the priors go on"
        " from where a run of so many steps would be",
    )
    log: str | None = option(None, ANYTHING, "a CSV file of all measurements")
    tensorboard: str | None = option(None, ANYTHING, "a folder for TensorBoard's logs")
    progress: bool = option(
        False, FLAG, "a bar on stderr, or a line for each measurement where stderr is no terminal"
    )
    callback: Callable[..., Any] | None = option(
        None,
        ANYTHING,
        "a function that gets a `Progress` after each measurement; the fit stops if it returns True or raises"
        " `StopIteration`",
    )


@final
@dataclass(frozen=True)
class Options(OutputOptions, LossOptions, DataOptions, OptimiserOptions):
    """How to fit; the defaults are what was seen to work.

    ``paper=True`` is `PAPER`: the paper's logic and distances, and whole networks from the first step on.
    """

    @staticmethod
    def of(**settings: Any) -> Options:
        """Checked options; ``paper=True`` overrides what `PAPER` says."""
        options = checked(Options, settings, "`fit`", synonyms=_SYNONYMS)
        if options.resume and options.checkpoint is None:
            raise error("bad-option", "`resume` needs a `checkpoint` to resume from")
        if options.callback is not None:
            _check_callback(options.callback)
        return replace(options, **PAPER) if options.paper else options


# begin: FitOptions, written by `make options`
class FitOptions(TypedDict, total=False):
    """The options of `fit` beside steps and seed, for type checkers and editors; see `Options`."""

    learning_rate: float
    warmup: float
    weight_decay: float
    clip: float
    trial: float
    patience: int | None
    time_limit: float | None
    batch: int
    validation: float | None
    shares: int
    device: str | None
    resident_gib: float | None
    goal: float
    transition: float
    lookahead: float
    precondition: float
    horizon: int
    sparsity: float
    rarity: float
    usage: float
    tnorm: TNorm
    balanced: bool
    variable_loss: VariableLoss
    paper: bool
    latent_gradient: bool
    evaluate_every: int
    checkpoint: str | None
    checkpoint_every: int
    resume: bool
    log: str | None
    tensorboard: str | None
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
    "early_stopping": "patience",
    "val_split": "validation",
    "validation_split": "validation",
    "timeout": "time_limit",
    "verbose": "progress",
    "callbacks": "callback",
    "grad_clip": "clip",
    "max_grad_norm": "clip",
    "l2": "weight_decay",
    "eval_every": "evaluate_every",
}
"""What other libraries call our options."""


PAPER: Final[Mapping[str, Any]] = {
    "tnorm": "godel",
    "balanced": False,
    "variable_loss": "distance",
    "sparsity": 0.0,
    "rarity": 0.0,
    "usage": 0.0,
    "trial": 0.0,
}
"""The preset of ``paper=True``: how PDSketch (Mao et al., 2022) trains."""


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

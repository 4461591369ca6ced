"""The settings of a fit, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import Any, Final, Literal, final, get_args

from pdsketch.lang import did_you_mean, error
from pdsketch.tensor import TNorm

VariableLoss = Literal["likelihood", "distance"]
"""How predicted variables are compared with what came about."""


@final
@dataclass(frozen=True)
class Options:
    """How to fit; the defaults are what was seen to work.

    - ``steps`` (at most: a fit ends earlier where simple functions explain everything), ``seed``,
      ``batch`` (states per step; fewer where there are fewer).
    - ``learning_rate``, ``warmup`` (part of the steps), ``weight_decay``, ``clip``
      (the largest norm of a gradient): AdamW, cosine schedule down to 1 %.
    - ``goal``, ``transition``, ``lookahead``, ``precondition``: the weights of the
      losses; ``horizon``: how many steps the lookahead looks ahead.
    - ``sparsity``: how much networks prefer to read few of their inputs: what reading
      one costs, in nats over all examples, so that more examples outweigh it.
      ``rarity``: how much a derived predicate that is a blank prefers to be false
      (a closed world: what no example calls true is not). ``usage``: how much encoded
      ints prefer to use all their codes.
    - ``forms``: whether simple functions take the places of networks where the model stays as good. Without,
      the functions that a model has stay as they are, and only its networks are trained.
    - ``tnorm``: the logic while training. ``balanced``: changed and unchanged
      variables weigh alike. ``variable_loss``: predicted variables are compared by their
      likelihood, where a conditional effect is a choice between writing and keeping, or by the
      distance of the blend that it predicts, in the data's own units. ``paper=True`` is
      `PAPER`: the paper's logic and distances, and whole networks from the first step on.
    - ``latent_gradient``: whether the encoded target of a transition is trained too.
    - ``validation``: the part of the episodes held out (None: a tenth, of 200 or
      more). ``evaluate_every`` steps it is measured; after ``patience``
      measurements without a better loss the fit stops, with the best weights. Without ``patience``
      they are gone back to where the last ones get more of what is held out wrong.
    - ``shares``: a batch is computed in so many parts, whose losses are averaged: less memory and, where
      torch.distributed is initialised, one process for each (or for several), with the same result.
    - ``time_limit`` in seconds. ``device``: None leaves the model where it is.
    - ``resident_gib``: how much of the data is kept on the device, in GiB of padded values
      (None: 2 on a CPU, a quarter of a GPU's memory). The predicates that are too large
      are gathered from the host, batch by batch; the values are the same.
    - ``checkpoint``: a file that is written every ``checkpoint_every`` steps;
      ``resume`` goes on from it, with more ``steps`` too: then the learning rate and
      the priors go on from where a run of so many steps would be. ``log``: a CSV
      file. ``tensorboard``: a folder. ``progress``: a bar on stderr, or a line for
      each measurement where stderr is no terminal.
    - ``callback``: a function that gets a `Progress` after each measurement; the fit
      stops (status ``stopped``) if it returns True or raises `StopIteration`.
    """

    steps: int = 2000
    seed: int = 0
    batch: int = 512
    learning_rate: float = 3e-3
    warmup: float = 0.05
    weight_decay: float = 1e-3
    clip: float = 10.0
    goal: float = 1.0
    transition: float = 1.0
    lookahead: float = 0.1
    precondition: float = 1.0
    horizon: int = 1
    sparsity: float = 1.0
    rarity: float = 0.03
    usage: float = 1.0
    forms: bool = True
    tnorm: TNorm = "product"
    balanced: bool = True
    variable_loss: VariableLoss = "likelihood"
    paper: bool = False
    latent_gradient: bool = False
    validation: float | None = None
    evaluate_every: int = 250
    patience: int | None = None
    shares: int = 1
    time_limit: float | None = None
    device: str | None = None
    resident_gib: float | None = None
    checkpoint: str | None = None
    checkpoint_every: int = 250
    resume: bool = False
    log: str | None = None
    tensorboard: str | None = None
    progress: bool = False
    callback: Callable[..., Any] | None = None

    @staticmethod
    def of(**settings: Any) -> Options:
        """Checked options; ``paper=True`` overrides what `PAPER` says."""
        known = {field.name for field in fields(Options)}
        for name in settings:
            if name not in known:
                raise error("unknown-option", f"`fit` has no option `{name}`", help=_meant(name, known))
        options = Options(**settings)
        _check(options)
        return replace(options, **PAPER) if options.paper else options


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


def _meant(name: str, known: set[str]) -> str:
    other = _SYNONYMS.get(name.lower())
    if other is not None:
        return f"did you mean `{other}`?"
    return did_you_mean(name, known) or f"its options: {', '.join(sorted(known))}"


PAPER: Final[Mapping[str, Any]] = {
    "tnorm": "godel",
    "balanced": False,
    "variable_loss": "distance",
    "sparsity": 0.0,
    "rarity": 0.0,
    "usage": 0.0,
    "forms": False,
}
"""The preset of ``paper=True``: how PDSketch (Mao et al., 2022) trains."""

_COUNTS = {
    "steps": 0,
    "seed": 0,
    "batch": 1,
    "horizon": 1,
    "evaluate_every": 1,
    "checkpoint_every": 1,
    "shares": 1,
    "patience": 1,
}
_NUMBERS = {
    "learning_rate": (0.0, math.inf),
    "warmup": (0.0, 1.0),
    "weight_decay": (0.0, math.inf),
    "clip": (0.0, math.inf),
    "goal": (0.0, math.inf),
    "transition": (0.0, math.inf),
    "lookahead": (0.0, math.inf),
    "precondition": (0.0, math.inf),
    "sparsity": (0.0, math.inf),
    "rarity": (0.0, math.inf),
    "usage": (0.0, math.inf),
    "validation": (0.0, 0.99),
    "time_limit": (0.0, math.inf),
    "resident_gib": (0.0, math.inf),
}


def _check(options: Options) -> None:
    for name, least in _COUNTS.items():
        value = getattr(options, name)
        if value is None and name == "patience":
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise error("bad-option", f"`{name}` must be an int of at least {least}, not {value!r:.40}")
    for name, (low, high) in _NUMBERS.items():
        value = getattr(options, name)
        if value is None and name in ("validation", "time_limit", "resident_gib"):
            continue
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise error(
                "bad-option", f"`{name}` must be a number from {low:g} to {high:g}, not {value!r:.40}"
            )
    for name, choices in (("tnorm", get_args(TNorm)), ("variable_loss", get_args(VariableLoss))):
        value = getattr(options, name)
        if value not in choices:
            raise error("bad-option", f"`{name}` must be one of {', '.join(choices)}, not {value!r:.40}")
    if options.resume and options.checkpoint is None:
        raise error("bad-option", "`resume` needs a `checkpoint` to resume from")
    if options.callback is not None:
        _check_callback(options.callback)


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

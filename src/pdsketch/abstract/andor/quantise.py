"""``pds.quantise``: a copy of a model, trained on with codes in the place of its latent vectors.

Codes by k-means follow an encoder as it is, whatever matters to the other networks; an encoder that is
trained with its codes learns to keep apart what matters (van den Oord et al., 2017; one epoch, as the paper
has it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, cast, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.abstract.andor.codebooks import Codebooks
from pdsketch.abstract.andor.domain import symbolic_domain
from pdsketch.abstract.andor.functions import SAMPLES, CodeEvaluator
from pdsketch.abstract.andor.model_function import ModelFunction
from pdsketch.lang import Apply, BlankCall, error, walk
from pdsketch.progress import ticking
from pdsketch.tensor import CODEBOOKS, COUNTS, Model
from pdsketch.training import EpisodeArrays, Source, evaluate, fit, gather

# A layer of vector quantisation behind networks, while they are trained on (van den Oord et al., 2017).

COMMITMENT: Final = 0.25
"""How much values are drawn to their codes; van den Oord's."""

DECAY: Final = 0.99
"""Of the moving averages that codes are, as in van den Oord's appendix."""


class _StraightThrough(torch.autograd.Function):
    """The code in the place of a value; the gradient passes as if nothing had been replaced.

    It also draws values to their codes: the gradient of the commitment loss, a mean square in units of the
    codes' variance.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, codes: Tensor, variance: float) -> Tensor:
        ctx.save_for_backward((values - codes) / variance)
        return codes.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (off,) = ctx.saved_tensors
        return gradient + 2 * COMMITMENT / max(1, off.numel()) * off, None, None


@final
class QuantisationLayer:
    """Replaces values of one type by the nearest of some codes, which follow the values."""

    def __init__(self, codes: Tensor) -> None:
        self.codes = codes
        self._counts = torch.ones(len(codes), device=codes.device)
        self._sums = codes.clone()
        self._variance = max(float(codes.var(0, correction=0).mean()), 1e-12)

    def __call__(self, network: nn.Module, _given: object, values: Tensor) -> Tensor:
        """What a hook of a network returns in the place of its result."""
        flat = values.reshape(-1, self.codes.shape[1])
        nearest = torch.cdist(flat.detach(), self.codes).argmin(1)
        chosen = self.codes[nearest].reshape(values.shape)
        if network.training and torch.is_grad_enabled():
            self._follow(flat.detach(), nearest)
        return cast(Tensor, _StraightThrough.apply(values, chosen, self._variance))  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def _follow(self, values: Tensor, nearest: Tensor) -> None:
        """Move codes to the mean of what they stand for, as a moving average."""
        members = nn.functional.one_hot(nearest, len(self.codes)).to(values)
        self._counts = DECAY * self._counts + (1 - DECAY) * members.sum(0)
        self._sums = DECAY * self._sums + (1 - DECAY) * members.T @ values
        self.codes = self._sums / self._counts.clamp(min=1e-6).unsqueeze(1)


@contextmanager
def quantised(
    layers: Mapping[str, QuantisationLayer], networks: Mapping[str, Iterable[nn.Module]]
) -> Iterator[None]:
    """Within, the results of the networks of each type go through its layer."""
    with ExitStack() as stack:
        for name, layer in layers.items():
            for network in networks[name]:
                stack.callback(network.register_forward_hook(layer).remove)
        yield


BATCH: Final = 64
"""States a step; an epoch of few episodes has some steps even so. Set by hand."""

LEARNING_RATE: Final = 3e-4
"""A tenth of what a fit begins with: with more, some copies judged goals worse. Set by hand."""


@final
@dataclass(frozen=True, slots=True)
class Quantisation:
    """A copy of a model whose encoders were trained with codes; the model itself is as it was.

    ``agreement`` is the share of recorded values for which the functions of the copy say the same as for
    their codes, ``agreement_before`` that of the model with codes by k-means; ``accuracy`` and
    ``accuracy_before`` are how many goals of the episodes they judge right. ``helps`` says whether the copy
    agrees more often, and judges no more goals wrong; where it does not, ``model`` is a copy as it was.
    ``errors`` are the quantisation errors of types, in deviations.
    """

    model: Model
    helps: bool
    agreement: float
    agreement_before: float
    accuracy: float
    accuracy_before: float
    errors: Mapping[str, float]


@ticking("quantising")
def quantise(
    model: Model,
    episodes: Source,
    *,
    codes: Mapping[str, int] | None = None,
    epochs: int = 1,
    seed: int = 0,
) -> Quantisation:
    """Train a copy of a model on, with codes in the place of what its encoders return.

    Once also with codes in the place of what effects write; the copy that agrees better is taken. ``model``
    has been fitted to ``episodes`` like these, and stays as it is. ``codes`` says how many types have, as for
    `rules`, instead of as many as the data ask for. ``epochs`` is how often all states are gone through,
    ``seed`` decides in which order.
    """
    if type(epochs) is not int or epochs < 1:
        raise error("bad-option", f"`epochs` is a count, and {epochs!r:.20} is given")
    books = Codebooks(model.domain, model.notes, codes)
    arrays = gather(episodes, model.domain)
    before, right_before = code_agreement(model, books), _accuracy(model, arrays)
    plain = deepcopy(model)
    plain.notes[COUNTS] = {**plain.notes.get(COUNTS, {}), **(codes or {})}
    steps = epochs * ceil(int(arrays.length.sum()) / BATCH)
    found = []
    for effects in (False, True):
        copied = deepcopy(plain)
        errors = _train_on(copied, books, arrays, effects=effects, steps=steps, seed=seed)
        agreement = code_agreement(copied, Codebooks(copied.domain, copied.notes))
        found.append((_accuracy(copied, arrays) >= right_before, agreement, copied, errors))
    fits, agreement, copied, errors = max(found, key=lambda each: each[:2])
    helps = fits and agreement > before
    accuracy = _accuracy(copied, arrays)
    return Quantisation(copied if helps else plain, helps, agreement, before, accuracy, right_before, errors)


def _train_on(
    model: Model, books: Codebooks, arrays: EpisodeArrays, *, effects: bool, steps: int, seed: int
) -> dict[str, float]:
    """Train a model with codes in the place of what encoders return, and effects, too, if they are to.

    Returns the quantisation errors of types.
    """
    layers = {
        part.book.name: QuantisationLayer(torch.from_numpy(part.book.values).float().to(model.device))
        for predicate in model.domain.state_predicates
        if predicate.role == "encoded"
        for part in books.parts(predicate.type)
        if part.book.fixed
    }
    networks = {name: _networks(model, name, effects=effects) for name in layers}
    if not any(networks.values()):
        raise error(
            "bad-option",
            "the model has no encoder whose vectors have codes by k-means",
            help="train the model first; vectors of which few values were seen have these as codes",
        )
    # That codes are used is asked of encodings that begin; these go on.
    options = {"batch": BATCH, "learning_rate": LEARNING_RATE, "validation": 0.0, "usage": 0.0}
    options["forms"] = False
    with quantised(layers, networks):
        fit(model, arrays, steps=steps, seed=seed, **options)  # type: ignore[arg-type]
    fit(model, arrays, steps=0, seed=seed, **options)  # type: ignore[arg-type]  # it takes notes
    model.notes[CODEBOOKS] = {name: layer.codes.cpu().double().tolist() for name, layer in layers.items()}
    after = Codebooks(model.domain, model.notes)
    return {name: _error(after, name) for name in layers}


def _accuracy(model: Model, arrays: EpisodeArrays) -> float:
    """The share of the goals that episodes judge that the model judges alike."""
    counts = evaluate(model, arrays).measures.by_goal
    return float(counts[:, 2:].sum() / max(1, counts[:, :2].sum()))


def _error(books: Codebooks, type_name: str) -> float:
    own = [p.name for p in books.domain.state_predicates if str(p.type) == type_name]
    return max(found for name in own if (found := books.error(name, 0)) is not None)


def _networks(model: Model, type_name: str, *, effects: bool) -> list[nn.Module]:
    """The networks that encode values of a type, and those of effects that return them, if these count."""
    encoding = {
        node.blank
        for p in model.domain.state_predicates
        if p.role == "encoded" and p.body is not None
        for node in walk(p.body)
        if isinstance(node, BlankCall)
    }
    found = [
        model.blanks.network(name)
        for name, blank in model.domain.blanks.items()
        if str(blank.returns) == type_name and (effects or name in encoding)
    ]
    return list(dict.fromkeys(network for network in found if network is not None))


def code_agreement(model: Model, books: Codebooks) -> float:
    """The share of recorded latent values for which functions say the same as for their codes."""
    translator = symbolic_domain(model, books).translator
    shares = []
    rng = np.random.default_rng(0)
    functions = {f.function.key: f.function for f in translator.functions.values() if f.function.set is None}
    with torch.inference_mode():
        for function in functions.values():
            share = _agreement(books, translator.evaluator, function, rng)
            if share is not None:
                shares.append(share)
    return float(np.mean(shares)) if shares else 1.0


def _agreement(
    books: Codebooks, evaluator: CodeEvaluator, function: ModelFunction, rng: np.random.Generator
) -> float | None:
    """That of one function; None: it reads no latent values that were recorded. All else is random codes."""
    axes = function.axes
    if not all(len(axis.codes) for axis in axes):
        return None
    rows = np.stack([rng.choice(axis.codes, SAMPLES) for axis in axes], -1) if axes else None
    values = {}
    for column, axis in enumerate(axes):
        source, part = axis.input.expr, axis.part
        if part is None or not part.book.fixed or not isinstance(source, Apply) or rows is None:
            continue
        recorded = books.recorded(source.predicate)
        if recorded is None:
            return None
        chosen = recorded[rng.integers(0, len(recorded), SAMPLES)]
        rows[:, column] = part.book.nearest(chosen)
        shape = axis.input.type.shape or ()
        values[axis.input.variable.name] = torch.from_numpy(chosen).float().reshape(1, SAMPLES, *shape)
    if not values or rows is None:
        return None
    coded = evaluator.parameters(axes, rows)
    device = evaluator.programs.device
    meant = {**coded, **{name: tensor.to(device) for name, tensor in values.items()}}
    said, done = function.answers(coded, SAMPLES), function.answers(meant, SAMPLES)
    return float((said == done).all(1).mean())

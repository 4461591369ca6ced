"""An additive logistic model with pairwise terms and a group lasso.

The logarithm of the odds is a sum of main effects (each int of a code, each number,
each value of a number that has few, two values being the same) and of pairwise terms:
squares, products of two numbers, a number with a code (*one step ahead*, whichever way
the robot looks; *near* is a ball around a place). Hastie and Tibshirani, Generalized
Additive Models (1990); pairwise terms as in Lou et al. (2013). A set enters by a few
learned queries: whether some element answers yes, and how many do. The group lasso
(Yuan and Lin, 2006) lets a factor of the input drop out as a whole. Such a sum is
settled by a few examples (*red* is one colour, whatever the type), while a perceptron
of the same inputs fits the examples and no more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.encode import Relation
from pdsketch.nets.features import NORM_FLOOR, Argument, Chosen, Features, membership, picked
from pdsketch.nets.layers import affine, linear
from pdsketch.nets.normalise import Normalise
from pdsketch.nets.pool import Pool
from pdsketch.nets.seen_values import MOST_VALUES, SeenValues
from pdsketch.nets.signature import Signature, Spec

COEFFICIENT_SCALE = 40.0
"""Coefficients are multiplied by this, so that AdamW moves them further in a step than a perceptron's
weights. This and the other constants here were set by hand, on BabyAI and the tuning half of
`benchmarks/zoo.py`."""

PAIRWISE_SCALE = 8.0
"""Pairwise terms are multiplied by this as well: a sharp border is steep in a number's square."""

FULL_SCALE_TERMS = 12
"""Where there are more terms than this, each is scaled down, so that their sum moves no further."""

SATURATION = 4.0
"""Numbers saturate (tanh) at so many standard deviations."""

MOST_PAIRED = 12
"""Pairwise terms are made of at most so many numbers; of more there would be too many for few examples."""

VALUE_SCALE = 4.0
"""The effect of a single value of a number, or of two values being the same, is multiplied by this as well:
learned more slowly than a slope, it comes too late for values that the slope was sure and wrong about. At 4,
and not at 1, BabyAI's models tell what is gone from what is carried; chosen on that alone, not swept."""

SAME = 0.05
"""Two values of one type are the same if no number of theirs differs by more than this many standard
deviations. Set by hand, not swept: less than half a cell of a room."""

SET_QUERIES = 8
"""How many learned queries a set gets, for each of the two ways to answer them."""

QUERY_SCALE = 0.3
"""The first weights of queries are this part of a layer's usual ones: all elements then look nearly alike."""

QUERY_BIAS = 0.1
"""How much a query says yes, or no, at first."""

SIGMOID_SLOPE = 1 / 4
"""A sigmoid's slope at 0: queries take this part of the coefficients' stride."""


class AdditiveLogistic(nn.Module):
    """``coefficients`` of all terms, and a ``bias`` for each kind of terms.

    ``spans`` are the places of the coefficients of each kind: main effects (*linear*), pairwise terms
    (*products*), numbers of elements (*counts*) and sums over elements (*sums*).
    """

    def __init__(self, signature: Signature, features: Features, generator: torch.Generator | None) -> None:
        super().__init__()
        self.inputs = inputs = signature.inputs
        self.codes = [i for i in features.singles if inputs[i].spec.is_categorical]
        self.numbers = [i for i in features.singles if i not in self.codes]
        self.compared = [at for at, (i, _) in enumerate(features.pairs) if is_number(inputs[i].spec)]
        self.sets = nn.ModuleDict()
        for name, pool in features.pools.items():
            self.sets[name] = SetQueries(cast(Pool, pool), inputs[int(name)].spec, generator)
        paired = {i for at in self.compared for i in features.pairs[at]}
        # What numbers of one type say together, their difference says.
        self.multiplied = [i for i in self.numbers if is_number(inputs[i].spec) and i not in paired]
        alone = sum(inputs[i].spec.size for i in self.multiplied)
        discrete = self.multiplied if alone <= MOST_PAIRED else []
        self.seen = nn.ModuleDict({str(i): SeenValues(inputs[i].spec.size) for i in discrete})
        numbers = sum(inputs[i].spec.size for i in self.numbers)
        self.single_scale = min(1.0, FULL_SCALE_TERMS / max(1, numbers))
        sizes = {
            "linear": self._singles(features),
            "products": self._products(features),
            "counts": [SET_QUERIES for _ in self.sets],
            "sums": [inputs[int(name)].spec.size for name in self.sets if is_number(inputs[int(name)].spec)],
        }
        flat = [width for group in sizes.values() for width in group]
        ends = list(accumulate(sum(group) for group in sizes.values()))
        self.spans = {
            name: (end - sum(group), end) for (name, group), end in zip(sizes.items(), ends, strict=True)
        }
        self.kinds = [name for name, group in sizes.items() if group]
        self.register_buffer("member", membership(flat), persistent=False)
        # Effects of values, the last of the main effects, are multiplied beside the scale of their kind.
        loudness, end = torch.ones(sum(flat)), self.spans["linear"][1]
        loudness[end - sum(self._values()) : end] = VALUE_SCALE
        self.register_buffer("loudness", loudness, persistent=False)
        self.coefficients = nn.Parameter(torch.zeros(1, sum(flat)))
        self.bias = nn.Parameter(torch.zeros(len(self.kinds)))

    def _singles(self, features: Features) -> list[int]:
        """The widths of the main effects."""
        sizes: list[int] = []
        for i in self.codes:
            sizes += features.encoders[str(i)].factors  # type: ignore[arg-type]
        for at, relation in enumerate(features.relations):
            if at not in self.compared:
                sizes += cast(Relation, relation).factors
        sizes += [SET_QUERIES for _ in self.sets]
        sizes += [sum(features.encoders[str(i)].factors) for i in self.numbers]  # type: ignore[arg-type]
        sizes += [self.inputs[features.pairs[at][0]].spec.size for at in self.compared]
        return sizes + self._values()

    def _values(self) -> list[int]:
        """The widths of the effects of two values being the same, and of single values of numbers."""
        discrete = sum(self.inputs[int(i)].spec.size for i in self.seen)
        return [1] * len(self.compared) + [MOST_VALUES] * discrete

    def _products(self, features: Features) -> list[int]:
        """The widths of the pairwise terms: squares, products of numbers, numbers and codes."""
        count = sum(self.inputs[i].spec.size for i in self.multiplied)
        count += sum(self.inputs[features.pairs[at][0]].spec.size for at in self.compared)
        count = 0 if count > MOST_PAIRED else count
        first, second = torch.triu_indices(count, count, 1, device="cpu")
        self.register_buffer("first", first, persistent=False)
        self.register_buffer("second", second, persistent=False)
        if not count:
            return []
        crossed = [len(first)] if len(first) else []
        sizes = [count, *crossed, *(count * math.prod(self.inputs[i].spec.axes) for i in self.codes)]
        self.pairwise_scale = PAIRWISE_SCALE * min(1.0, FULL_SCALE_TERMS / sum(sizes))
        return sizes

    def note_values(self, args: Sequence[Argument]) -> None:
        """Note the values of numbers, while this is wanted (`noting_values`)."""
        for name, seen in self.seen.items():
            if seen.noting:
                cast(SeenValues, seen).note(self._flat(args, int(name)))

    def bounded(
        self, own: Mapping[int, Tensor], between: Sequence[Tensor]
    ) -> tuple[dict[int, Tensor], list[Tensor]]:
        """The numbers, and the differences of numbers, saturated."""
        return {i: _bounded(own[i]) for i in self.numbers}, [_bounded(between[at]) for at in self.compared]

    def linear(
        self,
        features: Features,
        args: Sequence[Argument],
        own: Mapping[int, Tensor],
        between: Sequence[Tensor],
        elements: Mapping[int, Tensor],
        bounded: tuple[dict[int, Tensor], list[Tensor]],
    ) -> Tensor:
        """The main effects, added up ``[..., 1]``: the logarithm of the odds.

        ``args`` are the arguments as they are given, the others what ``features`` make of them: ``own`` of
        single ones by their places, ``between`` of pairs of one type, ``elements`` of sets, and ``bounded``
        the numbers of the first two, saturated.
        """
        terms = [own[i] for i in self.codes]
        terms += [part for at, part in enumerate(between) if at not in self.compared]
        for name, queries in self.sets.items():
            terms.append(cast(SetQueries, queries).any_element(elements[int(name)], args[int(name)][1]))
        terms += [self.single_scale * x for x in (*bounded[0].values(), *bounded[1])]
        same = [_same(between[at], cast(Relation, features.relations[at])) for at in self.compared]
        terms += [VALUE_SCALE * x for x in same]
        numbers = {i: self._flat(args, int(i)) for i in self.seen}
        if self.training:
            terms += [VALUE_SCALE * cast(SeenValues, seen)(numbers[i]) for i, seen in self.seen.items()]
        odds = self._sum("linear", terms)
        return odds if self.training or not numbers else odds + self._of_values(numbers)

    def _of_values(self, numbers: Mapping[str, Tensor]) -> Tensor:
        """The effects of the values of numbers, looked up: the same as in training, where it had them."""
        at = self.spans["linear"][1] - MOST_VALUES * sum(x.shape[-1] for x in numbers.values())
        total: Tensor | None = None
        for i, seen in self.seen.items():
            size = numbers[i].shape[-1]
            own = self.coefficients[..., 0, at : at + size * MOST_VALUES].unflatten(-1, (size, MOST_VALUES))  # type: ignore[no-untyped-call]
            one = cast(SeenValues, seen).effects(numbers[i], own)
            total, at = one if total is None else total + one, at + size * MOST_VALUES
        assert total is not None
        return COEFFICIENT_SCALE * VALUE_SCALE * total

    def _flat(self, args: Sequence[Argument], at: int) -> Tensor:
        axes = len(self.inputs[at].spec.axes)
        value = cast(Tensor, args[at])
        return value.flatten(-axes) if axes > 1 else value

    def products(
        self,
        args: Sequence[Argument],
        bounded: tuple[dict[int, Tensor], list[Tensor]],
        chosen: Chosen | None = None,
    ) -> Tensor:
        """The pairwise terms, added up; ``chosen``: of these examples."""
        alone, compared = bounded
        numbers = torch.cat([*(alone[i] for i in self.multiplied), *compared], -1)
        codes = [cast(Tensor, args[i]).flatten(-len(self.inputs[i].spec.axes)) for i in self.codes]
        if chosen is not None:
            leading = numbers.dim() - 1
            numbers, codes = picked(numbers, chosen, leading), [picked(x, chosen, leading) for x in codes]
        first, second = cast(Tensor, self.first), cast(Tensor, self.second)
        terms = [numbers.square()]
        if len(first):
            terms.append(numbers.index_select(-1, first) * numbers.index_select(-1, second))
        terms += [(numbers.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2) for x in codes]
        return self.pairwise_scale * self._sum("products", terms)

    def counts(self, args: Sequence[Argument], elements: Mapping[int, Tensor]) -> Tensor:
        """The terms of how many elements answer each query."""
        terms = [
            cast(SetQueries, queries).counts(elements[int(name)], args[int(name)][1])
            for name, queries in self.sets.items()
        ]
        return self._sum("counts", terms)

    def sums(self, features: Features, args: Sequence[Argument], elements: Mapping[int, Tensor]) -> Tensor:
        """The terms of the sums of a set's numbers.

        As they are measured from zero: sums of what is measured from the mean depend
        on how many there are.
        """
        terms = []
        for name in self.sets:
            spec, weights = self.inputs[int(name)].spec, args[int(name)][1]
            if is_number(spec):
                normalise = cast(Normalise, cast(Pool, features.pools[name]).encode.normalise)
                numbers = elements[int(name)][..., : spec.size] + normalise.zero
                terms.append((numbers * weights.unsqueeze(-1)).sum(-2))
        return self._sum("sums", terms)

    def _sum(self, kind: str, terms: Sequence[Tensor]) -> Tensor:
        first, _ = self.spans[kind]
        flat = torch.cat(list(terms), dim=-1) if len(terms) > 1 else terms[0]
        end = first + flat.shape[-1]
        at = self.kinds.index(kind)
        return COEFFICIENT_SCALE * affine(
            flat, self.coefficients[..., first:end], self.bias[..., at : at + 1]
        )


@torch.no_grad()
def add_group_lasso(models: Sequence[AdditiveLogistic], weight: float) -> None:
    """Add the gradient of ``weight`` times the norm of each factor's effect; all have one signature."""
    trained = [model for model in models if model.coefficients.grad is not None]
    if not trained:
        return
    member = cast(Tensor, trained[0].member)
    weights = torch.cat([model.coefficients for model in trained])
    norms = (weights.square() @ member + NORM_FLOOR).rsqrt() @ member.T
    price = weights * norms * (weight * COEFFICIENT_SCALE * cast(Tensor, trained[0].loudness))
    torch._foreach_add_([cast(Tensor, model.coefficients.grad) for model in trained], torch.split(price, 1))
    for model in trained:
        for queries in model.sets.values():
            cast(SetQueries, queries).add_sparsity(weight)


class SetQueries(nn.Module):
    """Learned queries of a set: whether some element answers yes, and how many do."""

    def __init__(self, pool: Pool, spec: Spec, generator: torch.Generator | None) -> None:
        super().__init__()
        self.number = is_number(spec)
        factors = pool.element_factors * (1 + self.number)
        self.register_buffer("member", membership(factors), persistent=False)
        self.some, self.many = (_queries(sum(factors), generator) for _ in range(2))

    def any_element(self, elements: Tensor, weights: Tensor) -> Tensor:
        """Whether some element answers yes, ``[..., n, width]`` and ``[..., n]`` → ``[..., queries]``."""
        answers = self._answers(self.some, elements) * weights.unsqueeze(-1)
        return answers.amax(-2) if answers.shape[-2] else answers.sum(-2)

    def counts(self, elements: Tensor, weights: Tensor) -> Tensor:
        """How many do, ``[..., queries]``.

        An answer counts as yes or no, and passes its gradient as if it were soft (a
        straight-through estimate): what is half a yes would add up in larger sets.
        """
        soft = self._answers(self.many, elements)
        answers = (soft > 0.5).to(soft.dtype) + soft - soft.detach()
        return (answers * weights.unsqueeze(-1)).sum(-2)

    @torch.no_grad()
    def add_sparsity(self, weight: float) -> None:
        """Add the gradients of ``weight`` times the norms of what the questions ask of each factor."""
        member = cast(Tensor, self.member)
        for questions in (self.some, self.many):
            asked = questions.weight
            if asked.grad is not None:
                norms = (asked.square() @ member + NORM_FLOOR).rsqrt() @ member.T
                asked.grad.addcmul_(asked, norms, value=weight * SIGMOID_SLOPE * COEFFICIENT_SCALE)

    def _answers(self, questions: nn.Module, elements: Tensor) -> Tensor:
        if self.number:
            bounded = _bounded(elements)
            elements = torch.cat([bounded, bounded.square()], -1)
        return torch.sigmoid(SIGMOID_SLOPE * COEFFICIENT_SCALE * questions(elements))


def _queries(width: int, generator: torch.Generator | None) -> nn.Linear:
    """Questions that nearly all elements answer alike at first, half of them by yes: an element
    of a kind that was never seen is then taken for any other, and not for what chance says.
    """
    questions = linear(width, SET_QUERIES, generator)
    with torch.no_grad():
        questions.weight.mul_(QUERY_SCALE)
        questions.bias.copy_(torch.tensor([QUERY_BIAS, -QUERY_BIAS] * (SET_QUERIES // 2)))
    return questions


def is_number(spec: Spec) -> bool:
    """Whether products of such values say more than the values do."""
    return spec.prim != "bool" and not spec.is_categorical and not spec.is_image


def _same(difference: Tensor, relation: Relation) -> Tensor:
    """Whether two values of one type are the same, ``[..., size]`` → ``[..., 1]``."""
    normalise = cast(Normalise, relation.normalise)
    off = (difference + normalise.zero).abs().amax(-1, keepdim=True)
    return (off <= SAME).to(difference.dtype)


def _bounded(x: Tensor) -> Tensor:
    return SATURATION * torch.tanh(x / SATURATION)

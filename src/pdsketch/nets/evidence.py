"""Evidence for a Boolean: one sum over what each argument says, and a few of them together.

Each int of a code votes; numbers speak for themselves, and each two of them, or
a number and a code, speak together (*one step ahead*, whichever way the robot
looks; *near* is a ball around a place); of a set, the element that speaks
loudest counts. Such a sum is settled by a few examples (*red* is one colour,
whatever the type), while a perceptron of the same inputs learns the examples by heart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import cast

import torch
from torch import Tensor, nn

from pdsketch.nets.encode import Relation
from pdsketch.nets.features import Argument, Chosen, Features, membership, picked
from pdsketch.nets.layers import affine, linear
from pdsketch.nets.normalise import Normalise
from pdsketch.nets.pool import Pool
from pdsketch.nets.signature import Signature, Spec

STRIDE = 40.0
"""How much further evidence moves in one step than a weight does."""

LOUD = 8.0
"""How much further yet what two numbers say together: a sharp border is steep in a number's square."""

FEW = 12
"""Of more numbers, or products, than this each is less loud: together they must not outrun all else."""

BOUND = 4.0
"""What is further away than so many standard deviations speaks no louder."""

MOST = 12
"""Up to so many numbers, what each two of them say together is evidence too; of more, a perceptron learns."""

VOICES = 8
"""How many things a set can be asked for."""


class Evidence(nn.Module):
    """``votes`` weigh the evidence; ``bias``, one a kind, is what holds without any.

    ``spans`` are the places of the votes of each kind: single things (*linear*), two things together
    (*products*), and numbers of elements (*counts*).
    """

    def __init__(self, signature: Signature, features: Features, generator: torch.Generator | None) -> None:
        super().__init__()
        self.inputs = inputs = signature.inputs
        self.codes = [i for i in features.singles if inputs[i].spec.is_categorical]
        self.numbers = [i for i in features.singles if i not in self.codes]
        self.compared = [at for at, (i, _) in enumerate(features.pairs) if is_number(inputs[i].spec)]
        self.sets = nn.ModuleDict()
        for name, pool in features.pools.items():
            self.sets[name] = Voices(cast(Pool, pool), inputs[int(name)].spec, generator)
        paired = {i for at in self.compared for i in features.pairs[at]}
        # What numbers of one type say together, their difference says.
        self.multiplied = [i for i in self.numbers if is_number(inputs[i].spec) and i not in paired]
        numbers = sum(inputs[i].spec.size for i in self.numbers)
        self.quiet = min(1.0, FEW / max(1, numbers))
        sizes = {
            "linear": self._singles(features),
            "products": self._products(features),
            "counts": [VOICES for _ in self.sets],
            "sums": [inputs[int(name)].spec.size for name in self.sets if is_number(inputs[int(name)].spec)],
        }
        flat = [width for group in sizes.values() for width in group]
        ends = list(accumulate(sum(group) for group in sizes.values()))
        self.spans = {
            name: (end - sum(group), end) for (name, group), end in zip(sizes.items(), ends, strict=True)
        }
        self.kinds = [name for name, group in sizes.items() if group]
        self.register_buffer("member", membership(flat), persistent=False)
        self.votes = nn.Parameter(torch.zeros(1, sum(flat)))
        self.bias = nn.Parameter(torch.zeros(len(self.kinds)))

    def _singles(self, features: Features) -> list[int]:
        """The widths of what speaks alone."""
        sizes: list[int] = []
        for i in self.codes:
            sizes += features.encoders[str(i)].factors  # type: ignore[arg-type]
        for at, relation in enumerate(features.relations):
            if at not in self.compared:
                sizes += cast(Relation, relation).factors
        sizes += [VOICES for _ in self.sets]
        sizes += [sum(features.encoders[str(i)].factors) for i in self.numbers]  # type: ignore[arg-type]
        return sizes + [self.inputs[features.pairs[at][0]].spec.size for at in self.compared]

    def _products(self, features: Features) -> list[int]:
        """The widths of what speaks together: squares, products of numbers, numbers and codes."""
        count = sum(self.inputs[i].spec.size for i in self.multiplied)
        count += sum(self.inputs[features.pairs[at][0]].spec.size for at in self.compared)
        count = 0 if count > MOST else count
        first, second = torch.triu_indices(count, count, 1)
        self.register_buffer("first", first, persistent=False)
        self.register_buffer("second", second, persistent=False)
        if not count:
            return []
        crossed = [len(first)] if len(first) else []
        sizes = [count, *crossed, *(count * math.prod(self.inputs[i].spec.axes) for i in self.codes)]
        self.loud = LOUD * min(1.0, FEW / sum(sizes))
        return sizes

    def bounded(
        self, own: Mapping[int, Tensor], between: Sequence[Tensor]
    ) -> tuple[dict[int, Tensor], list[Tensor]]:
        """The numbers, and the differences of numbers, as evidence speaks of them."""
        return {i: _bounded(own[i]) for i in self.numbers}, [_bounded(between[at]) for at in self.compared]

    def linear(
        self,
        args: Sequence[Argument],
        own: Mapping[int, Tensor],
        between: Sequence[Tensor],
        elements: Mapping[int, Tensor],
        bounded: tuple[dict[int, Tensor], list[Tensor]],
    ) -> Tensor:
        """What each thing says, added up ``[..., 1]``: the odds' logarithm."""
        evidence = [own[i] for i in self.codes]
        evidence += [part for at, part in enumerate(between) if at not in self.compared]
        for name, voices in self.sets.items():
            evidence.append(cast(Voices, voices).loudest(elements[int(name)], args[int(name)][1]))
        evidence += [self.quiet * x for x in (*bounded[0].values(), *bounded[1])]
        return self._sum("linear", evidence)

    def products(
        self,
        args: Sequence[Argument],
        bounded: tuple[dict[int, Tensor], list[Tensor]],
        chosen: Chosen | None = None,
    ) -> Tensor:
        """What each two numbers, and each number with a code, say together; ``chosen``: to these examples."""
        alone, compared = bounded
        numbers = torch.cat([*(alone[i] for i in self.multiplied), *compared], -1)
        codes = [cast(Tensor, args[i]).flatten(-len(self.inputs[i].spec.axes)) for i in self.codes]
        if chosen is not None:
            leading = numbers.dim() - 1
            numbers, codes = picked(numbers, chosen, leading), [picked(x, chosen, leading) for x in codes]
        first, second = cast(Tensor, self.first), cast(Tensor, self.second)
        evidence = [numbers.square()]
        if len(first):
            evidence.append(numbers.index_select(-1, first) * numbers.index_select(-1, second))
        evidence += [(numbers.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2) for x in codes]
        return self.loud * self._sum("products", evidence)

    def counts(self, args: Sequence[Argument], elements: Mapping[int, Tensor]) -> Tensor:
        """What the numbers of elements of a few kinds say."""
        evidence = [
            cast(Voices, voices).counts(elements[int(name)], args[int(name)][1])
            for name, voices in self.sets.items()
        ]
        return self._sum("counts", evidence)

    def sums(self, features: Features, args: Sequence[Argument], elements: Mapping[int, Tensor]) -> Tensor:
        """What the sums of the numbers of a set say.

        As they are measured from zero: sums of what is measured from the mean depend
        on how many there are.
        """
        evidence = []
        for name in self.sets:
            spec, weights = self.inputs[int(name)].spec, args[int(name)][1]
            if is_number(spec):
                normalise = cast(Normalise, cast(Pool, features.pools[name]).encode.normalise)
                numbers = elements[int(name)][..., : spec.size] + normalise.zero
                evidence.append((numbers * weights.unsqueeze(-1)).sum(-2))
        return self._sum("sums", evidence)

    def _sum(self, kind: str, evidence: Sequence[Tensor]) -> Tensor:
        first, end = self.spans[kind]
        flat = torch.cat(list(evidence), dim=-1) if len(evidence) > 1 else evidence[0]
        at = self.kinds.index(kind)
        return STRIDE * affine(flat, self.votes[..., first:end], self.bias[..., at : at + 1])


@torch.no_grad()
def add_factors(alike: Sequence[Evidence], weight: float) -> None:
    """Add to the gradients, for evidence of one kind, ``weight`` times the norm of each factor's votes."""
    heard = [evidence for evidence in alike if evidence.votes.grad is not None]
    if not heard:
        return
    member = cast(Tensor, heard[0].member)
    votes = torch.cat([evidence.votes for evidence in heard])
    price = votes * ((votes.square() @ member + 1e-8).rsqrt() @ member.T) * (weight * STRIDE)
    torch._foreach_add_([cast(Tensor, evidence.votes.grad) for evidence in heard], torch.split(price, 1))
    for evidence in heard:
        for voices in evidence.sets.values():
            cast(Voices, voices).add_sparsity(weight)


class Voices(nn.Module):
    """What a set says: of a few questions, whether some element answers yes, and how many do."""

    def __init__(self, pool: Pool, spec: Spec, generator: torch.Generator | None) -> None:
        super().__init__()
        self.number = is_number(spec)
        factors = pool.element_factors * (1 + self.number)
        self.register_buffer("member", membership(factors), persistent=False)
        self.some, self.many = (_questions(sum(factors), generator) for _ in range(2))

    def loudest(self, elements: Tensor, weights: Tensor) -> Tensor:
        """Whether some element answers yes, ``[..., n, width]`` and ``[..., n]`` → ``[..., voices]``."""
        answers = self._answers(self.some, elements) * weights.unsqueeze(-1)
        return answers.amax(-2) if answers.shape[-2] else answers.sum(-2)

    def counts(self, elements: Tensor, weights: Tensor) -> Tensor:
        """How many do, ``[..., voices]``.

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
                norms = (asked.square() @ member + 1e-8).rsqrt() @ member.T
                asked.grad.addcmul_(asked, norms, value=weight * STRIDE / 4)

    def _answers(self, questions: nn.Module, elements: Tensor) -> Tensor:
        if self.number:
            bounded = _bounded(elements)
            elements = torch.cat([bounded, bounded.square()], -1)
        # A quarter of the stride: a sigmoid's slope.
        return torch.sigmoid(STRIDE / 4 * questions(elements))


def _questions(width: int, generator: torch.Generator | None) -> nn.Linear:
    """Questions that nearly all elements answer alike at first, half of them by yes: an element
    of a kind that was never seen is then taken for any other, and not for what chance says.
    """
    questions = linear(width, VOICES, generator)
    with torch.no_grad():
        questions.weight.mul_(0.3)
        questions.bias.copy_(0.1 * torch.tensor([1.0, -1.0]).repeat(VOICES // 2))
    return questions


def is_number(spec: Spec) -> bool:
    """Whether products of such values say more than the values do."""
    return spec.prim != "bool" and not spec.is_categorical and not spec.is_image


def _bounded(x: Tensor) -> Tensor:
    return BOUND * torch.tanh(x / BOUND)

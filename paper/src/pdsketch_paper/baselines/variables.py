"""What a goal of several variables wants of each of them, kept apart.

In the embedding of a whole formula, a sum, *a red one left of a blue one* and *a blue one left of a red
one* are nearly the same. Here each variable has a vector of its own: the sum of its roles, that is, of the
predicates that it is an argument of, by place. Every object is compared with the vector of every variable
by products (bilinear, as in low-rank pooling; Kim et al., 2017), and what comes out is added
to the object by weights of the variable's number: side by side, as the paper concatenates the words
of a goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import torch
from torch import Tensor, nn

from pdsketch.lang import Domain
from pdsketch_paper.baselines.formulas import PLACES, GoalTree, words_of

_SLOTS: Final = 4
"""So many variables are kept apart, as many as the arguments of a predicate; later ones share the last."""

_RANK: Final = 64
"""Products by which an object is compared with a variable: half of the width of the vectors."""


@final
class GoalVariables(nn.Module):
    """What each variable of a goal wants: of every object, and as a part of the goal's own vector.

    It adds nothing before it is trained, and nothing for goals of one variable, of which the embedding of
    the formula says everything.
    """

    def __init__(self, domain: Domain, width: int) -> None:
        super().__init__()
        self.number_of = {word: i for i, word in enumerate(words_of(domain))}
        self.roles = nn.Embedding(len(self.number_of) * PLACES, width)
        self.of_object = nn.Linear(width, _RANK)
        self.of_variable = nn.Linear(width, _RANK, bias=False)
        self.compared = nn.Linear(_SLOTS * _RANK, width, bias=False)
        self.asked = nn.Linear(_SLOTS * width, width, bias=False)
        for added in (self.compared, self.asked):
            nn.init.zeros_(added.weight)

    def forward(self, nodes: Tensor, trees: Sequence[GoalTree], goal: Tensor) -> tuple[Tensor, Tensor] | None:
        """What is added to nodes ``[s, n, width]`` and to goals ``[s, width]``; None where nothing is.

        ``goal`` says which tree each state has.
        """
        several = [len({role.variable for role in tree.roles}) > 1 for tree in trees]
        if not any(several):
            return None
        slots = self._slots([tree if more else None for tree, more in zip(trees, several, strict=True)])[goal]
        products = self.of_object(nodes)[:, :, None, :] * self.of_variable(slots)[:, None, :, :]
        return self.compared(products.flatten(2)), self.asked(slots.flatten(1))

    def _slots(self, trees: Sequence[GoalTree | None]) -> Tensor:
        """The vectors of the variables of each goal ``[g, slots, width]``; 0 where there is none."""
        rows, places = [], []
        for i, tree in enumerate(trees):
            for role in tree.roles if tree is not None else ():
                rows.append(self.number_of[role.word] * PLACES + role.place)
                places.append(i * _SLOTS + min(role.variable, _SLOTS - 1))
        device = self.roles.weight.device
        embedded: Tensor = self.roles(torch.tensor(rows, device=device))
        empty = embedded.new_zeros(len(trees) * _SLOTS, embedded.shape[-1])
        summed = empty.index_add(0, torch.tensor(places, device=device), embedded)
        return summed.reshape(len(trees), _SLOTS, -1)

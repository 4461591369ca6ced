"""A conjunction of alternatives, and where a form and its rivals leave open what is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from pdsketch.nets.features import Argument
from pdsketch.nets.forms import BlankForm, Condition, device_of
from pdsketch.nets.signature import Signature, Spec

OPEN_TRUTH: Final = 0.75
"""How surely true or likely is what a rival denies: between not known (0.5) and certain."""


@final
class ClauseForm(BlankForm):
    """Whether of each clause some condition holds; a conjunction where each clause is one condition."""

    def __init__(self, signature: Signature, clauses: Sequence[Sequence[Condition]]) -> None:
        super().__init__(signature, [one.reading for clause in clauses for one in clause])
        self.clauses = tuple(tuple(clause) for clause in clauses)

    @property
    def cost(self) -> float:
        """That of the conditions, each counted where it stands."""
        return 1.0 + sum(one.reading.price for clause in self.clauses for one in clause)

    @property
    def kind(self) -> str:
        """Without clauses it is a constant."""
        return "clauses" if self.clauses else "constant"

    def answer(self, args: Sequence[Argument], count: int) -> Tensor:
        """The truth."""
        found = torch.ones(count, dtype=torch.bool, device=device_of(args))
        known: dict[Condition, Tensor] = {}
        for clause in self.clauses:
            some = torch.zeros_like(found)
            for one in clause:
                if one not in known:
                    known[one] = one.holds(args, self.signature)
                some |= known[one]
            found &= some
        return found.to(torch.float32).unsqueeze(1)

    def said(self, names: Sequence[str]) -> str:
        """The clauses."""
        said = [[one.said(names, self.sizes) for one in clause] for clause in self.clauses]
        return " and ".join(one[0] if len(one) == 1 else f"({' or '.join(one)})" for one in said) or "true"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "clauses",
            "clauses": [[one.as_json() for one in clause] for clause in self.clauses],
        }


@torch.no_grad()
def open_answers(module: Any, args: Sequence[Argument]) -> Tensor | None:
    """Which answers of a module to ``args`` a rival of its form denies, ``[*leading]``; None: it has none.

    Numbers differ where they are further apart than float32 tells.
    """
    form, rivals = getattr(module, "form", None), getattr(module, "rivals", ())
    if form is None or not rivals or not args:
        return None
    own = form(*args)
    axes = len(form.signature.output.axes)
    found = torch.zeros(own.shape[: own.dim() - axes], dtype=torch.bool, device=own.device)
    for rival in rivals:
        differs = ~torch.isclose(rival(*args), own, rtol=1e-4, atol=1e-5)
        found |= differs.flatten(own.dim() - axes).any(-1)
    return found


def tempered(answers: Tensor, is_open: Tensor, output: Spec) -> Tensor:
    """The same answers, less sure where they ``is_open``: truths, or the logits of ints; numbers stay."""
    if output.prim == "float":
        return answers
    where = is_open.reshape(*is_open.shape, *(1,) * len(output.axes))
    if output.prim == "bool":
        return torch.where(where, answers.clamp(1.0 - OPEN_TRUTH, OPEN_TRUTH), answers)
    odds = nn.functional.softmax(answers, -1)
    mixed = OPEN_TRUTH * odds + (1.0 - OPEN_TRUTH) / max(1, (output.choices or 2) - 1) * (1.0 - odds)
    return torch.where(where, mixed.clamp_min(1e-9).log(), answers)

"""How many of a blank's inputs on some data are outside what it was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor

from pdsketch.tensor import NOTE, Callee, Given, features, in_words, strange


@final
class Outside:
    """Counts them by blank, and keeps one in words: give it to `Functions.watched`."""

    def __init__(self, notes: Mapping[str, Any]) -> None:
        self._records: Mapping[str, Any] = notes.get(NOTE, {})
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def __call__(self, callee: Callee, given: Sequence[Given], leading: torch.Size, result: Tensor) -> None:
        """Look at one call."""
        records = self._records.get(callee.name)
        if not records or 0 in leading:
            return
        axes = len(leading)
        outside = torch.zeros(leading, dtype=torch.bool, device=result.device)
        for record, feature in zip(records, features(callee, given, axes), strict=False):
            found = strange(record, feature, callee.name)
            if bool(found.any()):
                first = feature.values[tuple(found.nonzero()[0].tolist())]
                self.examples.setdefault(callee.name, in_words(feature, record, first))
                outside |= found.any(-1) if found.dim() > axes else found
        self.counts[callee.name] = self.counts.get(callee.name, 0) + int(outside.sum())

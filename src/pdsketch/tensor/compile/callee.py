"""Functions that a program calls, as callers and watchers see them: what they take, and how they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from pdsketch.lang import Error, Span, ValueType, error

Given = Tensor | tuple[Tensor, Tensor]
"""An argument of a call: a value, or the values of a set with their weights."""


@final
@dataclass(frozen=True, slots=True)
class Callee:
    """A blank or an external function as its callers see it."""

    name: str
    signature: str
    inputs: tuple[ValueType, ...]
    returns: ValueType
    external: bool
    span: Span | None = None

    @property
    def words(self) -> str:
        """What it is called in messages."""
        return f"external function `{self.name}`" if self.external else f"blank `{self.name}`"

    def fail(self, code: str, message: str) -> Error:
        """An error about this function."""
        return error(code, f"{self.words} {message}", self.span, help=f"its signature is {self.signature}")


Watcher = Callable[[Callee, Sequence[Given], torch.Size, Tensor], None]
"""Sees the arguments of a blank, over which leading axes, and what it returned."""


def out_of_memory(failure: BaseException) -> bool:
    """Whether an error says that there was no memory left; torch has no class for that on a CPU."""
    if isinstance(failure, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(failure, RuntimeError) and "DefaultCPUAllocator" in str(failure)

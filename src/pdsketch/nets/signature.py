"""What a network must take and return, in plain words: no domain, no predicate, no object.

A `Signature` is all that a default network is made from. The calling
convention is ``module(*args)`` with arguments expanded to the same leading
axes:

- floats, and ints without choices: the value's own axes (``[..., d]``,
  images ``[..., h, w, c]``), scalars as ``[..., 1]``;
- Booleans: truth values in [0, 1], scalars as ``[..., 1]``, vectors ``[..., n]``;
- ints with choices: one-hot (or probabilities), scalars ``[..., choices]``,
  vectors ``[..., n, choices]``;
- a set: the pair ``(values, weights)``, values with one more axis ``n`` before
  the value's own axes, and weights ``[..., n]`` in [0, 1].

The module returns the value's own axes in the same way; a Boolean result is a
truth value in [0, 1], ints with choices are logits. A module without inputs
returns the value's own axes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, final

Prim = Literal["bool", "int", "float"]


@final
@dataclass(frozen=True, slots=True)
class Spec:
    """One kind of value: a primitive, its axes (``()`` for a scalar), and the choices of an int."""

    prim: Prim
    shape: tuple[int, ...] = ()
    choices: int | None = None

    @property
    def is_categorical(self) -> bool:
        """Whether the value is an int (or a vector of ints) with declared choices."""
        return self.prim == "int" and self.choices is not None

    @property
    def is_image(self) -> bool:
        """Whether the value is ``[h, w, c]`` and not categorical: a case for convolutions."""
        return len(self.shape) == 3 and not self.is_categorical

    @property
    def size(self) -> int:
        """How many numbers or ints the value holds."""
        return prod(self.shape)

    @property
    def axes(self) -> tuple[int, ...]:
        """The last axes of the tensor that holds the value."""
        if self.choices is not None and self.prim == "int":
            return (*self.shape, self.choices)
        return self.shape or (1,)


@final
@dataclass(frozen=True, slots=True)
class Input:
    """One argument: its value, whether it is a set of such values, and the identity of its type.

    Two inputs with the same ``type_id`` hold values of one and the same type
    (two poses), so that their difference means something. None: its own type.
    """

    spec: Spec
    is_set: bool = False
    type_id: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """What a module takes and returns.

    ``residual`` is the index of the input around which the module starts as
    the identity ("no change"), or None for a plain network. ``bounded`` numbers
    stay between −2 and 2 (a latent that may be predicted from a predicted one, again and again).
    ``gated``: beside the new value the module says whether there is one (`nets.default.Network.gate`).
    """

    inputs: tuple[Input, ...]
    output: Spec
    residual: int | None = None
    bounded: bool = False
    gated: bool = False

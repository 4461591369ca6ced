"""States as notebooks show them."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

from torch import Tensor

from pdsketch.lang import html_table, plain, short, show_atom, shown

if TYPE_CHECKING:
    from pdsketch.tensor.states.state import State

MOST_ROWS = 20
"""Values of a predicate that are shown; set by hand."""

MOST_NUMBERS = 16
"""Numbers of a value that are shown; set by hand."""


def html_of(state: State) -> str:
    """A table of predicates and their values."""
    rows = []
    for name, tensor in state.values.items():
        axes = [state.members(type_) for type_ in state.domain.predicates[name].object_types]
        values = tensor.reshape(-1, *tensor.shape[len(axes) :])
        atoms = ((name, *objects) for objects in product(*axes))
        for atom, value in islice(zip(atoms, values, strict=True), MOST_ROWS):
            rows.append((show_atom(atom), _text(value)))
        if len(values) > MOST_ROWS:
            rows.append((f"{name} …", f"{len(values)} values"))
    return html_table(f"State of {state.domain.name}", rows)


def _text(value: Tensor) -> str:
    if value.numel() > MOST_NUMBERS:
        return f"{' × '.join(map(str, value.shape))} numbers"
    given: Any = value.tolist()
    return shown(short(plain(given)))

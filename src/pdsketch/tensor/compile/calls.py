"""Calling modules: what a blank or an external function is given, and what it must return.

Arguments are expanded to the same leading axes. Vectors are ``[..., d]``,
scalars and Booleans ``[..., 1]``, ints with choices one-hot ``[..., choices]``
(vectors of them ``[..., n, choices]``), sets ``(values [..., n, d], weights
[..., n])``. An external function sees ints as int64 instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isnan, prod
from typing import Any, Final, final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from pdsketch.budget import MEGABYTE, Budget
from pdsketch.lang import BOOL, Error, ValueType
from pdsketch.nets import open_answers, tempered
from pdsketch.tensor.compile.blanks import Callee, Given, out_of_memory
from pdsketch.tensor.compile.logic import FuzzyLogic
from pdsketch.tensor.compile.node import Axes, Compute, Node, Run, aligned, union
from pdsketch.tensor.states.values import every_choice, fully_soft, harden, is_categorical, presented

# Modules called in portions, where all at once would take too much memory or time.
#
# How much a row takes is measured once for each function and shape of its arguments, by
# everything that torch allocates in a first, small portion.

_SMALL: Final = MEGABYTE
"""Calls that surely take less are made at once."""

_ROW_BYTES: Final = 256
"""What a row of a call takes at least, beside its arguments; set by hand."""

_FIRST_ROWS: Final = 1024
"""Rows of the first portion."""


@final
class _Weigher(TorchFunctionMode):
    """Counts the bytes of everything that torch returns."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute as without it, and count."""
        del types
        result = func(*args, **(kwargs or {}))
        several = result if isinstance(result, tuple | list) else (result,)
        self.bytes += sum(t.numel() * t.element_size() for t in several if isinstance(t, Tensor))
        return result


def is_large(given: Sequence[Given], leading: torch.Size) -> bool:
    """Whether a call may be too much at once."""
    return prod(leading) * (_ROW_BYTES + sum(_row_bytes(t, len(leading)) for t in _tensors(given))) > _SMALL


def in_portions(
    name: str,
    function: Callable[..., Any],
    given: Sequence[Given],
    leading: torch.Size,
    weights: dict[Any, float],
    budget: Budget,
) -> Any:
    """What the function returns for all rows.

    ``given`` are the arguments of ``function``, tensors whose first axes are ``leading``. Each portion takes
    what ``budget`` allows at once. ``weights`` are the bytes a row takes, by the function's ``name`` and the
    shapes of its arguments; what is measured is added. What is no tensor over the rows, and thus no answer,
    is returned as it is.
    """
    n = len(leading)
    key = (name, *(tuple(t.shape[n:]) for t in _tensors(given)))
    if key not in weights:
        # Evaluated twice, here and below: a thousand rows are cheap beside a call that needs portions at all.
        block = next(_blocks(leading, _FIRST_ROWS))
        with _Weigher() as weigher:
            function(*_part(given, block))
        weights[key] = max(1.0, weigher.bytes / prod(_shape(block)))
    room = budget.portion()
    found: list[Tensor] = []
    for block in _blocks(leading, max(1, int(room / weights[key]))):
        budget.check()
        result = function(*_part(given, block))
        # As it is: the caller words what is wrong with it, as for a call in one portion.
        if not isinstance(result, Tensor) or result.shape[:n] != _shape(block):
            return result
        found.append(result.reshape(-1, *result.shape[n:]))
    return torch.cat(found).reshape(*leading, *found[0].shape[1:])


def _blocks(leading: torch.Size, most: int) -> Iterator[tuple[slice, ...]]:
    """Blocks of at most ``most`` rows each, in the order of the rows."""
    # Whole inner axes as long as they fit; the first axis that does not is cut into steps.
    whole, axis = 1, len(leading)
    while axis > 0 and whole * leading[axis - 1] <= most:
        axis -= 1
        whole *= leading[axis]
    inner = [slice(0, size) for size in leading[axis:]]
    if axis == 0:
        yield tuple(inner)
        return
    size, step = leading[axis - 1], max(1, most // whole)
    steps = [slice(i, min(i + step, size)) for i in range(0, size, step)]
    for place in product(*map(range, leading[: axis - 1])):
        for some in steps:
            yield (*(slice(i, i + 1) for i in place), some, *inner)


def _part(given: Sequence[Given], block: tuple[slice, ...]) -> list[Given]:
    return [(g[0][block], g[1][block]) if isinstance(g, tuple) else g[block] for g in given]


def _shape(block: tuple[slice, ...]) -> tuple[int, ...]:
    return tuple(some.stop - some.start for some in block)


def _tensors(given: Sequence[Given]) -> list[Tensor]:
    return [t for g in given for t in (g if isinstance(g, tuple) else (g,))]


def _row_bytes(tensor: Tensor, leading: int) -> int:
    return prod(tensor.shape[leading:]) * tensor.element_size()


MOST_COMBINATIONS = 1 << 16
"""External functions of soft ints are evaluated at every combination, up to this many; set by hand."""


@final
@dataclass(frozen=True, slots=True)
class SetArgument:
    """A set of values: over the axes of its own variables, each with a weight."""

    body: Node
    weight: Node | None
    own: Axes


Argument = Node | SetArgument
Evaluation = Callable[[Callee, list[Callable[[Run], Any]], int, FuzzyLogic], Compute]


def call(callee: Callee, arguments: Sequence[Argument], logic: FuzzyLogic) -> Node:
    """The node of a call."""
    return _node(callee, arguments, logic, _evaluation)


def gate(callee: Callee, arguments: Sequence[Argument], logic: FuzzyLogic) -> Node:
    """The node that says whether a call gives a new value at all; it does if the function has no gate."""
    return _node(callee, arguments, logic, _gate)


def _node(callee: Callee, arguments: Sequence[Argument], logic: FuzzyLogic, evaluation: Evaluation) -> Node:
    outer = [a for a in arguments if isinstance(a, Node)]
    sets = [a for a in arguments if isinstance(a, SetArgument)]
    inner = [(s, axis) for s in sets for axis in union(_parts(s)) if axis not in s.own]
    axes = tuple(sorted({*union(outer), *(axis for _, axis in inner)}, key=lambda axis: axis.depth))
    parts = [
        _set_argument(a, axes, type_)
        if isinstance(a, SetArgument)
        else _value_argument(a, axes, type_, callee)
        for a, type_ in zip(arguments, callee.inputs, strict=True)
    ]
    loop = any(n.loop for n in outer) or any(n.loop for s in sets for n in _parts(s))
    return Node(axes, evaluation(callee, parts, len(axes), logic), loop=loop)


def _parts(argument: SetArgument) -> list[Node]:
    return [argument.body] if argument.weight is None else [argument.body, argument.weight]


def _value_argument(node: Node, axes: Axes, type_: ValueType, callee: Callee) -> Compute:
    get = aligned(node, axes)
    leading = 1 + len(axes)
    if callee.external:
        return lambda run: _to_external(get(run), type_, leading)
    return lambda run: presented(get(run), type_, leading)


def _to_external(tensor: Tensor, type_: ValueType, leading: int) -> Tensor:
    """A value as an external function sees it, except for soft ints, which are handled by the caller."""
    if type_.prim == "int64":
        if is_categorical(type_) and tensor.is_floating_point():
            return tensor
        whole = harden(tensor, type_)
        return whole.unsqueeze(-1) if whole.dim() == leading else whole
    return presented(tensor, type_, leading)


def _set_argument(argument: SetArgument, axes: Axes, type_: ValueType) -> Callable[[Run], Given]:
    every = (*axes, *argument.own)
    body = aligned(argument.body, every)
    weight = None if argument.weight is None else aligned(argument.weight, every)
    leading, own = 1 + len(axes), argument.own

    def compute(run: Run) -> tuple[Tensor, Tensor]:
        sizes = [run.size(axis) for axis in own]
        values = presented(body(run), type_, leading + len(own))
        weights = _weights(run, None if weight is None else weight(run), own, leading, values.device)
        values = values.expand(*values.shape[:leading], *sizes, *values.shape[leading + len(own) :])
        weights = weights.expand(*weights.shape[:leading], *sizes)
        n = prod(sizes)
        return (
            values.reshape(*values.shape[:leading], n, *values.shape[leading + len(own) :]),
            weights.reshape(*weights.shape[:leading], n),
        )

    return compute


def _weights(run: Run, weights: Tensor | None, own: Axes, leading: int, device: torch.device) -> Tensor:
    """The weights of a set's elements: its condition, and nothing for places that hold no object."""
    if weights is None:
        weights = torch.ones((1,) * (leading + len(own)), device=device)
    weights = weights.to(torch.float32)
    for i, axis in enumerate(own):
        mask = run.mask(axis)
        if mask is not None:
            shape = (mask.shape[0], *(1,) * (leading - 1 + i), mask.shape[1], *(1,) * (len(own) - i - 1))
            weights = weights * mask.reshape(shape)
    return weights


def _gate(callee: Callee, parts: list[Callable[[Run], Any]], axes: int, logic: FuzzyLogic) -> Compute:
    truth = replace(callee, returns=BOOL)

    def compute(run: Run) -> Tensor:
        given, leading = _given(parts, axes, run)
        function = getattr(run.functions.get(callee, given), "gate", None)
        if function is None:
            return torch.ones((1,) * (1 + axes), dtype=logic.dtype, device=run.batch.device)
        result = _asked(truth, function, given, leading, run, logic)
        return settle(truth, result, leading, run, logic)

    return compute


def _given(parts: list[Callable[[Run], Any]], axes: int, run: Run) -> tuple[list[Given], torch.Size]:
    """The arguments, expanded to the same leading axes, and these."""
    given: list[Given] = [part(run) for part in parts]
    tensors = [t for g in given for t in (g if isinstance(g, tuple) else (g,))]
    leading = _broadcast([t.shape[: 1 + axes] for t in tensors])
    return [_expand(g, leading) for g in given], leading


def _evaluation(callee: Callee, parts: list[Callable[[Run], Any]], axes: int, logic: FuzzyLogic) -> Compute:
    def compute(run: Run) -> Tensor:
        expanded, leading = _given(parts, axes, run)
        function = run.functions.get(callee, expanded)
        if callee.external:
            return _call_external(callee, function, expanded, leading, run, logic)
        result = _asked(callee, function, expanded, leading, run, logic)
        if run.functions.watcher is not None:
            run.functions.watcher(callee, expanded, leading, result)
        return settle(callee, result, leading, run, logic)

    return compute


def _asked(
    callee: Callee, function: Any, given: Sequence[Given], leading: torch.Size, run: Run, logic: FuzzyLogic
) -> Tensor:
    """What the function returns; softly, it is less sure where a rival of its form denies that."""
    result = _invoke(callee, function, given, leading, run)
    if logic.crisp or not getattr(function, "rivals", ()):
        return result
    is_open = open_answers(function, given)
    return result if is_open is None else tempered(result, is_open, function.form.signature.output)


def _broadcast(shapes: Sequence[torch.Size]) -> torch.Size:
    """The one shape that all broadcast to: each axis has one size, or 1."""
    if not shapes:
        return torch.Size([])
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return torch.Size([next((n for n in sizes if n != 1), 1) for sizes in zip(*shapes, strict=True)])


def _expand(given: Given, leading: torch.Size) -> Given:
    if isinstance(given, tuple):
        return _lead(given[0], leading), _lead(given[1], leading)
    return _lead(given, leading)


def _lead(tensor: Tensor, leading: torch.Size) -> Tensor:
    n = len(leading)
    return tensor if tensor.shape[:n] == leading else tensor.expand(*leading, *tensor.shape[n:])


def _invoke(callee: Callee, function: Any, given: Sequence[Given], leading: torch.Size, run: Run) -> Tensor:
    """Call the function; what goes wrong inside is told with its name and what it was given."""
    if 0 in leading:
        return _nothing(callee, leading, run.batch.device)
    if run.limited:
        run.budget.check()  # a user's function may take its time
    try:
        if run.limited and is_large(given, leading):
            result = in_portions(callee.name, function, given, leading, run.functions.weights, run.budget)
        else:
            result = function(*given)
    except (RuntimeError, TypeError, ValueError, IndexError) as why:
        if isinstance(why, Error) or out_of_memory(why):
            raise
        shapes = ", ".join(_shown(g) for g in given) or "no arguments"
        raise callee.fail("module-failed", f"failed on {shapes}: {why}") from why
    if not isinstance(result, Tensor):
        raise callee.fail("module-output", f"returned a {type(result).__name__}, and a tensor was wanted")
    # What has no arguments cannot see where its result is wanted: a form has no weights, either.
    return result if given else result.to(run.batch.device)


def _shown(given: Given) -> str:
    if isinstance(given, tuple):
        return f"a set of values {tuple(given[0].shape)} with weights {tuple(given[1].shape)}"
    return str(tuple(given.shape))


def _nothing(callee: Callee, leading: torch.Size, device: torch.device) -> Tensor:
    """The result over no objects, without a call."""
    type_ = callee.returns
    own = tuple(type_.shape) if type_.shape is not None else (1,)
    if callee.external and type_.prim == "int64":
        return torch.zeros(*leading, *(own or (1,)), dtype=torch.int64, device=device)
    if is_categorical(type_):
        own = (*own, type_.choices or 0)
    return torch.zeros(*leading, *(own or (1,)), device=device)


def settle(callee: Callee, result: Tensor, leading: torch.Size, run: Run, logic: FuzzyLogic) -> Tensor:
    """What a module returned as a value over the leading axes, checked.

    ``result`` is what ``callee`` returned, ``[*leading, *value]``, where ``leading`` are the sizes of the
    axes that its arguments range over. Numbers are checked where ``run`` asks for it; ``logic`` says whether
    choices become the likeliest one or a distribution.
    """
    type_ = callee.returns
    own = type_.shape
    if is_categorical(type_):
        own = (*(own or ()), type_.choices or 0)
    value = _own_axes(callee, result, leading, own)
    if not leading:
        value = value.unsqueeze(0)
    if run.checked:
        _check_numbers(callee, value, pardons=run.pardons)
    if is_categorical(type_):
        return value.argmax(-1) if logic.crisp else torch.softmax(value, -1)
    if logic.crisp:
        return value if type_.prim == "bool" and value.dtype == torch.bool else harden(value.float(), type_)
    return value if value.dtype == torch.float32 else value.to(torch.float32)


def _own_axes(callee: Callee, result: Tensor, leading: torch.Size, own: tuple[int, ...] | None) -> Tensor:
    """The result if it has the axes that it should have; a scalar's last axis of size 1 is dropped."""
    shape, n = result.shape, len(leading)
    if own == ():
        if shape == leading:
            return result
        if shape == (*leading, 1):
            return result.squeeze(-1)
    elif shape[:n] == leading and (shape[n:] == own if own is not None else len(shape) > n):
        return result
    wanted = [*map(str, leading), *(["d"] if own is None else map(str, own or (1,)))]
    raise callee.fail(
        "module-output",
        f"returned {tuple(shape)}; a {callee.returns} over these arguments is ({', '.join(wanted)})",
    )


def _check_numbers(callee: Callee, value: Tensor, *, pardons: bool) -> None:
    """No NaN, and truth values in [0, 1]; not on a GPU, where to look would mean to wait."""
    if value.device.type != "cpu" or not value.is_floating_point() or value.numel() == 0:
        return
    if callee.returns.prim == "bool":
        low, high = torch.aminmax(value.detach())
        least, most = float(low), float(high)
        if least >= -1e-4 and most <= 1 + 1e-4:
            return
        if not (isnan(least) or isnan(most)):
            raise callee.fail(
                "module-output",
                f"returned {least if least < 0 else most:g}; a Boolean is a truth value in [0, 1]: "
                "end it with a sigmoid",
            )
        if not pardons:
            raise callee.fail("not-a-number", "returned NaN")
        return
    total = float(value.detach().sum())
    if isnan(total) and not pardons and bool(torch.isnan(value).any()):
        raise callee.fail("not-a-number", "returned NaN")


def _call_external(
    callee: Callee, function: Any, given: Sequence[Given], leading: torch.Size, run: Run, logic: FuzzyLogic
) -> Tensor:
    """Call a function that sees ints as int64; soft ints at every choice, mixed by probability."""
    soft = [
        i
        for i, (g, type_) in enumerate(zip(given, callee.inputs, strict=True))
        if is_categorical(type_) and isinstance(g, Tensor) and g.is_floating_point()
    ]
    if not soft:
        return _external_value(callee, _invoke(callee, function, given, leading, run), leading, run, logic)
    tensors = [g for g in given if isinstance(g, Tensor)]
    grid, weights = _combinations(callee, tensors, soft, run.batch.device)
    count = weights.shape[-1]
    wide = torch.Size([*leading, count])
    n = len(leading)
    filled: list[Given] = []
    for i, tensor in enumerate(tensors):
        if i in grid:
            places = grid[i]
            filled.append(places.expand(*wide, *places.shape[1:]))
        else:
            filled.append(tensor.unsqueeze(n).expand(*wide, *tensor.shape[n:]))
    every = _external_value(callee, _invoke(callee, function, filled, wide, run), wide, run, logic)
    mixed = fully_soft(every, callee.returns)
    own = mixed.dim() - len(wide)
    return (mixed * weights.reshape(*weights.shape, *(1,) * own)).sum(n)


def _combinations(
    callee: Callee, tensors: Sequence[Tensor], soft: Sequence[int], device: torch.device
) -> tuple[dict[int, Tensor], Tensor]:
    """Every combination of the soft arguments' choices, ``[k, d]`` each, and its probability ``[..., k]``."""
    options = {i: every_choice(callee.inputs[i], device) for i in soft}
    count = prod(len(o) for o in options.values())
    if count > MOST_COMBINATIONS:
        raise callee.fail("too-many-choices", f"would be evaluated at {count} combinations of soft ints")
    places = torch.cartesian_prod(*[torch.arange(len(o), device=device) for o in options.values()])
    places = places.reshape(count, len(soft))
    weights: Tensor | None = None
    grid = {}
    for column, i in enumerate(soft):
        chosen = options[i][places[:, column]]
        grid[i] = chosen if chosen.dim() > 1 else chosen.unsqueeze(-1)
        likely = _likelihood(tensors[i], options[i], scalar=options[i].dim() == 1)[..., places[:, column]]
        weights = likely if weights is None else weights * likely
    assert weights is not None
    return grid, weights


def _likelihood(probabilities: Tensor, options: Tensor, *, scalar: bool) -> Tensor:
    """The probability of each option: of a vector of ints, the product over its elements."""
    if scalar:
        return probabilities
    flat = options.flatten(1)
    each = probabilities.flatten(-1 - options[0].dim(), -2)
    likely = each[..., 0, flat[:, 0]]
    for element in range(1, flat.shape[1]):
        likely = likely * each[..., element, flat[:, element]]
    return likely


def _external_value(
    callee: Callee, result: Tensor, leading: torch.Size, run: Run, logic: FuzzyLogic
) -> Tensor:
    type_ = callee.returns
    if type_.prim != "int64":
        return settle(callee, result, leading, run, logic)
    value = _own_axes(callee, result, leading, type_.shape)
    if value.is_floating_point():
        if run.checked and bool(torch.isnan(value).any()):
            if not run.pardons:
                raise callee.fail("not-a-number", "returned NaN")
            value = value.nan_to_num()
        whole = value.round()
        if run.checked and not bool(torch.isclose(value, whole, atol=1e-3).all()):
            raise callee.fail("module-output", f"returned fractions, and a {type_} is whole: return int64")
        value = whole
    value = value.to(torch.int64)
    if type_.choices is not None and value.numel() and run.checked:
        least, most = int(value.min()), int(value.max())
        if least < 0 or most >= type_.choices:
            found = least if least < 0 else most
            raise callee.fail(
                "value-out-of-range", f"returned {found}; {type_} has choices 0 to {type_.choices - 1}"
            )
    return value if leading else value.unsqueeze(0)

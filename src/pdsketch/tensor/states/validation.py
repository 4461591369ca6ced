"""Values on their way into a state: converted, and checked with errors that name the predicate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdsketch.lang import (
    Diagnostic,
    Domain,
    Error,
    Predicate,
    Problem,
    did_you_mean,
    error,
    out_of_range,
    wanted_shape,
)
from pdsketch.tensor.states import saturating
from pdsketch.tensor.states.universe import Universe
from pdsketch.tensor.states.values import is_categorical

# The quick way of values into a state: arrays that are as they should be, checked without a word.

_LARGEST = float(np.finfo(np.float32).max)
_INTS = "bhilqBHILQ"
_SMALL_INTS = "bhilqBHI"
_DTYPES = {"bool": np.dtype(np.bool_), "int64": np.dtype(np.int64), "float32": np.dtype(np.float32)}


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What a predicate's array must be in a state with certain objects; ``shape`` None: look closer."""

    shape: tuple[int, ...] | None
    prim: str
    choices: int | None


def quickly_validated(wanted: Wanted, value: Any) -> Tensor | None:
    """The tensor of an array that is as it should be; None for all that needs a closer look."""
    try:
        found = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        return None
    if found.shape != wanted.shape:
        return None
    if not _FITS[wanted.prim](found, found.dtype.char, wanted.choices):
        return None
    # A copy: an environment may go on to change its own.
    array = np.array(found, dtype=_DTYPES[wanted.prim], order="C")
    return torch.from_numpy(array.reshape(1, *found.shape))


def _fits_float(found: NDArray[Any], char: str, choices: int | None) -> bool:
    """Ints, and numbers that are finite as float32; other widths are for a closer look."""
    if char == "f":
        return bool(np.count_nonzero(np.isfinite(found)) == found.size)
    if char == "d":
        return bool(np.count_nonzero(np.abs(found) <= _LARGEST) == found.size)
    return char in _INTS or char == "?"


def _fits_bool(found: NDArray[Any], char: str, choices: int | None) -> bool:
    return char == "?" or (char in _INTS and np.count_nonzero((found == 0) | (found == 1)) == found.size)


def _fits_int(found: NDArray[Any], char: str, choices: int | None) -> bool:
    """Ints from 0 up to the choices; as an unsigned number, what is negative is too large."""
    if char in "lq" and choices is None and found.size:
        return bool(found.min() > saturating.SMALLEST and found.max() < saturating.LARGEST)
    if char not in "lq" or choices is None or not found.size or not found.dtype.isnative:
        return char in _SMALL_INTS and (not found.size or choices is None or _between(found, choices))
    return bool(found.view(np.uint64).max() < choices)


def _between(found: NDArray[Any], choices: int) -> bool:
    return bool(found.min() >= 0 and found.max() < choices)


_FITS = {"bool": _fits_bool, "int64": _fits_int, "float32": _fits_float}


def validated(universe: Universe, values: Mapping[str, Any]) -> dict[str, Tensor]:
    """One tensor a predicate with a first axis of size 1, or an `Error` with all that is wrong."""
    if not isinstance(values, Mapping):
        found = type(values).__name__
        raise error("bad-value", f"`values` maps predicates to arrays, and is a {found}")
    names = tuple(values)
    wanted = universe.validations.get(names)
    if wanted is None:
        wanted = universe.validations[names] = _wanted(universe, names)
    tensors = {}
    for name, one in wanted.items():
        tensor = quickly_validated(one, values[name])
        if tensor is None:
            return _validated_carefully(universe, values)
        tensors[name] = tensor
    return tensors if wanted else _validated_carefully(universe, values)


def _wanted(universe: Universe, names: tuple[Any, ...]) -> dict[str, Wanted]:
    """What is wanted of each of some predicates; nothing where their names alone are wrong."""
    domain = universe.domain
    given = dict.fromkeys(names)
    odd = any(name not in domain.predicates for name in names)
    if odd or any(_unwelcome(domain, names)) or any(_missing(domain, given)):
        return {}
    found = {}
    for name, predicate in domain.predicates.items():
        if name in given:
            own = predicate.type.shape
            fixed = own is not None and predicate.role != "encoded"
            shape = (*universe.sizes(predicate), *(own or ())) if fixed else None
            found[name] = Wanted(shape, predicate.type.prim, predicate.type.choices)
    return found


def _validated_carefully(universe: Universe, values: Mapping[str, Any]) -> dict[str, Tensor]:
    """`validated`, one predicate after the other, with words for all that is wrong."""
    domain = universe.domain
    named = {str(name).lower(): value for name, value in values.items()}
    problems = [*_unwelcome(domain, named), *_missing(domain, named)]
    tensors = {}
    for name, predicate in domain.predicates.items():
        if name in named and predicate.role in ("observed", "raw", "encoded"):
            try:
                tensors[name] = _checked(universe, predicate, named[name]).unsqueeze(0)
            except Error as bad:
                problems += bad.diagnostics
    if problems:
        raise Error(problems)
    return tensors


def _unwelcome(domain: Domain, named: Iterable[str]) -> Iterable[Diagnostic]:
    for name in named:
        predicate = domain.predicates.get(name)
        if predicate is None:
            known = [p.name for p in domain.predicates.values() if p.role in ("observed", "raw", "encoded")]
            yield Diagnostic(
                "unknown-predicate",
                f"the domain has no predicate `{name}`",
                help=did_you_mean(name, known) or f"its predicates: {', '.join(known)}",
                file=domain.source.name,
            )
        elif predicate.role in ("derived", "external", "cost"):
            why = {
                "derived": "is derived, and computed in every state",
                "external": "is an external function, which `Model(modules=…)` takes",
                "cost": "is not part of a state",
            }[predicate.role]
            yield Diagnostic("derived-value", f"`{name}` {why}", predicate.span, help="leave it out")


def _missing(domain: Domain, named: Mapping[str, Any]) -> Iterable[Diagnostic]:
    needed = _raw_needed(domain, named)
    for name, predicate in domain.predicates.items():
        if name not in named and (predicate.role == "observed" or name in needed):
            axes = " × ".join(str(p.type) for p in predicate.parameters) or "none"
            yield Diagnostic(
                "missing-predicate",
                f"`values` lacks `{name}`",
                predicate.span,
                help=f"give an array of {predicate.type}, with the object axes: {axes}",
            )


def _raw_needed(domain: Domain, given: Mapping[str, Any]) -> set[str]:
    """The raw predicates that those encoded ones read that are not given."""
    encoded = [p.name for p in domain.predicates.values() if p.role == "encoded" and p.name not in given]
    inputs = domain.analysis.encoder_inputs(encoded, given)
    return {name for name in inputs if domain.predicates[name].role == "raw"}


def _checked(universe: Universe, predicate: Predicate, value: Any) -> Tensor:
    tensor = _array(predicate, value)
    soft = predicate.role == "encoded" and tensor.is_floating_point()
    tensor = _shaped(universe, predicate, tensor, soft=soft)
    kind = predicate.type.prim
    if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
        where = _first(universe, predicate, ~torch.isfinite(tensor))
        found = "NaN" if bool(torch.isnan(tensor).any()) else "infinite"
        raise _bad(predicate, "not-finite", f"`{where}` is {found}")
    if kind == "float32":
        tensor = tensor.to(torch.float32)
        if not bool(torch.isfinite(tensor).all()):
            where = _first(universe, predicate, ~torch.isfinite(tensor))
            raise _bad(predicate, "not-finite", f"`{where}` is too large for a float32")
        return tensor
    if soft and _is_soft(predicate, tensor):
        return tensor.to(torch.float32)
    return _whole(universe, predicate, tensor)


def _is_soft(predicate: Predicate, tensor: Tensor) -> bool:
    """Whether the value of an encoded Boolean or int is given as truth values or probabilities."""
    if predicate.type.prim == "bool":
        return bool(((tensor >= 0) & (tensor <= 1)).all()) and bool((tensor != tensor.round()).any())
    return is_categorical(predicate.type) and tensor.dim() > _rank(predicate)


def _rank(predicate: Predicate) -> int:
    return len(predicate.parameters) + len(predicate.type.shape or (0,))


def _whole(universe: Universe, predicate: Predicate, tensor: Tensor) -> Tensor:
    """Booleans and ints, which must be 0 or 1, whole, and within their choices."""
    type_ = predicate.type
    if type_.prim == "bool":
        bad = (tensor != 0) & (tensor != 1)
    else:
        if tensor.is_floating_point():
            bad = (tensor != tensor.round()) | (tensor.abs() >= 2.0**63)
        else:
            bad = (tensor == saturating.LARGEST) | (tensor == saturating.SMALLEST)
        upper = type_.choices
        if upper is not None:
            bad |= (tensor < 0) | (tensor >= upper)
    if bool(bad.any()):
        where = _first(universe, predicate, bad)
        found = tensor[bad].flatten()[0].item()
        raise _bad(predicate, "value-out-of-range", out_of_range(f"`{where}`", type_, found))
    return tensor.to(torch.bool if type_.prim == "bool" else torch.int64)


def _array(predicate: Predicate, value: Any) -> Tensor:
    """Whatever the user gave as a tensor of numbers."""
    if isinstance(value, Tensor) and not saturating.is_unsigned(value):
        # A copy, as of other arrays: an environment may go on to change its own.
        tensor = value.to_dense() if value.layout != torch.strided else value
        tensor = tensor.to("cpu", copy=True)
    else:
        try:
            array = np.asarray(value)
        except (ValueError, TypeError, RuntimeError) as why:
            message = f"`{predicate.name}` is no array: its rows differ in length"
            raise _bad(predicate, "bad-value", message) from why
        if array.dtype.kind == "O" and all(isinstance(item, int) for item in array.flat):
            raise _bad(predicate, "value-out-of-range", f"`{predicate.name}` is beyond the ints of 64 bits")
        if array.dtype.kind not in "biuf":
            found = type(value).__name__ if array.dtype.kind == "O" else str(array.dtype)
            raise _bad(predicate, "bad-value", f"`{predicate.name}` is no array of numbers, but {found}")
        if saturating.is_unsigned(array):
            array = array.astype(np.float64) if predicate.type.prim == "float32" else saturating.signed(array)
        tensor = torch.from_numpy(np.array(array))
    if tensor.is_complex():
        raise _bad(predicate, "bad-value", f"`{predicate.name}` holds complex numbers")
    return tensor


def _shaped(universe: Universe, predicate: Predicate, tensor: Tensor, *, soft: bool) -> Tensor:
    """The tensor with one axis an object argument, then the value's own axes."""
    axes = universe.sizes(predicate)
    own = predicate.type.shape
    found = tuple(tensor.shape)
    if 0 in axes and tensor.numel() == 0:
        rest = found[len(axes) :] if own is None else own
        return tensor.reshape((*axes, *rest))
    probabilities = (
        soft and is_categorical(predicate.type) and found == (*axes, *(own or ()), predicate.type.choices)
    )
    if own is None:
        fits = found[: len(axes)] == axes and len(found) > len(axes)
    else:
        fits = found == (*axes, *own) or probabilities
    if fits:
        return tensor
    wanted = wanted_shape(predicate.type, axes)
    parts = [f"{n} of type {p.type}" for n, p in zip(axes, predicate.parameters, strict=True)]
    objects = f" ({', '.join(parts)})" if parts else ""
    raise _bad(
        predicate,
        "shape-mismatch",
        f"`{predicate.name}` has the shape {found}, and {wanted} was wanted{objects}",
        help=f"one axis an object argument, constants first, then the axes of {predicate.type}",
    )


def _first(universe: Universe, predicate: Predicate, bad: Tensor) -> str:
    """The first ground atom that something is wrong with, as the author would write it."""
    at = bad.nonzero()[0].tolist()
    names = [universe.members(type_)[i] for type_, i in zip(predicate.object_types, at, strict=False)]
    return f"({' '.join([predicate.name, *names])})"


def _bad(predicate: Predicate, code: str, message: str, help: str | None = None) -> Error:
    return error(code, message, predicate.span, help=help, label="declared here" if predicate.span else "")


def values_of(problem: Problem, universe: Universe) -> dict[str, Any]:
    """The initial state of a problem as arrays: Booleans that are not listed are false."""
    listed: dict[str, dict[tuple[str, ...], Any]] = {}
    for fact, value in problem.init.items():
        listed.setdefault(fact[0], {})[fact[1:]] = value
    values = {}
    needed = _raw_needed(problem.domain, listed)
    for name, predicate in problem.domain.predicates.items():
        given = listed.get(name, {})
        wanted = (
            predicate.role == "observed" or name in needed or (given and predicate.role in ("raw", "encoded"))
        )
        if wanted:
            values[name] = _filled(universe, predicate, given)
    return values


def _filled(universe: Universe, predicate: Predicate, given: Mapping[tuple[str, ...], Any]) -> Any:
    axes = [universe.members(type_) for type_ in predicate.object_types]
    shape = tuple(map(len, axes))
    if predicate.type.is_bool:
        truths = np.zeros(shape, dtype=np.bool_)
        for objects, truth in given.items():
            truths[tuple(names.index(name) for names, name in zip(axes, objects, strict=True))] = truth
        return truths
    flat = [given.get(objects) for objects in product(*axes)]
    if None in flat:
        where = " ".join([predicate.name, *list(product(*axes))[flat.index(None)]])
        raise error(
            "undefined-value",
            f"`({where})` has no value in the initial state",
            predicate.span,
            help=f"add `(= ({where}) …)` to `:init`",
        )
    array = np.array(flat)
    own = array.shape[1:] if flat else predicate.type.shape or ()
    return array.reshape((*shape, *own))

"""Errors planted on purpose, one at a time: the checks must find each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from tests.agree.run import Batch, first_seed

from pdsketch.kernels.csr import CSR


@dataclass(frozen=True)
class Fault:
    """A wrong version of something in the package, and the kind of cases that should notice it.

    It is found within a few thousand cases, and if ``soon``, within a few dozen.
    ``place`` is a module and a name in it, dotted for what lies inside; ``wrong`` makes the wrong version
    from the right one.
    """

    name: str
    kind: str
    place: tuple[str, str]
    wrong: Callable[[Any], Any]
    soon: bool = True


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Within, the fault is there."""
    module, dotted = fault.place
    *outer, last = dotted.split(".")
    holder: Any = import_module(module)
    for name in outer:
        holder = holder[name] if isinstance(holder, dict) else getattr(holder, name)
    right = holder[last] if isinstance(holder, dict) else getattr(holder, last)
    _put(holder, last, fault.wrong(right))
    try:
        yield
    finally:
        _put(holder, last, right)


def look_for(fault: Fault, cases: int, seed: int = 0) -> tuple[int, str | None]:
    """Plant a fault and check cases until one differs: how many it took, and what was said, if anything."""
    first = first_seed(fault.kind, seed)
    batch = Batch(fault.kind, range(first, first + cases))
    with planted(fault):
        for at in batch.seeds:
            batch.one(at)
            if batch.found:
                return batch.figures.cases, batch.found[0][1]
    return cases, None


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    else:
        setattr(holder, name, value)


def _costs_up(right: Any) -> Any:
    """Costs that are no whole numbers are rounded up, and no longer admissible."""

    def wrong(costs: Any) -> Any:
        scaled, scale = right(costs)
        exact = costs * scale
        return np.where(np.abs(exact - scaled) > 1e-9 * scale, scaled + 1, scaled), scale

    return wrong


def _first_condition_lost(right: Any) -> Any:
    """The first operator of a grounded task loses a condition."""

    def wrong(*args: Any, **kwargs: Any) -> Any:
        task = right(*args, **kwargs)
        if not len(task.preconditions.items):
            return task
        rows = task.preconditions
        row = int((rows.starts[1:] > 0).argmax())
        starts = rows.starts.copy()
        starts[row + 1 :] -= 1
        items = [x for i, x in enumerate(rows.items.tolist()) if i != rows.starts[row]]
        return replace(task, preconditions=CSR(starts, np.array(items, np.int32)))

    return wrong


def _without_g(right: Any) -> Any:
    """A* that forgets what it has paid."""

    def wrong(self: Any, g: Any, h: Any) -> Any:
        return right(self, 0 * g, h)

    return wrong


def _negations_lost(right: Any) -> Any:
    """A formatter that loses the first negation of a text."""
    return lambda source: right(source).replace("(not (", "(and (", 1)


def _adds_before_deletes(right: Any) -> Any:
    """Effects in the wrong order: what is added and deleted is gone."""

    def wrong(moment: Any, step: Any) -> Any:
        after = right(moment, step)
        fired = moment.updates(
            moment.static.domain.actions[step[0]].effects,
            import_module("pdsketch.lang.semantics").bind(moment.static, step),
        )
        for update, fact, _ in fired:
            if update.op == "delete":
                after.pop(fact, None)
        return after

    return wrong


def _effects_rolled(right: Any) -> Any:
    """Operators have each other's effects."""

    def wrong(task: Any) -> Any:
        found = right(task)
        return found._replace(effects=np.roll(found.effects, 1))

    return wrong


def _always_fires(right: Any) -> Any:
    """Conditional assignments over tensors that do not ask for their condition."""

    def wrong(old: Any, new: Any, gate: Any, type_: Any, *, crisp: bool) -> Any:
        return right(old, new, gate | True if crisp else gate * 0 + 1, type_, crisp=crisp)

    return wrong


def _never_strict(right: Any) -> Any:
    """Comparisons of tensors that take < for <=."""

    def wrong(logic: Any, op: str, left: Any, other: Any) -> Any:
        return right(logic, {"<": "<=", ">": ">="}.get(op, op), left, other)

    return wrong


def _reopens_nothing(right: Any) -> Any:
    """A* that keeps the first way to a state."""
    return lambda options, heuristic, patience: right(options, heuristic, patience)._replace(reopen=False)


def _either_first(right: Any) -> Any:
    """A hierarchy for which `either` means the first of its types."""

    def wrong(self: Any, type_: Any, objects: Any) -> Any:
        return right(self, replace(type_, names=type_.names[:1]), objects)

    return wrong


def _types_ignored(right: Any) -> Any:
    """A validator that takes objects of a wrong type."""
    return lambda domain, universe, action, parameter, given: given


FAULTS = (
    Fault(
        "< taken for <= in the reference",
        "reference",
        ("pdsketch.lang.evaluation", "_COMPARE.<"),
        lambda right: lambda a, b: a <= b,
    ),
    Fault(
        "deletes win over adds in the reference",
        "reference",
        ("tests.agree.graph", "apply_at"),
        _adds_before_deletes,
    ),
    Fault(
        "exists over tensors is forall",
        "formula",
        ("pdsketch.tensor.compile.logic", "Crisp.some"),
        lambda right: lambda self, a, axes: a.all(axes[0]) if len(axes) == 1 else a.all(axes),
    ),
    Fault(
        "a Łukasiewicz `or` that is its `and`",
        "formula",
        ("pdsketch.tensor.compile.logic", "Lukasiewicz.disj"),
        lambda right: lambda self, a, b: (a + b - 1.0).clamp(min=0.0),
    ),
    Fault(
        "tensor comparisons that are not strict",
        "formula",
        ("pdsketch.tensor.compile.lower", "compare"),
        _never_strict,
    ),
    Fault(
        "conditional effects over tensors that always fire",
        "step",
        ("pdsketch.tensor.compile.effects", "blended"),
        _always_fires,
    ),
    Fault(
        "an operator of the grounded task that lost a condition",
        "ground",
        ("tests.agree.checks_task", "ground"),
        _first_condition_lost,
    ),
    Fault(
        "operators with each other's effects in the packed kernels",
        "packed",
        ("tests.agree.checks_task", "make_successor_generator"),
        _effects_rolled,
    ),
    Fault(
        "scaled costs rounded up",
        "relaxed",
        ("pdsketch.heuristics.relaxation", "scale_costs"),
        _costs_up,
        soon=False,
    ),
    Fault(
        "greedy search that calls itself A*",
        "latent",
        ("pdsketch.search.latent.heuristics", "Order.priority"),
        _without_g,
        soon=False,
    ),
    Fault(
        "`either` that means its first type",
        "reference",
        ("pdsketch.lang.types", "Hierarchy.members"),
        _either_first,
    ),
    Fault(
        "a validator that takes any argument",
        "reference",
        ("pdsketch.lang.steps", "object_of"),
        _types_ignored,
        soon=False,
    ),
    Fault(
        "A* that keeps the first way to a state",
        "search",
        ("pdsketch.search.packed.engine", "_settings"),
        _reopens_nothing,
        soon=False,
    ),
    Fault(
        "a formatter that loses a negation",
        "fmt",
        ("tests.agree.checks_text", "format_source"),
        _negations_lost,
    ),
)

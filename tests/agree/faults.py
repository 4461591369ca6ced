"""Errors planted on purpose, one at a time: the checks must find each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A wrong version of something in the package, and the kind of cases that should notice it.

    ``place`` is a module and a name in it, dotted for what lies inside; ``wrong`` makes the wrong version
    from the right one.
    """

    name: str
    kind: str
    place: tuple[str, str]
    wrong: Callable[[Any], Any]


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


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    else:
        setattr(holder, name, value)


def _swapped(name: str) -> Callable[[Any], Any]:
    """The method of that name in the place of another."""
    return lambda right: name


def _costs_up(right: Any) -> Any:
    """Costs that are no whole numbers are rounded up, and no longer admissible."""

    def wrong(costs: Any) -> Any:
        import numpy as np

        scaled, scale = right(costs)
        exact = costs * scale
        return np.where(np.abs(exact - scaled) > 1e-9 * scale, scaled + 1, scaled), scale

    return wrong


def _first_condition_lost(right: Any) -> Any:
    """The first operator of a grounded task loses a condition."""

    def wrong(*args: Any, **kwargs: Any) -> Any:
        from pdsketch.task.task import Rows

        task = right(*args, **kwargs)
        if not len(task.preconditions.items):
            return task
        rows = task.preconditions
        row = int((rows.starts[1:] > 0).argmax())
        starts = rows.starts.copy()
        starts[row + 1 :] -= 1
        items = [x for i, x in enumerate(rows.items.tolist()) if i != rows.starts[row]]
        import numpy as np

        return replace(task, preconditions=Rows(starts, np.array(items, np.int32)))

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
            moment.world.domain.actions[step[0]].effects,
            import_module("pdsketch.lang.semantics").bind(moment.world, step),
        )
        for update, fact, _ in fired:
            if update.op == "delete":
                after.pop(fact, None)
        return after

    return wrong


def _masks_off(right: Any) -> Any:
    """The packed state keeps what is no basic fact."""

    def wrong(task: Any) -> Any:
        import numpy as np

        found = right(task)
        return found._replace(effects=np.roll(found.effects, 1) if len(found.effects) > 1 else found.effects)

    return wrong


FAULTS = (
    Fault(
        "< taken for <= in the reference",
        "reference",
        ("pdsketch.lang.moment", "_COMPARE.<"),
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
        ("pdsketch.tensor.logic", "Crisp.some"),
        lambda right: lambda self, a, axes: a.all(axes[0]) if len(axes) == 1 else a.all(axes),
    ),
    Fault(
        "a Łukasiewicz `or` that is the maximum of the negations",
        "formula",
        ("pdsketch.tensor.logic", "Lukasiewicz.disj"),
        lambda right: lambda self, a, b: (a + b - 1.0).clamp(min=0.0),
    ),
    Fault(
        "tensor comparisons that are not strict",
        "formula",
        ("pdsketch.tensor.lower", "compare"),
        lambda right: lambda logic, op, left, right_: right(logic, {"<": "<=", ">": ">="}.get(op, op), left, right_),
    ),
    Fault(
        "conditional effects over tensors that always fire",
        "step",
        ("pdsketch.tensor.effects", "blended"),
        lambda right: lambda old, new, gate, type_, *, crisp: right(old, new, gate | True if crisp else gate * 0 + 1, type_, crisp=crisp),
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
        ("tests.agree.checks_task", "prepare_operators"),
        _masks_off,
    ),
    Fault(
        "scaled costs rounded up",
        "relaxed",
        ("pdsketch.heuristics.relaxation", "scale_costs"),
        _costs_up,
    ),
    Fault(
        "greedy search that calls itself A*",
        "latent",
        ("pdsketch.search.latent.engine", "Engine._priority"),
        _without_g,
    ),
    Fault("a formatter that loses a negation", "fmt", ("tests.agree.checks_text", "format_source"), _negations_lost),
)

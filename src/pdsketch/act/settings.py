"""What a policy is given, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from pdsketch.lang import Domain, Predicate, did_you_mean, error
from pdsketch.tensor import State, tolerance_of

# How an observed state differs from the predicted one.


@final
@dataclass(frozen=True, slots=True)
class Deviation:
    """One variable that was not observed as predicted.

    ``amount`` is the largest difference of a float, and 1 for a Boolean or an
    int; ``objects`` names the variable that differs most, ``count`` how many of
    its predicate do.
    """

    predicate: str
    objects: tuple[str, ...]
    amount: float
    count: int

    def __str__(self) -> str:
        where = " ".join((self.predicate, *self.objects))
        more = f" and {self.count - 1} more" if self.count > 1 else ""
        return f"({where}){more}: off by {self.amount:g}"


Tolerance = float | Mapping[str, float] | None
"""One number for all float predicates, numbers by predicate, or None."""


def deviations(
    predicted: State, observed: State, tolerance: Tolerance = None, notes: Mapping[str, Any] | None = None
) -> tuple[Deviation, ...]:
    """The state variables that differ by more than is tolerated.

    ``predicted`` and ``observed`` are states of the same objects. ``tolerance`` is one number for all floats,
    or numbers by predicate. What it does not say is the tolerance of the type, or the noise of the encoder as
    a model's ``notes`` record it, whichever is larger.
    """
    found = []
    for predicate in predicted.domain.state_predicates:
        expected = predicted[predicate.name].detach().cpu()
        seen = observed[predicate.name].detach().cpu()
        bound = _bound(predicate, tolerance, notes or {})
        if predicate.type.prim == "float32":
            off = (expected.double() - seen.double()).abs()
        else:
            off = (expected != seen).double()
            bound = 0.5
        axes = len(predicate.parameters)
        off = off.flatten(axes).amax(-1) if off.dim() > axes and off.numel() else off
        if off.numel() == 0 or not bool((off > bound).any()):
            continue
        worst = int(off.argmax())
        index = torch.unravel_index(torch.tensor(worst), off.shape) if axes else ()
        members = [observed.members(type_) for type_ in predicate.object_types]
        objects = tuple(names[int(i)] for names, i in zip(members, index, strict=True))
        found.append(Deviation(predicate.name, objects, float(off.max()), int((off > bound).sum())))
    return tuple(found)


def _bound(predicate: Predicate, tolerance: Tolerance, notes: Mapping[str, Any]) -> float:
    if isinstance(tolerance, Mapping):
        tolerance = tolerance.get(predicate.name)
    return tolerance_of(notes, predicate) if tolerance is None else tolerance


Controller = Callable[..., Any]
"""``controller(env, *args)`` runs the primitive policy of an action; returns whether it was executed."""

LOOPS = ("closed", "open")
"""How a policy acts: *closed* watches and replans; *open* carries out one plan whatever happens."""


def check_loop(loop: Any, max_replans: Any) -> None:
    """Refuse settings that are none."""
    if loop not in LOOPS:
        raise error(
            "bad-setting",
            f"`loop` is `closed` or `open`, and {loop!r:.40} is given",
            help=did_you_mean(str(loop), LOOPS),
        )
    if max_replans is not None and not is_count(max_replans):
        raise error(
            "bad-limit", f"`max_replans` is a whole number and not negative; {max_replans!r:.40} is given"
        )


def check_explore(explore: Any) -> None:
    """Refuse what is no least truth."""
    if explore is not None and (
        isinstance(explore, bool) or not isinstance(explore, int | float) or not 0 <= explore <= 0.5
    ):
        raise error(
            "bad-setting",
            f"`explore` is a truth from 0 to 0.5, or None; {explore!r:.40} is given",
            help="explore=0.2 tries steps whose preconditions have that truth, where there is no plan",
        )


def is_count(value: Any) -> bool:
    """Whether a value is a whole number and not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_controllers(given: Any, actions: Mapping[str, Any]) -> dict[str, Controller]:
    """The controllers by their action's name, in lower case as the domain has it."""
    if not isinstance(given, Mapping):
        found = type(given).__name__
        raise error("bad-controller", f"`controllers` maps actions to functions, and is a {found}")
    named = {str(name).lower(): controller for name, controller in given.items()}
    for name, controller in named.items():
        if name not in actions:
            raise error(
                "unknown-action",
                f"a controller is given for `{name}`, and the domain has no such action",
                help=did_you_mean(name, actions),
            )
        if not callable(controller):
            found = type(controller).__name__
            raise error("bad-controller", f"the controller of `{name}` is a {found}, and no function")
    return named


def check_tolerance(given: Any, domain: Domain) -> Tolerance:
    """A tolerance as it was given, checked; predicates in lower case as the domain has them."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return _not_negative(given, "`tolerance`")
    floats = [p.name for p in domain.state_predicates if p.type.prim == "float32"]
    named = {str(name).lower(): value for name, value in given.items()}
    for name in named:
        if name not in floats:
            known = f"its float variables: {', '.join(floats)}" if floats else "it has no float variables"
            raise error(
                "unknown-predicate",
                f"a tolerance is given for `{name}`, and the domain has no such float variable",
                help=did_you_mean(name, floats) or known,
            )
    return {name: _not_negative(value, f"the tolerance of `{name}`") for name, value in named.items()}


def _not_negative(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise error(
            "bad-tolerance",
            f"{what} is a number and not negative; {value!r:.40} is given",
            help='give one number, or numbers by predicate: tolerance={"item-pose": 0.1}',
        )
    return float(value)

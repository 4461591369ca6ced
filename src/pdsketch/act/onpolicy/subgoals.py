"""What there is to try on the way to a goal that cannot be planned for yet.

The success of a goal such as *face a red ball* teaches what red is, if the robot happens to face one. So
the parts of the goal are pursued one by one, of every object that they could be about: its atoms are made
true (*face item#3*), and the state variables on which it depends are changed (*move item#3*). The model
knows how to do that as soon as it knows its transitions, which any walk teaches; what the parts have to do
with the goal is the world's word in the states that they lead to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import final

from pdsketch.lang import (
    Apply,
    Domain,
    Expr,
    Object,
    ObjectType,
    Variable,
    plain,
    short,
    shown,
    substitute,
    walk,
)
from pdsketch.tensor import State

MOST_NUMBERS = 16
"""A variable of more numbers (a picture) is not asked to change: any noise would do. Set by hand."""


@final
@dataclass(frozen=True, slots=True)
class Subgoal:
    """A predicate of certain objects: to be made true, or to be given another value than it has."""

    predicate: str
    objects: tuple[str, ...]

    def formula(self, state: State) -> str | None:
        """The subgoal as a goal for this state; None where it cannot be put as one."""
        predicate = state.domain.predicates[self.predicate]
        atom = f"({' '.join((self.predicate, *self.objects))})"
        if predicate.role == "derived":
            return atom
        members = map(state.members, predicate.object_types)
        at = tuple(names.index(name) for names, name in zip(members, self.objects, strict=True))
        value = state[self.predicate][at]
        if predicate.type.is_bool:
            return f"(not {atom})" if bool(value) else atom
        if value.numel() > MOST_NUMBERS:
            return None
        return f"(not (= {atom} {shown(short(plain(value.tolist())))}))"


def subgoals(goal: Expr, state: State) -> dict[str, tuple[Subgoal, ...]]:
    """By predicate, what can be tried of the atoms of a goal and of the variables that they depend on."""
    found: dict[str, dict[tuple[str, ...], Subgoal]] = {}
    for atom in _read(goal, state.domain):
        for objects in product(*(_named(argument, state) for argument in atom.args)):
            found.setdefault(atom.predicate, {}).setdefault(objects, Subgoal(atom.predicate, objects))
    return {name: tuple(ground.values()) for name, ground in found.items()}


def _read(goal: Expr, domain: Domain) -> Iterator[Apply]:
    """The predicates that a goal names and that some action can change, through bodies too, each once."""
    agenda, seen = [goal], set[Apply]()
    while agenda:
        for node in walk(agenda.pop()):
            if not isinstance(node, Apply) or node in seen:
                continue
            seen.add(node)
            predicate = domain.predicates[node.predicate]
            if predicate.role == "derived" and predicate.body is not None:
                names = (parameter.name for parameter in predicate.parameters)
                agenda.append(substitute(predicate.body, dict(zip(names, node.args, strict=True))))
            if _can_change(domain, node):
                yield node


def _can_change(domain: Domain, atom: Apply) -> bool:
    """Whether this is about objects, and a truth or an observed variable that the actions write."""
    predicate, written = domain.predicates[atom.predicate], domain.analysis.written
    if not all(isinstance(a, Object) or isinstance(a.type, ObjectType) for a in atom.args):
        return False
    if predicate.role == "derived":
        return predicate.type.is_bool and not written.isdisjoint(
            domain.analysis.predicate_reads(atom.predicate)
        )
    return predicate.role == "observed" and atom.predicate in written


def _named(argument: Expr, state: State) -> tuple[str, ...]:
    """The objects that an argument can stand for."""
    if isinstance(argument, Object):
        return (argument.name,)
    assert isinstance(argument, Variable)
    assert isinstance(argument.type, ObjectType)
    return state.members(argument.type)

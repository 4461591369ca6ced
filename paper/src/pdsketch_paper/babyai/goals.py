"""Goals as formulas: Minigrid's missions, and kinds that no mission states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pdsketch.lang import Diagnostic, Error
from pdsketch_paper.babyai.observation import Observation, Scene

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
"""Minigrid's colours in the order of their codes."""

_ACHIEVED = {
    "GoToInstr": "(robot-facing agent ?o)",
    "PickupInstr": "(robot-holding agent ?o)",
    "OpenInstr": "(is-open ?o)",
}


def mission_goal(env: Any, scene: Scene) -> str:
    """The mission of an environment that was just reset, as a formula over the sketches' predicates."""
    return instruction_goal(env.instrs, scene)


def instruction_goal(instruction: Any, scene: Scene) -> str:
    """*Go to*, *pick up* or *open* what a description fits, or two of them at once (``and``)."""
    kind = type(instruction).__name__
    if kind == "AndInstr":
        parts = (instruction_goal(part, scene) for part in (instruction.instr_a, instruction.instr_b))
        return f"(and {' '.join(parts)})"
    if kind not in _ACHIEVED:
        raise _not_a_state(kind)
    return something([_ACHIEVED[kind], *described(instruction.desc, scene)])


def described(description: Any, scene: Scene) -> list[str]:
    """The conditions on ``?o`` that Minigrid's `ObjDesc` stands for.

    A location (*on your left*) is relative to where the agent stood at the
    start, so that it is not a property of later states: the things that the
    verifier took it to mean are named.
    """
    conditions = []
    if description.color is not None:
        conditions.append(f"(is-{description.color} ?o)")
    if description.type is not None:
        conditions.append(f"(is-{description.type} ?o)")
    if description.loc is not None:
        meant = (
            f"(= ?o {name})"
            for name, item in zip(scene.names, scene.items, strict=True)
            if any(item is other for other in description.obj_set)
        )
        conditions.append(f"(or {' '.join(meant)})")
    return conditions


def something(conditions: Iterable[str]) -> str:
    """There is an item ``?o`` of which all conditions hold."""
    return f"(exists (?o - item) (and {' '.join(conditions)}))"


def _not_a_state(kind: str) -> Error:
    wanted = ", ".join(sorted(_ACHIEVED))
    return Error(
        [
            Diagnostic(
                code="unsupported-mission",
                message=f"a mission of Minigrid's class `{kind}` is not a condition on one state",
                help=f"use a level whose missions are of the classes {wanted}",
            )
        ]
    )


Thing = tuple[str, str]
"""A kind and a colour."""

Maker = Callable[[Sequence[Thing], np.random.Generator], str | None]
_KIND_OF_CODE = {4: "door", 5: "key", 6: "ball", 7: "box"}


def things_of(observation: Observation) -> list[Thing]:
    """What stands in the room."""
    return [(_KIND_OF_CODE[int(kind)], COLOURS[int(colour)]) for kind, colour, _ in observation.item_code]


def _pick(things: Sequence[Thing], rng: np.random.Generator, doors: bool) -> Thing | None:
    among = [thing for thing in things if (thing[0] == "door") == doors]
    return among[int(rng.integers(len(among)))] if among else None


def _is(thing: Thing, variable: str = "?o") -> str:
    return f"(is-{thing[1]} {variable}) (is-{thing[0]} {variable})"


def _held(thing: Thing) -> str:
    return something(["(robot-holding agent ?o)", _is(thing)])


def _faced(thing: Thing) -> str:
    return something(["(robot-facing agent ?o)", _is(thing)])


def _opened(thing: Thing) -> str:
    return something(["(is-open ?o)", _is(thing)])


def _both(of_thing: Callable[[Thing], str], of_door: Callable[[Thing], str]) -> Maker:
    """Something of a thing, and something of a door."""

    def make(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
        thing, door = _pick(things, rng, False), _pick(things, rng, True)
        return f"(and {of_thing(thing)} {of_door(door)})" if thing and door else None

    return make


def open_and_face(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """Door Y open, and facing X."""
    faced, door = _pick(things, rng, False), _pick(things, rng, True)
    return f"(and {_opened(door)} {_faced(faced)})" if faced and door else None


def all_doors_open(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """Every door open."""
    if not any(kind == "door" for kind, _ in things):
        return None
    return "(forall (?o - item) (implies (is-door ?o) (is-open ?o)))"


def colour_in_hand(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """No thing of a colour outside the hand (where there is one such thing, and it can be carried)."""
    for i in rng.permutation(len(COLOURS)).tolist():
        fits = [kind for kind, colour in things if colour == COLOURS[i]]
        if len(fits) == 1 and fits[0] != "door":
            return f"(forall (?o - item) (implies (is-{COLOURS[i]} ?o) (robot-holding agent ?o)))"
    return None


def two_doors_open(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """Two different doors open."""
    if sum(kind == "door" for kind, _ in things) < 2:
        return None
    doors = "(is-door ?a) (is-door ?b) (is-open ?a) (is-open ?b)"
    return f"(exists (?a - item ?b - item) (and (not (= ?a ?b)) {doors}))"


def exactly_one_open(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """A door open, and no other (a quantifier inside another)."""
    door = _pick(things, rng, True)
    if door is None:
        return None
    only = "(forall (?b - item) (implies (and (is-door ?b) (is-open ?b)) (= ?a ?b)))"
    held = _pick(things, rng, False)
    also = f" {_held(held)}" if held else ""
    return f"(and (exists (?a - item) (and {_is(door, '?a')} (is-open ?a) {only})){also})"


def face_another_colour(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """Facing a K that is not of colour C."""
    thing = _pick(things, rng, bool(rng.integers(2))) or _pick(things, rng, False)
    if thing is None or not any(kind == thing[0] and colour != thing[1] for kind, colour in things):
        return None
    return something(["(robot-facing agent ?o)", f"(is-{thing[0]} ?o)", f"(not (is-{thing[1]} ?o))"])


def hold_either(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """Hold something of one of two colours that is not a box."""
    first, second = (COLOURS[i] for i in rng.permutation(len(COLOURS))[:2].tolist())
    if not any(kind in ("key", "ball") and colour in (first, second) for kind, colour in things):
        return None
    either = f"(or (is-{first} ?o) (is-{second} ?o))"
    return something(["(robot-holding agent ?o)", either, "(not (is-box ?o))"])


def face_open_door(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """Facing an open door, with something in the hand."""
    held = _pick(things, rng, False)
    if held is None or not any(kind == "door" for kind, _ in things):
        return None
    return f"(and {something(['(robot-facing agent ?o)', '(is-door ?o)', '(is-open ?o)'])} {_held(held)})"


def same_colour(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """Hold one thing and face another of the same colour."""
    held = {colour for kind, colour in things if kind != "door"}
    if not any(sum(other == colour for _, other in things) > 1 for colour in held):
        return None
    pairs = " ".join(f"(and (is-{colour} ?a) (is-{colour} ?b))" for colour in COLOURS)
    return (
        f"(exists (?a - item ?b - item) (and (robot-holding agent ?a) (robot-facing agent ?b) (or {pairs})))"
    )


def doors_of_colour_open(things: Sequence[Thing], rng: np.random.Generator) -> str | None:
    """All doors of a colour open, and nothing else."""
    door = _pick(things, rng, True)
    if door is None or all(colour == door[1] for kind, colour in things if kind == "door"):
        return None
    there, back = f"(implies (is-{door[1]} ?o) (is-open ?o))", f"(implies (is-open ?o) (is-{door[1]} ?o))"
    return f"(forall (?o - item) (implies (is-door ?o) (and {there} {back})))"


UNSEEN: dict[str, Maker] = {
    "hold X, face door Y": _both(_held, _faced),
    "hold X, door Y open": _both(_held, _opened),
    "face X, door Y open": open_and_face,
    "all doors open": all_doors_open,
    "no C thing outside the hand": colour_in_hand,
    "two different doors open": two_doors_open,
    "door Y open and no other, hold X": exactly_one_open,
    "face a K that is not C": face_another_colour,
    "hold a C or D thing, no box": hold_either,
    "hold X, face an open door": face_open_door,
    "hold one thing, face another of its colour": same_colour,
    "the C doors open and no others": doors_of_colour_open,
}
"""The kinds by the name under which results are reported."""

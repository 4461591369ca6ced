"""Missions as goal formulas, read from Minigrid's instruction objects, never from the mission's text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pdsketch.lang import Diagnostic, Error
from pdsketch_paper.babyai.observation import Scene

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

"""States as problems: what a world shows, as a file that any command takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from os import PathLike
from pathlib import PurePath
from typing import Any

from pdsketch.files import write_output
from pdsketch.lang import Data, Expr, Fact, Problem, Source, error, parse_goal, plain, problem_text, short
from pdsketch.tensor.states.state import State


def problem_of(state: State, goal: str | Expr, name: str = "problem") -> Problem:
    """The problem of reaching a goal from a state; Booleans and ints are rounded."""
    if not isinstance(state, State):
        raise error("bad-state", f"a State was wanted, and a {type(state).__name__} was given")
    checked = parse_goal(goal, state.domain, state.universe) if isinstance(goal, str) else goal
    return Problem(
        name,
        state.domain,
        Source(name, ""),
        state.objects,
        state.universe,
        dict(facts_of(state.crisp())),
        checked,
        "cost" if state.domain.has_costs else "unit",
    )


def write_problem(state: State, goal: str | Expr, path: str | PathLike[str]) -> None:
    """Write a state and a goal as a problem file.

    ``load_problem(path, domain).state`` is the state again. Encoded variables are
    written as they are, so that the problem begins from what was encoded.
    """
    name = re.sub(r"[^a-z0-9_-]+", "-", PurePath(path).stem.lower())
    text = problem_text(problem_of(state, goal, name if name[:1].isalpha() else f"problem-{name}"))
    write_output(path, text)


def facts_of(state: State) -> Iterator[tuple[Fact, Data]]:
    """Every ground atom with its value; Booleans that are false are left out."""
    for name, tensor in state.values.items():
        predicate = state.domain.predicates[name]
        axes = [state.members(type_) for type_ in predicate.object_types]
        values: Any = tensor.reshape(-1, *tensor.shape[len(axes) :]).tolist()
        for objects, value in zip(product(*axes), values, strict=True):
            if not predicate.type.is_bool:
                yield (name, *objects), short(plain(value))
            elif value:
                yield (name, *objects), True

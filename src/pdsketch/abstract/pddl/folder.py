"""An export as a folder: ``domain.pddl``, ``problem.pddl``; ``mapping.json`` leads back to the model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, final

from pdsketch.abstract.pddl.task import ExportedTask, exported
from pdsketch.files import make_folder, read_json, write_file
from pdsketch.lang import (
    Diagnostic,
    Error,
    Expr,
    Step,
    did_you_mean,
    error,
    plain,
    read_plan,
    read_source,
    span_of_step,
)
from pdsketch.progress import ticking
from pdsketch.tensor import Model, State

MAPPING: Final = "mapping.json"
FORMAT: Final = 1

Name = str | PathLike[str]


@ticking("exporting")
def export(
    model: Model,
    state: State | None = None,
    goal: str | Expr | None = None,
    folder: Name | None = None,
    *,
    costs: bool | None = None,
    force: bool = False,
) -> ExportedTask:
    """A ``model`` as PDDL that any planner reads; with a ``state`` and a ``goal``, also a problem for these.

    A model whose state is truths is written as it is: lifted, in the author's names and types. One with
    values is written over codes of these. A ``folder`` gets ``domain.pddl``, ``problem.pddl`` where there is
    one, and ``mapping.json``; `read_abstract_plan` turns a planner's plan into steps of the model. One that
    holds something is refused unless ``force`` is given. A name that ends in ``.pddl`` is a file for the
    domain alone. ``costs`` as in `plan`: what actions cost, by default where the sketch says so.
    """
    if folder is not None:
        check_folder(folder, force=force)
    task = exported(model, state, goal, costs=costs)
    if folder is None:
        return task
    if is_file(folder):
        if task.problem_text is not None:
            why = "a problem, or what is known of codes, does not fit into a file of a domain"
            raise error("bad-option", why, file=fspath(folder), help="name a folder")
        write_file(Path(folder), task.domain_text)
        return task
    place = make_folder(folder)
    write_file(place / "domain.pddl", task.domain_text)
    if task.problem_text is not None:
        write_file(place / "problem.pddl", task.problem_text)
    write_file(place / MAPPING, json.dumps(_mapping(model, task), indent=1) + "\n")
    return task


def is_file(name: Name) -> bool:
    """Whether an export is to be a file, which takes a domain alone."""
    return fspath(name).endswith(".pddl")


def check_folder(folder: Name, *, force: bool) -> None:
    """Refuse at once, before much work is done, a folder that holds something, or a file that is there."""
    if not force and (os.path.isfile(folder) or (os.path.isdir(folder) and os.listdir(folder))):
        raise error(
            "folder-exists",
            "this is there already" if os.path.isfile(folder) else "this folder holds something already",
            file=fspath(folder),
            help="name another, or write into it with --force (force=True)",
        )


def read_abstract_plan(folder: Name, plan_file: Name) -> list[Step]:
    """The steps of the model that a plan for an exported problem stands for.

    ``plan_file`` is one as planners write it: ``(action object …)`` a line, comments behind ``;``.
    """
    mapping = _Mapping(folder)
    source = read_source(plan_file)
    steps = read_plan(source, {*mapping.objects, *mapping.codes})
    found: list[Step] = []
    for number, (action, *arguments) in enumerate(steps):
        try:
            found.append((mapping.action(action), *map(mapping.argument, arguments)))
        except KeyError as unknown:
            (word,) = unknown.args
            message = f"the export has no `{word}`"
            help_ = did_you_mean(str(word), mapping.names) or "is this a plan for another problem?"
            place = span_of_step(source, number)
            raise Error([Diagnostic("bad-plan", message, place, help=help_)]) from None
    return found


def _mapping(model: Model, task: ExportedTask) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "domain": model.domain.name,
        "actions": dict(task.actions),
        "objects": dict(task.objects),
        "codes": {name: {"type": code.type, "value": code.value} for name, code in task.codes.items()},
        "agreement": dict(task.agreement),
        "left_out": dict(task.left_out),
    }


@final
class _Mapping:
    """What the names of an export stand for, as its folder says."""

    def __init__(self, folder: Name) -> None:
        path = Path(folder, MAPPING)
        found = read_json(path, "bad-mapping")
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise _bad(path, "this is no mapping that `pdsketch export` wrote")
        self._actions = _texts(found, "actions", path)
        self.objects = _texts(found, "objects", path)
        codes = found.get("codes")
        if not isinstance(codes, dict) or not all(
            isinstance(c, dict) and "value" in c for c in codes.values()
        ):
            raise _bad(path, "`codes` is not what `pdsketch export` writes")
        self.codes: Mapping[str, Any] = codes

    @property
    def names(self) -> list[str]:
        """All that a plan may name."""
        return [*self._actions, *self.objects, *self.codes]

    def action(self, name: str) -> str:
        """The model's action of that name."""
        return self._actions[name]

    def argument(self, name: str) -> Any:
        """The model's object, or the value that a code stands for."""
        return self.objects[name] if name in self.objects else plain(self.codes[name]["value"])


def _texts(found: Mapping[str, Any], key: str, path: Path) -> dict[str, str]:
    part = found.get(key)
    if not isinstance(part, dict) or not all(isinstance(value, str) for value in part.values()):
        raise _bad(path, f"`{key}` is not what `pdsketch export` writes")
    return part


def _bad(path: Path, message: str) -> Error:
    return error("bad-mapping", message, file=fspath(path), help="export the problem again")

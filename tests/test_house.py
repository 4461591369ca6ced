"""What keeps the house in order: a budget of lines for each room, names that stand for one thing.

``tests/sizes.toml`` holds the budgets. They may only fall: one that is far above what is there fails, too.
``python -m tests.test_house --write`` writes what is there into the table, and says what has grown. Whoever
raises a budget says in the commit what was removed for it.

The lists below are what is left to tidy up. They may only get shorter: an entry that is no longer
needed fails, too.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from functools import cache
from math import ceil
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "pdsketch"

PAPER = Path(__file__).parents[1] / "paper" / "src"

TABLE = Path(__file__).parent / "sizes.toml"

HEAD = """\
# Budgets: modules of src/pdsketch, and lines of Python (comments and docstrings included) of the whole, of
# the reproduction, and of each room. They may only fall. Written by `python -m tests.test_house --write`.
"""

SLACK = 0.02
"""A budget is at most this part above what is there, so that it falls along."""

STEP = 10
"""Budgets of lines are multiples of this, which leaves room for a sentence."""

BY_STRING = {"doors", "cli/imports", "cli/main", "cli/modules"}
"""Modules that import others by name: the doors of rooms, and modules that users name."""

UNDOCUMENTED = {"heuristics", "kernels", "search/packed", "task"}
"""Folders in which some public function of four or more parameters does not say what they are."""

MANY = 4
"""Parameters from which on a function says what each of them is."""


@cache
def modules() -> dict[str, ast.Module]:
    found = sorted(ROOT.rglob("*.py"))
    return {
        str(path.relative_to(ROOT).with_suffix("")): ast.parse(path.read_text(encoding="utf-8"))
        for path in found
    }


def lines_in(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def sizes() -> dict[str, int]:
    """What the table bounds, as it is now."""
    rooms = sorted(path.parent for path in ROOT.glob("*/__init__.py"))
    return {
        "modules": len(modules()),
        "whole": lines_in(ROOT),
        "paper": lines_in(PAPER),
        **{room.name: lines_in(room) for room in rooms},
    }


def budgets() -> dict[str, int]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def test_there_is_a_budget_for_each_room_and_for_no_other():
    assert budgets().keys() == sizes().keys()


def test_rooms_keep_to_their_budgets():
    budget = budgets()
    over = {name: size - budget[name] for name, size in sizes().items() if size > budget[name]}
    assert not over, "remove something, or say in the commit why it grows"


def test_budgets_fall_with_their_rooms():
    size = sizes()
    loose = {name: n - size[name] for name, n in budgets().items() if n > size[name] * (1 + SLACK)}
    assert not loose, "run `python -m tests.test_house --write`"


def test_a_public_class_name_stands_for_one_thing():
    homes = defaultdict(list)
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_only_lazy_doors_import_by_name():
    found = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module"
    }
    assert found == BY_STRING


def test_every_module_says_what_it_is():
    empty = {name for name, tree in modules().items() if tree.body and not ast.get_docstring(tree)}
    assert not empty


def test_whoever_takes_many_parameters_says_what_each_of_them_is():
    silent = {
        f"{module}: {name}({', '.join(missing)})"
        for module in modules()
        for name, missing in unexplained(module)
    }
    left = {folder: {line for line in silent if line.startswith(f"{folder}/")} for folder in UNDOCUMENTED}
    assert silent - set().union(*left.values()) == set()
    assert all(left.values()), "a folder is done: take it off the list"


def unexplained(module: str) -> list[tuple[str, list[str]]]:
    """The public functions of a module with many parameters, and those that their docstrings do not name."""
    found = []
    for owner, function in public_functions(modules()[module]):
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        names = [name for name in names if name not in ("self", "cls") and not name.startswith("_")]
        said = ast.get_docstring(function) or ""
        if owner is not None and function.name == "__init__":
            said += ast.get_docstring(owner) or ""
        missing = [name for name in names if not re.search(rf"``{name}\b", said)]
        if len(names) >= MANY and missing:
            found.append((function.name, missing))
    return found


def public_functions(tree: ast.Module) -> list[tuple[ast.ClassDef | None, ast.FunctionDef]]:
    """The functions of a module and the methods of its public classes, without overloads."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    return [
        (owner, node)
        for owner in (None, *classes)
        for node in (tree if owner is None else owner).body
        if isinstance(node, ast.FunctionDef)
        and (node.name[0] != "_" or node.name == "__init__")
        and not any(isinstance(by, ast.Name) and by.id == "overload" for by in node.decorator_list)
    ]


def write() -> None:
    """Put what is there into the table, and say which budgets rise; a table in conflict is written, too."""
    before = {name: int(n) for name, n in re.findall(r"^(\w+) = (\d+)$", TABLE.read_text(), re.MULTILINE)}
    found = {name: n if name == "modules" else STEP * ceil(n / STEP) for name, n in sizes().items()}
    TABLE.write_text(HEAD + "".join(f"{name} = {n}\n" for name, n in found.items()), encoding="utf-8")
    for name, n in found.items():
        old = before.get(name, n)
        if n != old:
            print(f"{name}: {old} -> {n}{' (rises)' if n > old else ''}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.test_house --write")
    write()

"""What keeps the house in order: names that stand for one thing, small modules, imports that a linter sees.

The lists below are what is left to tidy up. They may only get shorter: an entry that is no longer
needed fails, too.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pdsketch

ROOT = Path(pdsketch.__file__).parent

LONGEST = 394
"""Lines of the longest module."""

BY_STRING = {"doors", "cli/imports", "cli/main", "cli/modules", "act/registry"}
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


def test_no_module_outgrows_the_longest():
    lengths = {
        name: len((ROOT / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in modules()
    }
    assert max(lengths.values()) == LONGEST, max(lengths, key=lambda name: lengths[name])


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

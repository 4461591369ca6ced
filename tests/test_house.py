"""What keeps the house in order: names that stand for one thing, small modules, imports that a linter sees.

The lists below are what is left to tidy up. They may only get shorter: an entry that is no longer
needed fails, too.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pdsketch

ROOT = Path(pdsketch.__file__).parent

LONGEST = 386
"""Lines of the longest module."""

BY_STRING = {"doors", "cli/imports", "cli/main", "cli/modules", "act/registry"}
"""Modules that import others by name: the doors of rooms, and modules that users name."""


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

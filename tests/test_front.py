"""`import pdsketch as pds` as type checkers and editors see it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

from tests import typed_user

import pdsketch as pds
from pdsketch.training.options import FitOptions

ROOT = Path(__file__).parents[1]


def imported_for_type_checkers() -> dict[str, str]:
    """The names that are exported (``as`` the same) under ``if TYPE_CHECKING``, with their modules."""
    (block,) = (
        node
        for node in ast.parse(Path(pds.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {
        name.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for name in node.names
        if name.asname == name.name
    }


def test_type_checkers_see_every_public_name_at_the_home_it_is_loaded_from():
    assert imported_for_type_checkers() == pds._HOMES | dict.fromkeys(pds._ROOMS, "pdsketch")
    assert {*pds.__all__} == {*pds._HOMES, *pds._ROOMS, "__version__"}
    assert all(getattr(pds, name) is not None for name in pds.__all__)


def test_the_package_says_that_it_is_typed():
    assert (Path(pds.__file__).parent / "py.typed").is_file()


def test_importing_the_package_loads_nothing_else():
    code = (
        "import sys, pdsketch; print(sorted(m for m in sys.modules if m.startswith(('pdsketch.', 'torch'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_users_script_passes_strict_type_checks_and_slips_in_it_are_refused():
    command = [sys.executable, "-m", "mypy", "--strict", "tests/typed_user.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_type_checkers_see_the_options_of_fit_that_there_are_with_their_types():
    own = get_type_hints(pds.Options)
    assert get_type_hints(FitOptions) == {n: t for n, t in own.items() if n not in ("steps", "seed")}


def test_the_users_script_runs():
    assert typed_user.classical() == [("put", "a", "b")]
    status, cost, counted = typed_user.learned()
    assert status in ("solved", "gave-up")
    assert cost >= 0
    assert counted >= 4

"""`import pdsketch as pds` as type checkers and editors see it."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_type_hints

import pytest
from tests import typed_user

import pdsketch as pds
from pdsketch.doors import names_in
from pdsketch.extras import DISTRIBUTION
from pdsketch.training.options import FitOptions

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"


def stub(package: str) -> dict[str, str]:
    """The names at the door of a package and the modules that they come from."""
    return names_in((SOURCES / package.replace(".", "/") / "__init__.pyi").read_text(encoding="utf-8"))


def rooms() -> list[str]:
    return sorted(str(path.parent.relative_to(SOURCES)) for path in SOURCES.glob("pdsketch/*/__init__.pyi"))


def test_every_public_name_is_there():
    assert {*pds.__all__} == {*stub("pdsketch"), "__version__"}
    assert all(getattr(pds, name) is not None for name in pds.__all__)


@pytest.mark.parametrize("room", rooms())
def test_every_name_at_a_door_is_the_one_of_its_file_and_no_modules(room):
    door = importlib.import_module(room.replace("/", "."))
    files = {path.stem for path in (SOURCES / room).iterdir()}
    for name, home in stub(room).items():
        assert home.startswith(f"{door.__name__}."), f"{name} of {home} stands in another room"
        assert name not in files, f"the file {name}.py hides the {name} of {home}"
        assert getattr(door, name) is getattr(importlib.import_module(home), name)


def test_the_version_is_one():
    def project(path):
        return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]

    ours, papers = project("pyproject.toml"), project("paper/pyproject.toml")
    extension = json.loads((ROOT / "editors/vscode/package.json").read_text(encoding="utf-8"))
    assert {ours["version"], papers["version"], extension["version"]} == {pds.__version__}
    assert ours["name"] == DISTRIBUTION
    assert any(needed.startswith(f"{DISTRIBUTION}>=") for needed in papers["dependencies"])


def test_importing_beside_the_package_of_the_same_import_name_says_so_in_one_sentence(tmp_path):
    package = tmp_path / "pdsketch"
    package.mkdir()
    for name in ("__init__.py", "__init__.pyi", "doors.py", "registration.py"):
        shutil.copy(SOURCES / "pdsketch" / name, package)
    run = [sys.executable, "-S", "-c", "import pdsketch"]  # without what is installed
    for folder in ("pdsketch_planning-0.2.0.dist-info", "pdsketch_paper-0.2.0.dist-info"):
        (tmp_path / folder).mkdir()
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    (tmp_path / "pdsketch-0.1.0.dist-info").mkdir()
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.count("pip uninstall pdsketch pdsketch-planning") == 1
    assert done.stderr.count("\n") == 1


def test_the_package_says_that_it_is_typed():
    assert (Path(pds.__file__).parent / "py.typed").is_file()


def test_importing_the_package_loads_nothing_else():
    code = (
        "import sys, pdsketch; print(sorted(m for m in sys.modules if m.startswith(('pdsketch.', 'torch'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['pdsketch.doors', 'pdsketch.registration']"


def test_threads_of_torch_sleep_while_they_wait_unless_the_user_decides_otherwise():
    code = "import os, pdsketch; print(os.environ['OMP_WAIT_POLICY'])"
    others = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    for given, wanted in (({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")):
        run = [sys.executable, "-c", code]
        done = subprocess.run(run, capture_output=True, text=True, check=True, env={**others, **given})
        assert done.stdout.strip() == wanted


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

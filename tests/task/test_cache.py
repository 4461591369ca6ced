"""The cache of compiled kernels: whatever happens to it, kernels are right, and the user is told once."""

from __future__ import annotations

import importlib.util
import resource
from pathlib import Path

import numba
import pytest

from pdsketch.task import cache

SOURCE = """
STEP = {step}

def after(x):
    return x + STEP
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where kernels are kept in this test."""
    place = tmp_path / "cache"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(place))
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    monkeypatch.setattr(cache._Trouble, "told", False)
    return place


def in_a_new_process(tmp_path: Path, step: int = 1):
    """The kernel as a process that has just begun sees it: nothing is compiled, all it knows is on disk."""
    file = tmp_path / "kernels.py"
    file.write_text(SOURCE.format(step=step))
    spec = importlib.util.spec_from_file_location("kernels", file)
    module = importlib.util.module_from_spec(spec)
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    return cache.keep(numba.njit(module.after), module.after)


def was_loaded(kernel) -> bool:
    return sum(kernel.stats.cache_hits.values()) > 0


def kept(folder: Path) -> Path:
    (found,) = folder.rglob("*.nbc")
    return found


def test_a_kernel_is_compiled_once(folder, tmp_path, capsys):
    first, second = (in_a_new_process(tmp_path) for _ in range(2))
    assert first(1) == second(1) == 2
    assert not was_loaded(first)
    assert was_loaded(second)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2] + bytes(len(content) - len(content) // 2),
    ],
    ids=["empty", "header", "half", "one-byte-less", "zeros"],
)
def test_a_damaged_file_is_told_once_and_made_again(folder, tmp_path, capsys, damage):
    in_a_new_process(tmp_path)(1)
    kept(folder).write_bytes(damage(kept(folder).read_bytes()))
    for _ in range(2):
        assert in_a_new_process(tmp_path)(1) == 2
    healed = in_a_new_process(tmp_path)
    assert healed(1) == 2
    assert was_loaded(healed)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "damaged" in told


def test_code_of_an_older_source_is_not_used(folder, tmp_path, capsys):
    assert in_a_new_process(tmp_path, step=1)(1) == 2
    assert in_a_new_process(tmp_path, step=5)(1) == 6
    assert in_a_new_process(tmp_path, step=5)(1) == 6
    assert capsys.readouterr().err == ""


def test_a_full_disk_costs_only_time(folder, tmp_path, capsys):
    kernels = [in_a_new_process(tmp_path) for _ in range(2)]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        found = [kernel(1) for kernel in kernels]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert found == [2, 2]
    assert list(folder.rglob("*.nbc*")) == []
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert str(folder) in told
    assert "file too large" in told


def test_no_folder_to_keep_kernels_in_costs_only_time(folder, tmp_path, capsys):
    folder.write_text("a file where the folder should be")
    for _ in range(2):
        assert in_a_new_process(tmp_path)(1) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "no folder" in told

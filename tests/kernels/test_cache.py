"""The cache of compiled kernels: whatever happens to it, kernels are right, and the user is told once."""

from __future__ import annotations

import importlib.util
import resource
import sys
from pathlib import Path

import numba
import pytest

from pdsketch.kernels import cache, linked
from pdsketch.kernels.aside import Announcement
from pdsketch.kernels.compiled import kernel
from pdsketch.kernels.sources import digest_of

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
    monkeypatch.setattr(Announcement, "_tell", lambda _: None)  # of all that this process compiled before
    monkeypatch.setattr(linked, "available", lambda: False)  # what was linked would be run without numba
    return place


def in_a_new_process(tmp_path: Path, step: int = 1):
    """The kernel as a process that has just begun sees it: nothing is compiled, all it knows is on disk."""
    file = tmp_path / "kernels.py"
    file.write_text(SOURCE.format(step=step))
    spec = importlib.util.spec_from_file_location("kernels", file)
    module = importlib.util.module_from_spec(spec)
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    return kernel(module.after)


def was_loaded(kernel) -> bool:
    return sum(kernel.compiled.stats.cache_hits.values()) > 0


def kept(folder: Path) -> Path:
    (found,) = folder.rglob("*.nbc")
    return found


def test_a_kernel_is_compiled_once(folder, tmp_path, capsys):
    first, second = (in_a_new_process(tmp_path) for _ in range(2))
    assert first(1) == second(1) == 2
    assert not was_loaded(first)
    assert was_loaded(second)
    assert capsys.readouterr().err == ""


def test_what_is_kept_for_another_kernel_is_not_taken_for_what_python_calls(folder, tmp_path):
    for _ in range(2):
        after = in_a_new_process(tmp_path)
        scope = {"after": after, "__name__": "callers"}
        exec(compile("def twice(x):\n    return after(after(x))", tmp_path / "kernels.py", "exec"), scope)
        assert kernel(scope["twice"])(1) == 3
        assert sorted(".inner." in path.name for path in folder.rglob("*.nbc")) == [False, True]
    after = in_a_new_process(tmp_path)
    assert after(1) == 2
    assert not was_loaded(after)


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


CALLED = """
from typing import NamedTuple
from pdsketch.kernels.compiled import kernel

STEP = 1

class Pair(NamedTuple):
    first: int
    second: int

@kernel
def after(x):
    return x + {added}
"""
CALLER = """
from called import {names}

TWICE = 2 * STEP

def call({argument}):
    return {body}
"""


def digest(
    tmp_path, monkeypatch, *, names="STEP, after", argument="", body="after(1)", called=CALLED, added=1
):
    """That of a kernel which uses another file."""
    (tmp_path / "called.py").write_text(called.format(added=added))
    (tmp_path / "caller.py").write_text(CALLER.format(names=names, argument=argument, body=body))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("called", "caller"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    return digest_of(importlib.import_module("caller").call)


def test_a_kernel_that_is_called_counts_as_source(folder, tmp_path, monkeypatch):
    first = digest(tmp_path, monkeypatch)
    assert digest(tmp_path, monkeypatch) == first
    assert digest(tmp_path, monkeypatch, added=2) != first


def test_a_file_whose_kernels_are_not_called_does_not_count(folder, tmp_path, monkeypatch):
    assert digest(tmp_path, monkeypatch, body="1") == digest(tmp_path, monkeypatch, body="1", added=2)


def test_a_constant_that_rests_on_another_file_counts(folder, tmp_path, monkeypatch):
    changed = CALLED.replace("STEP = 1", "STEP = 3")
    assert digest(tmp_path, monkeypatch, body="TWICE") != digest(
        tmp_path, monkeypatch, body="TWICE", called=changed
    )


def test_the_fields_of_a_named_tuple_count(folder, tmp_path, monkeypatch):
    changed = CALLED.replace("first: int", "third: int")
    use = {"names": "STEP, Pair", "argument": "pair: Pair", "body": "pair.second"}
    assert digest(tmp_path, monkeypatch, **use) != digest(tmp_path, monkeypatch, **use, called=changed)


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

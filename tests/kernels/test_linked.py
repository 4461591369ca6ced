"""Linked kernels: what numba compiled, run without numba, and only if it can be trusted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from pdsketch.budget import resident
from pdsketch.kernels import linked
from pdsketch.kernels.compiled import Kernel
from pdsketch.kernels.flat import flatten

ROOT = Path(__file__).parents[2]
BLOCKS = [str(ROOT / "examples/blocks" / name) for name in ("domain.pddl", "p01.pddl")]
HAS_LINKER = shutil.which("ld") is not None or shutil.which("cc") is not None


class Inner(NamedTuple):
    words: np.ndarray
    scale: float


class Outer(NamedTuple):
    inner: Inner
    table: np.ndarray
    mask: np.uint64


def everything(outer, pair, count, weight, negated, out):
    total = 0.0
    for i in range(count):
        total += outer.inner.words[i] * outer.inner.scale + pair[0][i] * weight
    for row in range(outer.table.shape[0]):
        for column in range(outer.table.shape[1]):
            out[row, column] = outer.table[row, column] + np.int64(outer.mask) + pair[1]
    return -total if negated else total


def counted(values):
    count = 0
    for value in values:
        if value > 0:
            count += 1
    return count


def raised(values):
    for i in range(len(values)):
        values[i] += 1


def is_first(values):
    return values[0] > values[1]


def printing(values):
    return str(values[0])


def parted(values):
    low, high, squares = np.empty(len(values), np.int64), np.zeros(len(values)), np.zeros((len(values), 2))
    n, m = 0, 0
    for value in values:
        if value < 2:
            low[n] = value
            n += 1
        else:
            high[m] = value
            m += 1
        squares[n + m - 1, 1] = value * value
    return low[:n], high[:m], squares, n, m > 0, low


def dividing(a, b):
    return a // b


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where linked kernels are kept in this test, whatever the numba of this process is set to."""
    place = tmp_path / "cache"
    monkeypatch.setattr(linked, "_settings", set)
    monkeypatch.setattr(linked, "_folders", lambda _: [place])
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(place))
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", None)
    linked.available.cache_clear()
    yield place
    linked.available.cache_clear()


def is_linked(kernel: Kernel) -> bool:
    return "compiled" not in vars(kernel)


def kept(folder: Path) -> Path:
    (found,) = folder.rglob("*.so")
    return found


def arguments() -> tuple[object, ...]:
    inner = Inner(np.arange(5, dtype=np.int32), 0.5)
    outer = Outer(inner, np.arange(6, dtype=np.int64).reshape(2, 3), np.uint64(2**40))
    return outer, (np.arange(5, dtype=np.uint32), 3), 4, 0.25, True, np.zeros((2, 3), np.int64)


def test_a_linked_kernel_does_what_the_function_does(folder):
    assert HAS_LINKER
    wanted = arguments()
    answer = everything(*wanted)
    for trusted in (False, True):
        given, kernel = arguments(), Kernel(everything)
        assert kernel(*given) == answer
        assert is_linked(kernel) == trusted
        np.testing.assert_array_equal(given[-1], wanted[-1])


@pytest.mark.parametrize("function", [counted, raised, is_first])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64, np.uint8])
def test_what_is_returned_is_of_the_same_kind(folder, function, dtype):
    answers = []
    for _ in range(2):
        values = np.array([3, 0, 2, 1], dtype)
        kernel = Kernel(function)
        answers.append((kernel(values), values.tolist()))
    wanted = np.array([3, 0, 2, 1], dtype)
    answers.append((function(wanted), wanted.tolist()))
    assert is_linked(kernel)
    assert answers[0] == answers[1] == answers[2]
    assert type(answers[0][0]) is type(answers[1][0])


@pytest.mark.parametrize("view", ["part", "read-only", "other-dtype"])
def test_arrays_of_other_kinds_are_numbas(folder, view):
    for _ in range(2):
        assert Kernel(counted)(np.array([1, 0, 2, 0, 3])) == 3
    values = np.array([1, 0, 2, 0, 3])
    if view == "part":
        values = values[::2]
    elif view == "read-only":
        values.flags.writeable = False
    else:
        values = values.astype(">i8").view(">i8")
    assert flatten((values,)) is None


def test_arrays_made_in_a_kernel_are_returned(folder):
    for trusted in (False, True):
        kernel = Kernel(parted)
        for values in (np.array([3, 0, 2, 1]), np.arange(2), np.arange(0)):
            found, wanted = kernel(values), parted(values)
            assert len(found) == len(wanted)
            for a, b in zip(found[:3], wanted[:3], strict=True):
                np.testing.assert_array_equal(a, b)
                assert a.dtype == b.dtype
                assert a.flags.carray
            assert found[3:5] == wanted[3:5]
            found[0][:] = 7  # it is nobody else's
        assert is_linked(kernel) == trusted


def test_what_a_kernel_returns_is_given_back(folder):
    Kernel(parted)(np.arange(2))
    kernel = Kernel(parted)
    values = np.arange(1_000_000)
    kernel(values)
    before = resident()
    for _ in range(20):
        kernel(values)
    assert is_linked(kernel)
    assert resident() - before < 100e6  # 20 calls make 800 MB


def test_a_kernel_that_needs_more_of_numba_stays_with_it_and_is_not_tried_again(folder, monkeypatch):
    for _ in range(2):
        kernel = Kernel(printing)
        assert kernel(np.array([15, 2])) == "15"
        assert not is_linked(kernel)
        monkeypatch.setattr("pdsketch.kernels.link.shared_object", lambda _: pytest.fail("tried again"))


def test_what_fails_inside_is_an_error(folder):
    for _ in range(2):
        kernel = Kernel(dividing)
        assert kernel(7, 2) == 3
    assert is_linked(kernel)
    with pytest.raises(RuntimeError, match="failed"):
        kernel(7, 0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[:100] + bytes(len(content) - 100),
        lambda content: content[:-20] + bytes([content[-20] ^ 1]) + content[-19:],
    ],
    ids=["empty", "half", "one-byte-less", "zeros", "one-bit"],
)
def test_a_damaged_file_is_made_again(folder, damage):
    Kernel(counted)(np.arange(3))
    kept(folder).write_bytes(damage(kept(folder).read_bytes()))
    for again in (False, True):
        kernel = Kernel(counted)
        assert kernel(np.arange(3)) == 2
        assert is_linked(kernel) == again


@pytest.mark.parametrize("whose", ["folder", "file"])
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_what_others_can_write_is_not_run(folder, whose, mode):
    Kernel(counted)(np.arange(3))
    path = folder if whose == "folder" else kept(folder)
    path.chmod(mode)
    kernel = Kernel(counted)
    assert kernel(np.arange(3)) == 2
    assert not is_linked(kernel)


def test_code_of_another_source_processor_or_numba_is_not_run(folder, monkeypatch):
    Kernel(counted)(np.arange(3))
    assert linked.load(counted, "l1", "Qq")[1] is not None
    assert linked.load(raised, "l1", "Qq")[1] is None
    assert linked.load(counted, "i1", "Qq")[1] is None
    for name in ("_processor", "_numba"):
        with monkeypatch.context() as changed:
            changed.setattr(linked, name, lambda: "another")
            assert linked.load(counted, "l1", "Qq")[1] is None


def test_settings_of_numbas_are_obeyed(folder, monkeypatch):
    Kernel(counted)(np.arange(3))
    monkeypatch.setattr(linked, "_settings", lambda: {"NUMBA_BOUNDSCHECK"})
    linked.available.cache_clear()
    kernel = Kernel(counted)
    assert kernel(np.arange(3)) == 2
    assert not is_linked(kernel)


def test_a_folder_that_cannot_be_written_costs_only_time(folder):
    folder.write_text("a file where the folder should be")
    for _ in range(2):
        assert Kernel(counted)(np.arange(3)) == 2


def test_a_second_plan_needs_no_numba():
    code = (
        "import sys; from pdsketch.cli.main import main; main(['plan', *sys.argv[1:]]);"
        "sys.stderr.write(str('numba' in sys.modules)); sys.stderr.flush(); import os; os._exit(0)"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    ends = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, *BLOCKS], capture_output=True, text=True, env=env, check=True
        )
        assert done.stdout.startswith("(pick-up b)")
        ends.append(done.stderr)
    assert ends[1].endswith("False")


def test_where_linked_kernels_are_looked_for():
    code = (
        "from pdsketch.kernels import linked; from pdsketch.task.prune import spread_possible as kernel;"
        "print(*linked._folders(kernel.function), linked.available())"
    )
    for asked, wanted in (({"NUMBA_CACHE_DIR": "/x"}, "/x True"), ({"NUMBA_OPT": "1"}, "/y/pdsketch False")):
        env = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        env.update(asked, XDG_CACHE_HOME="/y")
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
        )
        assert done.stdout.strip().endswith(wanted)

"""The line that says how far something is."""

from __future__ import annotations

import io
import time

import pytest

from pdsketch import progress
from pdsketch.progress import Ticker


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("FIRST", 0.02), ("RENEWED", 0.01), ("LINES", 0.02)):
        monkeypatch.setattr(progress, name, seconds)


def wait_for(stream: io.StringIO, text: str) -> None:
    deadline = time.monotonic() + 600
    while text not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)


@pytest.mark.usefixtures("quick")
def test_on_a_terminal_there_is_one_line_which_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with Ticker("outer") as tick:
        tick("2 of 5")
        wait_for(stream, "outer: 0 s, 2 of 5")
        with Ticker("inner", False):
            wait_for(stream, "2 of 5; inner: 0 s")
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.usefixtures("quick")
def test_elsewhere_there_are_lines_for_who_asks_and_only_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Ticker("silent"):
        time.sleep(0.1)
    assert not stream.getvalue()
    with Ticker("asked", True):
        wait_for(stream, "asked: 0 s\n")
    monkeypatch.setattr(progress, "LINES", 5.0)
    said = stream.getvalue()
    with Ticker("again", True):
        for _ in range(5):
            with Ticker.paused():
                time.sleep(0.02)
    assert stream.getvalue() == said


@pytest.mark.usefixtures("quick")
def test_who_does_not_want_it_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with Ticker("outer", False), Ticker("inner"):
        time.sleep(0.1)
    assert not stream.getvalue()

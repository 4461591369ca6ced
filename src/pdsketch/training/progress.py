"""Who is told while a fit runs (stderr, a CSV file, a user's function), and who may interrupt it: Ctrl-C."""

from __future__ import annotations

import csv
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import FrameType, MappingProxyType, TracebackType
from typing import Any, Self, final

from pdsketch.files import Lines, make_folder
from pdsketch.progress import Ticker, watched
from pdsketch.tensor import SHOWN
from pdsketch.training.options import Options


@final
@dataclass(frozen=True)
class Progress:
    """What a callback of `fit` gets: after ``step`` of ``steps``, ``seconds`` after the start, the figures.

    ``figures`` are the mean losses since the last measurement (``goal``,
    ``transition`` …), ``accuracy`` (of goals) and ``step_accuracy`` on training
    episodes, and with ``held_out_`` before them those of episodes held out.
    """

    step: int
    steps: int
    seconds: float
    figures: Mapping[str, float]


def _text(figures: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in figures.items() if math.isfinite(value))


@final
class Csv:
    """One line a measurement. A resumed fit writes anew what was measured until its checkpoint."""

    def __init__(self, path: str, history: Sequence[Mapping[str, float]]) -> None:
        make_folder(Path(path).parent)
        self._names = list(history[0]) if history else []
        rows = [{**row, "step": int(row["step"])} for row in history]
        self._lines = Lines(path, "".join(map(_line, self._rows(rows, head=bool(rows)))))

    def update(self, step: int, figures: Mapping[str, float]) -> None:
        """Write a line."""
        head = not self._names
        self._names = self._names or ["step", *figures]
        self._lines.add("".join(map(_line, self._rows([{"step": step, **figures}], head=head))))

    def _rows(self, rows: Iterable[Mapping[str, float]], *, head: bool) -> Iterator[list[Any]]:
        if head:
            yield list(self._names)
        for row in rows:
            yield [row.get(name, "") for name in self._names]

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


def _line(values: Sequence[Any]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()


@final
class Watchers:
    """All that a fit's options ask for, opened and closed together."""

    def __init__(self, options: Options, history: Sequence[Mapping[str, float]]) -> None:
        self._options = options
        self._started = time.monotonic()
        self._ticker = Ticker("fit", options.progress or None)
        self._says = options.progress and not watched()
        self._log = None if options.log is None else Csv(options.log, history)

    def __enter__(self) -> Self:
        self._ticker.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ticker.__exit__(kind, problem, trace)
        if self._log is not None:
            self._log.close()

    def update(self, step: int, figures: Mapping[str, float], unlearned: Sequence[str] = ()) -> bool:
        """Tell all of them, the user's function last; whether it asks to stop. ``unlearned`` names the blanks
        that are not learned after so many a ``step``; the ``figures`` are means.
        """
        seconds = time.monotonic() - self._started
        if self._says:
            with Ticker.paused():
                text = f"fit: step {step} of {self._options.steps}, {seconds:.1f} s  {_text(figures)}"
                more = f" and {len(unlearned) - SHOWN} more" if len(unlearned) > SHOWN else ""
                text += f"  not learned yet: {', '.join(unlearned[:SHOWN])}{more}" if unlearned else ""
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
        if self._log is not None:
            self._log.update(step, figures)
        if self._options.callback is None:
            return False
        try:
            said = self._options.callback(
                Progress(step, self._options.steps, seconds, MappingProxyType(dict(figures)))
            )
        except StopIteration:
            return True
        return said is True

    def tick(self, step: int, figures: Callable[[], Mapping[str, float]]) -> None:
        """Say how far it is, between measurements."""
        if self._ticker.visible:
            self._ticker(f"step {step} of {self._options.steps}  {_text(figures())}")


@final
class FitInterrupted(KeyboardInterrupt):
    """A fit was interrupted after ``step`` steps; ``checkpoint``: the file that it can be resumed from."""

    def __init__(self, step: int, checkpoint: str | None) -> None:
        kept = "" if checkpoint is None else f", which {checkpoint} keeps"
        super().__init__(f"the fit was interrupted after {step} steps{kept}")
        self.step = step
        self.checkpoint = checkpoint


@contextmanager
def postponed() -> Iterator[Callable[[], bool]]:
    """Within, a first Ctrl-C is only noted, and the function says whether; a second one interrupts.

    Outside of the main thread, and where a program handles the signal itself, nothing is changed.
    """
    noted = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""What every command writes: people read stderr and text, machines read one JSON object on stdout.

Exit codes follow Fast Downward's; `finish` is the only place that prints JSON. What goes to stderr
is a courtesy: where it cannot be written, the work goes on. What goes to stdout is the result.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, TextIO, cast, final

from pdsketch.lang import Diagnostic, as_json, render
from pdsketch.progress import Ticker

OK: Final = 0
DIFFERENT: Final = 1
"""`check` found errors, `fmt --check` would rewrite, `validate` refused a plan."""
USAGE: Final = 2
UNSOLVABLE: Final = 11
GAVE_UP: Final = 12
OUT_OF_MEMORY: Final = 22
OUT_OF_TIME: Final = 23
BAD_INPUT: Final = 31
"""Also the answer "not yet"."""
INTERRUPTED: Final = 130

EXIT_OF_STATUS: Final[Mapping[str, int]] = {
    "solved": OK,
    "unsolvable": UNSOLVABLE,
    "gave-up": GAVE_UP,
    "out-of-memory": OUT_OF_MEMORY,
    "out-of-time": OUT_OF_TIME,
}
"""The exit code of each status of a search."""

Kept = tuple[str, str | None]
"""What an interruption leaves on disk, and how to go on."""


class UsageError(Exception):
    """The command line itself is wrong: exit code 2. Further lines of the message show the usage."""


@final
class UnwritableError(Exception):
    """Stdout takes nothing more, as on a full disk. A reader that has gone is a `BrokenPipeError`."""


def finish(
    code: int,
    payload: Mapping[str, Any],
    *,
    json: bool,
    diagnostics: Iterable[Diagnostic] = (),
    text: str = "",
) -> int:
    """End a command: diagnostics to stderr; to stdout ``payload`` as JSON, or else ``text``.

    ``json`` chooses between the two; ``diagnostics`` joins the payload under that name. Returns ``code``, so
    that a command ends with ``return finish(…)``.
    """
    found = list(diagnostics)
    say_all(found)
    if json:
        emit(to_json({**payload, "diagnostics": [as_json(d) for d in found]}))
    elif text:
        emit(text)
    return code


@final
class _Command:
    """What is known of the command that runs: who reads it, if it has given its result, what it keeps."""

    json = False
    process = False
    emitted = False
    kept: Callable[[KeyboardInterrupt], Kept] | None = None


def begin(*, json: bool, process: bool) -> None:
    """A command begins, in a ``process`` of its own or within a program."""
    _Command.json, _Command.process, _Command.emitted, _Command.kept = json, process, False, None
    _open_streams()
    if process:
        sys.unraisablehook = _unraisable


def is_process() -> bool:
    """Whether the command is all that this process is for."""
    return _Command.process


def when_interrupted(kept: Callable[[KeyboardInterrupt], Kept]) -> None:
    """From now on, Ctrl-C is answered with what the command has kept on disk, and how to go on."""
    _Command.kept = kept


def interrupted(stop: KeyboardInterrupt) -> int:
    """End an interrupted command: say what is kept and how to go on, in one line."""
    if _Command.process:  # it is ending: once more changes nothing
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    kept, resume = (None, None) if _Command.kept is None else _Command.kept(stop)
    say("; ".join(part for part in ("pdsketch: interrupted", kept, resume) if part))
    found = {"ok": False, "status": "interrupted", "kept": kept, "resume": resume}
    try:
        return finish(INTERRUPTED, found, json=_Command.json and not _Command.emitted)
    except (BrokenPipeError, UnwritableError):
        leave_stdout()
        return INTERRUPTED


def leave(stop: KeyboardInterrupt) -> NoReturn:
    """End an interrupted process where it is."""
    try:
        interrupted(stop)
    finally:
        os._exit(INTERRUPTED)


def is_interrupt(problem: BaseException | None) -> bool:
    """Whether Ctrl-C is what led to an exception: libraries may make another one of it."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__ or problem.__context__
    return problem is not None


def _unraisable(lost: sys.UnraisableHookArgs, /) -> None:
    """Where an exception would only be printed, as in callbacks of weak references, Ctrl-C is obeyed."""
    if is_interrupt(lost.exc_value):
        leave(KeyboardInterrupt())
    sys.__unraisablehook__(lost)


def emit(text: str) -> None:
    """Write the result to stdout, whole: there is nothing left that Ctrl-C could stop."""
    with _undisturbed(), Ticker.paused():
        _checked(sys.stdout.write, text + "\n")
        flush()
        _Command.emitted = True


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Within, Ctrl-C is not heard. Other threads than the main one do not hear it anyway."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        # None: the program that we run in handles it outside of Python, and we have to leave it at that.
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


def flush() -> None:
    """Make sure that all is written."""
    _checked(sys.stdout.flush)


def _checked(operation: Callable[..., Any], *args: str) -> None:
    try:
        operation(*args)
    except BrokenPipeError:
        raise
    except OSError as why:
        raise UnwritableError((why.strerror or str(why)).lower()) from None


def to_json(payload: Mapping[str, Any]) -> str:
    """One line of strict JSON: infinities and NaN become null, arrays become lists."""
    from json import dumps

    return dumps(_plain(payload), allow_nan=False)


def _plain(value: Any) -> Any:
    """The value in JSON's own kinds."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "tolist"):  # an array, a tensor, or one of their scalars
        return _plain(value.tolist())
    return str(value)


def say_all(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to stderr, in colour on a terminal."""
    color = wants_color(sys.stderr)
    for diagnostic in diagnostics:
        say(render(diagnostic, color=color))


def say(message: str) -> None:
    """Write one line of progress or of reasons to stderr."""
    with Ticker.paused():
        print(message, file=sys.stderr, flush=True)


def _open_streams() -> None:
    """Let streams that the caller has closed lead nowhere, and names of files be other than text."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (to the end)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if _Command.process:
        sys.stderr = cast(TextIO, _Courtesy(sys.stderr))


@final
class _Courtesy:
    """Stderr, whoever writes to it; what a full disk does not take is left out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with self._forgiving():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write it now."""
        with self._forgiving():
            self._stream.flush()

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError:  # nobody is left to be told
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def leave_stdout() -> None:
    """Write nothing more: what is still in the buffer must not fail when the interpreter ends."""
    with suppress(OSError, ValueError):  # a stream without a file has nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def wants_color(stream: TextIO) -> bool:
    """Whether to colour: on a terminal that can, unless ``NO_COLOR`` is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

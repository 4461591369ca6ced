"""A server of the Model Context Protocol: agents check, format, plan, validate and ask why, by text.

Each call is a command of ours in a process of its own, ``pdsketch COMMAND --json``: its answer is what the
command prints, and its limits of time, memory and size hold whatever it is given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import getdoc
from os import PathLike, cpu_count, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore
from typing import Any, Final, final

from pdsketch.budget import DEFAULT_MEGABYTES, MEGABYTE
from pdsketch.extras import missing_extra
from pdsketch.lang import Diagnostic, as_json

_INSTRUCTIONS: Final = """\
PDDL domains and problems, and sketches: domains in which functions are left blank, `(??f (at ?r))`.
Files are given as text. Every answer has `diagnostics`: code, message, file (domain.pddl, problem.pddl
or plan), line, column, help. `check` first; then `plan`, whose status `unsolvable` is a proof;
`validate` replays a plan and names the step that fails; `explain` says which parts of a goal hold in
the initial state."""

_RUN: Final = """\
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]),) * 2)
except (ImportError, ValueError, OSError):  # where the system knows no such limit
    pass
del sys.argv[1]
from pdsketch.__main__ import run
sys.exit(run())
"""
_BASE: Final = 1000
"""Megabytes that Python and torch take before there is any work."""

_GRACE: Final = 10.0
"""Seconds that a command has beyond its own limit, to start and to end by itself."""


@final
@dataclass(frozen=True, slots=True)
class CallLimits:
    """What one call may take: seconds, megabytes, and characters, in and out."""

    seconds: float = 30.0
    megabytes: float = DEFAULT_MEGABYTES
    characters: int = 1_000_000


def mcp_server(model: str | PathLike[str] | None = None, limits: CallLimits | None = None) -> Any:
    """The server, of the official SDK; ``.run("stdio")`` serves.

    With the folder of a ``model``, problems are of its sketch where no domain is given. ``limits`` hold for
    each call.
    """
    try:
        from mcp.server.mcpserver import MCPServer
    except ModuleNotFoundError as absent:
        if absent.name is None or absent.name.split(".")[0] != "mcp":
            raise
        raise missing_extra("mcp", "mcp") from None
    from pdsketch import __version__

    tools = _Tools(None if model is None else str(Path(model).resolve()), limits or CallLimits())
    server = MCPServer("pdsketch", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    for tool in (tools.check, tools.format, tools.plan, tools.validate, tools.explain):
        server.tool(description=getdoc(tool))(tool)
    return server


@final
class _Tools:
    """The tools; their docstrings are what agents read."""

    def __init__(self, model: str | None, limits: CallLimits) -> None:
        self._model = model
        self._limits = limits
        self._places = BoundedSemaphore(cpu_count() or 1)

    def check(self, domain: str, problem: str | None = None) -> dict[str, Any]:
        """Everything that is wrong with a domain or a sketch, and with a problem of it."""
        files = {"domain.pddl": domain, **({} if problem is None else {"problem.pddl": problem})}
        return self._call(files, "check", *files)

    def format(self, text: str) -> dict[str, Any]:
        """A domain, a sketch or a problem in canonical layout, as `text`."""
        answer = self._call({"domain.pddl": text}, "fmt", "domain.pddl", read="domain.pddl")
        return {key: value for key, value in answer.items() if key not in ("files", "changed")}

    def plan(
        self,
        problem: str,
        domain: str | None = None,
        search: str | None = None,
        heuristic: str | None = None,
        time_limit: float | None = None,
    ) -> dict[str, Any]:
        """A plan for a problem, or why there is none. `search`: lazy-gbfs, gbfs, wastar or astar (optimal
        with an admissible `heuristic`: lmcut, max, blind; others: ff, add, goalcount). `time_limit`: seconds.
        """
        seconds = min(
            self._limits.seconds, self._limits.seconds if time_limit is None else max(0.0, time_limit)
        )
        named = {"--search": search, "--heuristic": heuristic}
        options = [word for name, value in named.items() if value is not None for word in (name, value)]
        limits = ["--time-limit", str(seconds), "--memory-limit", str(self._limits.megabytes)]
        files, words = self._problem(problem, domain)
        return self._call(files, "plan", *words, *options, *limits, seconds=seconds)

    def validate(self, problem: str, plan: str, domain: str | None = None) -> dict[str, Any]:
        """Whether a plan, a step `(action object …)` a line, reaches the goal, or what fails and why."""
        files, words = self._problem(problem, domain)
        return self._call({**files, "plan": plan}, "validate", *words, "plan")

    def explain(self, problem: str, domain: str | None = None, goal: str | None = None) -> dict[str, Any]:
        """How true the problem's goal, or another `goal`, is in its initial state: by part, and by object."""
        files, words = self._problem(problem, domain)
        return self._call(files, "explain", *words, *([] if goal is None else ["--goal", goal]))

    def _problem(self, problem: str, domain: str | None) -> tuple[dict[str, str], list[str]]:
        files = {"problem.pddl": problem}
        if domain is not None:
            return {"domain.pddl": domain, **files}, ["domain.pddl", "problem.pddl"]
        return files, [*([] if self._model is None else ["--model", self._model]), "problem.pddl"]

    def _call(
        self, files: Mapping[str, str], *words: str, seconds: float | None = None, read: str | None = None
    ) -> dict[str, Any]:
        """The answer of a command to some files; with ``read``, also the text that it leaves in a file."""
        limits, allowed = self._limits, (self._limits.seconds if seconds is None else seconds)
        if sum(map(len, [*files.values(), *words])) > limits.characters:
            return _refused("file-too-large", f"a call takes at most {limits.characters:,} characters")
        with TemporaryDirectory() as folder, self._places:
            for name, text in files.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            memory = int((limits.megabytes + _BASE) * MEGABYTE)
            run = [sys.executable, "-c", _RUN, str(memory), *words, "--json"]
            try:
                done = subprocess.run(
                    run,
                    cwd=folder,
                    capture_output=True,
                    stdin=subprocess.DEVNULL,
                    timeout=allowed + _GRACE,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return _refused("out-of-time", f"the call took longer than {allowed:g} seconds")
            if len(done.stdout) > limits.characters:
                return _refused(
                    "file-too-large", f"the answer has more than {limits.characters:,} characters"
                )
            try:
                answer: dict[str, Any] = json.loads(done.stdout)
            except ValueError:
                return _refused(
                    "out-of-memory", "the call ended without an answer, most likely for want of memory"
                )
            if read is not None:
                answer["text"] = (Path(fspath(folder)) / read).read_text(encoding="utf-8")
            return answer


def _refused(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "diagnostics": [as_json(Diagnostic(code, message, file="<call>"))]}

"""``pdsketch COMMAND``: finds the command's module, and turns every way to fail into an exit code.

A command is a module with three names:

- ``EXAMPLE``: an invocation or a few, shown by ``--help``;
- ``add_arguments(parser)``: its arguments (``--json`` is added here, for all);
- ``run(args) -> int``: does the work and returns the exit code, mostly by
  ``return output.finish(…)``. It lets `Error` and `OSError` pass.

A module is imported only when its command is called, so that ``check`` starts
at once and a command can be added by one line below.

One that runs until it is stopped also has ``ENDLESS = True``; of all others, a line on stderr says that they
are at work.

Other packages add commands by entry points of the group ``pdsketch.commands``: modules that also have
``PURPOSE``, the line about it in the overview.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn, Protocol, cast

from pdsketch.cli import output
from pdsketch.extras import COMMANDS as OFFERED, REPRODUCTION, missing, not_installed, offered
from pdsketch.lang import Diagnostic, Error, as_json, did_you_mean
from pdsketch.progress import Ticker

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "check": ("pdsketch.cli.check", "say what is wrong with sketches, domains and problems"),
    "fmt": ("pdsketch.cli.fmt", "rewrite files in the canonical layout"),
    "lsp": ("pdsketch.cli.lsp", "serve an editor: diagnostics, definitions, completions, renaming"),
    "show": ("pdsketch.cli.show", "list what a file holds, blanks with signatures; draw its graph"),
    "sketch": ("pdsketch.cli.sketch", "leave blank what actions need and do"),
    "plan": ("pdsketch.cli.plan", "find a plan for a problem"),
    "validate": ("pdsketch.cli.validate", "replay a plan and say whether it reaches the goal"),
    "explain": ("pdsketch.cli.explain", "say which parts of a goal hold in the initial state"),
    "mcp": ("pdsketch.cli.mcp", "serve agents: check, format, plan, validate, explain"),
    "serve": ("pdsketch.cli.serve", "open a local page: states, goals, plans and the search tree"),
    "train": ("pdsketch.cli.train", "learn a sketch's blanks from episodes"),
    "learn": ("pdsketch.cli.learn", "learn a sketch's blanks by acting in a world"),
    "eval": ("pdsketch.cli.evaluate", "measure a trained model on episodes"),
    "rules": ("pdsketch.cli.rules", "print the rules that a model has learned"),
    "export": ("pdsketch.cli.export", "write a learned model as an ordinary PDDL domain"),
}
"""The module and the one-line help of each of our own commands."""


class Command(Protocol):
    """What a command's module offers; one of another package also its ``PURPOSE``."""

    EXAMPLE: str
    PURPOSE: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work; the exit code."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: asking for the terminal's would import a good deal more."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours to print."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", _Help)
        super().__init__(allow_abbrev=False, **settings)

    def print_help(self, file: Any = None) -> None:
        """Print it as any other result: argparse would not say that it could not."""
        output.emit(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        raise output.UsageError(f"{message}\n{self.format_usage().rstrip()}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing a user does shows a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    json, begun = "--json" in words, False
    try:
        if argv is None and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        output.begin(json=json, process=argv is None)
        begun = True
        code = _dispatch(words, json)
        if argv is None:  # the process ends here: there is nothing left to interrupt
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        output.flush()
        return code
    except KeyboardInterrupt as stop:
        if not begun:
            output.begin(json=json, process=argv is None)
        return output.interrupted(stop)
    except BrokenPipeError:  # the reader has gone (`pdsketch show … | head`)
        output.leave_stdout()
        return output.OK
    except output.UnwritableError as why:
        output.leave_stdout()
        output.say_all([Diagnostic("file-error", str(why), file="<stdout>")])
        return output.BAD_INPUT
    except Exception as problem:
        if output.is_interrupt(problem):
            return output.interrupted(KeyboardInterrupt())
        raise


def _dispatch(words: list[str], json: bool) -> int:
    try:
        return _run(words)
    except output.UsageError as problem:
        message, _, usage = str(problem).partition("\n")
        output.say(f"pdsketch: {message}")
        if usage:
            output.say(usage)
        if json:
            wrong = as_json(Diagnostic("usage", message, file="<command line>"))
            output.emit(output.to_json({"ok": False, "diagnostics": [wrong]}))
        return output.USAGE
    except Error as problem:
        return _fail(problem.diagnostics, json)
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as problem:
        return _fail([_missing_package(problem)], json)
    except OSError as problem:
        name = os.fsdecode(problem.filename) if problem.filename is not None else "<input>"
        reason = problem.strerror or str(problem)
        return _fail([Diagnostic("file-error", reason.lower(), file=name)], json)
    except MemoryError:
        return _fail([Diagnostic("out-of-memory", "out of memory")], json, output.OUT_OF_MEMORY)


def _run(words: list[str]) -> int:
    if words[:1] == ["--json"]:
        words = [*words[1:], "--json"]
    if not words:
        output.say(overview())
        return output.USAGE
    name, rest = words[0], words[1:]
    if name in ("-h", "--help", "help"):
        output.emit(overview())
        return output.OK
    if name in ("-V", "--version"):
        output.emit(f"pdsketch {version()}")
        return output.OK
    command = _load(name)
    try:
        args = parser_of(name, command).parse_args(rest)
    except SystemExit:  # argparse has printed the help
        return output.OK
    if output.is_process():
        gc.freeze()  # what was imported lives to the end
        gc.enable()
    if getattr(command, "ENDLESS", False):
        return command.run(args)
    with Ticker(f"pdsketch {name}", output.is_process()):
        return command.run(args)


def _load(name: str) -> Command:
    """Import the module of a command."""
    if name in COMMANDS:
        return cast(Command, import_module(COMMANDS[name][0]))
    if name in offered(OFFERED):
        return cast(Command, offered(OFFERED)[name].load())
    if name in missing(OFFERED):
        raise not_installed(f"`pdsketch {name}`")
    hint = did_you_mean(name, [*COMMANDS, *offered(OFFERED), *missing(OFFERED)])
    raise output.UsageError(f"no command `{name[:80]}`" + (f"; {hint}" if hint else "") + "\n" + overview())


def parser_of(name: str, command: Command) -> Parser:
    """The argument parser of a command."""
    purpose = _purpose(name, command)
    parser = Parser(
        prog=f"pdsketch {name}",
        description=purpose[0].upper() + purpose[1:] + ".",
        epilog="example:\n  " + "\n  ".join(command.EXAMPLE.strip().splitlines()),
    )
    command.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout, for machines")
    return parser


def _purpose(name: str, command: Command) -> str:
    return COMMANDS[name][1] if name in COMMANDS else command.PURPOSE


def version(package: str | os.PathLike[str] | None = None) -> str:
    """The version; of a development build with its commit, which a checkout has, or a build from one.

    The ``package`` is this one unless given.
    """
    import subprocess
    from pathlib import Path

    from pdsketch import __version__

    package = Path(__file__).parents[1] if package is None else Path(package)
    commit = package / "commit"
    if commit.exists():
        return f"{__version__} (commit {commit.read_text(encoding='ascii').strip()[:10]})"
    if not (package.parents[1] / ".git").exists():
        return __version__
    ask = ["git", "-C", str(package), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        found = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # no git here, or a checkout of somebody else's
        return f"{__version__} (commit unknown)"
    return f"{__version__} (commit {found})"


def overview() -> str:
    """What ``pdsketch --help`` prints; the commands of other packages are imported for it."""
    lines = ["usage: pdsketch COMMAND [--json] …", "", "commands:"]
    lines += [f"  {name:10} {purpose}" for name, (_, purpose) in COMMANDS.items()]
    lines += [f"  {name:10} {_purpose(name, _load(name))}" for name in offered(OFFERED)]
    if missing(OFFERED):
        lines += ["", f"with the package `{REPRODUCTION}` also: {', '.join(missing(OFFERED))}"]
    lines += ["", "`pdsketch COMMAND --help` shows the arguments of a command and an example."]
    return "\n".join(lines)


def _fail(diagnostics: Sequence[Diagnostic], json: bool, code: int = output.BAD_INPUT) -> int:
    return output.finish(code, {"ok": False}, json=json, diagnostics=diagnostics)


def _missing_package(problem: ModuleNotFoundError) -> Diagnostic:
    if problem.name is None or problem.name.split(".")[0] == "pdsketch":
        raise problem
    return Diagnostic(
        "missing-package",
        f"this command needs the package `{problem.name}`",
        help="install it into the environment of pdsketch",
        file="<command line>",
    )


if __name__ == "__main__":
    sys.exit(main())

"""The frame around the commands: exit codes, streams, JSON, and no traceback whatever happens."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from pdsketch import __version__
from pdsketch.cli import output
from pdsketch.cli.main import COMMANDS, main, version
from pdsketch.cli.output import finish, say_all, to_json
from pdsketch.lang.diagnostics import Diagnostic

ROOT = Path(__file__).parents[2]
BLOCKS = str(ROOT / "examples/blocks/domain.pddl")


def only_json(text: str) -> dict:
    """The one object on stdout."""
    assert text.count("\n") == 1
    return json.loads(text)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch):
    """Registers a command that does what the test wants."""

    def register(run) -> None:
        module = types.ModuleType("fake_command")
        module.EXAMPLE = "pdsketch fake"
        module.add_arguments = lambda parser: None
        module.run = run
        monkeypatch.setitem(sys.modules, "fake_command", module)
        monkeypatch.setitem(COMMANDS, "fake", ("fake_command", "a command of the test"))

    return register


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^  {name} ", out, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example_and_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert "--json" in out
    assert f"example:\n  pdsketch {name} " in out


def test_commands_of_other_packages_are_listed_and_run(packages, capsys) -> None:
    module = types.SimpleNamespace(
        PURPOSE="say hello", EXAMPLE="pdsketch hello", add_arguments=lambda parser: None, run=lambda args: 7
    )
    packages({"pdsketch.commands": {"hello": "other.commands.hello"}}, {"other.commands.hello": module})
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^  hello +say hello$", out, re.MULTILINE)
    assert "with the package `pdsketch-paper` also: data, baseline, demo, reproduce" in out
    assert main(["hello"]) == 7
    assert main(["hello", "--help"]) == 0
    assert "Say hello." in capsys.readouterr().out
    assert main(["helo"]) == 2
    assert "did you mean `hello`" in capsys.readouterr().err


def test_a_command_of_the_reproduction_says_what_to_install(packages, capsys) -> None:
    packages({}, {})
    assert main(["reproduce", "babyai-main", "--json"]) == 31
    caught = capsys.readouterr()
    assert "pip install pdsketch-paper" in caught.err
    assert only_json(caught.out)["diagnostics"][0]["code"] == "missing-package"
    assert main(["reproduc"]) == 2
    assert "did you mean `reproduce`" in capsys.readouterr().err


def test_no_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert "usage: pdsketch" in caught.err


def test_a_misspelt_command_is_a_usage_error_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chekc", "x"]) == 2
    assert "did you mean `check`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["check"], ["check", "--nonsense", "x"], ["show", "a", "b"], ["show", "a", "--of", "p"]]
)
def test_usage_errors_exit_2_and_speak_json_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    plain = capsys.readouterr()
    assert plain.out == ""
    assert main([*words, "--json"]) == 2
    machine = capsys.readouterr()
    assert machine.err == plain.err
    assert only_json(machine.out)["diagnostics"][0]["code"] == "usage"


def test_json_before_the_command_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "check", BLOCKS]) == 0
    assert only_json(capsys.readouterr().out)["ok"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"pdsketch \d+\.\d+\.\d+( \(commit \S+\))?\n", capsys.readouterr().out)


def test_the_version_of_a_development_build_names_its_commit(tmp_path: Path) -> None:
    package = tmp_path / "src" / "pdsketch"
    package.mkdir(parents=True)
    assert version(package) == __version__

    def git(*words: str) -> str:
        by = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        run = ["git", "-C", str(tmp_path), *by, *words]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()

    git("init")
    assert version(package) == f"{__version__} (commit unknown)"
    git("commit", "--allow-empty", "-m", "nothing")
    commit = git("rev-parse", "HEAD")
    assert version(package) == f"{__version__} (commit {commit[:10]})"
    (package / "commit").write_text("0123456789abcdef\n")  # what a build from a checkout leaves
    assert version(package) == f"{__version__} (commit 0123456789)"


def raising(problem: BaseException):
    def run(args: argparse.Namespace) -> int:
        raise problem

    return run


@pytest.mark.parametrize(
    ("problem", "code", "says"),
    [
        (
            FileNotFoundError(2, "No such file or directory", "out/x.plan"),
            31,
            "out/x.plan:1:1: error[file-error]",
        ),
        (PermissionError(13, "Permission denied", b"x"), 31, "x:1:1: error[file-error]: permission denied"),
        (OSError("strange"), 31, "strange"),
        (ModuleNotFoundError("No module named 'minigrid'", name="minigrid"), 31, "error[missing-package]"),
        (MemoryError(), 22, "error[out-of-memory]"),
        (KeyboardInterrupt(), 130, "pdsketch: interrupted\n"),
    ],
)
def test_every_way_to_fail_has_an_exit_code(problem, code, says, fake, capsys) -> None:
    fake(raising(problem))
    assert main(["fake", "--json"]) == code
    caught = capsys.readouterr()
    assert says in caught.err
    assert not only_json(caught.out)["ok"]


def test_ctrl_c_after_the_result_adds_no_second_one(fake, capsys) -> None:
    def run(args: argparse.Namespace) -> int:
        finish(0, {"ok": True}, json=args.json)
        raise KeyboardInterrupt

    fake(run)
    assert main(["fake", "--json"]) == 130
    assert only_json(capsys.readouterr().out)["ok"]


def test_ctrl_c_while_the_result_is_written_does_not_cut_it(fake, capsys, monkeypatch) -> None:
    def run(args: argparse.Namespace) -> int:
        whole = sys.stdout.write

        def write(text: str) -> int:
            signal.raise_signal(signal.SIGINT)
            return whole(text)

        monkeypatch.setattr(sys.stdout, "write", write)
        return finish(0, {"ok": True}, json=args.json)

    fake(run)
    assert main(["fake", "--json"]) == 0
    assert only_json(capsys.readouterr().out)["ok"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_a_line_a_json_object_and_130() -> None:
    command = [sys.executable, "-m", "pdsketch", "fmt", "-", "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        while b"read" not in Path(f"/proc/{waiting.pid}/wchan").read_bytes() and waiting.poll() is None:
            time.sleep(0.01)
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=600)
    assert waiting.returncode == 130
    assert err == "pdsketch: interrupted\n"
    assert only_json(out)["status"] == "interrupted"


def test_ctrl_c_is_heard_while_a_package_is_imported_that_catches_everything(tmp_path: Path) -> None:
    lines = ["import time", "print('importing', flush=True)", "try: time.sleep(30)", "except: pass"]
    (tmp_path / "deaf.py").write_text("\n".join(lines))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from pdsketch.cli import output; from pdsketch.cli.imports import import_large;"
        "output.begin(json=True, process=True); import_large('deaf')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as importing:
        assert importing.stdout is not None
        assert importing.stdout.readline() == "importing\n"
        importing.send_signal(signal.SIGINT)
        out, err = importing.communicate(timeout=600)
    assert importing.returncode == 130
    assert err == "pdsketch: interrupted\n"
    assert only_json(out)["status"] == "interrupted"


def test_a_mistake_of_ours_is_not_hidden(fake) -> None:
    fake(raising(ModuleNotFoundError("No module named 'pdsketch.nowhere'", name="pdsketch.nowhere")))
    with pytest.raises(ModuleNotFoundError):
        main(["fake"])


def test_stderr_is_the_same_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = Diagnostic("bad-value", "some message", help="some help")
    finish(31, {"ok": False}, json=False, diagnostics=[wrong], text="text")
    plain = capsys.readouterr()
    finish(31, {"ok": False}, json=True, diagnostics=[wrong], text="text")
    machine = capsys.readouterr()
    assert plain.err == machine.err == "error[bad-value]: some message\nhelp: some help\n"
    assert plain.out == "text\n"
    assert only_json(machine.out)["diagnostics"][0]["help"] == "some help"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(variables, colored, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    say_all([Diagnostic("bad-value", "some message")])
    assert ("\x1b[" in terminal.getvalue()) == colored


def test_json_is_strict() -> None:
    class Array:
        def tolist(self) -> list[float]:
            return [1.0, float("nan")]

    text = to_json({"cost": float("inf"), "plan": [("a", (0.5, 1))], "x": Array(), 3: Path("p")})
    assert json.loads(text) == {"cost": None, "plan": [["a", [0.5, 1]]], "x": [1.0, None], "3": "p"}


def pdsketch(*words: str, **settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pdsketch", *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        **settings,
    )


def test_a_closed_pipe_is_not_a_traceback() -> None:
    done = bash(f"{sys.executable} -m pdsketch show {BLOCKS} --json | true")
    assert done.stderr == ""


@pytest.mark.parametrize("words", [f"show {BLOCKS}", f"show {BLOCKS} --json", "--help", "show --help", "-V"])
def test_a_result_that_cannot_be_written_is_told(words: str) -> None:
    done = bash(f"{sys.executable} -m pdsketch {words} > /dev/full")
    assert done.returncode == 31
    assert done.stderr == "<stdout>:1:1: error[file-error]: no space left on device\n"


@pytest.mark.parametrize(
    "closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-", "2> /dev/full", "--nonsense 2> /dev/null > /dev/full"]
)
def test_streams_that_are_not_needed_may_be_closed(closed: str) -> None:
    done = bash(f"{sys.executable} -m pdsketch check {BLOCKS} {closed}")
    assert done.returncode == (2 if "nonsense" in closed else 0)
    assert done.stderr == ""


def test_what_cannot_be_said_does_not_change_the_result() -> None:
    done = bash(f"{sys.executable} -m pdsketch check nowhere.pddl --json 2> /dev/full")
    assert done.returncode == 1
    assert only_json(done.stdout)["diagnostics"][0]["code"] == "no-such-file"


def test_whoever_writes_to_a_full_stderr_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        output.begin(json=False, process=True)
        output.begin(json=False, process=False)
        for _ in range(3):
            sys.stderr.write("a line of some progress\n" * 10_000)
            sys.stderr.flush()
        assert not sys.stderr.isatty()


def bash(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, check=False)


def test_a_name_that_is_no_text_can_be_printed(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.pddl"
    done = pdsketch("check", "--json", os.fsdecode(name))
    assert done.returncode == 1
    assert "no-such-file" in done.stderr
    assert only_json(done.stdout)["diagnostics"][0]["line"] == 1


def test_nothing_slow_is_imported_by_check() -> None:
    code = (
        "import sys; from pdsketch.cli.main import main; main(['check', sys.argv[1]]);"
        "print(sorted({'torch', 'numpy', 'rich', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, BLOCKS], capture_output=True, text=True, timeout=600, check=True
    )
    assert not {"torch", "numpy", "rich"} & set(eval(done.stdout.splitlines()[-1]))


def test_ctrl_c_before_a_command_has_begun_is_told_as_json_too(capsys, monkeypatch) -> None:
    assert main(["check", "--json"]) == 2  # the command before has given its result
    capsys.readouterr()
    begin, calls = output.begin, []

    def interrupted_once(**settings: bool) -> None:
        calls.append(settings)
        if len(calls) == 1:
            raise KeyboardInterrupt
        begin(**settings)

    monkeypatch.setattr(output, "begin", interrupted_once)
    assert main(["check", "--json"]) == 130
    assert only_json(capsys.readouterr().out)["status"] == "interrupted"

"""``pdsketch serve`` as a process: it prints its address, answers, and ends on Ctrl-C."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pdsketch.cli.main import main

ROOT = Path(__file__).parents[2]
FILES = [str(ROOT / "examples" / "blocks" / name) for name in ("domain.pddl", "p01.pddl")]


def test_the_command_serves_until_ctrl_c():
    words = [sys.executable, "-m", "pdsketch", "serve", "--json", "--no-browser", *FILES]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = json.loads(process.stdout.readline())["url"]
        with urllib.request.urlopen(address, timeout=600) as page:
            assert b"pdsketch" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 0
        assert "Traceback" not in process.stderr.read()


def test_where_the_shell_ignores_ctrl_c_a_test_sends_it_all_the_same():
    test = f"{__file__}::test_the_command_serves_until_ctrl_c"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", test]
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "ignoring", *words]
    done = subprocess.run(ignoring, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout


def test_the_token_is_not_in_what_the_browser_is_called_with(monkeypatch, capsys):
    opened = []

    def look(address: str) -> None:
        page = Path(urllib.request.url2pathname(address.removeprefix("file://")))
        opened.append((address, page.read_text(), page.parent.stat().st_mode & 0o777))

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", look)
    monkeypatch.setattr("pdsketch.serve.server.PageServer.serve_forever", stop)
    assert main(["serve", *FILES]) == 0
    url = capsys.readouterr().out.strip()
    ((address, text, mode),) = opened
    assert url.partition("token=")[2] not in address
    assert url in text
    assert mode == 0o700


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([FILES[0]], "one of PROBLEM and --world"),
        ([*FILES, "--world", "babyai"], "not both"),
        ([*FILES, "--data", "x"], "folder of a model"),
        ([*FILES, "--port", "70000"], "wanted a port"),
    ],
)
def test_what_cannot_be_served_is_refused(capsys, words, said):
    assert main(["serve", "--no-browser", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", "--no-browser", "--port", str(taken.getsockname()[1]), *FILES]) == 2
    assert "in use" in capsys.readouterr().err

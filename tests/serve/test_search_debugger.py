"""The states of a search, as a search debugger gets them: a listener that is as strict as VS Code's."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.search.result import SearchNode
from pdsketch.serve.search_debugger import SearchDebugger, address_of

BLOCKS = Path(__file__).parents[2] / "examples" / "blocks"
FILES = [str(BLOCKS / "domain.pddl"), str(BLOCKS / "p01.pddl")]
LAMPS = """
(define (domain lamps) (:types lamp)
  (:predicates (lit ?l - lamp) (broken ?l - lamp))
  (:derived (bright ?l - lamp) (??f (lit ?l)))
  (:action press :parameters (?l - lamp) :effect (lit ?l))
  (:action break :parameters (?l - lamp) :precondition (not (lit ?l)) :effect (broken ?l)))
"""

DARK = {"lit": [False, False], "broken": [False, False]}


class Listener(ThreadingHTTPServer):
    """Takes what the extension takes: states whose parents it knows, and what is said of them later."""

    daemon_threads = True

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), _Handler)
        self.states: dict[str, dict[str, Any]] = {}
        self.h: dict[str, float | None] = {}
        self.visited: list[str] = []
        self.plans: list[str] = []
        self.refuse_after = 1 << 30
        self.posts = 0
        self.takes = 0.0
        self.base = ""

    def take(self, path: str, message: dict[str, Any]) -> int:
        if not path.startswith(self.base):
            return 404
        path = path.removeprefix(self.base)
        self.posts += 1
        time.sleep(self.takes)
        if self.posts > self.refuse_after:
            return 500
        known = self.states.get(message["id"])
        if path == "/state/initial":
            assert (message["g"], message["parentId"]) == (0, None)
            self.states[message["id"]] = message
        elif path in ("/state", "/state/visitedOrWorse", "/plan"):
            assert message["parentId"] in self.states or path == "/plan"
            for happening in message["planHead"]:
                assert happening["kind"] == "INSTANTANEOUS"
                assert happening["shotCounter"] >= 0
            if message["planHead"]:
                assert message["appliedAction"] == message["planHead"][-1]
            self.states.setdefault(message["id"], message)
            if path == "/state/visitedOrWorse":
                self.visited.append(message["id"])
            elif path == "/plan":
                self.plans.append(message["id"])
        elif path == "/state/heuristic":
            assert known is not None
            self.h[message["id"]] = message.get("h")
            assert "h" not in message or message["helpfulActions"] == message["relaxedPlan"] == []
        else:
            return 404
        return 201

    def steps(self, name: str) -> list[str]:
        """The steps to a state by its parents, which its head must agree with."""
        message, found = self.states[name], []
        while message["parentId"] is not None:
            found.append(message["appliedAction"]["actionName"])
            message = self.states[message["parentId"]]
        assert found[::-1] == [step["actionName"] for step in self.states[name]["planHead"]]
        return found[::-1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def do_POST(self) -> None:
        assert self.headers["Content-Type"] == "application/json"
        status = self.server.take(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *said: Any) -> None:
        pass


@contextmanager
def listening(host: str = "127.0.0.1") -> Iterator[Listener]:
    with Listener(host) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("search", ["astar", "lazy-gbfs"])
def test_the_states_of_a_classical_search_and_the_plan(search, capsys):
    with listening() as listener:
        option = {
            "astar": f"--search-debugger={listener.server_port}",
            "lazy-gbfs": f"--search-tree-dump=http://localhost:{listener.server_port}",
        }
        assert main(["plan", *FILES, "--search", search, option[search], "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["diagnostics"] == []
        (goal,) = listener.plans
        assert [f"({step})" for step in listener.steps(goal)] == [f"({' '.join(s)})" for s in found["plan"]]
        assert len(listener.states) >= len(found["plan"]) + 1
        assert set(listener.h) == set(listener.states)
        assert listener.h[goal] == 0
        assert found["evaluated"] <= len(listener.states) + 1


def test_dead_ends_and_states_that_were_met_before_in_a_model():
    model = pds.Model(pds.parse_domain(LAMPS), seed=0)
    state = pds.State(model.domain, {"lamp": ["a", "b"]}, DARK)
    goal = "(and (lit a) (lit b) (not (broken a)))"
    with listening() as listener:
        with SearchDebugger(f"http://127.0.0.1:{listener.server_port}") as debugger:
            result = pds.plan(model, state, goal, search="astar", heuristic="opt", k=4, trace=debugger)
            debugger.found(result.plan)
        assert debugger.warnings == ()
        assert sorted(listener.steps(listener.plans[0])) == ["press a", "press b"]
        dead = {tuple(listener.steps(name)) for name, h in listener.h.items() if h is None}
        assert ("break a",) in dead
        assert ("break b",) not in dead
        again = {tuple(listener.steps(name)) for name in listener.visited}
        assert {("press a", "press b"), ("press b", "press a")} & again


def test_the_default_search_of_a_model_is_posted_from_its_abstraction():
    model = pds.Model(pds.parse_domain(LAMPS), seed=0)
    state = pds.State(model.domain, {"lamp": ["a", "b"]}, DARK)
    with listening() as listener:
        with SearchDebugger(f"http://127.0.0.1:{listener.server_port}") as debugger:
            result = pds.plan(model, state, "(and (lit a) (lit b))", trace=debugger)
            debugger.found(result.plan)
        assert result.phases["search"] > 0
        assert listener.steps(listener.plans[0]) == [" ".join(step) for step in result.plan]
        assert len(listener.states) > len(result.plan) + 1


def test_where_nobody_listens_the_plan_is_there_and_a_warning(capsys):
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        assert main(["plan", *FILES, "--search-debugger", str(taken.getsockname()[1]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == "solved"
    (warning,) = found["diagnostics"]
    assert (warning["code"], warning["severity"]) == ("search-debugger", "warning")
    assert "cannot be reached" in warning["message"]


def test_a_listener_may_have_another_address(capsys):
    with listening("127.0.0.2") as listener:
        url = f"http://127.0.0.2:{listener.server_port}"
        assert main(["plan", *FILES, f"--search-debugger={url}", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["diagnostics"] == []
        assert listener.plans


def test_a_listener_may_be_below_a_path():
    problem = pds.load_problem(FILES[1], pds.load_domain(FILES[0]))
    with listening() as listener:
        listener.base = "/planner/states"
        with SearchDebugger(f"http://127.0.0.1:{listener.server_port}/planner/states/") as debugger:
            pds.plan(problem, trace=debugger)
        assert debugger.warnings == ()
        assert listener.states


def test_a_listener_that_refuses_is_left_alone(capsys):
    with listening() as listener:
        listener.refuse_after = 3
        assert main(["plan", *FILES, "--search-debugger", str(listener.server_port)]) == 0
        assert listener.posts == 4
    caught = capsys.readouterr()
    assert "warning[search-debugger]" in caught.err
    assert "answered 500 to /state" in caught.err
    assert "(stack" in caught.out


def test_a_slow_listener_does_not_break_the_time_limit():
    with listening() as listener, SearchDebugger(f"http://127.0.0.1:{listener.server_port}") as debugger:
        listener.takes = 0.2
        with pds.budget.Budget(1.0).running():
            for _ in range(1000):
                debugger._post("/state/initial", {"id": "0", "g": 0, "parentId": None})
            began = time.monotonic()
            debugger.__exit__(None, None, None)
        assert time.monotonic() - began < 30  # of 200 seconds, on a busy machine
        (warning,) = debugger.warnings
        assert "slow" in warning.message


def test_more_states_than_can_be_drawn_are_cut_and_the_plan_is_whole():
    problem = pds.load_problem(FILES[1], pds.load_domain(FILES[0]))
    with listening() as listener:
        with SearchDebugger(f"http://127.0.0.1:{listener.server_port}", most=3) as debugger:
            result = pds.plan(problem, search="astar", trace=debugger)
            debugger.found(result.plan)
        assert listener.steps(listener.plans[0]) == [" ".join(step) for step in result.plan]
        assert 3 < len(listener.states) <= 3 + len(result.plan)
    (warning,) = debugger.warnings
    assert "the first 3 states" in warning.message


def test_a_search_that_begins_again_gets_a_tree_of_its_own():
    first = [
        SearchNode(-1, None, 0.0, 2.0, 2.0, "expanded"),
        SearchNode(0, ("go", "a"), 1.0, 1.0, 2.0, "open"),
    ]
    second = [*first, SearchNode(1, ("go", "a"), 2.0, 0.0, 2.0, "goal")]
    with listening() as listener:
        with SearchDebugger(f"http://127.0.0.1:{listener.server_port}") as debugger:
            for nodes in (first, second):
                debugger(lambda low, high, nodes=nodes: nodes[low:high])
            debugger.found([("go", "a"), ("go", "a")])
        assert [name for name, state in listener.states.items() if state["parentId"] is None] == ["0", "2"]
        assert listener.plans == ["4"]
        assert [step["shotCounter"] for step in listener.states["4"]["planHead"]] == [0, 1]


@pytest.mark.parametrize("text", ["0", "65536", "-1", "https://a:1", "localhost:80", "http://a:x", ""])
def test_an_address_that_is_none_is_refused(text, capsys):
    assert address_of(text) is None
    assert main(["plan", *FILES, f"--search-debugger={text}"]) == 2
    assert "--search-debugger wants a port" in capsys.readouterr().err

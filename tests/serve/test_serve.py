"""The local page, asked over HTTP as a browser would."""

from __future__ import annotations

import itertools
import json
import resource
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdsketch as pds
from pdsketch.serve.exploration import Exploration, png
from pdsketch.serve.server import ANSWER_SECONDS, LARGEST_BODY, PageServer
from pdsketch.serve.subjects import ModelSubject, subject_of

EXAMPLES = Path(__file__).parents[2] / "examples"
LIGHTS = """
(define (domain lamps)
  (:types lamp)
  (:predicates (lit ?l - lamp))
  (:derived (bright ?l - lamp) (??f (lit ?l)))
  (:action press :parameters (?l - lamp) :effect (lit ?l)))
"""


class Page:
    """A client that knows the token."""

    def __init__(self, server: PageServer) -> None:
        self.server = server
        self.home = f"http://127.0.0.1:{server.server_port}"

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        return self._open(urllib.request.Request(self.home + path, headers=headers))

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.home + path, data, {"X-Token": self.server.token})
        status, content = self._open(request)
        return status, json.loads(content)

    def planned(self, goal: str, **options: Any) -> dict[str, Any]:
        """The search for a goal after it has ended."""
        assert self.ask("/api/plan", {"goal": goal, **options})[0] == 200
        until = time.monotonic() + 600  # on a busy machine
        while time.monotonic() < until:
            found = self.ask("/api/search?from=0")[1]
            if not found["running"]:
                return found
            time.sleep(0.02)
        raise AssertionError("the search did not end")

    @staticmethod
    def _open(request: urllib.request.Request) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read()


def served(exploration: Exploration) -> Iterator[Page]:
    with PageServer(exploration) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield Page(server)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def blocks() -> Iterator[Page]:
    problem = pds.load_problem(
        EXAMPLES / "blocks" / "p01.pddl", pds.load_domain(EXAMPLES / "blocks" / "domain.pddl")
    )
    yield from served(Exploration(subject_of(problem), problem.goal.span.text))


def test_only_who_knows_the_token_is_answered(blocks):
    token = blocks.server.token
    for path in ("/", "/page.js", "/api/sketch", "/api/graph", "/nothing"):
        assert blocks.get(path)[0] == 403
        assert blocks.get(f"{path}?token={token[:-1]}")[0] == 403
    assert blocks.get(f"/?token={token}")[0] == 200
    assert blocks.get("/api/sketch", **{"X-Token": token})[0] == 200
    assert blocks.get(f"/nothing?token={token}")[0] == 404


def test_another_sites_name_for_this_machine_is_refused(blocks):
    port, path = blocks.server.server_port, f"/api/sketch?token={blocks.server.token}"
    assert blocks.get(path, Host="evil.example")[0] == 403
    assert blocks.get(path, Host="evil.example:80")[0] == 403
    assert blocks.get(path, Host=f"127.0.0.1:{port + 1}")[0] == 403
    assert blocks.get(path, Host=f"localhost:{port}")[0] == 200
    assert blocks.server.server_address[0] == "127.0.0.1"


def test_the_page_is_whole_and_asks_nobody_else(blocks):
    token = blocks.server.token
    parts = [blocks.get(f"{path}?token={token}")[1].decode() for path in ("/", "/page.js", "/page.css")]
    assert f'data-token="{token}"' in parts[0]
    assert "{{" not in parts[0]
    assert not any("http://" in part or "https://" in part for part in parts)
    ids = [word.split('"')[1] for word in parts[0].replace("'", '"').split("id=")[1:]]
    for name in parts[1].split('$("')[1:]:
        assert name.split('"')[0] in ids


def test_the_sketch_and_its_graph(blocks):
    sketch = blocks.ask("/api/sketch")[1]
    assert sketch["name"] == "blocks"
    assert "stack" in sketch["actions"]
    assert "lazy-gbfs" in sketch["searches"]
    assert blocks.get("/api/graph?of=stack", **{"X-Token": blocks.server.token})[1].startswith(b"<svg")
    status, wrong = blocks.ask("/api/graph?of=stakc")
    assert status == 422
    assert "stack" in wrong["diagnostics"][0]["help"]


def test_truths_by_conjunct_and_object(blocks):
    goal = "(and (hand-empty) (forall (?x - block) (on-table ?x)) (exists (?x - block) (held ?x)))"
    found = blocks.ask("/api/truth", {"goal": goal, "step": 0})[1]
    hand, table, held = found["conjuncts"]
    assert hand["text"] == "(hand-empty)"
    assert (found["truth"], hand["truth"], held["truth"]) == (0.0, 1.0, 0.0)
    assert hand["instances"] == []
    assert table["truth"] == min(one["truth"] for one in table["instances"])
    assert {one["objects"] for one in held["instances"]} == set(blocks.ask("/api/sketch")[1]["objects"])


@pytest.mark.parametrize("path", ["/api/truth", "/api/plan"])
def test_a_bad_goal_gets_a_diagnostic_with_its_place(blocks, path):
    status, wrong = blocks.ask(path, {"goal": "(and (hand-empty)\n     (on a bb))", "step": 0})
    assert status == 422
    (found,) = wrong["diagnostics"]
    assert (found["code"], found["line"], found["column"]) == ("unknown-object", 2, 12)


@pytest.mark.parametrize("search", ["astar", "gbfs", "lazy-gbfs"])
def test_a_plan_and_its_search_tree(blocks, search):
    goal = blocks.ask("/api/sketch")[1]["goal"]
    found = blocks.planned(goal, search=search)
    assert found["result"]["status"] == "solved"
    assert found["count"] == len(found["nodes"]) >= 5
    assert found["nodes"][0][:2] == [-1, None]
    (goal_node,) = [number for number, node in enumerate(found["nodes"]) if node[-1] == "goal"]
    steps = []
    while goal_node:
        parent, step = found["nodes"][goal_node][:2]
        assert parent < goal_node
        steps.append(step)
        goal_node = parent
    assert steps[::-1] == found["result"]["plan"]
    if search == "astar":
        assert all(f == g + h for _, _, g, h, f, fate in found["nodes"] if fate == "expanded")


def test_dead_ends_are_told():
    domain = pds.parse_domain("""(define (domain town) (:predicates (coin) (tea) (strong) (there))
      (:action drink :precondition (coin) :effect (and (tea) (not (coin))))
      (:action rest :precondition (coin) :effect (strong))
      (:action walk :precondition (and (tea) (strong)) :effect (there)))""")
    problem = pds.parse_problem("(define (problem p) (:domain town) (:init (coin)) (:goal (there)))", domain)
    for page in served(Exploration(subject_of(problem), "(there)")):
        found = page.planned("(there)", search="astar")
        assert found["result"]["plan"] == ["(rest)", "(drink)", "(walk)"]
        fates = {(node[0], node[1]): node[-1] for node in found["nodes"]}
        assert fates[0, "(drink)"] == "dead-end"
        (dead,) = [number for number, node in enumerate(found["nodes"]) if node[-1] == "dead-end"]
        assert found["nodes"][dead][3] is None
        reasons = page.ask(f"/api/node?number={dead}")[1]["reasons"]
        assert any("(strong)" in reason or "(coin)" in reason for reason in reasons)
        unreachable = page.planned("(and (tea) (coin))", search="astar")
        assert unreachable["result"]["status"] == "unsolvable"
        assert unreachable["result"]["reasons"]


def test_a_node_of_the_tree_has_facts_and_successors_that_are_not_in_it(blocks):
    found = blocks.planned("(and (on a b) (on b c))", search="astar")
    nodes = found["nodes"]
    states = {}
    for number, (parent, step, *_, fate) in enumerate(nodes):
        node = blocks.ask(f"/api/node?number={number}")[1]
        states[number] = dict(node["facts"])
        assert node["path"][-1:] == ([] if step is None else [step])
        assert (node["truth"] == 1.0) is (fate == "goal")
        if parent >= 0:
            changed = {
                f
                for f in {*states[parent], *states[number]}
                if (f in states[parent]) != (f in states[number])
            }
            assert set(node["changed"]) == changed
        assert fate == "expanded" or node["left_out"] == []
    assert len({tuple(sorted(facts)) for facts in states.values()}) == len(states)
    expanded = [number for number, node in enumerate(nodes) if node[-1] == "expanded"]
    left = {n: blocks.ask(f"/api/node?number={n}")[1]["left_out"] for n in expanded}
    back = [(n, step, same) for n in expanded for step, same in left[n]]
    assert all(same is not None for _, _, same in back)  # A* has a node for each state that it generates
    number, step, same = back[0]
    taken = blocks.server.exploration.subject
    after = taken.step(blocks.server.exploration._tree().state(number), tuple(step[1:-1].split()))
    assert {pds.lang.data.show_atom(f) for f in taken.facts(after)} == set(states[same])
    assert sum(map(len, left.values())) + len(nodes) - 1 == found["result"]["generated"]


@pytest.mark.parametrize("number", [10_000, -1])
def test_a_node_that_is_not_there_is_told(blocks, number):
    status, wrong = blocks.ask(f"/api/node?number={number}")
    assert (status, wrong["diagnostics"][0]["code"]) == (422, "bad-request")


def test_left_out_states_of_a_model_are_in_its_tree():
    model = pds.Model(pds.parse_domain(LIGHTS), seed=0)
    state = pds.State(model.domain, {"lamp": ["a", "b"]}, {"lit": [False, False]})
    for page in served(Exploration(ModelSubject(model, state), "(lit a)")):
        found = page.planned("(and (lit a) (lit b))", search="astar", heuristic="blind")
        again = [number for number, node in enumerate(found["nodes"]) if node[-1] == "visited"]
        assert again
        node = page.ask(f"/api/node?number={again[0]}")[1]
        states = [page.ask(f"/api/node?number={n}")[1]["facts"] for n in range(again[0])]
        assert node["facts"] in states
        assert found["nodes"][again[0]][3:5] == [None, None]


def test_the_report_of_a_fit_with_its_worst_steps():
    domain = pds.parse_domain(LIGHTS)
    dark = pds.State(domain, {"lamp": ["a", "b"]}, {"lit": [False, True]})
    wrong = pds.Episode([dark, dark], [("press", "a")], "(lit b)", [1, 1])  # pressing does nothing here
    report = pds.evaluate(pds.Model(domain, seed=0), [wrong])
    problem = pds.parse_problem(
        "(define (problem p) (:domain lamps) (:objects a - lamp) (:init) (:goal (lit a)))", domain
    )
    for page in served(Exploration(subject_of(problem), "(lit a)", report=report)):
        sketch = page.ask("/api/sketch")[1]
        assert "Worst steps" in sketch["report"]
        assert sketch["worst"][0]["action"] == "(press a)"
        assert (sketch["worst"][0]["predicted"], sketch["worst"][0]["seen"]) == ("true", "false")


def test_stepping_through_a_plan(blocks):
    goal = blocks.ask("/api/sketch")[1]["goal"]
    plan = blocks.planned(goal)["result"]["plan"]
    before = dict(blocks.ask("/api/state?step=0")[1]["facts"])
    for index, step in enumerate(plan, 1):
        found = blocks.ask(f"/api/state?step={index}")[1]
        facts = dict(found["facts"])
        assert found["steps"][index - 1] == step
        changed = {fact for fact in {*before, *facts} if before.get(fact) != facts.get(fact)}
        assert set(found["changed"]) == changed
        before = facts
    assert blocks.ask("/api/truth", {"goal": goal, "step": len(plan)})[1]["truth"] == 1.0
    assert blocks.ask("/api/state?step=99")[1]["step"] == len(plan)


def test_one_search_at_a_time(blocks):
    blocks.server.exploration._search.running = True
    status, wrong = blocks.ask("/api/plan", {"goal": "(hand-empty)"})
    assert (status, wrong["diagnostics"][0]["code"]) == (422, "search-running")


def test_an_option_that_is_wrong_is_told(blocks):
    found = blocks.planned("(hand-empty)", search="dijkstra")
    assert found["diagnostics"][0]["code"] == "unknown-search"
    assert found["result"] is None


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b"{}", b'{"goal": 5}', b'{"goal": "(hand-empty)", "step": -1}']
)
def test_a_question_that_is_none_is_refused(blocks, body):
    headers = {"X-Token": blocks.server.token}
    request = urllib.request.Request(f"{blocks.home}/api/truth", body, headers)
    status, answer = blocks._open(request)
    assert status == 422
    assert json.loads(answer)["diagnostics"][0]["code"] == "bad-request"


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"goal":' + b"[" * 200_000])
def test_json_that_nests_without_end_is_refused(blocks, body):
    request = urllib.request.Request(f"{blocks.home}/api/truth", body, {"X-Token": blocks.server.token})
    status, answer = blocks._open(request)
    assert status == 422
    assert json.loads(answer)["diagnostics"][0]["code"] == "bad-request"


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET http://[ HTTP/1.0\r\n\r\n",
        b"POST /api/truth HTTP/1.0\r\nX-Token: TOKEN\r\nHost: 127.0.0.1:PORT\r\nContent-Length: \xb2\r\n\r\n",
        b"POST /api/truth HTTP/1.0\r\nX-Token: TOKEN\r\nHost: 127.0.0.1:PORT\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_without_a_traceback(blocks, request_line, capsys):
    port = blocks.server.server_port
    said = request_line.replace(b"TOKEN", blocks.server.token.encode()).replace(b"PORT", b"%d" % port)
    with socket.create_connection(("127.0.0.1", port), timeout=600) as asking:
        asking.sendall(said)
        answer = asking.recv(1000)
    assert answer.split()[1] in (b"403", b"422")
    assert "Traceback" not in capsys.readouterr().err


def test_a_goal_over_tables_that_do_not_fit_takes_no_memory():
    domain = pds.parse_domain(
        "(define (domain d) (:types lamp) (:predicates (near ?a ?b - lamp))"
        " (:action join :parameters (?a ?b - lamp) :effect (near ?a ?b)))"
    )
    state = pds.State(domain, {"lamp": [f"l{i}" for i in range(20)]}, {"near": [[True] * 20] * 20})
    names = [f"?x{i}" for i in range(7)]  # 1.3 billion combinations: one table of them would fit
    parts = " ".join(f"(near {a} {b})" for a, b in itertools.pairwise(names))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for page in served(Exploration(ModelSubject(pds.Model(domain), state), "(near l0 l1)")):
        status, wrong = page.ask("/api/truth", {"goal": f"(forall ({' '.join(names)} - lamp) (or {parts}))"})
        assert (status, wrong["diagnostics"][0]["code"]) == (422, "answer-too-large")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 2_200_000  # kilobytes


def test_plans_from_the_page_have_limits(blocks):
    for given in ({}, {"memory_limit": 1e9, "time_limit": ""}):
        options = blocks.server.exploration._options(given)
        assert options == {"time_limit": 30.0, "memory_limit": 2000.0}


def test_a_question_that_is_too_long_is_not_even_read(blocks):
    port, token = blocks.server.server_port, blocks.server.token
    said = (
        f"POST /api/truth HTTP/1.0\r\nX-Token: {token}\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Length: {LARGEST_BODY + 1}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=600) as asking:
        asking.sendall(said.encode())  # and nothing of the question itself
        answer = asking.makefile("rb").read().decode()
    assert "bad-request" in answer
    assert "at most 1,048,576 bytes" in answer


def test_a_goal_of_very_many_instances_is_no_endless_work(blocks):
    names = " ".join(f"?x{i}" for i in range(30))
    began = time.process_time()
    status, wrong = blocks.ask("/api/truth", {"goal": f"(forall ({names} - block) (not (on ?x0 ?x1)))"})
    assert (status, wrong["diagnostics"][0]["code"]) == (422, "answer-too-large")
    assert time.process_time() - began < 2 * ANSWER_SECONDS
    assert blocks.ask("/api/truth", {"goal": "(hand-empty)"})[0] == 200


class Room:
    """A world of one lamp that presses a button of its own choice."""

    def __init__(self, works: bool) -> None:
        self.domain = pds.parse_domain(LIGHTS)
        self.goal = "(forall (?l - lamp) (lit ?l))"
        self.works, self.executed, self.success = works, True, False
        self.lit = [False, False]

    def reset(self, seed: int | None = None) -> pds.State:
        self.lit, self.success = [False, False], False
        return self._seen()

    def step(self, action: tuple[Any, ...]) -> pds.State:
        self.lit["ab".index(action[1])] = self.works or action[1] == "a"
        self.success = all(self.lit)
        return self._seen()

    def render(self) -> np.ndarray:
        return np.full((4, 6, 3), 255 if any(self.lit) else 0, np.uint8)

    def _seen(self) -> pds.State:
        return pds.State(self.domain, {"lamp": ["a", "b"]}, {"lit": self.lit})


@pytest.mark.parametrize("works", [True, False])
def test_predicted_and_observed(works):
    world = Room(works)
    model = pds.Model(world.domain, seed=0)
    exploration = Exploration(ModelSubject(model, world.reset(0)), world.goal, world=world)
    for page in served(exploration):
        found = page.planned(world.goal, search="astar")
        assert found["result"]["status"] == "solved"
        assert len(found["result"]["plan"]) == 2
        assert found["count"] >= 3
        last = page.ask("/api/state?step=2")[1]
        assert last["success"] is works
        assert ("(lit b)" in dict(last["facts"]), "(lit b)" in dict(last["observed"])) == (True, works)
        steps = [page.ask(f"/api/state?step={i}")[1] for i in range(3)]
        assert any("lit b" in text for step in steps for text in step["deviations"]) is not works
        token = {"X-Token": page.server.token}
        dark, bright = (page.get(f"/api/picture?step={i}", **token)[1] for i in (0, 2))
        assert dark.startswith(b"\x89PNG")
        assert dark != bright
        assert page.ask("/api/picture?step=7")[0] == 422


def test_soft_truths_of_a_model():
    model = pds.Model(pds.parse_domain(LIGHTS), seed=0)
    state = pds.State(model.domain, {"lamp": ["a", "b"]}, {"lit": [True, False]})
    for page in served(Exploration(ModelSubject(model, state), "(lit a)")):
        goal = "(and (lit a) (exists (?l - lamp) (bright ?l)))"
        found = page.ask("/api/truth", {"goal": goal, "step": 0})[1]
        wanted = float(model.holds(state, "(exists (?l - lamp) (bright ?l))").detach())
        assert found["conjuncts"][1]["truth"] == pytest.approx(wanted)
        instances = [one["truth"] for one in found["conjuncts"][1]["instances"]]
        assert max(instances) == pytest.approx(wanted)


def test_states_that_are_predicted_softly_are_shown_crisp():
    domain = pds.parse_domain("""(define (domain d) (:types lamp) (:predicates (lit ?l - lamp))
      (:action press :parameters (?l - lamp) :effect (lit::assign ?l (??f (lit ?l)))))""")
    likely = {"action::press::f": lambda lit: 0.7 + 0 * lit}
    model = pds.Model(domain, likely)
    subject = ModelSubject(model, pds.State(domain, {"lamp": ["a"]}, {"lit": [False]}))
    after = subject.step(subject.start, ("press", "a"))
    assert subject.facts(after) == {("lit", "a"): True}
    assert subject.truth(after, pds.parse_goal("(lit a)", domain, objects={"a": "lamp"})) == 1.0


def test_a_picture_is_kept_exactly():
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    content = png(picture)
    assert content[content.index(b"IHDR") + 4 :][:8] == struct.pack(">II", 7, 5)  # width first
    begin = content.index(b"IDAT") + 4
    size = int.from_bytes(content[begin - 8 : begin - 4], "big")
    rows = np.frombuffer(zlib.decompress(content[begin : begin + size]), np.uint8).reshape(5, 22)
    np.testing.assert_array_equal(rows[:, 1:].reshape(5, 7, 3), picture)

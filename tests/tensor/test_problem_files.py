"""States as problem files and back, and as notebooks show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import pdsketch as pds
from pdsketch.lang.data import short

ROOM = pds.parse_domain("""
(define (domain room)
  (:types robot item - object
          pose - vector[float32, 2, tolerance=0.01]  code - vector[int64, 2, choices=3])
  (:constants r - robot)
  (:predicates
    (free ?r - robot) (near ?r - robot ?i - item) (count) (total [return_type=int64])
    (pose [return_type=pose] ?i - item) (code [return_type=code] ?i - item)
    (heat [return_type=float32] ?i - item)
    (picture [return_type=vector[float32, 2, 2]] ?i - item))
  (:derived (look [return_type=vector[float32, 3]] ?i - item) (??f (picture ?i)))
  (:derived (hot ?i - item) (??f (heat ?i)))
  (:action move :parameters (?i - item ?to - pose)
    :effect (and (assign (pose ?i) ?to) (look::assign ?i (??g (look ?i))))))
""")
GOAL = "(exists (?i - item) (and (near r ?i) (= (pose ?i) [0.1, -2.5])))"


def state(**changes: Any) -> pds.State:
    values = {
        "free": [True],
        "near": [[False, True]],
        "count": False,
        "total": 7,
        "pose": [[0.1, 1e-7], [-3.0, 1 / 3]],
        "code": [[0, 2], [1, 1]],
        "heat": [16777216.0, 3.4e38],
        "picture": [[[0, 0.2], [0.4, 1]], [[1, 1], [1, 1]]],
        **changes,
    }
    return pds.State(ROOM, {"item": ["a", "b"]}, values)


def test_a_state_is_written_as_a_problem_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "First try.pddl"
    pds.write_problem(state(), GOAL, path)
    problem = pds.load_problem(path, ROOM)
    assert problem.name == "first-try"
    assert problem.state == state()
    assert "[0.1, 1e-07]" in path.read_text()
    assert problem.goal == pds.parse_goal(GOAL, problem)


def test_encoded_variables_are_written_as_they_are(tmp_path: Path) -> None:
    encoded = pds.Model(ROOM, seed=0).encode(state(), crisp=True)
    pds.write_problem(encoded, GOAL, tmp_path / "p.pddl")
    again = pds.load_problem(tmp_path / "p.pddl", ROOM).state
    assert "look" in again
    assert again["look"].tolist() == encoded["look"].tolist()


def test_the_written_problem_has_the_plan_of_the_state(tmp_path: Path) -> None:
    root = Path(__file__).parents[2] / "examples" / "blocks"
    domain = pds.load_domain(root / "domain.pddl")
    first = pds.load_problem(root / "p01.pddl", domain)
    pds.write_problem(first.state, first.goal, tmp_path / "1.pddl")
    again = pds.load_problem(tmp_path / "1.pddl", domain)
    assert again.name == "problem-1"
    assert {fact for fact, value in again.init.items() if value} == set(first.init)
    assert pds.plan(again).plan == pds.plan(first).plan


def test_slips_are_errors(tmp_path: Path) -> None:
    with pytest.raises(pds.Error, match="a State was wanted"):
        pds.write_problem({}, GOAL, tmp_path / "p.pddl")  # type: ignore[arg-type]
    with pytest.raises(pds.Error, match="there is no object `c`"):
        pds.write_problem(state(), "(near r c)", tmp_path / "p.pddl")


@given(st.floats(width=32, allow_nan=False))
def test_short_numbers_are_the_same_float32(value: float) -> None:
    assert np.float32(short(value)) == np.float32(value)
    assert len(repr(short(value))) <= len(repr(value))


def test_what_is_no_float32_stays_as_it_is() -> None:
    assert short(1 / 3) == 1 / 3
    assert short(3.4028234663852886e38) == 3.4028234663852886e38  # with nine digits, it would be too large
    assert short((True, 2, "b", float("inf"), (0.10000000149011612,))) == (True, 2, "b", float("inf"), (0.1,))


def test_notebooks_show_states_plans_and_short_lines() -> None:
    html = state()._repr_html_()
    assert "<td>(pose a)</td><td>[0.1, 1e-07]</td>" in html
    many = pds.State(ROOM, {"item": [f"i{n}" for n in range(30)]}, dict(_many(30)))
    assert "<td>near …</td><td>30 values</td>" in many._repr_html_()
    result = pds.Result("solved", [("move", "a", (0.10000000149011612, 2.0)), ("<b>",)], 2.0, 5, seconds=0.25)
    assert repr(result) == "Result(solved: (move a [0.1, 2.0]) (<b>); cost 2; 5 expanded, 0.25 s)"
    assert "<ol><li><code>(move a [0.1, 2.0])</code></li><li><code>(&lt;b&gt;)</code></li></ol>" in (
        result._repr_html_()
    )
    long = pds.Result("solved", [("go",)] * 12, 12.0)
    assert repr(long).count("(go)") == 10
    assert "12 steps" in repr(long)
    failed = pds.Result("gave-up", reasons=("no & more",))
    assert repr(failed) == "Result(gave-up: no & more; 0 expanded, 0 s)"
    assert "<ul><li>no &amp; more</li></ul>" in failed._repr_html_()


def _many(n: int) -> Any:
    yield from {"free": [True], "near": [[False] * n], "count": False, "total": 7}.items()
    yield from {"pose": [[0.0, 0.0]] * n, "code": [[0, 2]] * n, "heat": [1.0] * n}.items()
    yield "picture", [[[0, 0], [0, 0]]] * n

"""The same slip in a step gets the same code from the validator, a model, and an episode."""

import pytest
import torch

import pdsketch as pds
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.source import Source
from pdsketch.lang.steps import read_plan, span_of_step, write_plan
from pdsketch.lang.validator import validate

DOMAIN = pds.parse_domain("""(define (domain d)
  (:types item room - object pose - vector[float32, 2] level - int64[choices=3])
  (:predicates (at [return_type=pose] ?o - item) (dim [return_type=level] ?r - room))
  (:action go :parameters (?o - item ?p - pose) :effect (at::assign ?o ?p))
  (:action set :parameters (?r - room ?n - level) :effect (dim::assign ?r ?n)))""")
PROBLEM = pds.parse_problem(
    """(define (problem p) (:domain d) (:objects i - item hall - room)
    (:init (= (at i) [0, 0]) (= (dim hall) 0)) (:goal (= (dim hall) 1)))""",
    DOMAIN,
)
SLIPS = [
    (("walk", "i"), "unknown-action"),
    (("go", "i"), "arity-mismatch"),
    (("go", "i", (1, 2), 3), "arity-mismatch"),
    (("go", "j", (1, 2)), "unknown-object"),
    (("go", "hall", (1, 2)), "type-mismatch"),
    (("go", 3, (1, 2)), "type-mismatch"),
    (("go", "i", (1, 2, 3)), "shape-mismatch"),
    (("go", "i", 1), "shape-mismatch"),
    (("go", "i", "there"), "bad-value"),
    (("go", "i", (1, float("nan"))), "not-finite"),
    (("go", "i", (1, 1e39)), "not-finite"),
    (("set", "hall", 3), "value-out-of-range"),
    (("set", "hall", -1), "value-out-of-range"),
    (("set", "hall", 0.5), "value-out-of-range"),
    ((), "bad-action"),
    ((7, "i"), "bad-action"),
]


@pytest.mark.parametrize(("step", "code"), SLIPS)
def test_one_slip_has_one_code_everywhere(step, code):
    state = PROBLEM.state
    verdict = validate(PROBLEM, [step])
    with pytest.raises(Error) as of_model:
        pds.Model(DOMAIN).step(state, [step])
    with pytest.raises(Error) as of_episode:
        pds.Episode([state, state], [step], "(= (dim hall) 1)", [0, 0])
    found = [verdict.reason.code, *(e.value.diagnostics[0].code for e in (of_model, of_episode))]
    assert found == [code] * 3


@pytest.mark.parametrize("value", [(1, 2), [1.0, 2.0], torch.tensor([1.0, 2.0])])
def test_values_may_come_as_tuples_lists_and_tensors(value):
    state = PROBLEM.state
    after = pds.Model(DOMAIN).step(state, ("GO", "I", value))
    assert after["at"].tolist() == [[1.0, 2.0]]
    assert pds.Episode([state, after], [("GO", "I", value)], "(= (dim hall) 1)", [0, 0]).actions == (
        ("go", "i", (1.0, 2.0)),
    )


def test_a_plan_is_read_as_it_was_written():
    steps = [("go", "i", (0.5, 2)), ("set", "hall", 1)]
    text = write_plan(steps, 2.0)
    assert text == "(go i [0.5, 2])\n(set hall 1)\n; cost = 2\n"
    assert read_plan(Source("plan", text)) == steps


def read(text):
    return read_plan(Source("plan", text))


def test_plans_in_the_form_of_val_are_read_in_the_order_of_their_times():
    steps = [("set", "hall", 0), ("set", "hall", 1)]
    assert read("0: (set hall 0) [1]\n1: (set hall 1) [1]\n") == steps
    assert read("1.000: (set hall 1)\n0.000: (set hall 0) [1.000]") == steps
    assert read("; a comment\n10: (set hall 1)\n9: (set hall 0)") == steps
    assert read("(set hall 0)\n(set hall 1)\n; cost = 2") == steps


def test_the_place_of_a_step_is_that_of_its_time():
    source = Source("plan", "1: (set hall 1)\n0: (set hall 0)")
    assert (span_of_step(source, 0).line, span_of_step(source, 0).column) == (2, 4)


@pytest.mark.parametrize(
    "text", ["0:", "0: 1: (a)", "[1] (a)", "0: [1]", "(a) [1] [2]", "(a) [1, 2]", "x: (a)"]
)
def test_times_and_durations_without_steps_are_refused(text):
    with pytest.raises(Error) as refused:
        read(text)
    assert refused.value.diagnostics[0].code == "bad-plan"


def test_plans_print_the_shortest_numbers():
    assert write_plan([("go", "i", (0.10000000149011612, 2.0))], 1.0) == "(go i [0.1, 2.0])\n; cost = 1\n"

"""Why there is no plan: what the AO task cannot reach, in the sketch's own terms."""

import torch

import pdsketch as pds
from pdsketch.tensor import VERDICTS

DOORS = """
(define (domain doors)
  (:types door - object level - int64[choices=4])
  (:predicates
    (angle [return_type=level] ?d - door) (colour [return_type=level] ?d - door) (locked ?d - door))
  (:derived (is-open ?d - door) (??wide (angle ?d)))
  (:derived (is-red ?d - door) (??red (colour ?d)))
  (:action push :parameters (?d - door)
    :precondition (not (locked ?d))
    :effect (assign (angle ?d) (??turned (angle ?d))))
  (:action lock :parameters (?d - door) :effect (locked ?d)))
"""


def doors(turned, locked=(False, False)):
    domain = pds.parse_domain(DOORS)
    modules = {
        "derived::is-open::wide": lambda x: x[..., 3],
        "derived::is-red::red": lambda x: x[..., 2],
        "action::push::turned": turned,
    }
    values = {"angle": [0, 0], "colour": [1, 2], "locked": list(locked)}
    return pds.Model(domain, modules=modules), pds.State(domain, {"door": ["front", "back"]}, values)


def stays(x):
    """A door that turns up to half of the way, and no farther."""
    steps = torch.tensor([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    return x @ steps


def opens(x):
    return x.roll(1, -1)


def test_what_the_learned_effect_never_brings_about_is_named_with_its_blank_and_line():
    model, state = doors(stays)
    for options in ({}, {"heuristic": "ao"}, {"search": "abstract"}):
        result = pds.plan(model, state, "(forall (?d - door) (is-open ?d))", **options)
        said = " / ".join(result.reasons)
        assert result.plan is None
        for name in ("front", "back"):
            assert f"in the model, no actions make `(is-open {name})` true (<goal>:1:" in said
        assert (
            "`push` writes `angle` by `action::push::turned`, and never so that it holds (<domain>:10:"
            in said
        )
        assert "`derived::is-open::wide` that decides it (<domain>:6:" in said
        assert "@" not in said


def test_the_verdict_of_the_blank_that_is_to_blame_is_told():
    model, state = doors(stays)
    model.notes[VERDICTS] = {"action::push::turned": "never-varied"}
    result = pds.plan(model, state, "(is-open front)")
    assert any(reason.startswith("`action::push::turned` is never-varied") for reason in result.reasons)


def test_what_is_within_reach_is_not_named():
    model, state = doors(opens, locked=(True, False))
    result = pds.plan(model, state, "(and (is-open back) (is-open front))")
    said = " / ".join(result.reasons)
    assert result.plan is None
    assert "`(is-open front)`" in said
    assert "no actions make `(is-open back)`" not in said


def test_what_no_action_writes_is_named():
    model, state = doors(opens)
    result = pds.plan(model, state, "(is-red front)", heuristic="ao")
    said = " / ".join(result.reasons)
    assert "no action writes `colour` (<domain>:5:" in said

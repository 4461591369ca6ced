"""The version space of preconditions, against all conjunctions there are; its ends in models and plans."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings, strategies as st

import pdsketch as pds
from pdsketch.nets import Signature, Spec
from pdsketch.nets.signature import Input
from pdsketch.training.forms.preconditions import Tries, conjunctions


def told(form, inputs):
    """What a form says of rows of truths."""
    return form(*[column.unsqueeze(-1) for column in inputs.float().T])[:, 0] > 0.5


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, 2**n - 1), st.booleans()), min_size=1, max_size=12)
        )
    )
)
def test_the_ends_are_those_of_all_conjunctions_that_fit(sample):
    n, tries = sample
    inputs = torch.tensor(list(product((0, 1), repeat=n)))
    rows, could = [at for at, _ in tries], np.array([label for _, label in tries])
    assume(could.any())
    signature = Signature((Input(Spec("bool")),) * n, Spec("bool"))
    args = [column.float().unsqueeze(-1) for column in inputs[rows].T]
    # Of each truth: it must hold, it must not, or it does not matter.
    every = [
        torch.stack([(inputs[:, i] == need) | (need == 2) for i, need in enumerate(needs)]).all(0)
        for needs in product((0, 1, 2), repeat=n)
    ]
    fitting = [says for says in every if (says[rows].numpy() == could).all()]
    space = conjunctions(signature, Tries(args, could))
    assert (space is None) == (not fitting)
    if space is None:
        return
    assert told(space.safe, inputs).equal(torch.stack(fitting).all(0))
    assert told(space.loose, inputs).equal(torch.stack(fitting).any(0))
    assert any(told(space.form, inputs).equal(says) for says in fitting)


HAND = """
(define (domain hand) (:types box)
  (:predicates (near ?b - box) (free) (up ?b - box){more})
  (:action lift :parameters (?b - box) :precondition (??pre (near ?b) (free) (up ?b){given})
    :effect (and (up ?b) (not (free))))
  (:action release :parameters () :effect (free)))
"""


def hand(extra):
    names = [f"x{i}" for i in range(extra)]
    more, asked = (
        " " + " ".join(texts)
        for texts in zip(*[(f"({n} ?b - box)", f"({n} ?b)") for n in names] or [("", "")], strict=True)
    )
    domain = pds.parse_domain(HAND.format(more=more, given=asked))

    def state(near, free, up, rest=()):
        values = dict(zip(names, ([value] for value in rest or [0] * extra), strict=True))
        return pds.State(domain, {"box": ["a"]}, {"near": [near], "free": free, "up": [up], **values})

    return domain, state


@pytest.fixture(scope="module", params=[0, 4, 10])
def lifting(request):
    """No lift with a full hand was ever tried: of 3, 7 and 13 truths."""
    domain, state = hand(request.param)
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(60):
        rest = rng.integers(2, size=request.param).tolist()
        episodes += [
            pds.Episode([state(1, 1, 0, rest), state(1, 0, 1, rest)], [("lift", "a")], executable=[True]),
            pds.Episode([state(0, 1, 0, rest)] * 2, [("lift", "a")], executable=[False]),
        ]
    model = pds.Model(domain, seed=0)
    return model, state, pds.fit(model, episodes, seed=0)


def test_forms_are_found_without_a_step(lifting):
    model, _, report = lifting
    assert report.steps == 0
    assert report.train.step_accuracy == 1.0
    assert str(model.forms["action::lift::pre"]) == "(near ?b) = 1"
    assert report.blanks["action::lift::pre"].trained


def test_applicable_knows_a_guess(lifting, tmp_path):
    model, state, _ = lifting
    model.save(str(tmp_path / "model"))
    for one in (model, pds.load_model(str(tmp_path / "model"))):
        sure, guess, never = state(1, 1, 0), state(1, 0, 0), state(0, 1, 0)
        said = [
            (
                float(one.applicable(s, ("lift", "a"))),
                float(one.applicable(s, ("lift", "a"), crisp=True)),
                float(one.applicable(s, ("lift", "a"), safe=True)),
            )
            for s in (sure, guess, never)
        ]
        assert said == [(1.0, 1.0, 1.0), (0.75, 1.0, 0.0), (0.0, 0.0, 0.0)]


@pytest.mark.parametrize("options", [{}, {"confidence": 0.9}, {"search": "astar", "heuristic": "blind"}])
def test_plans_without_guesses_come_first(lifting, options):
    model, state, _ = lifting
    found = pds.plan(model, state(1, 0, 0), "(up a)", **options)
    assert found.plan == [("release",), ("lift", "a")]
    assert found.guesses == ()


def test_a_plan_on_a_guess_says_so(lifting):
    model, state, _ = lifting
    found = pds.plan(model, state(1, 1, 1), "(and (up a) (not (free)))")
    assert found.plan == [("lift", "a")]
    assert "`action::lift::pre`" in found.guesses[0]
    assert set(found.guesses) <= set(found.warnings)


def test_expansions_without_guesses_are_not_taken_from_those_with_guesses():
    flips = "".join(
        f"(:action flip-{x}-{y} :effect (and "
        + "".join(f"(when ({v}) (not ({v}))) (when (not ({v})) ({v}))" for v in (x, y))
        + "))"
        for x, y in ("ab", "bc")
    )
    domain = pds.parse_domain(f"""
    (define (domain parity) (:predicates (a) (b) (c) (near) (free)) {flips}
      (:action light :precondition (??pre (near) (free)) :effect (a)))
    """)

    def state(near, free, a=0):
        return pds.State(domain, {}, {"a": a, "b": 0, "c": 0, "near": near, "free": free})

    episodes = [
        pds.Episode([state(near, 1), state(near, 1, a=near)], [("light",)], executable=[bool(near)])
        for near in (0, 1)
    ]
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes * 20, seed=0)
    found = pds.plan(model, state(1, 0), "(and (a) (b) (c))", max_expansions=26)
    without, guessing = found.stages
    assert without.expanded > guessing.expanded
    assert (guessing.name, guessing.ended) == ("rules", "solved")
    assert found.guesses


def test_two_effects_on_what_never_changed_are_found_without_a_step():
    domain = pds.parse_domain("""
    (define (domain radio) (:types box) (:predicates (free) (sent ?b - box))
      (:action send :parameters (?b - box) :effect (and (assign (free) (??busy (free)))
        (assign (free) (??done (free))) (assign (sent ?b) (??sent (sent ?b))))))
    """)
    states = [pds.State(domain, {"box": ["x"]}, {"free": True, "sent": [sent]}) for sent in (0, 1)]
    model = pds.Model(domain, seed=0)
    assert pds.fit(model, [pds.Episode(states, [("send", "x")])] * 20, seed=0).steps == 0
    assert sorted(str(form) for form in model.forms.values()) == ["(free) = 1", "(free) = 1", "true"]


def test_what_never_changed_is_left_as_it_is_even_where_it_was_always_false():
    waits = [f"wait-{at}" for at in range(8)]
    idle = " ".join(f"(:action {name} :parameters (?a - room) :effect (and))" for name in waits)
    domain = pds.parse_domain(f"""
    (define (domain rooms) (:types room) (:predicates (at ?r - room) (dark ?r - room))
      (:action go :parameters (?a ?b - room) :precondition (at ?a)
        :effect (and (not (at ?a)) (at ?b))) {idle})
    """)
    sketch, rooms = pds.sketch_of(domain), {"room": list("xyz")}
    here, there = (pds.State(sketch, rooms, {"at": at, "dark": [0, 0, 1]}) for at in np.eye(3)[:2])
    episodes = [pds.Episode([here, there], [("go", "x", "y")])]
    episodes += [pds.Episode([here] * 3, [(name, "x"), (name, "z")]) for name in waits]
    model = pds.Model(sketch, seed=0)
    pds.fit(model, episodes * 10, seed=0)
    dark = pds.State(sketch, rooms, {"at": [1, 0, 0], "dark": [0, 1, 0]})
    assert model.step(dark, ("go", "x", "y"), crisp=True)["dark"].tolist() == [0, 1, 0]
    assert [str(model.forms[f"action::go::at-{name}"]) for name in "ab"] == ["false", "true"]


def test_several_blanks_in_one_precondition_are_settled_by_executions_alone():
    domain = pds.parse_domain("""
    (define (domain two) (:types box) (:predicates (a ?b - box) (c ?b - box) (up ?b - box))
      (:action lift :parameters (?b - box) :precondition (and (??f (a ?b)) (??g (c ?b))) :effect (up ?b)))
    """)

    def episode(a, c, could):
        first = {"a": [a], "c": [c], "up": [0]}
        states = [pds.State(domain, {"box": ["x"]}, first | {"up": [up]}) for up in (0, could)]
        return pds.Episode(states, [("lift", "x")], executable=[bool(could)])

    alone, refused = pds.Model(domain, seed=0), pds.Model(domain, seed=0)
    pds.fit(alone, [episode(1, 1, 1)] * 20, seed=0)
    assert [str(form) for form in alone.forms.values()] == ["(a ?b) = 1", "(c ?b) = 1"]
    pds.fit(refused, [episode(1, 1, 1), episode(0, 1, 0), episode(1, 0, 0)] * 20, steps=300, seed=0)
    inputs = [episode(a, c, 0).states[0] for a in (0, 1) for c in (0, 1)]
    could = [float(refused.applicable(state, ("lift", "x"), crisp=True)) for state in inputs]
    assert could == [0.0, 0.0, 0.0, 1.0]


PUSHED = pds.parse_domain("""
    (define (domain stones)
      (:types stone - object)
      (:predicates (home ?s - stone) (moved ?s - stone))
      (:action push :parameters (?s - stone) :effect (and
        (home::assign ?s (??stays (home ?s))) (moved::assign ?s (??goes (moved ?s))))))
    """)


def test_a_plan_through_a_truth_that_no_try_had_rests_on_a_guess():
    def state(home: bool, moved: bool) -> pds.State:
        return pds.State(PUSHED, {"stone": ["a"]}, {"home": [home], "moved": [moved]})

    tries = [pds.Episode([state(False, was), state(False, True)], [("push", "a")]) for was in (False, True)]
    model = pds.Model(PUSHED, seed=0)
    pds.fit(model, tries, progress=False)
    known = pds.plan(model, state(False, False), "(moved a)")
    assert known.plan == [("push", "a")]
    assert not known.guesses
    guessed = pds.plan(model, state(True, False), "(and (home a) (moved a))")
    assert guessed.plan == [("push", "a")]
    assert "action::push::stays" in guessed.guesses[0]

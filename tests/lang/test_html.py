"""What notebooks show of domains, problems, models and episodes; short words for the rest."""

from __future__ import annotations

import pdsketch as pds
from pdsketch.training.data.recorder import arrays_of

DOMAIN = pds.parse_domain("""(define (domain d<>) (:types o)
  (:predicates (v [return_type=float32] ?x - o))
  (:derived (big ?x - o) (??f (v ?x)))
  (:action up :parameters (?x - o) :precondition (big ?x) :effect (v::assign ?x (??f (v ?x)))))""")


def states(*values: float) -> list[pds.State]:
    return [pds.State(DOMAIN, {"o": ["a"]}, {"v": [value]}) for value in values]


def test_domains_and_problems_show_what_they_declare():
    html = DOMAIN._repr_html_()
    assert "Domain(d&lt;&gt;: 2 predicates, 1 action, 2 blanks)" in html
    assert "<td>observed</td><td>v(o) -&gt; float32</td>" in html
    assert "<td>action</td><td>up(o)</td>" in html
    assert "<td>blank</td><td>derived::big::f(float32) -&gt; bool</td>" in html
    facts = " ".join(f"(= (v x{i}) {i})" for i in range(60))
    names = " ".join(f"x{i}" for i in range(60))
    problem = pds.parse_problem(
        f"(define (problem p) (:domain d<>) (:objects {names} - o) (:init {facts}) (:goal (big x0)))", DOMAIN
    )
    html = problem._repr_html_()
    assert "<td>goal</td><td>(big x0)</td>" in html
    assert "<td>(v x49)</td><td>49" in html
    assert "x50" not in html
    assert "<td>…</td><td>60 values</td>" in html


def test_models_say_what_was_trained():
    model = pds.Model(DOMAIN, seed=0)
    count = sum(p.numel() for p in model.parameters())
    assert repr(model) == f"Model(d<>: 2 blanks, 0 trained, {count:,} parameters)"
    model.notes.update(trained=["derived::big::f"], verdicts={"derived::big::f": "learned"})
    assert "2 blanks, 1 trained" in repr(model)
    assert "<td>derived::big::f(float32) -&gt; bool</td><td>learned</td>" in model._repr_html_()


def test_episodes_are_one_line():
    step = ("up", "a")
    known = pds.Episode(states(1, 2), [step], "(big a)", [0, 1])
    assert repr(known) == "Episode(d<>: 1 step; (big a): reached)"
    lost = pds.Episode(states(1, 2, 3), [step, step], "(big a)", [0, 1, 0])
    assert repr(lost) == "Episode(d<>: 2 steps; (big a): not reached)"
    several = pds.Episode(states(1), [], goals={"(big a)": None, "(not (big a))": [1]})
    assert repr(several) == "Episode(d<>: 0 steps; (big a) and 1 more)"
    assert repr(pds.Episode(states(1), [])) == "Episode(d<>: 0 steps)"
    assert repr(arrays_of([known, lost], DOMAIN)) == "EpisodeArrays(d<>: 2 episodes, 5 states)"

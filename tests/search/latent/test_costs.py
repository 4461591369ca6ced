"""What actions cost, where many problems are planned for together."""

from __future__ import annotations

import pytest

import pdsketch as pds

PATHS = """(define (domain paths) (:types place - object)
  (:predicates (here [return_type=vector[float32, 1]]) (at ?p - place) (way ?p ?q - place))
  (:functions (length ?p ?q - place) (total-cost) - number)
  (:action go :parameters (?p ?q - place) :precondition (and (at ?p) (way ?p ?q))
    :effect (and (not (at ?p)) (at ?q) (assign (here) [1]) (increase (total-cost) (length ?p ?q)))))"""


def problem(names, lengths, text=PATHS):
    """From the first of four places to the last, by one of two ways."""
    domain = pds.parse_domain(text)
    ways = {(0, 1): lengths[0], (1, 3): 1, (0, 2): lengths[1], (2, 3): 1}
    pairs = {(names[i], names[j]): n for (i, j), n in ways.items()}
    facts = " ".join(f"(way {p} {q}) (= (length {p} {q}) {n})" for (p, q), n in pairs.items())
    other = " ".join(f"(= (length {p} {q}) 0)" for p in names for q in names if (p, q) not in pairs)
    return pds.parse_problem(
        f"""(define (problem x) (:domain paths) (:objects {" ".join(names)} - place)
          (:init (at {names[0]}) (= (here) [0]) {facts} {other}) (:goal (at {names[3]}))
          (:metric minimize (total-cost)))""",
        domain,
    )


@pytest.mark.parametrize("other", [("a", "b", "c", "d"), ("w", "x", "y", "z")], ids=["same", "different"])
def test_each_problem_is_guided_by_its_own_costs_whatever_its_objects_are_called(other):
    first, second = problem(("a", "b", "c", "d"), (5, 90)), problem(other, (70, 3))
    model = pds.Model(first.domain)
    states = [p.state if p.domain is first.domain else moved(p, first.domain) for p in (first, second)]
    goals = [f"(at {names[3]})" for names in (("a", "b", "c", "d"), other)]
    together = pds.plan_many(model, states, goals)
    alone = [pds.plan(model, state, goal) for state, goal in zip(states, goals, strict=True)]
    assert [r.cost for r in together] == [6, 4]
    assert [r.plan for r in together] == [r.plan for r in alone]
    assert [r.expanded for r in together] == [r.expanded for r in alone]
    assert [r.best_h for r in pds.plan_many(model, states, goals, max_expansions=0)] == [6, 4]


def moved(problem, domain):
    """The state of a problem, as one of another domain that says the same."""
    state = problem.state
    return pds.State(domain, state.objects, state.values)


def test_a_cost_that_is_no_number_is_refused():
    text = PATHS.replace("(length ?p ?q)))))", "(* (length ?p ?q) (length ?p ?q))))))")
    this = problem(("a", "b", "c", "d"), ("1e30", 3), text)
    with pytest.raises(pds.Error, match="cost-too-large") as caught:
        pds.plan(this, search="astar")
    assert "`go` costs inf" in caught.value.diagnostics[0].message

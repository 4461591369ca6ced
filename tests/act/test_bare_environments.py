"""Environments and controllers that were not written for us: the error says what to write."""

from __future__ import annotations

import pytest

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain counter)
  (:types robot - object)
  (:predicates (at [return_type=int64[choices=5]] ?r - robot))
  (:action jump :parameters (?r - robot) :effect (assign (at ?r) 2)))
""")
GOAL = "(= (at r) 2)"


def observe(_env: object) -> pds.State:
    return pds.State(DOMAIN, {"robot": ["r"]}, {"at": [0]})


class Bare:
    """An environment whose actions are numbers."""

    def step(self, action: int) -> tuple[object, ...]:
        return (["left", "right"][action], 0.0, False, False, {})


def test_a_bare_environment_says_which_controller_to_write() -> None:
    policy = pds.Policy(pds.Model(DOMAIN), heuristic="blind")
    with pytest.raises(pds.Error, match=r"does not take \('jump', 'r'\): TypeError") as caught:
        policy.run(Bare(), GOAL, observe=observe)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "no-controller"
    assert 'controllers={"jump": fn}' in (diagnostic.help or "")
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_controller_that_returns_none_is_an_error_and_no_refusal() -> None:
    policy = pds.Policy(pds.Model(DOMAIN), heuristic="blind", controllers={"jump": lambda env, r: None})
    with pytest.raises(pds.Error, match="returned None") as caught:
        policy.run(Bare(), GOAL, observe=observe)
    assert caught.value.diagnostics[0].code == "bad-controller"


def test_two_versions_of_a_domain_are_told_apart_by_where_they_differ() -> None:
    text = DOMAIN.source.text.replace("choices=5", "choices=6")
    with pytest.raises(pds.Error, match=r"from line 4 on: `\[return_type=int64\[choices=5\]\]` there"):
        pds.Model(pds.parse_domain(text)).holds(observe(None), GOAL)


def test_a_goal_that_is_no_formula_is_an_error() -> None:
    domain = pds.parse_domain("(define (domain d) (:predicates (p)) (:action a :effect (p)))")
    problem = pds.parse_problem("(define (problem q) (:domain d) (:init) (:goal (p)))", domain)
    with pytest.raises(pds.Error, match="a goal is a formula"):
        pds.plan(problem, goal=5)  # type: ignore[call-overload]
    assert repr(domain) == "Domain(d: 1 predicate, 1 action, 0 blanks)"
    assert repr(problem) == "Problem(q of d: 0 objects, 0 values)"


def test_reasons_do_not_go_in_circles() -> None:
    domain = pds.parse_domain("""
    (define (domain lg)
      (:types place thing - object  vehicle package - thing)
      (:predicates (at ?t - thing ?p - place) (in ?k - package ?v - vehicle))
      (:action drive :parameters (?v - vehicle ?a ?b - place)
        :precondition (at ?v ?a) :effect (and (at ?v ?b) (not (at ?v ?a))))
      (:action load :parameters (?k - package ?v - vehicle ?p - place)
        :precondition (and (at ?k ?p) (at ?v ?p)) :effect (and (in ?k ?v) (not (at ?k ?p))))
      (:action unload :parameters (?k - package ?v - vehicle ?p - place)
        :precondition (and (in ?k ?v) (at ?v ?p)) :effect (and (at ?k ?p) (not (in ?k ?v)))))
    """)
    problem = pds.parse_problem(
        "(define (problem p) (:domain lg) (:objects a b - place v - vehicle k - package)"
        " (:init (at k a)) (:goal (at k b)))",
        domain,
    )
    reasons = pds.plan(problem).reasons
    assert not any("`unload` would make `(at ?v" in line for line in reasons)  # it moves packages alone
    assert sum("`drive` would make" in line for line in reasons) == 2
    assert any("needs `(at ?v ?a)`, and none such holds at the start" in line for line in reasons)

"""Problems of unified-planning in and out, and the engines that it calls, with the real package."""

from __future__ import annotations

import builtins
from fractions import Fraction
from pathlib import Path

import pytest
import torch  # noqa: F401  before scipy, which unified-planning imports: in the other order some builds crash at exit

import pdsketch as pds
from pdsketch.interchange.unified.formulas import TRANSLATED
from pdsketch.interchange.unified.problems import translate

EXAMPLES = Path(__file__).parents[2] / "examples"

SOLVED = 33
"""How many of unified-planning's own example problems are within the language, of 66 in version 1.3."""


@pytest.fixture(scope="module")
def up():
    import unified_planning.shortcuts as up

    environment = up.get_environment()
    environment.credits_stream = None
    for name, kind in (("pdsketch", "PlanningEngine"), ("pdsketch-opt", "OptimalEngine")):
        environment.factory.add_engine(name, "pdsketch.interchange.unified.engine", kind)
    return up


@pytest.fixture(scope="module")
def cases(up):
    from unified_planning.test.examples import get_example_problems

    return get_example_problems()


def judge(problem, plan):
    from unified_planning.engines import SequentialPlanValidator

    validator = SequentialPlanValidator()
    validator.skip_checks = True  # of numbers without an initial value, it says that it is not sure
    return validator.validate(problem, plan)


def test_its_own_examples_are_solved_and_its_validator_agrees(up, cases):
    solved = {}
    with up.OneshotPlanner(name="pdsketch") as planner:
        for name, case in cases.items():
            if planner.supports(case.problem.kind):
                found = planner.solve(case.problem)
                assert found.plan is not None, f"{name}: {found}"
                assert judge(case.problem, found.plan), name
                assert planner.validate(case.problem, found.plan), name
                solved[name] = found.plan
    assert len(solved) >= SOLVED
    assert {"robot_fluent_of_user_type", "counter_to_50", "robot_loader_weak_bridge", "safe_road"} <= set(
        solved
    )


def test_what_is_not_supported_is_named(up, cases):
    refused = [case.problem for case in cases.values() if not case.problem.kind.features <= TRANSLATED]
    assert len(refused) >= 30
    for problem in refused:
        with pytest.raises(pds.Error) as caught:
            pds.from_unified_planning(problem)
        beyond = problem.kind.features - TRANSLATED
        assert {d.code for d in caught.value.diagnostics} == {"unsupported-feature"}
        assert all(any(f"`{feature}`" in d.message for d in caught.value.diagnostics) for feature in beyond)
    with pytest.raises(pds.Error, match="a str was given"):
        pds.from_unified_planning("problem.pddl")


def test_plans_that_are_wrong_are_refused_as_its_validator_does(up, cases):
    problem = cases["robot_loader"].problem
    good = cases["robot_loader"].valid_plans[0]
    make = type(good)
    with up.PlanValidator(name="pdsketch") as validator:
        for actions in (good.actions[:-1], good.actions[1:], []):
            bad = make(actions)
            ours, theirs = validator.validate(problem, bad), judge(problem, bad)
            assert not ours
            assert not theirs
            assert ours.reason == theirs.reason
            assert ours.inapplicable_action == theirs.inapplicable_action
        assert validator.validate(problem, good)
    with pytest.raises(pds.Error, match="unknown-action"):
        translate(problem).steps(cases["basic"].valid_plans[0].actions)


def switches(up):
    """Two rooms, a robot with a place, a battery with bounds, and names that PDDL does not have."""
    room, robot = up.UserType("Room"), up.UserType("robot")
    place = up.Fluent("where at?", room, who=robot)
    lit = up.Fluent("and", up.BoolType(), room=room)
    power = up.Fluent("Power", up.IntType(0, 3))
    go = up.InstantaneousAction("GO", who=robot, to=room)
    go.add_precondition(up.Not(up.Equals(place(go.who), go.to)))
    go.add_precondition(up.Implies(up.Not(lit(place(go.who))), lit(go.to)))
    go.add_effect(place(go.who), go.to)
    go.add_decrease_effect(power, 2)
    flip = up.InstantaneousAction("flip", who=robot, room=room)
    flip.add_precondition(up.Equals(place(flip.who), flip.room))
    flip.add_effect(lit(flip.room), up.Not(lit(place(flip.who))))
    flip.add_decrease_effect(power, 1)
    problem = up.Problem("Switches & rooms")
    problem.add_fluents([place, lit])
    problem.add_fluent(power, default_initial_value=3)
    problem.add_actions([go, flip])
    one, two, r2 = up.Object("ROOM 1", room), up.Object("room-1", room), up.Object("R2", robot)
    problem.add_objects([one, two, r2])
    problem.set_initial_value(place(r2), one)
    for where in (one, two):
        problem.set_initial_value(lit(where), False)
    problem.add_goal(up.Iff(lit(one), up.Equals(place(r2), two)))
    problem.add_goal(up.Exists(lit(up.Variable("r", room)), up.Variable("r", room)))
    return problem, power, lit


def test_names_objects_as_values_and_bounds(up):
    problem, power, lit = switches(up)
    with up.OneshotPlanner(name="pdsketch") as planner:
        found = planner.solve(problem)
        assert [action.action.name for action in found.plan.actions] == ["flip", "GO"]
        assert judge(problem, found.plan)
        problem.set_initial_value(power(), 2)  # too little: bounds are part of the problem
        none = planner.solve(problem)
        assert none.plan is None
        assert none.status.name == "UNSOLVABLE_INCOMPLETELY"
        assert "does not hold exactly" not in none.log_messages[0].message
        problem.set_initial_value(lit(problem.object("ROOM 1")), True)
        problem.clear_goals()
        problem.add_goal(up.Not(lit(problem.object("ROOM 1"))))
        assert judge(problem, planner.solve(problem).plan)
    domain, own = pds.from_unified_planning(problem)
    assert list(domain.predicates) == ["where-at", "and-2", "power"]
    assert own.init[("where-at", "r2", "room-1-2")] is True
    assert tuple(own.objects["room"]) == ("room-1-2", "room-1")


def test_optimal_plans_are_called_so_and_cost_least(up, cases):
    problem = cases["locations_connected_cost_minimize"].problem
    with up.OneshotPlanner(problem_kind=problem.kind, optimality_guarantee="SOLVED_OPTIMALLY") as planner:
        assert planner.name == "pdsketch-opt"
        found = planner.solve(problem)
    assert found.status.name == "SOLVED_OPTIMALLY"
    best = judge(problem, cases["locations_connected_cost_minimize"].valid_plans[0])
    assert list(judge(problem, found.plan).metric_evaluations.values()) == list(
        best.metric_evaluations.values()
    )
    with up.OneshotPlanner(name="pdsketch-opt") as planner:
        assert not planner.supports(cases["counter"].problem.kind)


def test_unsolvable_limits_and_options_are_told(up, cases):
    problem = cases["basic"].problem.clone()
    problem.add_goal(up.Not(problem.goals[0]))
    with up.OneshotPlanner(name="pdsketch", params={"search": "gbfs", "heuristic": "add"}) as planner:
        assert planner.solve(problem).status.name == "UNSOLVABLE_PROVEN"
        with pytest.warns(UserWarning, match="heuristics of its own"):
            planner.solve(problem, heuristic=lambda state: 0.0)
        planner.skip_checks = True
        refused = planner.solve(cases["matchcellar"].problem)
        assert refused.status.name == "UNSUPPORTED_PROBLEM"
        assert "CONTINUOUS_TIME" in refused.log_messages[0].message
    with up.OneshotPlanner(name="pdsketch", params={"max_expansions": 1}) as planner:
        assert planner.solve(cases["robot_loader_adv"].problem).status.name == "UNSOLVABLE_INCOMPLETELY"


def test_a_plan_that_only_rounding_allows_is_not_returned(up):
    level = up.Fluent("level", up.RealType())
    add = up.InstantaneousAction("add")
    add.add_increase_effect(level, up.Fraction(1, 2))
    problem = up.Problem("near")
    problem.add_fluent(level, default_initial_value=0)
    problem.add_action(add)
    problem.add_goal(up.Equals(level, up.Fraction(10001, 10000)))  # within the tolerance of 1, and not 1
    with up.OneshotPlanner(name="pdsketch") as planner:
        found = planner.solve(problem, timeout=600)
    assert found.plan is None
    assert found.status.name == "UNSOLVABLE_INCOMPLETELY"
    assert "does not hold exactly" in found.log_messages[0].message


@pytest.mark.filterwarnings("ignore::UserWarning:unified_planning")  # distances that nobody needs
@pytest.mark.parametrize("name", ["blocks", "delivery"])
def test_files_go_there_and_back(up, name):
    domain = pds.load_domain(EXAMPLES / name / "domain.pddl")
    problem = pds.load_problem(EXAMPLES / name / "p01.pddl", domain)
    there = pds.to_unified_planning(domain, problem)
    with up.OneshotPlanner(name="pdsketch") as planner:
        found = planner.solve(there)
    assert judge(there, found.plan)
    _, again = pds.from_unified_planning(there)
    best = {"search": "astar", "heuristic": "max"}
    assert pds.plan(problem, **best).cost == pds.plan(again, **best).cost


def test_numbers_conditions_and_quantifiers_go_there(up):
    domain = pds.parse_domain("""
    (define (domain tanks)
      (:types tank - object big - tank)
      (:constants main - big)
      (:predicates (open ?t - tank))
      (:functions (level ?t - tank) - number (total-cost) - number)
      (:derived (full ?t - tank) (>= (level ?t) 4))
      (:action pour :parameters (?t - tank)
        :precondition (and (open ?t) (not (full ?t)) (= (* 2 (level main)) (+ (level main) (level main))))
        :effect (and (when (< (level ?t) 2) (increase (level ?t) 2))
                     (when (>= (level ?t) 2) (scale-up (level ?t) 2))
                     (increase (total-cost) 3)))
      (:action open-all :effect (and (forall (?t - tank) (when (not (= ?t main)) (open ?t)))
                                     (open main) (not (open main)))))""")
    problem = pds.parse_problem(
        """(define (problem p) (:domain tanks) (:objects a b - tank)
        (:init (= (level main) 0) (= (level a) 0) (= (level b) 1.5))
        (:goal (and (forall (?t - tank) (or (full ?t) (= ?t main) (= ?t b))) (open main)))
        (:metric minimize (total-cost)))""",
        domain,
    )
    there = pds.to_unified_planning(domain, problem)
    assert there.kind.has_hierarchical_typing()
    assert there.kind.has_forall_effects()
    assert not any(f.name == "full" for f in there.fluents)
    with up.OneshotPlanner(name="pdsketch") as planner:
        found = planner.solve(there)
    assert judge(there, found.plan)
    assert list(judge(there, found.plan).metric_evaluations.values()) == [6]


def test_numbers_are_the_ones_that_the_text_shows(up):
    domain = pds.parse_domain(
        "(define (domain d) (:types tank) (:functions (level ?t - tank) - number)"
        " (:action fill :parameters (?t - tank) :precondition (< (level ?t) 0.3)"
        " :effect (assign (level ?t) 2.0)))"
    )
    problem = pds.parse_problem(
        "(define (problem p) (:domain d) (:objects a b - tank)"
        " (:init (= (level a) 0.1) (= (level b) 2.0)) (:goal (> (level a) 1)))",
        domain,
    )
    there = pds.to_unified_planning(domain, problem)
    given = {str(fluent): value.constant_value() for fluent, value in there.explicit_initial_values.items()}
    assert given == {"level(a)": Fraction(1, 10), "level(b)": 2}
    assert isinstance(given["level(b)"], int)
    assert "3/10" in str(there.action("fill").preconditions)
    _, again = pds.from_unified_planning(there)
    assert {fact: float(value) for fact, value in again.init.items()} == {
        ("level", "a"): 0.1,
        ("level", "b"): 2.0,
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("(:predicates (at [return_type=vector[float32, 2]] ?x) (p))", "a value of type"),
        ("(:predicates (far [return_type=float32] ?v - float32) (p))", "is a function of values"),
        ("(:types a b - object c - (either a b)) (:predicates (p) (q ?x - c))", "several parents"),
        ("(:types a b - object) (:predicates (p)) (:action go :parameters (?x - (either a b)) :effect (p))",
         "(either a b)"),
        ("(:predicates (p)) (:action go :parameters (?v - float32) :effect (p))", "over values"),
        ("(:predicates (n ?x ?y) (p))"
         " (:derived (r ?x ?y) (or (n ?x ?y) (exists (?z) (and (r ?x ?z) (n ?z ?y)))))"
         " (:action go :parameters (?x) :precondition (r ?x ?x) :effect (p))", "recursive"),
        ("(:predicates (l [return_type=float32]) (p)) (:action go :precondition (??f (l)) :effect (p))",
         "the blank `action::go::f`"),
    ],
)  # fmt: skip
def test_what_has_no_place_there_is_named(up, body, said):
    domain = pds.parse_domain(f"(define (domain d) {body})")
    problem = pds.parse_problem("(define (problem q) (:domain d) (:goal (p)))", domain)
    with pytest.raises(pds.Error) as caught:
        pds.to_unified_planning(domain, problem)
    assert caught.value.diagnostics[0].code == "unsupported-feature"
    assert said in str(caught.value)


def test_without_the_package_the_extra_is_named(monkeypatch):
    domain = pds.load_domain(EXAMPLES / "lights" / "domain.pddl")
    problem = pds.load_problem(EXAMPLES / "lights" / "p01.pddl", domain)
    real = builtins.__import__

    def absent(name, *rest):
        if name.startswith("unified_planning"):
            raise ModuleNotFoundError("no such package", name="unified_planning")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(pds.Error, match=r"pdsketch-planning\[up\]"):
        pds.to_unified_planning(domain, problem)
    with pytest.raises(pds.Error, match="a Problem was wanted"):
        pds.to_unified_planning(domain, domain)
    with pytest.raises(pds.Error, match="another Domain"):
        pds.to_unified_planning(pds.load_domain(EXAMPLES / "lights" / "domain.pddl"), problem)

"""Each feature of PDDL that grounding compiles, on a task small enough to check by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.strategies.oracle import reachable
from tests.strategies.sample import Sample
from tests.task.interpreter import optimum

from pdsketch.core import Task
from pdsketch.task.grounding import ground


def sample(domain: str, problem: str, types: str = "") -> Sample:
    return Sample(
        f"(define (domain d) (:requirements :adl :derived-predicates :action-costs) {types} {domain})",
        f"(define (problem p) (:domain d) {problem})",
    )


def costs_as_reference(domain: str, problem: str, types: str = "") -> tuple[Task, float | None]:
    """The task, and the optimal cost on which it and the reference semantics agree."""
    this = sample(domain, problem, types)
    reference = reachable(this, limit=5000)
    assert reference.complete
    task = ground(this.problem)
    cost, plan = optimum(task)
    assert cost == reference.cost
    assert cost is None or len(plan) == len(reference.plan)
    return task, cost


TYPES = "(:types animal - object dog cat - animal puppy - dog stone - object)"


def test_either_in_a_parameter_stands_for_both_types():
    task, cost = costs_as_reference(
        "(:predicates (seen ?x)) (:action see :parameters (?x - (either cat stone)) :effect (seen ?x))",
        "(:objects tom - cat rex - dog pebble - stone) (:init) (:goal (and (seen tom) (seen pebble)))",
        TYPES,
    )
    assert cost == 2
    assert sorted(task.operators) == [("see", "pebble"), ("see", "tom")]


def test_objects_several_levels_below_a_type_take_part():
    task, _ = costs_as_reference(
        "(:predicates (fed ?x - animal)) (:action feed :parameters (?x - animal) :effect (fed ?x))",
        "(:objects bit - puppy tom - cat rock - stone) (:init) (:goal (forall (?x - animal) (fed ?x)))",
        TYPES,
    )
    assert sorted(task.operators) == [("feed", "bit"), ("feed", "tom")]


def test_empty_types_have_no_operators_and_satisfy_forall():
    task, cost = costs_as_reference(
        "(:predicates (fed ?x - animal) (done)) (:action feed :parameters (?x - animal) :effect (fed ?x))"
        "(:action finish :parameters () :effect (done))",
        "(:objects rock - stone) (:init) (:goal (and (done) (forall (?x - animal) (fed ?x))))",
        TYPES,
    )
    assert cost == 1
    assert task.operators == (("finish",),)


def test_zero_arity_everything():
    task, cost = costs_as_reference(
        "(:predicates (a) (b)) (:action go :parameters () :precondition (a) :effect (and (b) (not (a))))",
        "(:objects) (:init (a)) (:goal (and (b) (not (a))))",
    )
    assert cost == 1
    assert set(task.facts) == {("a",), ("b",)}


def test_or_together_with_imply_in_one_precondition():
    _, cost = costs_as_reference(
        "(:predicates (a) (b) (c) (d) (g))"
        "(:action set-b :parameters () :effect (b)) (:action set-c :parameters () :effect (c))"
        "(:action set-d :parameters () :effect (d))"
        "(:action go :parameters () :precondition (and (or (a) (b)) (imply (b) (c)) (imply (c) (or (d) (a))))"
        "  :effect (g))",
        "(:objects) (:init) (:goal (g))",
    )
    assert cost == 4


def test_forall_imply_goal_asks_only_for_what_the_antecedent_names():
    task, cost = costs_as_reference(
        "(:predicates (big ?x) (red ?x)) (:action paint :parameters (?x) :effect (red ?x))",
        "(:objects o1 o2 o3) (:init (big o1) (big o3)) (:goal (forall (?x) (imply (big ?x) (red ?x))))",
    )
    assert cost == 2
    # `big` never changes: nothing is left of the implication but its conclusion.
    assert sorted(task.facts[literal >> 1] for literal in task.goal) == [("red", "o1"), ("red", "o3")]
    assert len(task.axiom_heads) == 0


def test_fluent_implications_in_a_goal_become_axioms():
    task, cost = costs_as_reference(
        "(:predicates (on ?x) (red ?x)) (:action paint :parameters (?x) :precondition (on ?x)"
        " :effect (red ?x))"
        "(:action off :parameters (?x) :precondition (red ?x) :effect (not (on ?x)))",
        "(:objects o1 o2) (:init (on o1) (on o2) (red o2))"
        "(:goal (and (forall (?x) (imply (on ?x) (red ?x))) (exists (?x) (not (on ?x)))))",
    )
    assert cost == 2
    assert len(task.axiom_heads) > 0


def test_quantifiers_nest_in_preconditions():
    _, cost = costs_as_reference(
        "(:predicates (link ?x ?y) (on ?x) (done))"
        "(:action light :parameters (?x) :effect (on ?x))"
        "(:action finish :parameters ()"
        "  :precondition (forall (?x) (exists (?y) (and (link ?x ?y) (on ?y)))) :effect (done))",
        "(:objects a b c) (:init (link a b) (link b c) (link c c) (link a c)) (:goal (done))",
    )
    assert cost == 2


def test_conditional_effects_read_the_old_state():
    _, cost = costs_as_reference(
        "(:predicates (p ?x) (q ?x)) (:action swap :parameters ()"
        "  :effect (forall (?x) (and (when (p ?x) (and (q ?x) (not (p ?x))))"
        " (when (q ?x) (and (p ?x) (not (q ?x)))))))",
        "(:objects a b) (:init (p a) (q b)) (:goal (and (q a) (p b) (not (p a))))",
    )
    assert cost == 1


def test_adding_wins_over_deleting():
    _, cost = costs_as_reference(
        "(:predicates (p) (q)) (:action go :parameters () :precondition (p) :effect (and (not (p)) (p) (q)))",
        "(:objects) (:init (p)) (:goal (and (p) (q)))",
    )
    assert cost == 1


def test_adding_wins_within_a_conditional_effect():
    task, cost = costs_as_reference(
        "(:predicates (p) (c) (g))"
        "(:action go :parameters () :effect (and (g) (when (c) (and (p) (not (p))))))"
        "(:action heat :parameters () :effect (c))",
        "(:objects) (:init) (:goal (and (p) (g)))",
    )
    assert cost == 2
    assert all(literal % 2 == 0 for literal in task.heads.items)


def test_a_conditional_effect_that_can_never_fire_is_dropped():
    task, _ = costs_as_reference(
        "(:predicates (p) (never) (g)) (:action go :parameters () :effect (and (g) (when (never) (p))))"
        "(:action use :parameters () :precondition (p) :effect (not (g)))",
        "(:objects) (:init) (:goal (g))",
    )
    assert task.operators == (("go",),)
    assert len(task.conditions) == 1


def test_operators_without_an_effect_are_dropped():
    task, _ = costs_as_reference(
        "(:predicates (at ?x)) (:action move :parameters (?x ?y) :precondition (at ?x)"
        "  :effect (and (not (at ?x)) (at ?y)))",
        "(:objects a b) (:init (at a)) (:goal (at b))",
    )
    assert sorted(task.operators) == [("move", "a", "b"), ("move", "b", "a")]


def test_what_does_not_matter_is_dropped():
    task, _ = costs_as_reference(
        "(:predicates (g) (idle ?x)) (:action play :parameters (?x) :effect (idle ?x))"
        "(:action win :parameters () :effect (and (g) (forall (?x) (not (idle ?x)))))",
        "(:objects a b) (:init (idle a)) (:goal (g))",
    )
    assert task.facts == (("g",),)
    assert task.operators == (("win",),)


def test_facts_that_are_always_true_leave_no_condition():
    task, _ = costs_as_reference(
        "(:predicates (ready ?x) (g ?x)) (:action go :parameters (?x) :precondition (ready ?x)"
        " :effect (g ?x))"
        "(:action stop :parameters () :precondition (not (ready a)) :effect (not (ready a)))"
        "(:constants a)",
        "(:objects) (:init (ready a)) (:goal (g a))",
    )
    assert task.facts == (("g", "a"),)
    assert len(task.preconditions[0]) == 0


def test_only_reachable_instances_become_operators():
    task, cost = costs_as_reference(
        "(:predicates (next ?x ?y) (at ?x)) (:action go :parameters (?x ?y)"
        "  :precondition (and (at ?x) (next ?x ?y)) :effect (and (at ?y) (not (at ?x))))",
        "(:objects a b c d e) (:init (at a) (next a b) (next b c) (next d e)) (:goal (at c))",
    )
    assert cost == 2
    assert task.operators == (("go", "a", "b"), ("go", "b", "c"))


def test_equality_prunes_while_joining():
    task, _ = costs_as_reference(
        "(:predicates (p ?x ?y)) (:action go :parameters (?x ?y) :precondition (not (= ?x ?y))"
        " :effect (p ?x ?y))",
        "(:objects a b) (:init) (:goal (and (p a b) (p b a)))",
    )
    assert sorted(task.operators) == [("go", "a", "b"), ("go", "b", "a")]


def test_recursive_axioms_under_negation():
    task, cost = costs_as_reference(
        "(:predicates (edge ?x ?y) (path ?x ?y) (cut-off ?x))"
        "(:derived (path ?x ?y) (or (edge ?x ?y) (exists (?z) (and (edge ?x ?z) (path ?z ?y)))))"
        "(:derived (cut-off ?x) (forall (?y) (imply (not (= ?x ?y)) (not (path ?x ?y)))))"
        "(:action cut :parameters (?x ?y) :precondition (edge ?x ?y) :effect (not (edge ?x ?y)))"
        "(:action build :parameters (?x ?y) :precondition (and (cut-off ?x) (not (= ?x ?y)))"
        " :effect (edge ?x ?y))",
        "(:objects a b c) (:init (edge a b) (edge b c)) (:goal (and (path c a) (not (path a c))))",
    )
    assert cost == 2
    assert len(set(task.axiom_layers.tolist())) == 2


def test_static_axioms_are_evaluated_away():
    task, cost = costs_as_reference(
        "(:predicates (edge ?x ?y) (path ?x ?y) (at ?x))"
        "(:derived (path ?x ?y) (or (edge ?x ?y) (exists (?z) (and (edge ?x ?z) (path ?z ?y)))))"
        "(:action jump :parameters (?x ?y) :precondition (and (at ?x) (path ?x ?y))"
        " :effect (and (at ?y) (not (at ?x))))",
        "(:objects a b c) (:init (at a) (edge a b) (edge b c)) (:goal (at c))",
    )
    assert cost == 1
    assert len(task.axiom_heads) == 0
    assert set(task.facts) == {("at", "a"), ("at", "b"), ("at", "c")}


def test_a_derived_predicate_may_recur_through_forall():
    _, cost = costs_as_reference(
        "(:predicates (child ?x ?y) (ok ?x) (fine ?x))"
        "(:derived (fine ?x) (and (ok ?x) (forall (?y) (imply (child ?x ?y) (fine ?y)))))"
        "(:action mend :parameters (?x) :effect (ok ?x))",
        "(:objects r a b) (:init (child r a) (child r b) (ok r)) (:goal (fine r))",
    )
    assert cost == 2


def test_costs_are_those_of_the_metric():
    costly = (
        "(:predicates (at ?x) (road ?x ?y)) (:functions (total-cost) - number (length ?x ?y) - number"
        " (toll) - number)"
        "(:action drive :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y))"
        "  :effect (and (at ?y) (not (at ?x)) (increase (total-cost) (+ (length ?x ?y) (toll)))))"
    )
    facts = (
        "(:objects a b c) (:init (at a) (road a b) (road b c) (road a c) (= (length a b) 1) (="
        " (length b c) 2)"
        " (= (length a c) 9) (= (toll) 2) (= (total-cost) 0)) (:goal (at c))"
    )
    _, cost = costs_as_reference(costly, facts + "(:metric minimize (total-cost))")
    assert cost == 7
    _, cost = costs_as_reference(costly, facts)
    assert cost == 1


def test_numbers_that_never_change_may_stand_in_conditions():
    task, _ = costs_as_reference(
        "(:predicates (held ?x)) (:functions (weight ?x) - number (limit) - number)"
        "(:action lift :parameters (?x) :precondition (<= (* 2 (weight ?x)) (limit)) :effect (held ?x))",
        "(:objects a b c) (:init (= (weight a) 1) (= (weight b) 5) (= (weight c) 2) (= (limit) 4))"
        "(:goal (and (held a) (held c)))",
    )
    assert sorted(task.operators) == [("lift", "a"), ("lift", "c")]


def test_boolean_assignment_copies_a_truth_value():
    _, cost = costs_as_reference(
        "(:predicates (p) (q)) (:action copy :parameters () :effect (assign (p) (not (q))))"
        "(:action flip :parameters () :effect (and (when (q) (not (q))) (when (not (q)) (q))))",
        "(:objects) (:init (q)) (:goal (and (p) (q)))",
    )
    assert cost == 3


def test_a_large_disjunction_is_not_multiplied_out():
    flags = " ".join(f"(f{i})" for i in range(12))
    conditions = " ".join(f"(or (f{i}) (f{(i + 1) % 12}) (g))" for i in range(12))
    task, cost = costs_as_reference(
        f"(:predicates (g) (done) {flags}) (:action set :parameters () :effect (g))"
        f"(:action go :parameters () :precondition (and {conditions}) :effect (done))",
        "(:objects) (:init (f0)) (:goal (done))",
    )
    assert cost == 2
    assert len(task.operators) <= 10


def test_a_goal_that_holds_is_empty_and_one_that_cannot_hold_is_unreachable():
    task, cost = costs_as_reference(
        "(:predicates (p) (q)) (:action go :parameters () :effect (p))", "(:objects) (:init (q)) (:goal (q))"
    )
    assert cost == 0
    assert len(task.goal) == 0
    task, cost = costs_as_reference(
        "(:predicates (p) (q)) (:action go :parameters () :effect (p))", "(:objects) (:init) (:goal (q))"
    )
    assert cost is None
    assert len(task.operators) == 0
    assert not task.init[task.goal[0] >> 1]


@pytest.mark.parametrize("goal", ["(or)", "(and)", "(forall (?x) (p ?x))", "(exists (?x) (not (p ?x)))"])
def test_degenerate_goals(goal):
    costs_as_reference(
        "(:predicates (p ?x)) (:action go :parameters (?x) :effect (p ?x))",
        f"(:objects a b) (:init) (:goal {goal})",
    )


def test_shadowed_variables_are_told_apart():
    _, cost = costs_as_reference(
        "(:predicates (p ?x) (q ?x)) (:action go :parameters (?x)"
        "  :precondition (and (p ?x) (exists (?x) (and (q ?x) (not (p ?x))))) :effect (not (p ?x)))",
        "(:objects a b c) (:init (p a) (p b) (q b) (q c)) (:goal (not (p a)))",
    )
    assert cost == 1


def test_a_split_operator_that_another_covers_is_dropped():
    task, cost = costs_as_reference(
        "(:predicates (likes ?x ?y) (sure) (happy ?x)) (:action cheer :parameters (?x)"
        "  :precondition (or (sure) (exists (?y) (likes ?x ?y))) :effect (happy ?x))"
        "(:action meet :parameters (?x ?y) :effect (likes ?x ?y))",
        "(:objects a b) (:init (sure)) (:goal (and (happy a) (happy b)))",
    )
    assert cost == 2
    assert sorted(task.operators) == [("cheer", "a"), ("cheer", "b")]


def test_what_averts_a_harmful_side_effect_matters():
    task, cost = costs_as_reference(
        "(:predicates (hot) (whole) (g)) (:action open :parameters ()"
        "  :effect (and (g) (when (hot) (not (whole)))))"
        "(:action cool :parameters () :effect (not (hot)))",
        "(:objects) (:init (hot) (whole)) (:goal (and (g) (whole)))",
    )
    assert cost == 2
    assert ("cool",) in task.operators


def test_a_float_equals_an_int_within_its_tolerance():
    types = "(:types bolt - object length - float32[tolerance=0.1])"
    task, _ = costs_as_reference(
        "(:predicates (size [return_type=int64] ?b - bolt) (long [return_type=length] ?b - bolt)"
        " (fits ?b - bolt))"
        "(:action try :parameters (?b - bolt) :precondition (= (size ?b) (long ?b)) :effect (fits ?b))",
        "(:objects a b - bolt) (:init (= (size a) 2) (= (long a) 2.05) (= (size b) 2) (= (long b) 2.3))"
        "(:goal (fits a))",
        types,
    )
    assert list(task.operators) == [("try", "a")]


@pytest.mark.parametrize("condition", ["(< (weight ?x) 3)", "(not (< (weight ?x) 3))"])
def test_comparisons_without_a_value_are_false_either_way(condition):
    this = sample(
        "(:predicates (held ?x)) (:functions (weight ?x) - number)"
        f"(:action lift :parameters (?x) :precondition {condition} :effect (held ?x))",
        "(:objects a) (:init) (:goal (held a))",
    )
    assert ground(this.problem).operators == ()


def test_a_step_that_divides_by_zero_cannot_be_taken():
    this = sample(
        "(:predicates (held ?x)) (:functions (weight ?x) - number)"
        "(:action lift :parameters (?x) :precondition (>= (/ 6 (weight ?x)) 2) :effect (held ?x))",
        "(:objects a b c) (:init (= (weight a) 0) (= (weight b) 3) (= (weight c) 4))"
        "(:goal (or (held a) (held b) (held c)))",
    )
    assert list(ground(this.problem).operators) == [("lift", "b")]


def test_facts_that_are_given_as_false_do_not_hold():
    """As a state may give them that stands in for the problem's own."""
    this = sample(
        "(:predicates (p) (q)) (:action go :parameters () :precondition (not (p)) :effect (q))",
        "(:objects) (:init (p)) (:goal (q))",
    )
    for held, wanted in ((True, None), (False, 1)):
        cost, _ = optimum(ground(replace(this.problem, init={("p",): held, ("q",): False})))
        assert cost == wanted


def test_what_is_deleted_and_under_a_condition_added_again_stays():
    _, cost = costs_as_reference(
        "(:predicates (p) (r) (g)) (:action go :parameters () :precondition (p)"
        " :effect (and (g) (not (p)) (when (r) (p))))",
        "(:objects) (:init (p) (r)) (:goal (and (p) (g)))",
    )
    assert cost == 1


def test_what_is_deleted_and_added_again_stays_where_the_condition_was_made_true():
    _, cost = costs_as_reference(
        "(:predicates (p) (r) (g)) (:action make :parameters () :effect (r))"
        "(:action go :parameters () :precondition (p) :effect (and (g) (not (p)) (when (r) (p))))",
        "(:objects) (:init (p)) (:goal (and (p) (g)))",
    )
    assert cost == 2


def test_an_action_that_contradicts_itself_is_dropped():
    task, _ = costs_as_reference(
        "(:predicates (p) (q) (g))"
        "(:action flip :parameters () :effect (and (when (p) (not (p))) (when (not (p)) (p))))"
        "(:action never :parameters () :precondition (and (p) (not (p))) :effect (g))"
        "(:action go :parameters () :precondition (and (p) (q)) :effect (g))"
        "(:action make :parameters () :precondition (not (p)) :effect (q))",
        "(:objects) (:init) (:goal (g))",
    )
    assert {name for name, *_ in task.operators} == {"flip", "go", "make"}


@pytest.mark.parametrize("condition", ["(or (p) (q))", "(or (q) (p))"])
def test_of_several_ways_to_take_an_action_each_is_kept(condition):
    _, cost = costs_as_reference(
        "(:predicates (p) (q) (r) (g)) (:action start :parameters () :effect (r))"
        "(:action far :parameters () :precondition (r) :effect (p)) (:action near :parameters () :effect (q))"
        f"(:action go :parameters () :precondition {condition} :effect (g))",
        "(:objects) (:init) (:goal (and (g) (imply (r) (p))))",
    )
    assert cost == 2


@pytest.mark.parametrize(("condition", "wanted"), [("(= (p) (q))", 2), ("(not (= (p) (q)))", 1)])
def test_two_booleans_are_equal_if_both_hold_or_neither(condition, wanted):
    _, cost = costs_as_reference(
        "(:predicates (p) (q) (g)) (:action make :parameters () :effect (p))"
        f"(:action go :parameters () :precondition {condition} :effect (g))",
        "(:objects) (:init (q)) (:goal (g))",
    )
    assert cost == wanted

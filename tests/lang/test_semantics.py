"""The sentences of the language's definition that concern crisp meaning, one by one."""

import pytest

from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.lang.semantics import (
    EvaluationContext,
    StaticContext,
    applicable,
    apply,
    encode,
    evaluate,
    holds,
)
from pdsketch.lang.terms import Arithmetic, Value
from pdsketch.lang.types import INT
from pdsketch.lang.validator import validate


def world_of(body, objects="", functions=None):
    """A world from the body of a domain and a list of objects."""
    domain = parse_domain(f"(define (domain d)\n{body})")
    problem = parse_problem(f"(define (problem p) (:domain d) (:objects {objects}) (:goal (and)))", domain)
    return StaticContext.of(problem, functions)


def derived(world, state, *fact):
    """The value of a derived atom in a state."""
    return EvaluationContext(world, state).atom(fact)


def code(refused):
    return refused.value.diagnostics[0].code


class TestExpressions:
    @pytest.mark.parametrize(
        ("formula", "expected"),
        [
            ("(and)", True),
            ("(or)", False),
            ("(and (t) (f))", False),
            ("(and (t) (t) (t))", True),
            ("(or (f) (t))", True),
            ("(or (f) (f))", False),
            ("(not (f))", True),
            ("(implies (t) (f))", False),
            ("(implies (f) (f))", True),
            ("(imply (t) (t))", True),
            ("true", True),
            ("false", False),
            ("(exists (?x - thing) (p ?x))", True),
            ("(forall (?x - thing) (p ?x))", False),
            ("(forall (?x - thing) (or (p ?x) (= ?x b)))", True),
            ("(exists (?x ?y - thing) (and (p ?x) (not (= ?x ?y))))", True),
            ("(exists (?x - nothing) (t))", False),
            ("(forall (?x - nothing) (f))", True),
            ("(exists (?x - thing ?y - nothing) (t))", False),
            ("(= a a)", True),
            ("(= a b)", False),
            ("(= (n a) 2)", True),
            ("(equal (n a) (n b))", False),
            ("(eq (x a) 0.5005)", True),
            ("(= (x a) 0.502)", False),
            ("(= (loose a) 0.55)", True),
            ("(= (n b) (+ (x a) 0.5005))", True),
            ("(= (+ (x a) 0.502) (n b))", False),
            ("(= (at a) [1, 2])", True),
            ("(= (at a) [1, 2.5])", False),
            ("(= (* 10000 (x a)) 5001)", False),
            ("(< (x a) (x b))", True),
            ("(<= (n a) 2)", True),
            ("(> (n a) 2)", False),
            ("(>= (n a) 2)", True),
            ("(= (+ (n a) (n b) 1) 4)", True),
            ("(= (- (n a)) -2)", True),
            ("(= (- (n a) 3) -1)", True),
            ("(= (* (x a) 4) 2)", True),
            ("(= (/ (x b) 2) 0.75)", True),
            ("(= (+ (at a) (at b)) [1, 3])", True),
            ("(= (* 2 (at a)) [2, 4])", True),
            ("(exists (?k - kind) (= (n a) ?k))", True),
            ("(forall (?k - kind) (< ?k 4))", True),
            ("(forall (?k - kind) (< ?k 3))", False),
        ],
    )
    def test_formulas_mean_what_they_say(self, formula, expected):
        body = f"""
            (:types thing nothing - object kind - int64[choices=4])
            (:constants a b - thing)
            (:predicates (t) (f) (p ?o - thing) (n [return_type=kind] ?o - thing)
              (x [return_type=float32] ?o - thing) (loose [return_type=float32[tolerance=0.1]] ?o - thing)
              (at [return_type=vector[float32, 2]] ?o - thing))
            (:derived (d) {formula})"""
        world = world_of(body)
        state = {
            ("t",): True,
            ("p", "a"): True,
            ("n", "a"): 2,
            ("n", "b"): 1,
            ("x", "a"): 0.5,
            ("x", "b"): 1.5,
            ("loose", "a"): 0.5,
            ("at", "a"): (1.0, 2.0),
            ("at", "b"): (0.0, 1.0),
        }
        assert derived(world, state, "d") is expected

    def test_a_quantifier_ranges_over_subtypes_and_constants(self):
        body = """(:types box ball - item item) (:constants home - box) (:predicates (seen ?o - item))
            (:derived (all) (forall (?o - item) (seen ?o)))
            (:derived (some) (exists (?o - (either box ball)) (seen ?o)))"""
        world = world_of(body, "x - item y - ball")
        seen = {("seen", name): True for name in ("home", "x", "y")}
        assert derived(world, seen, "all")
        assert not derived(world, {("seen", "x"): True}, "some")
        assert derived(world, {("seen", "home"): True}, "some")
        assert not derived(world, {("seen", "home"): True}, "all")

    def test_division_by_zero_is_an_error(self):
        world = world_of(
            "(:predicates (x [return_type=float32])) (:derived (d [return_type=float32]) (/ 1.0 (x)))"
        )
        with pytest.raises(Error) as refused:
            derived(world, {("x",): 0.0}, "d")
        assert code(refused) == "division-by-zero"

    def test_evaluate_takes_bindings_for_free_variables(self):
        world = world_of(
            "(:types item) (:predicates (p ?o - item)) (:derived (d ?o - item) (p ?o))", "i - item"
        )
        body = world.domain.predicates["d"].body
        assert body is not None
        name = world.domain.predicates["d"].parameters[0].name
        assert evaluate(world, {("p", "i"): True}, body, {name: "i"}) is True
        assert evaluate(world, {}, body, {name: "i"}) is False


class TestBlanks:
    SETS = """(:types item) (:predicates (p ?o - item) (x [return_type=float32] ?o - item))
        (:derived (all [return_type=float32]) (??f (foreach (?o - item) (x ?o))))
        (:derived (some [return_type=float32]) (??f (foreach (?o - item) (when (p ?o) (x ?o)))))
        (:derived (one [return_type=float32] ?o - item) (??f (when (p ?o) (x ?o))))
        (:derived (every [return_type=float32]) (??f (x ??)))"""

    def test_a_set_is_a_list_of_pairs_whose_condition_holds(self):
        seen = []

        def take(chosen):
            seen.append(chosen)
            return float(sum(value * weight for value, weight in chosen))

        functions = {f"derived::{name}::f": take for name in ("all", "some", "one", "every")}
        world = world_of(self.SETS, "i j - item", functions)
        state = {("p", "j"): True, ("x", "i"): 1.0, ("x", "j"): 2.0}
        assert derived(world, state, "all") == 3.0
        assert derived(world, state, "every") == 3.0
        assert derived(world, state, "some") == 2.0
        assert derived(world, state, "one", "i") == 0.0
        assert seen == [[(1.0, 1.0), (2.0, 1.0)], [(1.0, 1.0), (2.0, 1.0)], [(2.0, 1.0)], []]

    def test_a_blank_without_a_function_is_named(self):
        world = world_of(self.SETS, "i - item")
        with pytest.raises(Error) as refused:
            derived(world, {("x", "i"): 1.0}, "all")
        assert code(refused) == "no-function"
        assert "derived::all::f" in str(refused.value)

    def test_an_external_predicate_is_a_function_of_values(self):
        body = """(:types item - object pose - vector[float32, 2])
            (:predicates (at [return_type=pose] ?o - item) (left-of [return_type=pose] ?p - pose)
              (origin ?p - pose))
            (:derived (d ?o - item) (origin (left-of (at ?o))))"""
        functions = {"left-of": lambda p: [p[0] - 1, p[1]], "origin": lambda p: p == (0.0, 0.0)}
        world = world_of(body, "i - item", functions)
        assert derived(world, {("at", "i"): (1.0, 0.0)}, "d", "i") is True
        assert derived(world, {("at", "i"): (0.0, 0.0)}, "d", "i") is False

    def test_a_derived_predicate_may_take_values(self):
        body = """(:types item - object pose - vector[float32, 2])
            (:predicates (at [return_type=pose] ?o - item))
            (:derived (is-at ?p - pose ?o - item) (= ?p (at ?o)))
            (:derived (met ?a ?b - item) (is-at (at ?a) ?b))"""
        world = world_of(body, "i j - item")
        assert derived(world, {("at", "i"): (1.0, 0.0), ("at", "j"): (1.0, 0.0)}, "met", "i", "j")


FUNCTIONS = {
    "derived::feature::f": lambda raw, flag: raw + flag,
    "action::heat::g": lambda feature: 2 * feature,
}
STATE = {("raw", "i"): 0.5, ("raw", "j"): 1.5, ("flag", "i"): True}


class TestPredicates:
    def test_an_absent_boolean_is_false_and_an_absent_value_an_error(self):
        world = world_of("(:predicates (p) (x [return_type=float32])) (:derived (d) (> (x) 0))")
        assert derived(world, {}, "p") is False
        with pytest.raises(Error) as refused:
            derived(world, {}, "d")
        assert code(refused) == "undefined-value"

    def test_recursion_is_a_least_fixpoint(self):
        body = """(:types node) (:predicates (edge ?a ?b - node))
            (:derived (path ?a ?b - node)
              (or (edge ?a ?b) (exists (?c - node) (and (path ?a ?c) (path ?c ?b)))))
            (:derived (cut ?a ?b - node) (not (path ?a ?b)))"""
        nodes = [f"n{i}" for i in range(12)]
        world = world_of(body, f"{' '.join(nodes)} - node")
        state = {("edge", a, b): True for a, b in zip(nodes[:6], nodes[1:6] + nodes[:1], strict=True)}
        moment = EvaluationContext(world, state)
        for a in nodes:
            for b in nodes:
                connected = a in nodes[:6] and b in nodes[:6]
                assert moment.atom(("path", a, b)) is connected
                assert moment.atom(("cut", a, b)) is not connected

    def test_mutual_recursion_without_support_is_false(self):
        body = """(:predicates (p)) (:derived (a) (or (p) (b))) (:derived (b) (or (a) (c)))
            (:derived (c) (a))"""
        world = world_of(body)
        assert not any(derived(world, {}, name) for name in "abc")
        assert all(derived(world, {("p",): True}, name) for name in "abc")

    def test_derived_predicates_are_recomputed_after_each_step(self):
        body = """(:predicates (p)) (:derived (d) (not (p)))
            (:action a :parameters () :precondition (d) :effect (p))"""
        world = world_of(body)
        after = apply(world, {}, ("a",))
        assert applicable(world, {}, ("a",))
        assert not applicable(world, after, ("a",))
        assert after == {("p",): True}

    ENCODED = """(:types item)
        (:predicates (raw [return_type=float32] ?o - item) (flag ?o - item))
        (:derived (feature [return_type=float32] ?o - item) (??f (raw ?o) (flag ?o)))
        (:derived (hot ?o - item) (> (feature ?o) 1))
        (:derived (bare ?o - item) (> (raw ?o) 0))
        (:action heat :parameters (?o - item) :effect (assign (feature ?o) (??g (feature ?o))))
        (:action wait :parameters () :effect (and))"""

    def encoded_world(self):
        # Without `bare`, which reads it beside the encoder, `raw` is a raw predicate.
        body = self.ENCODED.replace("(:derived (bare ?o - item) (> (raw ?o) 0))", "")
        return world_of(body, "i j - item", FUNCTIONS)

    def test_an_encoded_predicate_is_computed_once_and_then_carried(self):
        world = self.encoded_world()
        assert derived(world, STATE, "feature", "i") == 1.5
        after = apply(world, STATE, ("heat", "j"))
        assert after == {("feature", "i"): 1.5, ("feature", "j"): 3.0}
        assert derived(world, after, "hot", "i")
        assert apply(world, after, ("heat", "j"))["feature", "j"] == 6.0

    def test_encoding_twice_changes_nothing(self):
        world = self.encoded_world()
        once = encode(world, STATE)
        assert once["feature", "j"] == 1.5
        assert encode(world, once) == once

    def test_a_given_encoding_is_kept(self):
        world = self.encoded_world()
        given = {("feature", "i"): 7.0, ("feature", "j"): 8.0}
        assert derived(world, given, "feature", "i") == 7.0
        assert apply(world, given, ("wait",)) == given

    def test_what_only_the_encoder_reads_is_absent_after_a_step(self):
        world = self.encoded_world()
        assert world.domain.predicates["raw"].role == "raw"
        assert derived(world, STATE, "raw", "i") == 0.5
        after = apply(world, STATE, ("wait",))
        for fact in [("raw", "i"), ("flag", "j")]:
            with pytest.raises(Error) as refused:
                derived(world, after, *fact)
            assert code(refused) == "absent-predicate"

    def test_an_observed_predicate_is_carried(self):
        world = world_of(self.ENCODED, "i j - item", FUNCTIONS)
        after = apply(world, STATE, ("wait",))
        assert world.domain.predicates["raw"].role == "observed"
        assert after["raw", "i"] == 0.5


def one_action(effect, parameters="", predicates="", types="item", objects="i j - item", functions=None):
    """A world with one action `a`."""
    body = f"""(:types {types}) (:predicates {predicates})
        (:action a :parameters ({parameters}) :effect {effect})"""
    return world_of(body, objects, functions)


class TestEffects:
    def test_effects_are_simultaneous_and_read_the_old_state(self):
        world = one_action(
            "(and (assign (x) (y)) (assign (y) (x)))",
            predicates="(x [return_type=float32]) (y [return_type=float32])",
        )
        assert apply(world, {("x",): 1.0, ("y",): 2.0}, ("a",)) == {("x",): 2.0, ("y",): 1.0}

    def test_conditions_read_the_old_state(self):
        world = one_action("(and (p) (when (p) (q)))", predicates="(p) (q)")
        assert apply(world, {}, ("a",)) == {("p",): True}
        assert apply(world, {("p",): True}, ("a",)) == {("p",): True, ("q",): True}

    def test_what_is_not_mentioned_keeps_its_value(self):
        world = one_action("(p)", predicates="(p) (q) (x [return_type=float32])")
        before = {("q",): True, ("x",): 0.1 + 0.2}
        assert apply(world, before, ("a",)) == {**before, ("p",): True}
        assert before == {("q",): True, ("x",): 0.1 + 0.2}

    def test_a_negative_literal_sets_false(self):
        world = one_action("(not (p))", predicates="(p)")
        assert apply(world, {("p",): True}, ("a",)) == {}

    def test_adds_win_over_deletes(self):
        world = one_action("(and (p) (not (p)))", predicates="(p)")
        assert apply(world, {}, ("a",)) == {("p",): True}

    def test_boolean_assigns_stand_between_deletes_and_adds(self):
        over_delete = one_action("(and (not (p)) (assign (p) true))", predicates="(p)")
        assert apply(over_delete, {}, ("a",)) == {("p",): True}
        under_add = one_action("(and (assign (p) false) (p))", predicates="(p)")
        assert apply(under_add, {}, ("a",)) == {("p",): True}
        alone = one_action("(assign (p) (not (p)))", predicates="(p)")
        assert apply(alone, {("p",): True}, ("a",)) == {}

    def test_when_gates_an_assignment(self):
        world = one_action("(when (p) (assign (x) 1.0))", predicates="(p) (x [return_type=float32])")
        assert apply(world, {("x",): 0.0}, ("a",))["x",] == 0.0
        assert apply(world, {("x",): 0.0, ("p",): True}, ("a",))["x",] == 1.0

    def test_of_conditions_within_conditions_all_must_hold(self):
        world = one_action("(when (p) (when (q) (r)))", predicates="(p) (q) (r)")
        for held, fires in ((("p",), False), (("q",), False), (("p", "q"), True)):
            before = {(name,): True for name in held}
            assert (("r",) in apply(world, before, ("a",))) is fires

    def test_foreach_applies_to_all_objects_of_the_type(self):
        world = one_action(
            "(foreach (?o - item) (when (p ?o) (x::assign ?o (+ (x ?o) (x ?me)))))",
            "?me - item",
            "(p ?o - item) (x [return_type=float32] ?o - item)",
        )
        before = {("p", "j"): True, ("x", "i"): 1.0, ("x", "j"): 2.0}
        assert apply(world, before, ("a", "i")) == {**before, ("x", "j"): 3.0}

    def test_disagreeing_assigns_are_an_error(self):
        world = one_action(
            "(foreach (?o - item) (assign (x) (y ?o)))",
            predicates="(x [return_type=float32]) (y [return_type=float32] ?o - item)",
        )
        same = {("x",): 0.0, ("y", "i"): 1.0, ("y", "j"): 1.0}
        assert apply(world, same, ("a",))["x",] == 1.0
        with pytest.raises(Error) as refused:
            apply(world, {**same, ("y", "j"): 2.0}, ("a",))
        assert code(refused) == "conflicting-effects"

    def test_of_truth_values_that_are_assigned_true_wins(self):
        body = "(foreach (?o - item) (assign (b) (p ?o)))"
        world = one_action(body, predicates="(b) (p ?o - item)")
        assert ("b",) not in apply(world, {}, ("a",))
        assert apply(world, {("p", "i"): True}, ("a",))["b",] is True
        assert apply(world, {("p", "j"): True}, ("a",))["b",] is True

    def test_numeric_changes_accumulate(self):
        body = """(:functions (x)) (:action a :parameters () :effect (and (increase (x) 2) (decrease (x) 5)))
            (:action b :parameters () :effect (and (scale-up (x) 6) (scale-down (x) 3)))
            (:action c :parameters () :effect (and (assign (x) 3) (increase (x) 3)))"""
        world = world_of(body)
        assert apply(world, {("x",): 10}, ("a",)) == {("x",): 7}
        assert apply(world, {("x",): 10}, ("b",)) == {("x",): 20}
        with pytest.raises(Error) as refused:
            apply(world, {("x",): 10}, ("c",))
        assert code(refused) == "conflicting-effects"

    def test_an_int_stays_within_its_choices(self):
        world = one_action("(assign (n) (+ (n) 1))", predicates="(n [return_type=int64[choices=3]])")
        assert apply(world, {("n",): 1}, ("a",)) == {("n",): 2}
        with pytest.raises(Error) as refused:
            apply(world, {("n",): 2}, ("a",))
        assert code(refused) == "value-out-of-range"

    def test_value_arguments_are_tuples(self):
        world = one_action(
            "(at::assign ?o ?p)",
            "?o - item ?p - pose",
            "(at [return_type=pose] ?o - item)",
            "item - object pose - vector[float32, 2]",
        )
        assert apply(world, {("at", "i"): (0.0, 0.0)}, ("a", "i", (1.0, 2.0))) == {("at", "i"): (1.0, 2.0)}

    def test_preconditions_do_not_belong_to_the_transition(self):
        body = "(:predicates (p) (q)) (:action a :parameters () :precondition (p) :effect (q))"
        world = world_of(body)
        assert not applicable(world, {}, ("a",))
        assert apply(world, {}, ("a",)) == {("q",): True}

    def test_the_cost_of_a_step_is_the_increase_of_total_cost(self):
        body = """(:types item) (:predicates (p)) (:functions (total-cost) (weight ?o - item))
            (:action a :parameters (?o - item) :effect (and (p) (increase (total-cost) (weight ?o))))
            (:action b :parameters () :effect (p))"""
        world = world_of(body, "i - item")
        state = {("weight", "i"): 4}
        actions = world.domain.actions
        assert evaluate(world, state, actions["a"].cost, {"?o": "i"}) == 4
        assert actions["b"].cost is None
        assert ("total-cost",) not in apply(world, state, ("a", "i"))


BLOCKS = """(define (domain blocks) (:requirements :typing :action-costs) (:types block)
  (:predicates (on ?a ?b - block) (table ?a - block) (clear ?a - block))
  (:functions (total-cost))
  (:action stack :parameters (?a ?b - block)
    :precondition (and (table ?a) (clear ?a) (clear ?b) (not (= ?a ?b)))
    :effect (and (on ?a ?b) (not (table ?a)) (not (clear ?b)) (increase (total-cost) 3))))"""
TOWER = """(define (problem tower) (:domain blocks) (:objects a b c - block)
  (:init (table a) (table b) (table c) (clear a) (clear b) (clear c))
  (:goal (and (on b c) (forall (?x - block) (or (= ?x c) (not (table ?x))))))
  (:metric minimize (total-cost)))"""


class TestValidator:
    problem = parse_problem(TOWER, parse_domain(BLOCKS))

    def test_a_plan_that_reaches_the_goal_is_valid(self):
        verdict = validate(self.problem, [("stack", "b", "c"), ("STACK", "A", "b")])
        assert (verdict.valid, verdict.cost, verdict.reason) == (True, 6, None)

    def test_the_failing_conjunct_of_a_precondition_is_shown(self):
        verdict = validate(self.problem, [("stack", "b", "c"), ("stack", "a", "c")])
        assert (verdict.valid, verdict.cost, verdict.step) == (False, 3, 1)
        assert verdict.reason is not None
        assert verdict.reason.code == "not-applicable"
        assert "step 2, (stack a c)" in verdict.reason.message
        assert "`(clear ?b)` is false for ?b = c" in verdict.reason.message
        assert verdict.reason.span is not None
        assert verdict.reason.span.text == "(clear ?b)"

    def test_the_failing_conjunct_of_the_goal_is_shown(self):
        verdict = validate(self.problem, [("stack", "b", "c")])
        assert (verdict.valid, verdict.step) == (False, None)
        assert verdict.reason is not None
        assert verdict.reason.code == "goal-not-reached"
        assert "?x = a" in verdict.reason.message

    @pytest.mark.parametrize(
        ("step", "code", "help"),
        [
            (("stak", "a", "b"), "unknown-action", "did you mean `stack`?"),
            (("stack", "a"), "arity-mismatch", "its parameters: ?a - block ?b - block"),
            (("stack", "a", "d"), "unknown-object", "objects of type block: a, b, c"),
            (("stack", "a", (1, 2)), "type-mismatch", None),
            ((), "bad-action", 'write it as ("forward", "agent")'),
        ],
    )
    def test_bad_steps_are_explained(self, step, code, help):
        verdict = validate(self.problem, [step])
        assert (verdict.valid, verdict.step) == (False, 0)
        assert verdict.reason is not None
        assert verdict.reason.code == code
        assert verdict.reason.help == help

    def test_value_arguments_must_fit_their_type(self):
        domain = parse_domain(
            """(define (domain d) (:types item - object pose - vector[float32, 2])
            (:predicates (at [return_type=pose] ?o - item))
            (:action go :parameters (?o - item ?p - pose) :effect (at::assign ?o ?p)))"""
        )
        problem = parse_problem(
            """(define (problem p) (:domain d) (:objects i - item)
            (:init (= (at i) [0, 0])) (:goal (= (at i) [1, 2])))""",
            domain,
        )
        assert validate(problem, [("go", "i", (1, 2))]).valid
        assert validate(problem, [("go", "i", [1.0, 2.0])]).valid
        codes = {"shape-mismatch": [(1,), 1, ((1, 2), (1, 2))], "bad-value": ["i", ((1, 2), 1)]}
        for code, wrong in ((code, value) for code, values in codes.items() for value in values):
            verdict = validate(problem, [("go", "i", wrong)])
            assert verdict.reason is not None
            assert verdict.reason.code == code


def test_a_step_takes_objects_of_its_types_alone():
    domain = parse_domain(
        """(define (domain d) (:types car boat - vehicle vehicle - object) (:predicates (clean ?v - vehicle))
        (:action wash :parameters (?c - car) :effect (clean ?c))
        (:action rinse :parameters (?v - vehicle) :effect (clean ?v)))"""
    )
    problem = parse_problem(
        "(define (problem p) (:domain d) (:objects c - car b - boat) (:init) (:goal (clean b)))", domain
    )
    assert validate(problem, [("rinse", "b")]).valid
    verdict = validate(problem, [("wash", "b")])
    assert (verdict.valid, verdict.step) == (False, 0)
    assert verdict.reason is not None
    assert verdict.reason.code == "type-mismatch"
    assert "`b` is a boat" in verdict.reason.message


def test_an_int_argument_stays_within_its_choices():
    domain = parse_domain(
        """(define (domain d) (:types lamp - object level - int64[choices=3])
        (:predicates (level [return_type=level] ?l - lamp))
        (:action dim :parameters (?l - lamp ?n - level) :effect (level::assign ?l ?n)))"""
    )
    problem = parse_problem(
        """(define (problem p) (:domain d) (:objects l - lamp)
        (:init (= (level l) 0)) (:goal (= (level l) 2)))""",
        domain,
    )
    assert validate(problem, [("dim", "l", 2)]).valid
    for wrong in (3, -1, 0.5):
        verdict = validate(problem, [("dim", "l", wrong)])
        assert verdict.reason is not None
        assert verdict.reason.code == "value-out-of-range"


def test_an_int_argument_stays_within_its_choices_also_where_no_effect_writes_it():
    domain = parse_domain(
        """(define (domain d) (:types lamp - object level - int64[choices=3])
        (:predicates (lit ?l - lamp))
        (:action light :parameters (?l - lamp ?n - level) :precondition (not (= ?n 0)) :effect (lit ?l)))"""
    )
    text = "(define (problem p) (:domain d) (:objects l - lamp) (:init) (:goal (lit l)))"
    problem = parse_problem(text, domain)
    assert validate(problem, [("light", "l", 2)]).valid
    for wrong in (3, -1):
        verdict = validate(problem, [("light", "l", wrong)])
        assert not verdict.valid
        assert verdict.reason is not None
        assert verdict.reason.code == "value-out-of-range"


def test_whole_division_rounds_down():
    """Every division that is written gives a float; one over ints may be made by a program."""
    world = world_of("(:predicates (p))")
    for above, below, wanted in ((7, 2, 3), (-7, 2, -4), (7, -2, -4), (-6, 3, -2)):
        whole = Arithmetic("/", (Value(above, INT), Value(below, INT)), INT)
        assert evaluate(world, {}, whole) == wanted


def test_long_chains_of_derived_predicates_are_evaluated():
    chain = "\n".join(f"(:derived (d{i + 1}) (and (or (not (not (d{i}))))))" for i in range(500))
    world = world_of(f"(:predicates (d0))\n{chain}")
    assert derived(world, {("d0",): True}, "d500")
    assert not derived(world, {}, "d500")


def test_a_goal_is_a_closed_formula():
    problem = parse_problem(TOWER, parse_domain(BLOCKS))
    assert not holds(StaticContext.of(problem), problem.init, problem.goal)


def test_a_name_that_is_bound_three_times_means_the_innermost_and_conditions_outside_keep_theirs():
    domain = parse_domain("""(define (domain d) (:types item) (:predicates (p ?x - item) (q ?x - item))
      (:action act :parameters (?x - item)
        :effect (when (p ?x) (forall (?x - item) (forall (?x - item) (q ?x))))))""")
    problem = parse_problem(
        "(define (problem x) (:domain d) (:objects a b - item) (:init (p a)) (:goal (q b)))", domain
    )
    world = StaticContext.of(problem)
    assert apply(world, problem.init, ("act", "a")) == {("p", "a"): True, ("q", "a"): True, ("q", "b"): True}
    assert apply(world, problem.init, ("act", "b")) == {("p", "a"): True}

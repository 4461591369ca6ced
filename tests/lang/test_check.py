"""What checking makes of a sketch: types, roles, blanks, order; and that its promises hold."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from tests.lang.book import Reader, chapters, entries
from tests.lang.verifier import verify_domain, verify_problem
from tests.strategies.classical import classical
from tests.strategies.sketches import sketch

import pdsketch as pds
from pdsketch.lang.domain import Action, Domain
from pdsketch.lang.load import parse_domain, parse_goal, parse_problem
from pdsketch.lang.semantics import StaticContext, holds
from pdsketch.lang.terms import (
    TRUE,
    Apply,
    Arithmetic,
    BlankCall,
    Each,
    Equal,
    Logic,
    Object,
    Quantified,
    Value,
    Variable,
    walk,
)
from pdsketch.lang.types import FLOAT, INT, ObjectType, ValueType

ITEM = ObjectType(("item",))


def sketch_of(*parts: str) -> Domain:
    """A domain with items, robots and poses, and whatever else is given."""
    text = """(define (domain d)
      (:types robot item - object pose - vector[float32, 2])
      (:predicates
        (robot-pose [return_type=pose] ?r - robot)
        (item-pose [return_type=pose] ?o - item)
        (image [return_type=vector[float32]] ?o - item)
        (red ?o - item)
        (near ?o ?p - item)
        (level [return_type=int64[choices=4]] ?o - item))
    """
    return parse_domain(f"{text}{' '.join(parts)})")


def action_of(effect: str, *parts: str) -> Action:
    """An action on a robot and an item with this effect."""
    text = f"(:action act :parameters (?r - robot ?o - item) :effect {effect})"
    return sketch_of(*parts, text).actions["act"]


def codes(text: str) -> list[str]:
    with pytest.raises(pds.Error) as caught:
        parse_domain(text)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


@pytest.mark.parametrize("chapter", chapters(), ids=lambda path: path.stem)
def test_the_sketches_of_the_book_keep_the_promises(chapter):
    reader = Reader()
    for entry in entries(chapter.read_text(encoding="utf-8")):
        if entry.expected is None and entry.kind == "pdsketch":
            reader.check(entry)
            assert reader.domain is not None
            verify_domain(reader.domain)
            if reader.problem is not None:
                verify_problem(reader.problem)


@settings(max_examples=44, deadline=None, suppress_health_check=list(HealthCheck))
@given(sketch())
def test_random_sketches_keep_the_promises(sample):
    verify_domain(sample.domain)
    verify_problem(sample.problem)


@settings(max_examples=44, deadline=None, suppress_health_check=list(HealthCheck))
@given(classical())
def test_random_classical_domains_keep_the_promises(sample):
    verify_domain(sample.domain)
    verify_problem(sample.problem)


class TestSugar:
    def test_assign_and_its_sugar_are_one(self):
        plain = action_of("(assign (item-pose ?o) [1, 2])")
        assert plain.effects == action_of("(item-pose::assign ?o [1, 2])").effects
        (update,) = plain.effects
        assert (update.op, update.condition) == ("assign", TRUE)
        assert update.value == Value((1.0, 2.0), ValueType("float32", (2,)))

    def test_cond_assign_is_when_and_assign(self):
        sugar = action_of("(item-pose::cond-assign ?o (red ?o) [1, 2])")
        assert sugar.effects == action_of("(when (red ?o) (assign (item-pose ?o) [1, 2]))").effects

    def test_cond_select_is_when(self):
        body = "(foreach (?p - item) {})"
        sugar = body.format("(item-pose::cond-select ?p (near ?o ?p))")
        plain = body.format("(when (near ?o ?p) (item-pose ?p))")
        made = [action_of(f"(item-pose::assign ?o (??f {inner}))").effects for inner in (sugar, plain)]
        assert made[0] == made[1]

    def test_each_wildcard_is_its_own_variable(self):
        domain = sketch_of("(:derived (busy) (??f (near ?? ??)))")
        (arg,) = domain.predicates["busy"].body.args
        assert isinstance(arg, Each)
        first, second = arg.variables
        assert first.name != second.name
        assert (first.type, second.type) == (ITEM, ITEM)
        assert arg.body.args == (first, second)

    def test_nested_sets_are_one(self):
        domain = sketch_of(
            "(:derived (busy) (??f (foreach (?a - item)"
            " (when (red ?a) (foreach (?b - item) (when (near ?a ?b) (item-pose ?b)))))))"
        )
        (arg,) = domain.predicates["busy"].body.args
        assert [v.name for v in arg.variables] == ["?a", "?b"]
        assert isinstance(arg.condition, Logic)
        assert arg.condition.op == "and"

    def test_effects_are_flat(self):
        action = action_of(
            "(and (forall (?a - item)"
            " (when (red ?a) (and (not (red ?a)) (foreach (?b - item) (near ?a ?b))))))"
        )
        delete, add = action.effects
        assert (delete.op, [v.name for v in delete.variables]) == ("delete", ["?a"])
        assert (add.op, [v.name for v in add.variables]) == ("add", ["?a", "?b"])
        assert add.condition == delete.condition == Apply("red", (Variable("?a", ITEM),), add.target.type)

    def test_a_wildcard_effect_ranges_over_all(self):
        (update,) = action_of("(not (near ?? ?o))").effects
        assert [v.type for v in update.variables] == [ITEM]


class TestVariables:
    def test_no_variable_is_bound_twice_around_a_condition(self):
        gate = "(when (exists (?a - item) (red ?a)) {})"
        (update,) = action_of(gate.format("(forall (?a - item) (near ?a ?o))")).effects
        assert [v.name for v in update.variables] == ["?a$1"]
        inner = gate.format("(foreach (?a - item) (item-pose ?a))")
        (arg,) = sketch_of(f"(:derived (p) (??f {inner}))").predicates["p"].body.args
        assert [v.name for v in arg.variables] == ["?a$1"]

    def test_an_inner_variable_hides_the_outer_one_under_another_name(self):
        domain = sketch_of("(:derived (p ?o - item) (and (red ?o) (exists (?o - item) (red ?o))))")
        outer, quantified = domain.predicates["p"].body.args
        assert isinstance(quantified, Quantified)
        assert quantified.variables[0].name != outer.args[0].name
        assert quantified.body.args == quantified.variables

    def test_untyped_variables_get_the_type_that_their_uses_demand(self):
        domain = sketch_of(
            "(:derived (far ?o) (can ?o))",
            "(:derived (can ?o) (??f (item-pose ?o)))",
            "(:derived (whatever ?o) (exists (?x) (= ?x ?o)))",
            "(:derived (level-is ?o ?n) (= (level ?o) ?n))",
            "(:action go :parameters (?r ?o ?p) :effect (and (robot-pose::assign ?r ?p) (red ?o)))",
        )
        types = {name: [str(v.type) for v in p.parameters] for name, p in domain.predicates.items()}
        assert types["can"] == types["far"] == ["item"]
        assert types["whatever"] == ["object"]
        assert types["level-is"] == ["item", "int64[choices=4]"]
        assert [str(v.type) for v in domain.actions["go"].parameters] == ["robot", "item", "pose"]

    def test_the_most_specific_demand_wins_and_disjoint_ones_make_an_object(self):
        domain = parse_domain(
            "(define (domain d) (:types v - object car boat - v)"
            "(:predicates (any ?x - v) (c ?x - car) (b ?x - boat))"
            "(:derived (p ?x) (and (any ?x) (c ?x))) (:derived (q ?x) (or (c ?x) (b ?x))))"
        )
        assert str(domain.predicates["p"].parameters[0].type) == "car"
        assert str(domain.predicates["q"].parameters[0].type) == "object"

    def test_a_wider_argument_is_restricted_to_members(self):
        domain = parse_domain(
            "(define (domain d) (:types v - object car - v) (:predicates (c ?x - car))"
            "(:action a :parameters (?x - v) :precondition (c ?x) :effect (not (c ?x))))"
        )
        action = domain.actions["a"]
        verify_domain(domain)
        assert isinstance(action.precondition, Quantified)
        assert action.precondition.op == "exists"
        (update,) = action.effects
        assert isinstance(update.condition, Equal)


class TestRoles:
    def test_roles_follow_from_reads_and_writes(self):
        domain = sketch_of(
            "(:predicates (ahead [return_type=pose] ?p - pose))",
            "(:functions (total-cost))",
            "(:derived (crop [return_type=vector[float32, 4]] ?o - item) (??f (image ?o)))",
            "(:derived (feature [return_type=vector[float32, 8]] ?o - item) (??f (crop ?o)))",
            "(:derived (is-red ?o - item) (??f (feature ?o)))",
            "(:action act :parameters (?o - item) :effect (feature::assign ?o (??f (feature ?o))))",
        )
        roles = {name: p.role for name, p in domain.predicates.items()}
        assert roles["image"] == "raw"
        assert roles["crop"] == roles["is-red"] == "derived"
        assert roles["feature"] == "encoded"
        assert roles["ahead"] == "external"
        assert roles["total-cost"] == "cost"
        assert roles["item-pose"] == "observed"

    def test_what_something_else_reads_is_not_raw(self):
        encoder = "(:derived (feature [return_type=vector[float32, 8]] ?o - item) (??f (image ?o)))"
        write = "(:action act :parameters (?o - item) :effect (feature::assign ?o (??f (feature ?o))))"
        for reader in (
            "(:derived (blurred ?o - item) (??f (image ?o)))",
            "(:action look :parameters (?o - item) :precondition (??f (image ?o)))",
            "(:action look :parameters (?o - item) :effect (image::assign ?o (??f (image ?o)) ))",
        ):
            assert sketch_of(encoder, write, reader).predicates["image"].role == "observed"
        assert sketch_of(encoder, write).predicates["image"].role == "raw"

    def test_a_goal_that_reads_what_is_absent_is_found_out(self):
        domain = sketch_of(
            "(:derived (crop [return_type=vector[float32, 4]] ?o - item) (??f (image ?o)))",
            "(:derived (feature [return_type=vector[float32, 8]] ?o - item) (??f (crop ?o)))",
            "(:derived (is-red ?o - item) (??f (feature ?o)))",
            "(:action act :parameters (?o - item) :effect (feature::assign ?o (??f (feature ?o))))",
        )
        goal = parse_goal("(exists (?o - item) (= (crop ?o) [1, 2, 3, 4]))", domain)
        assert domain.analysis.absent_reads(goal) == ("image",)
        assert domain.analysis.absent_reads(parse_goal("(exists (?o - item) (is-red ?o))", domain)) == ()


class TestBlanks:
    def test_names_and_signatures(self):
        domain = sketch_of(
            "(:derived (p ?o - item) (??f [hidden=32, act=relu] (item-pose ?o) (near ?? ?o)))",
            "(:action act :parameters (?r - robot ?o - item) :effect (robot-pose::assign ?r"
            " (??f (item-pose ?o) (robot-pose ?r))))",
        )
        assert [b.signature for b in domain.blanks.values()] == [
            "derived::p::f(pose, {bool for ?? - item}) -> bool",
            "action::act::f(pose, pose) -> pose",
        ]
        assert domain.blanks["derived::p::f"].settings == {"hidden": 32, "act": "relu"}
        assert domain.blanks["action::act::f"].residual == 1

    @pytest.mark.parametrize(
        ("value", "residual"),
        [
            ("(??f (item-pose ?o) (robot-pose ?r))", 1),
            ("(??f (item-pose ?o) (level ?o))", 0),
            ("(??f (item-pose ?o) (item-pose ?o))", None),
            ("(??f (level ?o) (item-pose ??))", None),
            ("(??f)", None),
            ("(+ (robot-pose ?r) (??f (robot-pose ?r)))", None),
        ],
    )
    def test_the_residual_is_the_assigned_variable_or_the_one_input_of_its_type(self, value, residual):
        domain = sketch_of(
            f"(:action act :parameters (?r - robot ?o - item) :effect (robot-pose::assign ?r {value}))"
        )
        assert domain.blanks["action::act::f"].residual == residual

    @pytest.mark.parametrize(
        ("formula", "returns"),
        [
            ("(??f)", "bool"),
            ("(= (item-pose ?o) (??f))", "pose"),
            ("(= (??f) (level ?o))", "int64[choices=4]"),
            ("(= (+ (item-pose ?o) (??f)) [1, 1])", "pose"),
            ("(< (??f) 3)", "float32"),
            ("(far (??f) (item-pose ?o))", "pose"),
            ("(and (??f) (= 1 (??g [return_type=float32])))", "bool"),
        ],
    )
    def test_what_a_blank_returns_follows_from_its_place(self, formula, returns):
        domain = sketch_of("(:predicates (far ?p ?q - pose))", f"(:derived (p ?o - item) {formula})")
        assert str(domain.blanks["derived::p::f"].returns) == returns


class TestDimensions:
    def test_they_are_inferred_from_use_across_definitions(self):
        domain = sketch_of(
            "(:predicates (goal-image [return_type=vector[float32]] ?o - item))",
            "(:predicates (alike ?p ?q - vector[float32]))",
            "(:derived (same ?o - item) (alike (image ?o) (goal-image ?o)))",
            "(:derived (blank ?o - item) (= (goal-image ?o) [0, 0, 0, 0, 0]))",
            "(:derived (guess ?o - item) (= (image ?o) (??f [return_type=vector[float32]] (image ?o))))",
        )
        five = ValueType("float32", (5,))
        assert domain.predicates["goal-image"].type == five
        assert domain.blanks["derived::guess::f"].inputs[0].type == domain.predicates["image"].type
        assert domain.blanks["derived::guess::f"].returns == domain.predicates["image"].type
        assert [v.type for v in domain.predicates["alike"].parameters][1] == five

    def test_what_no_use_tells_stays_open(self):
        assert sketch_of().predicates["image"].type.shape is None


class TestOrder:
    def test_callees_come_first_and_circles_are_components(self):
        domain = parse_domain(
            "(define (domain d) (:predicates (e ?x ?y)) (:derived (top) (exists (?x) (even ?x)))"
            "(:derived (even ?x) (exists (?y) (and (e ?x ?y) (odd ?y))))"
            "(:derived (odd ?x) (exists (?y) (and (e ?x ?y) (even ?y)))) (:derived (flat) (and)))"
        )
        assert [set(c) for c in domain.components] == [{"even", "odd"}, {"top"}, {"flat"}]
        assert domain.recursive == {"even", "odd"}

    def test_polarity_decides_not_the_word_not(self):
        twice = "(define (domain d) (:predicates (e)) (:derived (p) (not (implies (e) (not (p))))))"
        assert parse_domain(twice).recursive == {"p"}
        assert codes(twice.replace("(not (p))", "(p)")) == ["negative-cycle"]
        assert codes("(define (domain d) (:derived (p) (implies (p) (p))))") == ["negative-cycle"]
        assert codes("(define (domain d) (:derived (p) (= (p) true)))") == ["negative-cycle"]


class TestCosts:
    def test_costs_are_taken_out_of_the_effects(self):
        domain = parse_domain(
            "(define (domain d) (:predicates (p)) (:functions (total-cost) (price) - number)"
            "(:action a :effect (and (p) (increase (total-cost) (price)) (increase (total-cost) 2)))"
            "(:action b :effect (p)))"
        )
        first, second = domain.actions.values()
        assert [u.op for u in first.effects] == ["add"]
        assert isinstance(first.cost, Arithmetic)
        assert first.cost.type == FLOAT
        assert second.cost is None
        assert domain.has_costs


class TestProblems:
    DOMAIN = """(define (domain d) (:types cup table - thing thing - object) (:constants sink - table)
      (:predicates (on ?c - cup ?t - table) (pose [return_type=vector[float32, 2]] ?t - thing) (wet ?c - cup))
      (:functions (total-cost) (weight ?c - cup)))"""

    def problem(self, init: str = "", goal: str = "(wet mug#1)", more: str = "") -> pds.Problem:
        return parse_problem(
            f"(define (problem p) (:domain D) (:objects Mug#1 - cup box - (either cup table)) (:init {init})"
            f" (:goal {goal}) {more})",
            parse_domain(self.DOMAIN),
        )

    def test_objects_and_constants(self):
        problem = self.problem()
        assert list(problem.universe) == ["sink", "mug#1", "box"]
        assert problem.objects["cup"] == ("mug#1",)

    def test_values_are_plain_python(self):
        problem = self.problem(
            "(on MUG#1 sink) (not (wet mug#1)) (= (pose sink) [1, 2]) (= (weight mug#1) 3)"
        )
        assert problem.init == {
            ("on", "mug#1", "sink"): True,
            ("pose", "sink"): (1.0, 2.0),
            ("weight", "mug#1"): 3.0,
        }

    def test_the_metric(self):
        assert self.problem().metric == "unit"
        problem = self.problem("(= (total-cost) 0)", more="(:metric minimize (total-cost))")
        assert problem.metric == "cost"
        assert problem.init == {}

    def test_goals_name_objects_and_constants(self):
        problem = self.problem()
        goal = parse_goal("(on mug#1 sink)", problem)
        assert [type(arg) for arg in goal.args] == [Object, Object]
        assert goal == parse_goal("(on mug#1 sink)", problem.domain, problem.universe)

    def test_a_goal_may_be_empty(self):
        assert self.problem(goal="()").goal == Logic("and", ())


def test_a_pddl_domain_may_use_words_that_pddl_does_not_reserve():
    domain = parse_domain(
        "(define (domain d) (:types number) (:constants true 3 - number) (:functions (total-cost) - number)"
        "(:predicates (equal ?a ?b - number)) (:action a :parameters (?n - number)"
        " :precondition (equal ?n 3) :effect (and (equal ?n true) (increase (total-cost) 1))))"
    )
    verify_domain(domain)
    action = domain.actions["a"]
    assert isinstance(action.precondition, Apply)
    assert [type(arg) for arg in action.effects[0].target.args] == [Variable, Object]


def test_every_node_knows_its_place():
    domain = sketch_of("(:derived (p ?o - item) (and (red ?o) (??f (item-pose ?o) [1, 2] (near ?? ?o))))")
    for node in walk(domain.predicates["p"].body):
        if not isinstance(node, Value) or node != TRUE:
            assert node.span is not None
    call = next(n for n in walk(domain.predicates["p"].body) if isinstance(n, BlankCall))
    assert call.span.text == "(??f (item-pose ?o) [1, 2] (near ?? ?o))"


def test_one_slip_gives_one_error():
    slips = {
        "(:derived (p ?o - item) (and (red ?x) (red ?o)))": ["unbound-variable"],
        "(:derived (p ?o - itme) (red ?o)) (:derived (q ?o - item) (p ?o))": ["unknown-type"],
        "(:predicates (s [return_type=posse] ?o - item)) (:derived (p ?o - item) (= (s ?o) [1, 2]))": [
            "unknown-type"
        ],
        "(:predicates (s ?o - item t)) (:derived (p ?o - item) (s ?o ?o))": ["bad-name"],
        "(:types kind - vector[flot]) (:predicates (s [return_type=kind] ?o - item))": ["bad-type"],
        "(:predicate (s ?o - item)) (:derived (p ?o - item) (s ?o))": ["unknown-section"],
        "(:derived (p ?o - item) (not (??f (level ?o) (red ?z))))": ["unbound-variable"],
    }
    for text, expected in slips.items():
        with pytest.raises(pds.Error) as caught:
            sketch_of(text)
        assert [d.code for d in caught.value.diagnostics] == expected, text


@pytest.mark.parametrize(
    ("formula", "tolerance"),
    [
        ("(= (fine) (rough))", 0.5),
        ("(= (fine) (plain))", 0.01),
        ("(= (plain) (rough))", 0.5),
        ("(= (plain) 1.0)", 1e-3),
        ("(= (n) (fine))", 0.01),
        ("(= (n) 1)", 0.0),
    ],
)
def test_of_two_tolerances_the_declared_or_the_larger_counts(formula, tolerance):
    domain = parse_domain(f"""(define (domain d)
      (:types fine - float32[tolerance=0.01] rough - float32[tolerance=0.5])
      (:predicates (fine [return_type=fine]) (rough [return_type=rough]) (plain [return_type=float32])
        (n [return_type=int64]))
      (:derived (same) {formula}))""")
    assert domain.predicates["same"].body.tolerance == tolerance


def test_a_type_may_stand_before_the_one_it_stands_on():
    domain = parse_domain("""(define (domain d) (:types height - level level - number5 number5 - int64
      box - thing) (:predicates (at [return_type=height] ?b - box)))""")
    assert set(domain.value_types) == {"height", "level", "number5"}
    assert domain.predicates["at"].type == INT
    assert set(domain.hierarchy.names) == {"object", "box", "thing"}


def test_a_division_of_ints_is_a_float():
    domain = parse_domain("""(define (domain d) (:predicates (n [return_type=int64]))
      (:derived (half [return_type=float32]) (/ (n) 2)))""")
    assert domain.predicates["half"].body.type.prim == "float32"


@pytest.mark.parametrize("formula", ["(= 0.5 2)", "(= 2 0.5)", "(= 2 2.0)", "(= 2.0 2)"])
def test_an_int_and_a_float_are_compared_in_either_order(formula):
    found = parse_goal(formula, sketch_of())
    assert isinstance(found, Equal)
    assert holds(StaticContext(sketch_of(), {}), {}, found) == ("0.5" not in formula)


def test_a_later_use_tells_what_a_blank_returns():
    domain = parse_domain(
        """(define (domain d) (:types item - object pose - vector[float32, 2])
          (:predicates (at [return_type=pose] ?i - item))
          (:action a :parameters (?i - item)
            :precondition (??ok (??f (at ?i)))
            :effect (assign (at ?i) (??f (at ?i)))))"""
    )
    assert domain.blanks["action::a::f"].signature == "action::a::f(pose) -> pose"


def test_sums_and_differences_keep_the_name_of_their_type():
    domain = parse_domain("""
    (define (domain d) (:types b - object x - float32 y - float32)
      (:predicates (left [return_type=x] ?b - b) (width [return_type=x] ?b - b) (up [return_type=y] ?b - b))
      (:derived (named ?b - b) (??f (+ (left ?b) (width ?b) 1) (- (left ?b) (width ?b)) (- (up ?b))))
      (:derived (plain ?b - b) (??f (+ (left ?b) (up ?b)) (* (left ?b) (width ?b)) (/ (up ?b) (up ?b)))))
    """)
    aliases = {name: [i.type.alias for i in blank.inputs] for name, blank in domain.blanks.items()}
    assert aliases == {"derived::named::f": ["x", "x", "y"], "derived::plain::f": [None, None, None]}


def test_of_a_long_cycle_six_readings_are_shown():
    ring = [f"(:derived (p{at} ?o - thing) (not (p{(at + 1) % 12} ?o)))" for at in range(12)]
    with pytest.raises(pds.Error) as refused:
        parse_domain(f"(define (domain x) (:types thing - object) {' '.join(ring)})")
    told = refused.value.diagnostics[0]
    assert told.code == "negative-cycle"
    assert len(told.notes) == 6

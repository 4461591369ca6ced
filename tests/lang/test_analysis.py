"""What is read and written, directly and through bodies."""

from pdsketch.lang.analysis import closure, components
from pdsketch.lang.load import parse_domain, parse_goal
from pdsketch.lang.types import ObjectType

DOMAIN = parse_domain("""(define (domain d) (:types item) (:predicates
    (image [return_type=vector[float32, 4]] ?o - item) (size [return_type=float32] ?o - item)
    (near ?a ?b - item) (held ?o - item))
  (:derived (code [return_type=vector[float32, 2]] ?o - item) (??encode (image ?o)))
  (:derived (red ?o - item) (??red (code ?o)))
  (:derived (linked ?a ?b - item) (or (near ?a ?b) (exists (?c - item) (and (near ?a ?c) (linked ?c ?b)))))
  (:derived (large ?o - item) (and (red ?o) (> (size ?o) 1.0)))
  (:action paint :parameters (?o - item) :precondition (large ?o)
   :effect (and (code::assign ?o (??paint (code ?o)))
    (when (exists (?p - item) (linked ?o ?p)) (held ?o)))))""")
ANALYSIS = DOMAIN.analysis


def goal(text):
    return parse_goal(text, DOMAIN, {"a": ObjectType(("item",))})


def test_it_is_kept_with_the_domain():
    assert DOMAIN.analysis is ANALYSIS


def test_what_actions_write_and_what_is_static():
    assert ANALYSIS.writes("paint") == ("code", "held")
    assert ANALYSIS.written == {"code", "held"}


def test_reads_go_through_derived_predicates_and_end_at_encoded_ones():
    assert ANALYSIS.reads(goal("(large a)")) == {"code", "size"}
    assert ANALYSIS.predicate_reads("linked") == {"near"}
    assert ANALYSIS.effect_reads("paint") == {"code", "held", "near"}


def test_what_the_encoder_needs_is_less_where_encoded_values_are_given():
    assert ANALYSIS.encoder_inputs(["code"]) == {"image"}
    assert ANALYSIS.encoder_inputs(["code"], given=["image"]) == {"image"}
    assert ANALYSIS.encoder_inputs([]) == frozenset()


def test_tables_are_in_the_order_of_evaluation_and_those_below_a_fixpoint_are_left_out():
    assert ANALYSIS.tables.index("red") < ANALYSIS.tables.index("large")
    assert ANALYSIS.read_tables([goal("(large a)")]) == ("red", "large")
    assert ANALYSIS.effect_tables("paint") == ("linked",)


def test_blanks_through_derived_predicates_and_through_encoders():
    assert ANALYSIS.blanks(goal("(large a)"), encoders=False) == ("derived::red::red",)
    assert ANALYSIS.blanks(goal("(large a)")) == ("derived::red::red", "derived::code::encode")
    assert ANALYSIS.blanks(goal("(linked a a)")) == ()


def test_a_closure_does_not_follow_what_it_must_stop_at():
    reads = {"a": ["b"], "b": ["c"], "c": ["a"]}
    assert closure(["a"], reads) == {"a", "b", "c"}
    assert closure(["a"], reads, stop=["b"]) == {"a", "b"}


def test_components_come_callees_first_and_may_read_what_has_no_entry():
    graph = {1: [2, 9], 2: [3], 3: [2], 4: [1]}
    found = [*components(graph)]
    assert [set(c) for c in found] == [{2, 3}, {9}, {1}, {4}]

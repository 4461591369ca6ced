"""Terms that are rewritten mean what they should; derived predicates written out mean what they meant."""

import pickle
from itertools import count

import torch
from hypothesis import given, settings
from tests.strategies import sketch
from tests.tensor.agreement import model_of, steps_of

from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.lang.rewrite import conjuncts, lift_objects, map_children, rename_bound, substitute, unfold_all
from pdsketch.lang.semantics import StaticContext, holds
from pdsketch.lang.terms import Apply, Logic, Object, Quantified, Variable, free_variables, walk
from pdsketch.tensor.model import bind


@given(sketch())
@settings(max_examples=44, deadline=None)
def test_a_formula_written_out_has_the_same_truth_and_no_derived_predicate_left(sample):
    model = model_of(sample)
    batch = model.encode(sample.problem.state, crisp=True).batch
    domain = sample.domain
    for text in sample.formulas:
        formula = model.formula(batch, text)
        plain = unfold_all(formula, domain)
        truths = [model.engine.truth(model.engine.open(batch, checked=False), f) for f in (formula, plain)]
        assert torch.equal(*truths)
        named = {n.predicate for n in walk(plain) if isinstance(n, Apply)} - domain.recursive
        assert not any(domain.predicates[name].role == "derived" for name in named)


@given(sketch())
@settings(max_examples=44, deadline=None)
def test_an_action_written_out_has_the_same_effects(sample):
    model = model_of(sample)
    batch = model.encode(sample.problem.state, crisp=True).batch
    for step in steps_of(sample, 6):
        action = sample.domain.actions[step[0]]
        run = model.engine.open(batch, checked=False).ground(bind(batch, action, [step]), 1)
        program, plain = model.engine.program(action.name), model.engine.plain_program(action.name)
        # What is written out may name fewer variables, and then has fewer axes.
        truths = torch.broadcast_tensors(program.precondition(run), plain.precondition(run))
        assert torch.equal(*truths)
        after, other = program.written(run), plain.written(run)
        for name, table in after.items():
            assert torch.allclose(table.double(), other[name].double(), equal_nan=True)


def test_an_argument_is_not_captured_by_a_quantifier_of_the_body():
    domain = parse_domain("""(define (domain d) (:types thing) (:predicates (p ?a ?b - thing))
      (:derived (linked ?x - thing) (exists (?y - thing) (p ?x ?y))))""")
    problem = parse_problem(
        """(define (problem q) (:domain d) (:objects a b - thing) (:init (p a b))
        (:goal (exists (?y - thing) (linked ?y))))""",
        domain,
    )
    world = StaticContext.of(problem)
    assert holds(world, problem.init, problem.goal)
    assert holds(world, problem.init, unfold_all(problem.goal, domain))


LINKS = parse_domain("(define (domain d) (:types thing) (:predicates (p ?a ?b - thing) (q ?a - thing)))")


def formula(text):
    objects = "(:objects a b - thing) (:init)"
    return parse_problem(f"(define (problem x) (:domain d) {objects} (:goal {text}))", LINKS).goal


def test_an_expression_of_which_nothing_changes_is_the_same_expression():
    goal = formula("(forall (?x - thing) (and (p ?x a) (not (= ?x b))))")
    assert substitute(goal, {"?y": goal}) is goal
    assert map_children(goal, lambda part: part) is goal


def test_substitution_leaves_bound_variables_alone():
    thing = LINKS.predicates["q"].parameters[0].type
    free = Variable("?x", thing)
    goal = formula("(exists (?x - thing) (p ?x a))")
    both = Logic("and", (Apply("q", (free,), goal.type), goal))
    changed = substitute(both, {"?x": Object("b", thing)})
    assert changed == Logic("and", (Apply("q", (Object("b", thing),), goal.type), goal))


def test_bound_variables_that_are_bound_again_get_names_apart():
    goal = formula("(exists (?x ?y - thing) (and (p ?x ?y) (exists (?x ?z - thing) (p ?x ?z))))")
    places = count()
    renamed = rename_bound(goal, lambda _: f"?{next(places)}")
    bound = [v.name for node in walk(renamed) if isinstance(node, Quantified) for v in node.variables]
    assert bound == ["?0", "?1", "?2", "?3"]
    inner = [tuple(a.name for a in node.args) for node in walk(renamed) if isinstance(node, Apply)]
    assert inner == [("?0", "?1"), ("?2", "?3")]
    assert not free_variables(renamed)


def test_conjuncts_are_those_of_nested_conjunctions():
    goal = formula("(and (q a) (and (q b) (or (q a) (q b))) (and))")
    assert [part.span.text for part in conjuncts(goal)] == ["(q a)", "(q b)", "(or (q a) (q b))"]


def test_expressions_that_differ_in_their_objects_have_one_form():
    goals = [formula(text) for text in ("(p a b)", "(p b a)", "(p a a)", "(exists (?x - thing) (p ?x b))")]
    forms = lift_objects(goals, LINKS)
    assert [(form.rows, form.places) for form in forms] == [
        ((("a", "b"), ("b", "a")), (0, 1)),
        ((("a",),), (2,)),
        ((("b",),), (3,)),
    ]
    assert free_variables(forms[2].expr) == (forms[2].variables[0].name,)


def test_equal_terms_are_one_key_wherever_they_were_written():
    once, again = (formula("(exists (?x - thing) (and (p ?x a) (q b)))") for _ in range(2))
    assert once is not again
    assert {once: "found"}[again] == "found"
    assert hash(formula("(exists (?x - thing) (and (p ?x b) (q b)))")) != hash(once)


def test_a_term_is_pickled_without_its_hash_which_differs_from_process_to_process():
    goal = formula("(forall (?x - thing) (p ?x a))")
    assert (hash(goal), free_variables(goal)) == (goal._hash, ())
    loaded = pickle.loads(pickle.dumps(goal))
    assert loaded == goal
    assert not hasattr(loaded, "_hash")
    assert not hasattr(loaded.body, "_free")

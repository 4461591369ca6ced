"""Terms as text: read again, they are the same terms."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from tests.strategies import classical, sketch

import pdsketch as pds
from pdsketch.lang.printer import format_source
from pdsketch.lang.rewrite import rename_bound, substitute
from pdsketch.lang.source import Source
from pdsketch.lang.terms import Arithmetic, Value
from pdsketch.lang.unparse import domain_text, formula_text, problem_text

ROOT = Path(__file__).parents[2]
DOMAINS = sorted(
    [
        *ROOT.glob("examples/*/domain.pddl"),
        *ROOT.glob("examples/*/*.pdsketch"),
        *ROOT.glob("paper/src/**/sketches/*.pdsketch"),
    ]
)
PROBLEMS = sorted(ROOT.glob("examples/*/p*.pddl"))


def numbered(expr):
    """The expression with numbers for the names of bound variables."""
    names = count()
    return rename_bound(expr, lambda variable: f"?{next(names)}")


def update_of(update):
    """An update with numbers for the names of its variables."""
    new = tuple(replace(v, name=f"?u{i}") for i, v in enumerate(update.variables))
    by = {old.name: v for old, v in zip(update.variables, new, strict=True)}
    parts = {
        "target": substitute(update.target, by),
        "value": None if update.value is None else numbered(substitute(update.value, by)),
        "condition": numbered(substitute(update.condition, by)),
    }
    return replace(update, variables=new, **parts)


def cost_of(cost):
    """A cost; a sum of several increases has ints where a written sum has floats."""
    if isinstance(cost, Value):
        return float(cost.value)
    return (cost.op, *map(cost_of, cost.args)) if isinstance(cost, Arithmetic) else cost


def shape_of(domain):
    """All that a domain says, whatever its bound variables are called."""
    return {
        "name": domain.name,
        "requirements": domain.requirements,
        "types": dict(domain.hierarchy.parents),
        "values": dict(domain.value_types),
        "constants": dict(domain.constants),
        "predicates": {
            p.name: replace(p, body=None if p.body is None else numbered(p.body))
            for p in domain.predicates.values()
        },
        "actions": {
            a.name: replace(
                a,
                precondition=numbered(a.precondition),
                effects=tuple(map(update_of, a.effects)),
                cost=cost_of(a.cost),
            )
            for a in domain.actions.values()
        },
        "blanks": {
            b.name: (
                b.returns,
                b.residual,
                dict(b.settings),
                [(i.type, None if i.over is None else [v.type for v in i.over]) for i in b.inputs],
            )
            for b in domain.blanks.values()
        },
        "strata": (set(map(frozenset, domain.components)), domain.recursive),
    }


def assert_same_domain(domain):
    text = domain_text(domain)
    again = pds.parse_domain(text)
    assert shape_of(again) == shape_of(domain)
    assert domain_text(again) == text
    return again


def assert_same_problem(problem, domain):
    again = pds.parse_problem(problem_text(problem), domain)
    assert dict(again.universe) == dict(problem.universe)
    assert dict(again.init) == {fact: value for fact, value in problem.init.items() if value is not False}
    assert numbered(again.goal) == numbered(problem.goal)
    assert (again.name, again.metric) == (problem.name, problem.metric)


@pytest.mark.parametrize("path", DOMAINS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_the_domains_that_ship_read_as_they_were(path):
    text = domain_text(assert_same_domain(pds.load_domain(path)))
    assert format_source(Source("x", text)) == text


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_the_problems_that_ship_read_as_they_were(path):
    domain = pds.load_domain(path.parent / "domain.pddl")
    assert_same_problem(pds.load_problem(path, domain), assert_same_domain(domain))


@given(classical())
def test_classical_domains_read_as_they_were(sample):
    assert_same_problem(sample.problem, assert_same_domain(sample.domain))


@given(sketch())
def test_sketches_read_as_they_were(sample):
    again = assert_same_domain(sample.domain)
    assert_same_problem(sample.problem, again)
    for text in sample.formulas:
        formula = pds.parse_goal(text, sample.problem)
        assert numbered(pds.parse_goal(formula_text(formula), sample.problem)) == numbered(formula)


def test_what_the_checker_made_gets_names_that_can_be_written():
    domain = pds.parse_domain("""
        (define (domain d)
          (:types a b - object)
          (:predicates (p ?x - a) (f [return_type=float32] ?x - b))
          (:derived (q ?v0 - object) (p ?v0))
          (:derived (r) (??g [hidden=8, kind=small, sizes=[2, 3]] (f ??)))
          (:action act :parameters (?v0 - object) :effect (and (p ?v0) (when (r) (not (p ?v0))))))
    """)
    again = assert_same_domain(domain)
    assert "$" not in domain_text(domain)
    assert again.blanks["derived::r::g"].settings == {"hidden": 8, "kind": "small", "sizes": ["2", "3"]}


def test_what_a_blank_returns_is_said_where_a_place_alone_does_not_tell_it():
    use = "(??g [return_type=pose] [0.5, 0.5])"
    assert_same_domain(
        pds.parse_domain(f"""
        (define (domain d)
          (:types item - object pose - vector[float32, 2, tolerance=0.25])
          (:derived (at [return_type=pose] ?x - item) (+ {use} (- [0.0, 1.0] [0.0, 1.0]) {use})))
    """)
    )

"""What the strategies promise to the tests that stand on them."""

from hypothesis import HealthCheck, given, settings
from tests.strategies import classical, reachable, sketch
from tests.strategies.choices import Seeded
from tests.strategies.classical import classical_from
from tests.strategies.sketches import sketch_from

from pdsketch.lang.load import parse_goal
from pdsketch.lang.semantics import holds
from pdsketch.lang.types import BOOL
from pdsketch.lang.validator import validate

SETTINGS = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@SETTINGS
@given(classical() | sketch())
def test_samples_are_well_typed_and_roles_are_as_meant(sample):
    assert sample.problem.goal.type == BOOL
    for text in sample.formulas:
        formula = parse_goal(text, sample.domain, sample.problem.universe)
        assert holds(sample.world, sample.problem.init, formula) in (True, False)
    found = {name: predicate.role for name, predicate in sample.domain.predicates.items()}
    assert {name: found[name] for name in sample.roles} == sample.roles
    assert set(sample.domain.blanks) <= set(sample.functions)


@SETTINGS
@given(classical() | sketch())
def test_the_oracles_plans_are_valid_and_cost_what_it_says(sample):
    found = reachable(sample, 100)
    if found.plan is not None:
        verdict = validate(sample.problem, found.plan, sample.functions)
        assert verdict.valid
        assert verdict.cost == found.cost


def test_many_samples_take_several_steps():
    for make in (classical_from, sketch_from):
        plans = [reachable(make(Seeded(seed)), 60).plan for seed in range(60)]
        assert sum(plan is None for plan in plans) < 24
        assert sum(plan is not None and len(plan) >= 1 for plan in plans) > 15
        assert sum(plan is not None and len(plan) >= 2 for plan in plans) > 3

"""The default search of models: the abstraction first, then heuristics that take turns."""

import time
import warnings

import pytest
import torch

import pdsketch as pds
from pdsketch.budget import MEGABYTE, Budget, OutOfMemoryError, OutOfTimeError
from pdsketch.search import UntrainedWarning
from pdsketch.search.strategy import _part_of

TILES = """
(define (domain tiles)
  (:types tile - object n - int64[choices=6])
  (:predicates (n [return_type=n] ?t - tile) (up ?t - tile) (gold ?t - tile)
    (next [return_type=n] ?n - n) (is-even ?n - n))
  (:derived (even ?t - tile) (is-even (n ?t)))
  (:action step :parameters (?t - tile) :precondition (up ?t) :effect (assign (n ?t) (next (n ?t))))
  (:action lift :parameters (?t - tile) :effect (up ?t))
  (:action drop :parameters (?t - tile) :effect (not (up ?t))))
"""

MODULES = {
    "is-even": lambda n: (n % 2 == 0).float(),
    "next": lambda n: (n + 1) % 6,
}


def tiles(values=(1, 3, 0), modules=MODULES):
    domain = pds.parse_domain(TILES)
    names = [f"t{i}" for i in range(len(values))]
    state = pds.State(
        domain,
        {"tile": names},
        {"n": list(values), "up": [False] * len(values), "gold": [False] * len(values)},
    )
    return pds.Model(domain, modules=modules), state


GOALS = (
    "(forall (?t - tile) (= (n ?t) 4))",
    "(forall (?t - tile) (and (even ?t) (not (up ?t))))",
    "(and (= (n t0) 0) (up t1))",
)


@pytest.fixture
def in_the_model(monkeypatch):
    """Within, nothing is searched for in the abstraction."""
    monkeypatch.setattr("pdsketch.search.strategy.MOST_EXPANSIONS", 0)


@pytest.mark.parametrize("goal", GOALS)
def test_the_default_finds_plans_in_the_abstraction(goal):
    model, state = tiles()
    found = pds.plan(model, state, goal)
    best = pds.plan(model, state, goal, heuristic="blind", k=64)
    assert found.cost == best.cost
    assert found.refinements == 0
    assert "rules" in found.phases


@pytest.mark.parametrize("goal", GOALS)
def test_plans_that_are_found_in_the_model_are_no_worse(goal, in_the_model):
    model, state = tiles()
    found = pds.plan(model, state, goal)
    best = pds.plan(model, state, goal, heuristic="blind", k=64)
    assert found.cost == best.cost
    assert found.expanded < best.expanded
    again = pds.plan(model, state, goal)
    assert (again.plan, again.expanded, again.generated) == (found.plan, found.expanded, found.generated)


def test_the_portfolio_begins_with_k_nodes(in_the_model):
    model, state = tiles()
    one, many = (pds.plan(model, state, GOALS[0], k=k) for k in (1, 16))
    assert one.expanded == pds.plan(model, state, GOALS[0]).expanded < many.expanded
    assert one.cost == many.cost


def test_many_problems_are_searched_as_each_alone(in_the_model):
    model, state = tiles()
    other = pds.State(
        model.domain, {"tile": ["t0", "t1"]}, {"n": [5, 5], "up": [True, False], "gold": [False, False]}
    )
    pairs = [(s, g) for s in (state, other) for g in GOALS]
    together = pds.plan_many(model, [s for s, _ in pairs], [g for _, g in pairs])
    for result, (s, g) in zip(together, pairs, strict=True):
        alone = pds.plan(model, s, g)
        assert (result.plan, result.expanded) == (alone.plan, alone.expanded)


def test_the_rules_guide_where_opt_is_misled(in_the_model):
    """OPT sees one step to any goal over numbers; blind search alone would look at most states."""
    model, state = tiles((0,) * 4)
    goal = "(forall (?t - tile) (= (n ?t) 5))"
    found = pds.plan(model, state, goal, max_expansions=200)
    assert found.cost == 24
    for heuristic in ("opt", "blind"):
        alone = pds.plan(model, state, goal, heuristic=heuristic, max_expansions=200, time_limit=None)
        assert alone.status == "gave-up"


def test_a_heuristic_without_a_search_asks_for_a_star():
    model, state = tiles((1, 3))
    named = [
        pds.plan(model, state, GOALS[0], **given)
        for given in ({"heuristic": "opt"}, {"search": "astar"}, {"search": "astar", "k": None})
    ]
    assert len({result.expanded for result in named}) == 1
    for given in ({}, {"k": 1}, {"k": None}):
        assert pds.plan(model, state, GOALS[0], **given).expanded != named[0].expanded


@pytest.mark.parametrize("heuristic", ["ao", "opt", "goalcount", "blind"])
def test_the_portfolio_is_guided_by_a_heuristic_that_is_named(heuristic, in_the_model):
    model, state = tiles((1, 3))
    found = pds.plan(model, state, GOALS[0], search="portfolio", heuristic=heuristic)
    assert found.solved
    misled, at = tiles((0,) * 4)
    goal = "(forall (?t - tile) (= (n ?t) 5))"
    solved = pds.plan(misled, at, goal, search="portfolio", heuristic=heuristic, max_expansions=200).solved
    assert solved == (heuristic == "ao")


def test_what_opt_proves_is_proven_and_what_ao_says_is_not():
    model, state = tiles()
    never = pds.plan(model, state, "(gold t0)")
    assert (never.status, never.expanded) == ("unsolvable", 0)
    # Numbers from 0 to 5, and none of them is 7: OPT sees no reason, and the states run out.
    odd = {**MODULES, "is-even": lambda n: (n == 7).float()}
    model, state = tiles((0,), odd)
    assert pds.plan(model, state, "(even t0)").status == "unsolvable"


SETS = """
(define (domain sets)
  (:types thing - object)
  (:predicates (x [return_type=float32] ?t - thing) (y [return_type=float32] ?t - thing) (done ?t - thing))
  (:action finish :parameters (?t - thing)
    :precondition (??two [return_type=bool] (foreach (?a - thing) (x ?a)) (foreach (?b - thing) (y ?b)))
    :effect (done ?t)))
"""


def test_an_action_that_has_no_form_over_codes_is_taken_in_the_model():
    domain = pds.parse_domain(SETS)
    model = pds.Model(
        domain, modules={"action::finish::two": lambda a, b: (a[1].any(-1) & b[1].any(-1)).float()}
    )
    state = pds.State(domain, {"thing": ["a"]}, {"x": [1.0], "y": [1.0], "done": [False]})
    result = pds.plan(model, state, "(done a)")
    assert result.plan == [("finish", "a")]


def test_a_goal_over_very_many_combinations_of_codes_is_planned_for():
    domain = pds.parse_domain(
        "(define (domain sums) (:types thing - object)"
        "(:predicates (x [return_type=float32] ?t - thing) (done ?t - thing))"
        "(:action finish :parameters (?t - thing) :effect (done ?t)))"
    )
    names = [f"t{i}" for i in range(60)]
    state = pds.State(domain, {"thing": names}, {"x": [float(i) for i in range(60)], "done": [False] * 60})
    goal = "(and (done t0) (> (+ (x t56) (+ (x t57) (+ (x t58) (x t59)))) 200))"
    assert pds.plan(pds.Model(domain), state, goal).plan == [("finish", "t0")]


def test_half_of_the_expansions_are_left_for_the_model():
    model, state = tiles((0,) * 5)
    result = pds.plan(model, state, "(forall (?t - tile) (= (n ?t) 5))", max_expansions=20)
    assert (result.status, result.expanded) == ("gave-up", 20)


PLACES = """
(define (domain places)
  (:types block - object place - vector[float32, 2])
  (:predicates (at [return_type=place] ?b - block))
  (:derived (left-of ?a - block ?b - block) (??left (at ?a) (at ?b)))
  (:action move :parameters (?b - block ?p - place) :effect (assign (at ?b) ?p)))
"""


def places():
    domain = pds.parse_domain(PLACES)
    left = {"derived::left-of::left": lambda a, b: (b[..., 0] - a[..., 0] > 0.2).float()}
    state = pds.State(domain, {"block": ["a", "b"]}, {"at": [[0.5, 0.5], [0.5, 0.5]]})
    return pds.Model(domain, modules=left), state


def estimate(model, state, goal, heuristic, **options):
    return pds.plan(model, state, goal, heuristic=heuristic, max_expansions=0, **options).best_h


def test_placed_anywhere_is_not_placed_right_where_the_candidates_are_known():
    model, state = places()
    assert estimate(model, state, "(left-of a b)", "opt") == 1
    assert estimate(model, state, "(left-of a b)", "ao") is None
    right = {"place": lambda *_: torch.tensor([[0.1, 0.5]])}
    assert estimate(model, state, "(left-of a b)", "ao", generators=right) == 1
    middle = {"place": lambda *_: torch.tensor([[0.35, 0.5], [0.6, 0.5]])}
    assert estimate(model, state, "(left-of a b)", "ao", generators=middle) == 2


def test_values_that_were_proposed_for_one_problem_are_none_for_the_next():
    model, state = places()
    right = {"place": lambda *_: torch.tensor([[0.1, 0.5]])}
    assert pds.plan(model, state, "(left-of a b)", generators=right).plan == [("move", "a", (0.1, 0.5))] or (
        pytest.approx(0.1) == pds.plan(model, state, "(left-of a b)", generators=right).plan[0][2][0]
    )
    assert pds.plan(model, state, "(left-of a b)", max_expansions=20).plan is None


def test_a_constant_of_the_goal_is_found_at_once():
    model, state = places()
    for search in (None, "abstract", "astar"):
        result = pds.plan(model, state, "(= (at a) [0.25, 0.75])", search=search)
        assert result.plan == [("move", "a", (0.25, 0.75))]
        assert result.expanded <= 2


def test_what_is_kept_of_a_model_outlives_the_time_limit_of_the_call_that_made_it(monkeypatch):
    model, state = tiles()
    assert pds.plan(model, state, GOALS[0], search="abstract", time_limit=600.0).solved
    monkeypatch.setattr("pdsketch.budget.monotonic", lambda: time.monotonic() + 600.1)
    kept = pds.plan(model, state, GOALS[1], search="abstract", time_limit=600.0)
    assert (kept.status, "rules" in kept.phases) == ("solved", True)


@pytest.mark.parametrize("limit", [OutOfTimeError, OutOfMemoryError])
def test_where_the_rules_take_more_than_their_share_the_model_is_searched_and_that_is_said(
    monkeypatch, limit
):
    def explode(*_):
        raise limit

    model, state = tiles()
    monkeypatch.setattr("pdsketch.abstract.andor.compile.template_of", explode)
    best = pds.plan(model, state, GOALS[2], heuristic="opt")
    for search in (None, "abstract"):
        result = pds.plan(model, state, GOALS[2], search=search)
        assert result.cost == best.cost
        rules, latent = result.stages
        assert (rules.name, rules.ended) == ("rules", f"{limit.status}: its share of the limits is used up")
        assert (latent.name, latent.ended, latent.expanded) == ("latent", "solved", result.expanded)
    assert pds.plan(model, state, GOALS[2], heuristic="ao").status == limit.status


def test_the_stages_say_what_was_tried_for_how_long_and_why_it_ended():
    model, state = tiles()
    (rules,) = pds.plan(model, state, GOALS[0]).stages
    assert (rules.name, rules.ended) == ("rules", "solved")
    assert rules.seconds > 0
    (latent,) = pds.plan(model, state, GOALS[0], search="astar").stages
    assert (latent.name, latent.ended) == ("latent", "solved")
    snapped = pds.plan(model, state, GOALS[0], snap=True).stages
    assert [(stage.name, stage.ended) for stage in snapped] == [
        ("rules", "left out: states are snapped"),
        ("latent", "solved"),
    ]
    nothing = pds.plan(model, state, "(forall (?t - tile) (gold ?t))")
    assert [stage.ended for stage in nothing.stages] == [
        "the rules have no plan (unsolvable)",
        nothing.reasons[0],
    ]
    assert sum(stage.expanded for stage in nothing.stages) == nothing.expanded


def test_a_goal_that_holds_already_needs_one_stage():
    model, state = tiles()
    result = pds.plan(model, state, "(= (n t0) 1)")
    assert (result.plan, result.cost, [stage.name for stage in result.stages]) == ([], 0.0, ["rules"])


def test_many_problems_have_stages_of_their_own():
    model, state = tiles()
    goals = [GOALS[0], "(forall (?t - tile) (gold ?t))"]
    solved, unsolved = pds.plan_many(model, [state, state], goals)
    assert [stage.name for stage in solved.stages] == ["rules"]
    assert [stage.name for stage in unsolved.stages] == ["rules", "latent"]


@pytest.mark.parametrize("given", [{}, {"search": "abstract"}, {"heuristic": "ao"}])
def test_networks_that_return_nan_neither_stop_the_search_nor_count_as_true(given):
    broken = {**MODULES, "is-even": lambda n: torch.where(n == 2, torch.nan, (n % 2 == 0).float())}
    model, state = tiles((1, 1, 1), broken)
    result = pds.plan(model, state, "(forall (?t - tile) (even ?t))", **given)
    assert result.cost == 12
    assert sum(step[0] == "step" for step in result.plan) == 9  # from 1 to 4: 2 is NaN


@pytest.mark.parametrize("given", [{}, {"search": "abstract"}, {"heuristic": "ao"}])
def test_goals_over_blanks_that_were_never_trained_are_warned_of_by_name(given):
    domain = pds.parse_domain("""
        (define (domain d) (:types o - object n - int64[choices=3])
          (:predicates (x [return_type=n] ?o - o))
          (:derived (good ?o - o) (??f (x ?o)))
          (:action up :parameters (?o - o) :effect (x::assign ?o 1)))
    """)
    state = pds.State(domain, objects={"o": ["a"]}, values={"x": [0]})
    with pytest.warns(UserWarning, match="`derived::good::f`, which was never trained"):
        result = pds.plan(pds.Model(domain, seed=0), state, "(good a)", max_expansions=20, **given)
    assert any("`derived::good::f`, which was never trained" in said for said in result.warnings)


def test_a_stage_gets_its_share_of_what_is_left_and_no_more():
    taken = 0.0
    budget = Budget(10.0, 100.0, clock=lambda: 0.0, meter=lambda: taken)
    taken = 20.0 * MEGABYTE  # so that 80 are left
    half = _part_of(budget)
    assert (half.left(), half.memory / MEGABYTE) == (5.0, 40.0)
    assert _part_of(Budget()).left() == float("inf")


def test_a_blank_over_a_set_whose_elements_hang_on_another_set_is_planned_with():
    domain = pds.parse_domain(
        """(define (domain nests) (:types box)
          (:predicates (n [return_type=int64[choices=3]] ?b - box) (up ?b - box))
          (:derived (size [return_type=int64[choices=3]] ?b - box) (??f (foreach (?o - box) (n ?o))))
          (:derived (all-right) (??g (foreach (?b - box) (size ?b))))
          (:action lift :parameters (?b - box) :effect (when (all-right) (up ?b))))"""
    )
    state = pds.State(domain, {"box": ["a", "b"]}, {"n": [0, 1], "up": [False, False]})
    model = pds.Model(domain, seed=0)  # what its networks say means nothing: only that there is an answer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        assert pds.plan(model, state, "(up a)").status in ("solved", "gave-up")

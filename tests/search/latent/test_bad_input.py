"""What a user can get wrong when planning with a model."""

import math
import warnings

import pytest
import torch

import pdsketch as pds
from pdsketch.search.result import UntrainedWarning

SWITCHES = """
(define (domain switches)
  (:types robot lamp - object level - float32[tolerance=0.1] place - vector[float32, 2])
  (:predicates
    (bright [return_type=level] ?l - lamp) (at [return_type=place] ?r - robot) (broken ?l - lamp)
    (picture [return_type=vector[float32, 3]] ?l - lamp))
  (:derived (look [return_type=vector[float32, 2]] ?l - lamp) (??e (picture ?l)))
  (:derived (shining ?l - lamp) (??f (bright ?l)))
  (:action turn :parameters (?l - lamp) :precondition (not (broken ?l))
    :effect (assign (bright ?l) (??g (bright ?l))))
  (:action repaint :parameters (?l - lamp) :effect (assign (look ?l) (??h (look ?l))))
  (:action go :parameters (?r - robot ?p - place) :effect (assign (at ?r) ?p)))
"""

MODULES = {
    "derived::look::e": lambda p: p[..., :2],
    "derived::shining::f": lambda b: (b > 0.5).float(),
    "action::turn::g": lambda b: 1 - b,
    "action::repaint::h": lambda x: x,
}


@pytest.fixture
def domain():
    return pds.parse_domain(SWITCHES)


def state_of(domain, lamps=("a", "b")):
    n = len(lamps)
    return pds.State(
        domain,
        objects={"lamp": list(lamps), "robot": ["r"]},
        values={
            "bright": [0.0] * n,
            "at": [[0.0, 0.0]],
            "broken": [False] * n,
            "picture": torch.zeros(n, 3),
        },
    )


@pytest.fixture
def model(domain):
    return pds.Model(domain, modules=MODULES)


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("(shinning a)", "did you mean `shining`"),
        ("(shining z)", "`z`"),
        ("(shining a", "never closed"),
        ("(= (picture a) [0, 0, 0])", "absent"),
        ("(bright a)", ""),
    ],
)
def test_a_bad_goal_is_explained(model, domain, goal, said):
    with pytest.raises(pds.Error, match=said or "."):
        pds.plan(model, state_of(domain), goal)


def test_a_goal_that_holds_needs_no_step(model, domain):
    result = pds.plan(model, state_of(domain), "(not (shining a))")
    assert (result.status, result.plan, result.cost, result.expanded) == ("solved", [], 0.0, 0)


def test_types_without_objects_have_no_instances(model, domain):
    state = state_of(domain, lamps=())
    assert pds.plan(model, state, "(forall (?l - lamp) (shining ?l))").plan == []
    assert pds.plan(model, state, "(exists (?l - lamp) (shining ?l))").status == "unsolvable"


def test_a_broken_lamp_makes_the_goal_unsolvable_and_the_reason_names_it(model, domain):
    state = pds.State(
        domain, {"lamp": ["a"], "robot": ["r"]}, {**state_of(domain, ("a",)).values, "broken": [True]}
    )
    result = pds.plan(model, state, "(shining a)")
    assert (result.status, result.expanded) == ("unsolvable", 0)
    assert "(shining a)" in " ".join(result.reasons)


def test_a_model_whose_outputs_are_nan_is_reported(domain):
    broken = pds.Model(domain, modules={**MODULES, "action::turn::g": lambda b: b * math.nan})
    result = pds.plan(broken, state_of(domain), "(shining a)", max_expansions=20)
    assert result.status == "gave-up"
    assert any("`bright` after `turn`" in warning for warning in result.warnings)
    with pytest.raises(pds.Error, match=r"action::turn::g|bright"):
        broken.step(state_of(domain), ("turn", "a"))


def test_a_goal_that_is_nan_in_the_initial_state_is_an_error(domain):
    broken = pds.Model(domain, modules={**MODULES, "derived::shining::f": lambda b: b * math.nan})
    with pytest.raises(pds.Error, match="derived::shining::f"):
        pds.plan(broken, state_of(domain), "(shining a)")


def test_a_state_of_another_domain_is_refused(model):
    other = pds.parse_domain("(define (domain other) (:predicates (p)) (:action a :effect (p)))")
    state = pds.State(other, objects={}, values={"p": False})
    with pytest.raises(pds.Error, match="other"):
        pds.plan(model, state, "(p)")


def test_a_goal_over_an_untrained_blank_is_warned_of_by_name(domain):
    untrained = pds.Model(domain, seed=0)
    with pytest.warns(UntrainedWarning, match="derived::shining::f"):
        result = pds.plan(untrained, state_of(domain), "(shining a)", max_expansions=5)
    assert any("derived::shining::f" in warning for warning in result.warnings)


def test_given_modules_are_not_warned_of(model, domain):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pds.plan(model, state_of(domain), "(shining a)").plan == [("turn", "a")]


@pytest.mark.parametrize(
    "options",
    [
        {"search": "astra"},
        {"heuristic": "op"},
        {"k": 0},
        {"time_limit": -1},
        {"depht": 3},
        {"generators": {"plce": list}},
    ],
)
def test_bad_options_are_errors(model, domain, options):
    with pytest.raises(pds.Error):
        pds.plan(model, state_of(domain), "(shining a)", **options)


def test_every_limit_holds_and_is_named(model, domain):
    endless = pds.Model(
        domain,
        modules={
            **MODULES,
            "action::turn::g": lambda b: b + 1,
            "derived::shining::f": lambda b: (b < -1).float(),
        },
    )
    state = state_of(domain)
    for options, status, word in (
        ({"max_expansions": 20}, "gave-up", "expansions"),
        ({"time_limit": 0.2}, "out-of-time", "time"),
        ({"memory_limit": 0.3, "k": 64, "time_limit": 300}, "out-of-memory", "memory"),
        ({"max_depth": 3}, "gave-up", "max_depth"),
    ):
        result = pds.plan(endless, state, "(shining a)", heuristic="blind", **options)
        assert result.status == status
        assert word in result.reasons[0]
        assert result.plan is None


def test_value_parameters_take_values_from_the_state_the_goal_and_generators(model, domain):
    state = state_of(domain)
    goal = "(and (shining a) (= (at r) [3, 4]))"
    for search in (None, "astar"):
        result = pds.plan(model, state, goal, search=search, max_expansions=50)
        assert sorted(result.plan) == [("go", "r", (3.0, 4.0)), ("turn", "a")]
    farther = "(and (shining a) (not (= (at r) [0, 0])))"
    assert pds.plan(model, state, farther, max_expansions=200).status == "gave-up"
    asked = []

    def generator(model, state, number):
        asked.append(number)
        return torch.tensor([[3.0, 4.0]]) if number == 1 else torch.zeros(0, 2)

    result = pds.plan(model, state, farther, generators={"place": generator})
    assert sorted(result.plan) == [("go", "r", (3.0, 4.0)), ("turn", "a")]
    assert asked == [0, 1]


@pytest.mark.parametrize(
    ("generators", "told"),
    [
        ({"place": lambda *_: None}, "no array of numbers"),
        ({"place": 3}, "no function"),
        ([3], "maps value types"),
        ({3: print}, "no such value type"),
    ],
)
def test_what_is_no_generator_is_refused(domain, generators, told):
    model = pds.Model(domain, modules=MODULES)
    with pytest.raises(pds.Error, match=told):
        pds.plan(model, state_of(domain), "(= (at r) [7, 7])", generators=generators)


def test_a_generator_is_found_in_any_case_and_may_have_nothing_to_propose(domain):
    model = pds.Model(domain, modules=MODULES)
    proposals = {"PLACE": lambda _model, _state, number: [[7.0, 7.0]] if number else []}
    result = pds.plan(model, state_of(domain), "(= (at r) [7, 7])", generators=proposals)
    assert result.plan == [("go", "r", (7.0, 7.0))]


def test_a_value_parameter_without_any_candidate_has_no_instance():
    domain = pds.parse_domain(
        "(define (domain d) (:types p - vector[float32, 2] q - vector[float32, 2])"
        "(:predicates (at [return_type=p]) (lit))"
        "(:action go :parameters (?q - q) :effect (assign (at) ?q)) (:action light :effect (lit)))"
    )
    state = pds.State(domain, {}, {"at": [0, 0], "lit": False})
    assert pds.plan(pds.Model(domain), state, "(lit)").plan == [("light",)]


@pytest.mark.parametrize("limit", [{"time_limit": "x"}, {"max_expansions": -1}, {"weight": -1}])
def test_the_limits_of_many_plans_are_checked(domain, limit):
    with pytest.raises(pds.Error, match="not negative"):
        pds.plan_many(pds.Model(domain, modules=MODULES), [state_of(domain)], "(broken a)", **limit)


def test_only_a_model_plans_and_only_for_states(domain):
    with pytest.raises(pds.Error, match="a Model was wanted"):
        pds.plan(3, state_of(domain), "(broken a)")
    with pytest.raises(pds.Error, match="list of states"):
        pds.plan_many(pds.Model(domain, modules=MODULES), 3, "(broken a)")


def test_the_resolution_says_which_states_are_one():
    domain = pds.parse_domain(
        "(define (domain d) (:predicates (at [return_type=float32]))"
        "(:action creep :effect (assign (at) (+ (at) 0.1))))"
    )
    state = pds.State(domain, {}, {"at": 0.0})
    model = pds.Model(domain)
    fine = pds.plan(model, state, "(> (at) 0.45)", search="astar", resolution=0.01)
    coarse = pds.plan(model, state, "(> (at) 0.45)", search="astar", resolution=1.0)
    assert (len(fine.plan), coarse.status) == (5, "gave-up")
    with pytest.raises(pds.Error, match="resolution"):
        pds.plan(model, state, "(> (at) 0.45)", resolution=0)


def test_labels_that_no_data_had_are_warned_of_by_name_once_a_type():
    line = pds.parse_domain("""
    (define (domain line)
      (:types robot - object place - int64[choices=10])
      (:predicates (at [return_type=place] ?r - robot) (home [return_type=place]) (lit))
      (:action go :parameters (?r - robot) :effect (at::assign ?r (??next (at ?r)))))
    """)

    def at(place, home=2):
        return pds.State(line, {"robot": ["r"]}, {"at": [place], "home": home, "lit": False})

    model = pds.Model(line, seed=0)
    pds.fit(model, [pds.Episode([at(x), at(x + 1)], [("go", "r")]) for x in range(4)], steps=30, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pds.plan(model, at(0), "(= (at r) 3)").solved
    with pytest.warns(
        UntrainedWarning, match=r"`at` has 6 here, and no place .*seen: 0 to 4.*float32"
    ) as told:
        pds.plan(model, at(6, home=7), "(= (at r) 8)")
    assert len(told) == 1

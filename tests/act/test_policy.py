"""The policy in a small world whose model is exact, wrong, or refused by controllers."""

import pytest
import torch

import pdsketch as pds

CORRIDOR = """
(define (domain corridor)
  (:types robot lamp - object place - vector[float32, 1, tolerance=0.1])
  (:predicates (at [return_type=place] ?r - robot) (where [return_type=place] ?l - lamp) (on ?l - lamp))
  (:derived (beside ?r - robot ?l - lamp) (??f (at ?r) (where ?l)))
  (:action right :parameters (?r - robot) :effect (assign (at ?r) (??f (at ?r))))
  (:action left :parameters (?r - robot) :effect (assign (at ?r) (??f (at ?r))))
  (:action switch :parameters (?r - robot ?l - lamp) :precondition (beside ?r ?l) :effect (on ?l)))
"""

MODULES = {
    "derived::beside::f": lambda a, b: ((a - b).abs() < 0.5).float(),
    "action::right::f": lambda x: x + 1,
    "action::left::f": lambda x: x - 1,
}

ALL_ON = "(forall (?l - lamp) (on ?l))"


class Corridor:
    """Five cells, two lamps; a slippery one moves nowhere at its first step."""

    def __init__(self, domain, slips=0):
        self.domain = domain
        self.at = 2
        self.on = [False, False]
        self.where = [0, 4]
        self.slips = slips

    def observe(self):
        return pds.State(
            self.domain,
            objects={"robot": ["r"], "lamp": ["a", "b"]},
            values={"at": [[self.at]], "where": [[w] for w in self.where], "on": self.on},
        )

    def step(self, action):
        if self.slips:
            self.slips -= 1
        elif action[0] == "switch":
            place = "ab".index(action[2])
            self.on[place] |= self.at == self.where[place]
        else:
            self.at = min(4, max(0, self.at + (1 if action[0] == "right" else -1)))


@pytest.fixture
def domain():
    return pds.parse_domain(CORRIDOR)


@pytest.fixture
def model(domain):
    return pds.Model(domain, modules=MODULES)


def test_a_plan_is_carried_out_without_replanning_where_the_model_is_right(domain, model):
    env = Corridor(domain)
    policy = pds.Policy(model)
    episode = policy.run(env, ALL_ON, observe=Corridor.observe, success=lambda env: all(env.on))
    assert episode.success == [0] * 8 + [1]
    assert [moment.replanned for moment in policy.trace] == [True] + [False] * 7
    assert episode.executable is None


def test_a_slip_is_noticed_named_and_replanned(domain, model):
    env = Corridor(domain, slips=1)
    policy = pds.Policy(model)
    episode = policy.run(env, ALL_ON, observe=Corridor.observe)
    assert env.on == [True, True]
    assert len(episode.actions) == 9
    second = policy.trace[1]
    assert second.replanned
    assert [(d.predicate, d.objects, d.amount) for d in second.deviations] == [("at", ("r",), 1.0)]


def test_a_policy_without_replanning_steps_gives_up_at_max_steps(domain):
    wrong = {**MODULES, "action::right::f": lambda x: x - 1, "action::left::f": lambda x: x + 1}
    policy = pds.Policy(pds.Model(domain, modules=wrong))
    episode = policy.run(Corridor(domain), ALL_ON, observe=Corridor.observe, max_steps=6)
    assert len(episode.actions) == 6
    assert episode.success is None


def test_controllers_are_called_and_their_refusals_recorded(domain, model):
    env = Corridor(domain)
    refusals = ["left", "right"]

    def controller(name):
        def run(env, *args):
            if name in refusals:
                refusals.remove(name)
                return False
            env.step((name, *args))
            return True

        return run

    policy = pds.Policy(model, controllers={name: controller(name) for name in ("left", "right", "switch")})
    episode = policy.run(env, "(on a)", observe=Corridor.observe)
    assert env.on[0]
    assert episode.executable.count(False) >= 1
    assert len(episode.executable) == len(episode.actions)
    assert [m.executed for m in policy.trace] == episode.executable


def test_act_returns_none_when_the_goal_holds_and_calls_no_controller(domain, model):
    env = Corridor(domain)
    env.on = [True, True]
    policy = pds.Policy(model, controllers={"left": lambda *_: pytest.fail("called")})
    assert policy.act(env.observe(), ALL_ON) is None
    assert policy.result.status == "solved"
    assert policy.result.plan == []


def test_act_returns_none_without_a_plan_and_says_why(domain, model):
    policy = pds.Policy(model, options={"max_expansions": 30})
    assert policy.act(Corridor(domain).observe(), "(exists (?l - lamp) (and (on ?l) (not (on ?l))))") is None
    assert policy.result.status in ("gave-up", "unsolvable")
    assert policy.result.reasons


def test_an_unknown_controller_is_an_error(model):
    with pytest.raises(pds.Error, match="did you mean `left`"):
        pds.Policy(model, controllers={"lef": print})


def test_success_is_the_environments_word_where_it_gives_one(domain, model):
    class Judging(Corridor):
        def step(self, action):
            super().step(action)
            return None, 1.0, True, False, {}

    episode = pds.Policy(model).run(Judging(domain), ALL_ON, observe=Corridor.observe)
    assert episode.success == [0, 1]


def test_the_models_belief_is_no_success(domain):
    believer = pds.Model(domain, modules={**MODULES, "derived::beside::f": lambda a, b: (a == a).float()})
    env = Corridor(domain)
    episode = pds.Policy(believer).run(env, "(beside r a)", observe=Corridor.observe)
    assert len(episode.states) == 1
    assert episode.success is None
    assert episode.goals == {"(beside r a)": None}


def test_infos_say_success_state_by_state(domain, model):
    class Telling(Corridor):
        def step(self, action):
            super().step(action)
            return None, 0.0, False, False, {"success": all(self.on)}

    episode = pds.Policy(model).run(Telling(domain), ALL_ON, observe=Corridor.observe)
    assert episode.success == [None] + [0] * 7 + [1]


def test_a_recorded_episode_can_be_learned_from(domain, model):
    episode = pds.Policy(model).run(Corridor(domain), ALL_ON, observe=Corridor.observe)
    learner = pds.Model(domain, seed=0)
    report = pds.fit(learner, [episode] * 4, steps=5, seed=0)
    assert report is not None
    assert torch.isfinite(next(iter(learner.parameters()))).all()


@pytest.mark.parametrize(
    ("controllers", "told"),
    [
        ([3], "maps actions"),
        ({"left": 3}, "no function"),
        ({"lefft": print}, "no such action"),
        ({3: print}, "`3`"),
    ],
)
def test_what_is_no_controller_is_refused(model, controllers, told):
    with pytest.raises(pds.Error, match=told):
        pds.Policy(model, controllers=controllers)


def test_a_controller_is_found_in_any_case(model):
    assert list(pds.Policy(model, controllers={"LEFT": print}).controllers) == ["left"]


def test_a_policy_needs_a_model():
    with pytest.raises(pds.Error, match="takes a Model"):
        pds.Policy(3)


@pytest.mark.parametrize("change", [{"observe": None}, {"max_steps": -1}, {"max_steps": "many"}])
def test_a_run_needs_eyes_and_a_number_of_steps(model, domain, change):
    with pytest.raises(pds.Error):
        pds.Policy(model).run(Corridor(domain), ALL_ON, **{"observe": Corridor.observe, **change})


def test_an_action_with_neither_controller_nor_step_is_told(model, domain):
    with pytest.raises(pds.Error, match="has no controller"):
        pds.Policy(model).run(object(), ALL_ON, observe=lambda _: Corridor(domain).observe())


@pytest.mark.parametrize(
    ("tolerance", "said"),
    [
        ({"att": 0.1}, "did you mean `at`"),
        ({"on": 0.1}, "its float variables: at, where"),
        ({"at": -1}, "tolerance of `at`"),
        ({"at": "wide"}, "tolerance of `at`"),
        ("wide", "`tolerance`"),
        (float("nan"), "`tolerance`"),
    ],
)
def test_a_bad_tolerance_is_refused_with_a_fix(model, tolerance, said):
    with pytest.raises(pds.Error) as refused:
        pds.Policy(model, tolerance=tolerance)
    (diagnostic,) = refused.value.diagnostics
    assert said in f"{diagnostic.message} {diagnostic.help}"


def test_a_tolerance_may_be_given_for_one_predicate(domain, model):
    policy = pds.Policy(model, tolerance={"AT": 5.0})
    policy.run(Corridor(domain, slips=1), ALL_ON, observe=Corridor.observe, max_steps=3)
    assert [moment.replanned for moment in policy.trace] == [True, False, False]

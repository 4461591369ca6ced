"""Agents in worlds: who acts when, when an episode ends, and what is kept of it."""

from __future__ import annotations

import numpy as np
import pytest

import pdsketch as pds
from pdsketch.act import policy as policy_module
from pdsketch.training.data.files import load_episodes

LINE = """
(define (domain line)
  (:types robot - object)
  (:predicates (at [return_type=float32[tolerance=0.1]] ?r - robot))
  (:action right :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 1)))
  (:action left :parameters (?r - robot) :effect (assign (at ?r) (- (at ?r) 1))))
"""
DOMAIN = pds.parse_domain(LINE)
RIGHT, LEFT = ("right", "r"), ("left", "r")


class Line:
    """A robot on a line starts at the seed and shall come to 5; some steps slip or are refused."""

    domain = DOMAIN
    goal = "(= (at r) 5)"

    def __init__(self, slips=(), refusals=(), says=True, last=None):
        self.slips, self.refusals, self.says, self.last = set(slips), set(refusals), says, last

    def reset(self, seed=None):
        self.place, self.count, self.executed, self.done = seed, 0, True, []
        return self._state()

    def step(self, action):
        self.done.append(action)
        self.executed = self.count not in self.refusals
        if self.executed and self.count not in self.slips:
            self.place += 1 if action == RIGHT else -1
        self.count += 1
        return self._state()

    @property
    def success(self):
        return self.place == 5 if self.says else None

    @property
    def ended(self):
        return self.last is not None and self.count >= self.last

    def render(self):
        return np.zeros((2, 2, 3), np.uint8)

    def _state(self):
        return pds.State(DOMAIN, {"robot": ["r"]}, {"at": [float(self.place)]})


class Walker:
    """Goes right, at most so many steps since its reset: an agent with a memory and without batches."""

    def __init__(self, most=99):
        self.most = most
        self.left = most

    def reset(self):
        self.left = self.most

    def act(self, state, goal):
        self.left -= 1
        return RIGHT if self.left >= 0 else None


def planner(**settings):
    return pds.Policy(pds.Model(DOMAIN), heuristic="blind", **settings)


@pytest.fixture
def searches(monkeypatch):
    """How many problems each search was asked to solve."""
    sizes = []
    plan_many = policy_module.plan_many

    def counted(model, states, goals, **options):
        sizes.append(len(states))
        return plan_many(model, states, goals, **options)

    monkeypatch.setattr(policy_module, "plan_many", counted)
    return sizes


def test_an_episode_for_each_seed_ends_at_success():
    done = pds.rollout(Walker(), Line(), seeds=[3, 5, 4])
    assert done.steps == (2, 0, 1)
    assert done.success == (True, True, True)
    assert done.seeds == (3, 5, 4)
    assert [list(episode.success) for episode in done] == [[0, 0, 1], [1], [0, 1]]


@pytest.mark.parametrize("progress", [True, False, None])
def test_who_asks_is_told_how_many_episodes_are_done(progress, monkeypatch):
    asked, said = [], []

    class Told:
        def __init__(self, what, *shown):
            asked.append((what, *shown))

        def __enter__(self):
            return said.append

        def __exit__(self, *_): ...

    monkeypatch.setattr("pdsketch.act.rollouts.Ticker", Told)
    pds.rollout(Walker(), Line(), seeds=[3, 4], progress=progress)
    assert asked[0] == ("acting", progress)
    told = [line.split(",")[0] for line in said if "of 2 episodes" in line]
    assert told == ["1 of 2 episodes", "2 of 2 episodes"]


def test_an_agent_with_nothing_to_do_ends_its_episode():
    done = pds.rollout(Walker(most=1), [Line(), Line()], seeds=[3, 4])
    assert done.steps == (1, 1)
    assert done.success == (False, True)


def test_an_agent_without_batches_is_reset_before_each_episode():
    done = pds.rollout(Walker(most=2), [Line(), Line(), Line()], seeds=[3, 3, 3])
    assert done.success == (True, True, True)


def test_max_steps_ends_an_episode():
    assert pds.rollout(Walker(), Line(), seeds=[0], max_steps=3).steps == (3,)
    assert pds.rollout(Walker(), Line(), seeds=[0], max_steps=0).steps == (0,)


def test_a_world_can_end_an_episode_without_success():
    done = pds.rollout(Walker(), Line(last=2), seeds=[0])
    assert (done.steps, done.success) == ((2,), (False,))


def test_success_is_the_worlds_word_or_nothing():
    done = pds.rollout(planner(), Line(says=False), seeds=[3])
    assert done.success == (None,)
    assert done[0].success is None
    assert done.summary["success"] is None
    assert done.steps == (2,)


def test_without_seeds_there_is_an_episode_in_each_world():
    assert pds.rollout(Walker(), [Line(), Line(), Line()]).seeds == (0, 1, 2)
    for worlds in (Line(), Line):
        assert pds.rollout(Walker(), worlds).seeds == (0,)


def test_fewer_worlds_than_seeds_take_turns():
    worlds = [Line(), Line()]
    done = pds.rollout(planner(), worlds, seeds=[1, 2, 3, 4, 5])
    assert done.steps == (4, 3, 2, 1, 0)
    assert done.success == (True,) * 5


def test_a_function_makes_a_world_for_each_seed(searches):
    assert pds.rollout(planner(), Line, seeds=range(2, 5)).success == (True,) * 3
    assert searches == [3]


def test_plans_are_searched_for_together_and_again_together(searches):
    """One slips at its first step, one at its third: the first waits until both need a new plan."""
    worlds = [Line(slips=[0]), Line(slips=[2]), Line()]
    done = pds.rollout(planner(), worlds, seeds=[3, 1, 1])
    assert done.success == (True,) * 3
    assert searches == [3, 2]
    assert [account["replans"] for account in done.accounts] == [1, 1, 0]


def test_an_open_loop_carries_out_one_plan_whatever_happens(searches):
    done = pds.rollout(planner(loop="open"), [Line(slips=[0]), Line()], seeds=[3, 3])
    assert done.success == (False, True)
    assert done.steps == (2, 2)
    assert searches == [2]


def test_an_open_loop_does_not_plan_around_refusals(searches):
    done = pds.rollout(planner(loop="open"), Line(refusals=[0]), seeds=[3])
    assert (done.steps, done.success, searches) == ((2,), (False,), [1])
    assert done[0].executable == [False, True]


@pytest.mark.parametrize(("replans", "success"), [(0, False), (1, False), (2, True), (None, True)])
def test_an_episode_is_planned_for_anew_no_more_often_than_allowed(replans, success):
    done = pds.rollout(planner(max_replans=replans), Line(slips=[0, 1]), seeds=[3])
    assert done.success == (success,)
    assert done.summary["replans"] == (2 if replans is None else min(replans, 2))


class Told(Walker):
    """An agent that keeps what it is told."""

    heard = ()

    def told(self, success, executed):
        self.heard += ((success, executed),)


def test_an_agent_is_told_the_worlds_word_after_each_step():
    agent = Told()
    done = pds.rollout(agent, Line(refusals=[0]), seeds=[3, 4])
    assert agent.heard == ((False, False), (False, True), (True, True), (False, False), (True, True))
    assert [episode.executable for episode in done] == [[False, True, True], [False, True]]
    near = planner(options={"max_expansions": 20})
    assert pds.rollout(near, [Line(refusals=[0]), Line()], seeds=[3, 3]).steps == (3, 2)


def test_an_agent_that_stops_at_the_start_is_told_that_the_goal_does_not_hold():
    class Stubborn(Told):
        def act(self, state, goal):
            return RIGHT if self.heard else None

    agent = Stubborn()
    assert pds.rollout(agent, Line(), seeds=[3]).steps == (2,)
    assert agent.heard[0] == (False, True)
    silent = Told(most=0)
    assert pds.rollout(silent, Line(says=False), seeds=[3]).steps == (0,)
    assert silent.heard == ()


def test_an_agent_for_several_episodes_is_told_which_it_was():
    class Batch(Told):
        def act_many(self, states, goals):
            return [RIGHT] * len(states)

        def told(self, success, executed, episode):
            self.heard += ((episode, success),)

    agent = Batch()
    pds.rollout(agent, [Line(), Line()], seeds=[4, 3])
    assert agent.heard == ((0, True), (1, False), (1, True))


def test_that_all_was_executed_is_kept():
    assert pds.rollout(Walker(), Line(), seeds=[3])[0].executable == [True, True]


def test_the_deviations_of_an_episode_that_waited_are_kept():
    chosen = planner()
    pds.rollout(chosen, [Line(slips=[0]), Line(slips=[2])], seeds=[3, 1])
    assert [d.predicate for d in chosen.trace[1].deviations] == ["at"]
    assert [moment.replanned for moment in chosen.trace] == [True, True, False]


def test_the_summary_counts_the_steps_of_what_succeeded():
    done = pds.rollout(Walker(most=3), Line(), seeds=[3, 0])
    assert done.summary["success"] == 0.5
    assert done.summary["steps"] == 2
    assert done.summary["episodes"] == len(done) == 2
    assert pds.rollout(Walker(), Line(refusals=[0, 1]), seeds=[3, 3, 4]).summary["refused"] == 2
    assert str(done).startswith("2 episodes: success 0.5")


def test_episodes_of_which_the_world_says_nothing_are_no_successes_unseen():
    known, silent = (pds.rollout(Walker(most=3), Line(says=says), seeds=[3]) for says in (True, False))
    assert "nothing is said" not in str(known)
    assert str(known.joined(silent)).endswith("; nothing is said of 1")


def test_rollouts_are_episodes_to_learn_from_and_to_save(tmp_path):
    done = pds.rollout(planner(), Line, seeds=[2, 3])
    assert [len(episode.states) for episode in done] == [4, 3]
    assert done[-1].actions == (RIGHT, RIGHT)
    done.save(tmp_path / "episodes")
    assert [episode.actions for episode in load_episodes(tmp_path / "episodes", DOMAIN)] == [
        episode.actions for episode in done
    ]


def test_episodes_can_be_put_in_the_place_of_others():
    three, one = (pds.rollout(Walker(most=2), Line(), seeds=seeds) for seeds in ([3, 0, 4], [4]))
    done = three.replaced([1], one)
    assert (done.seeds, done.success, done.steps) == ((3, 4, 4), (True,) * 3, (2, 1, 1))
    assert len(done) == 3


def test_a_batch_agent_answers_all_at_once():
    class Batch:
        asked = ()

        def reset(self):
            self.asked = ()

        def act(self, state, goal):
            raise AssertionError("asked one by one")

        def act_many(self, states, goals):
            self.asked += (len(states),)
            return [RIGHT] * len(states)

    agent = Batch()
    assert pds.rollout(agent, Line, seeds=[2, 3, 4]).success == (True,) * 3
    assert agent.asked == (3, 2, 1)


def test_act_many_asks_one_by_one_where_an_agent_knows_no_batches():
    states = [Line().reset(seed) for seed in (1, 2)]
    assert pds.act_many(Walker(), states, Line.goal) == [RIGHT, RIGHT]
    assert pds.act_many(planner(), states, Line.goal) == [RIGHT, RIGHT]
    assert pds.act_many(planner(), states, ["(= (at r) 0)", "(= (at r) 2)"]) == [LEFT, None]
    with pytest.raises(pds.Error, match="1 goals were given for 2 states"):
        pds.act_many(Walker(), states, [Line.goal])


def test_what_is_no_agent_or_world_is_refused():
    with pytest.raises(pds.Error, match="has no `act`") as refused:
        pds.rollout(Line(), Line(), seeds=[1])
    assert refused.value.diagnostics[0].code == "bad-agent"
    for worlds, told in ((Walker(), "no `step`"), ("babyai", "has no `reset`"), ([], "no world")):
        with pytest.raises(pds.Error, match=told):
            pds.rollout(Walker(), worlds, seeds=[1])
    world = Line()
    with pytest.raises(pds.Error, match="given twice"):
        pds.rollout(planner(), [world, world], seeds=[1, 2])


@pytest.mark.parametrize("seeds", [7, "12", [1.5], [-1], [True], [None]])
def test_seeds_are_whole_numbers(seeds):
    with pytest.raises(pds.Error) as refused:
        pds.rollout(Walker(), Line(), seeds=seeds)
    assert refused.value.diagnostics[0].code == "bad-seeds"


def test_bad_answers_of_worlds_and_agents_are_told():
    class Blind(Line):
        def step(self, action):
            super().step(action)

    with pytest.raises(pds.Error, match="return a State; those of `Blind` a NoneType"):
        pds.rollout(Walker(), Blind(), seeds=[1])

    class Few(Walker):
        def act_many(self, states, goals):
            return []

    with pytest.raises(pds.Error, match="gave 0 actions for 1 states"):
        pds.rollout(Few(), Line(), seeds=[1])

    class Silent(Walker):
        def act_some(self, states, goals):
            return {}

    with pytest.raises(pds.Error, match="one or more of the episodes"):
        pds.rollout(Silent(), Line(), seeds=[1])


@pytest.mark.parametrize("settings", [{"loop": "opne"}, {"max_replans": -1}, {"max_replans": 1.5}])
def test_a_policy_refuses_settings_that_are_none(settings):
    with pytest.raises(pds.Error) as refused:
        planner(**settings)
    assert refused.value.diagnostics[0].code in ("bad-setting", "bad-limit")

"""Decision transformers: what they learn by heart, and what they must not see or depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from paper.tests.baselines.blocks import demonstrations, tower
from paper.tests.baselines.test_cloning import CPU, permuted

import pdsketch as pds
import pdsketch_paper
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.baselines.imitation import HORIZON, MixedTransformer, SuccessTransformer
from pdsketch_paper.baselines.network import open_demonstrations


@pytest.fixture(scope="module")
def towers():
    domain, episodes = demonstrations(20)
    agent = pdsketch_paper.train_baseline("dt-s", domain, episodes, steps=140, learning_rate=3e-3, batch=64)
    return agent, episodes


def untrained(domain, episodes, kind=MixedTransformer):
    demos = open_demonstrations(episodes, domain, CPU)
    torch.manual_seed(0)
    network = kind(domain, demos.shapes).eval()
    network.standardise(demos)
    return network, demos


def test_it_learns_20_towers_by_heart_and_builds_them(towers):
    agent, episodes = towers
    assert agent.notes["episodes"] == 20
    assert agent.notes["score"] == 1.0
    model = pds.Model(agent.domain)
    for episode in episodes:
        agent.reset()
        state = episode.states[0]
        for taken in episode.actions:
            action = agent.act(state, episode.goal)
            assert action == taken
            state = model.step(state, action, crisp=True)
        assert model.holds(state, episode.goal, crisp=True)


def test_episodes_side_by_side_are_those_one_after_the_other(towers):
    agent, episodes = towers
    few = [e for e in episodes if len(e.actions) >= 2][:3]

    def alone(episode):
        agent.reset()
        return [agent.act(state, episode.goal) for state in episode.states[:2]]

    separate = [alone(episode) for episode in few]
    agent.reset()
    together = [
        agent.act_some({i: e.states[t] for i, e in enumerate(few)}, {i: e.goal for i, e in enumerate(few)})
        for t in range(2)
    ]
    assert [[step[i] for step in together] for i in range(len(few))] == separate


def test_no_step_sees_a_later_one_another_run_or_what_is_too_long_ago():
    domain, episodes = demonstrations(2)
    network, _ = untrained(domain, episodes)
    torch.nn.init.normal_(network.history.back)
    steps = torch.randn(2 * HORIZON, network.returns.embedding_dim)
    run = torch.zeros(len(steps), dtype=torch.int64)
    at = torch.arange(len(steps))
    with torch.no_grad():
        before = network.history(steps, run, at)
        for changed in (3, HORIZON + 1):
            other = steps.clone()
            other[changed] = torch.randn(steps.shape[1])
            differs = (network.history(other, run, at) - before).abs().amax(1) > 1e-6
            expected = (at >= changed) & (at < changed + HORIZON)
            assert torch.equal(differs, expected)
            apart = torch.where(at > changed, 1, 0)
            one, same = network.history(steps, apart, at), network.history(other, apart, at)
            assert torch.equal(one[changed + 1 :], same[changed + 1 :])


def test_a_later_state_or_action_of_an_episode_changes_no_earlier_score():
    domain, episodes = demonstrations(8, sizes=(4, 5))
    longest = max(range(len(episodes)), key=lambda i: len(episodes[i].actions))
    episode = episodes[longest]
    count = len(episode.actions)
    assert count >= 4
    network, demos = untrained(domain, [episode])
    later = pds.Episode(
        [*episode.states[: count - 1], *[episode.states[0]] * 2],
        [*episode.actions[: count - 1], ("pick-up", "b0")],
        episode.goal,
        episode.success,
    )
    other = open_demonstrations([later], domain, CPU)
    examples = torch.arange(count)
    with torch.no_grad():
        mine, theirs = (network._scored(d, examples)[0] for d in (demos, other))
    assert torch.allclose(mine[: count - 1], theirs[: count - 1], atol=1e-6)
    assert not torch.allclose(mine[count - 1], theirs[count - 1], atol=1e-3)


def test_the_history_bears_on_the_choice():
    domain, episodes = demonstrations(4, sizes=(4, 5))
    network, _ = untrained(domain, episodes)
    longest = max(episodes, key=lambda e: len(e.actions))
    steps = []
    network.decided = lambda batch, scores, among: steps.append(scores) or [longest.actions[0]]
    network.reset()
    network.act(longest.states[2], longest.goal)
    network.reset()
    for state in longest.states[:3]:
        network.act(state, longest.goal)
    assert not torch.allclose(steps[0], steps[-1], atol=1e-3)


def test_the_order_of_objects_changes_no_score():
    world = BabyAIWorld(4, 4, "abs")
    network, _ = untrained(world.domain, world.demonstrations(3, 0), SuccessTransformer)
    found = []
    network.decided = lambda batch, scores, among: found.append(scores) or [("forward", "agent")]
    first, goal = world.reset(seed=5), world.goal
    second = world.step(("forward", "agent"))
    order = np.random.default_rng(0).permutation(len(first.objects["item"]))
    for change in (lambda s: s, lambda s: permuted(s, "item", order)):
        network.reset()
        for state in (first, second):
            network.act(change(state), goal)
    torch.testing.assert_close(found[0], found[2], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found[1], found[3], atol=1e-5, rtol=1e-5)


def test_failures_are_learned_from_where_they_are_asked_for():
    world = BabyAIWorld(2, 2, "abs")
    episodes = world.demonstrations(12, 0)
    reached = sum(bool(e.success[-1]) for e in episodes)
    assert 0 < reached < 12
    few = {"steps": 2, "types": ["robot", "item"]}
    assert pdsketch_paper.train_baseline("dt-s", world.domain, episodes, **few).notes["episodes"] == reached
    assert pdsketch_paper.train_baseline("dt-s+f", world.domain, episodes, **few).notes["episodes"] == 12


def test_the_return_that_is_asked_for_is_success():
    domain, episodes = demonstrations(4)
    network, demos = untrained(domain, episodes)
    failed = [pds.Episode(e.states, e.actions, e.goal, [0] * len(e.states)) for e in episodes]
    examples = torch.arange(2)
    with torch.no_grad():
        won = network._scored(demos, examples)[0]
        lost = network._scored(open_demonstrations(failed, domain, CPU), examples)[0]
    assert not torch.allclose(won, lost, atol=1e-3)
    seen = []
    network.decided = lambda batch, scores, among: seen.append(scores) or [None]
    network.act(episodes[0].states[0], episodes[0].goal)
    torch.testing.assert_close(seen[0][0], won[0], atol=1e-5, rtol=1e-5)


def test_it_is_saved_and_loaded(towers, tmp_path):
    agent, episodes = towers
    agent.save(tmp_path / "dt")
    loaded = pdsketch_paper.load_baseline(tmp_path / "dt")
    assert loaded.KIND == "dt-s"
    state, goal = episodes[0].states[0], tower(["b1", "b0"])
    same = pds.State(loaded.domain, state.objects, dict(state.values))
    agent.reset()
    assert loaded.act(same, goal) == agent.act(state, goal)

"""Dreamer as an agent: what it learns in a corridor, what it must not depend on, and its folder."""

from __future__ import annotations

import json

import pytest
import torch
from paper.tests.baselines.blocks import demonstrations, start, tower
from paper.tests.baselines.corridor import CELLS, SKETCH, Corridor, walks
from paper.tests.baselines.test_cloning import permuted

import pdsketch as pds
import pdsketch_paper
from pdsketch.cli.main import main
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.baselines.dreamer import agent
from pdsketch_paper.baselines.dreamer.agent import NEVER, Dreamer, imagine
from pdsketch_paper.baselines.network import open_demonstrations

CPU = torch.device("cpu")
MOST = 6


@pytest.fixture(scope="module")
def walked():
    return walks(30)


@pytest.fixture(scope="module")
def walker(walked):
    """Trained in imagination alone, from random walks."""
    domain = walked[0].states[0].domain
    return pdsketch_paper.train_baseline(
        "dreamer", domain, [*walked], steps=60, cloning=0.0, learning_rate=3e-3
    )


def untrained(domain, episodes):
    demos = open_demonstrations(episodes, domain, CPU)
    torch.manual_seed(0)
    network = Dreamer(domain, demos.shapes).eval()
    network.standardise(demos)
    return network, demos


def by_action(network, states, goals):
    """The score of each ground action that there is, by state."""
    network.reset()
    with torch.no_grad():
        around, _, found = network.look(dict(enumerate(states)), dict(enumerate(goals)))
    listed = []
    for row in range(len(states)):
        real = (found[row] > NEVER).nonzero()[:, 0]
        one = around.select(torch.full((len(real),), row))
        names = network.actor.scores.steps(one.objects, real)
        listed.append(dict(zip(names, found[row][real].tolist(), strict=True)))
    return listed


def success(agent_, count=9):
    worlds = [Corridor(agent_.domain) for _ in range(count)]
    return pds.rollout(agent_, worlds, range(count), MOST).summary["success"]


def test_from_random_walks_it_imagines_more_reward_and_reaches_the_end(walker, walked):
    assert success(walker) == 1.0
    assert walks(90, seed=1, steps=MOST).summary["success"] < 0.6
    fresh, demos = untrained(walker.domain, [*walked])
    examples = demos.dataset.place(walker.examples(demos)[:16])
    returns = []
    for actor in (fresh.actor, walker.actor):  # both in the trained world model
        torch.manual_seed(0)
        with torch.no_grad():
            followed = walker.follow(demos, agent.sequences(demos, examples.numpy(), 8))
            around = followed.around.select(followed.sequences.sequence)
            dream = imagine(walker.world, actor, followed.observed.latent, around)
        returns.append(float(dream.reward[:4].amax(0).mean()))
    assert returns[1] > returns[0] + 0.1
    first, last = walker.notes["imagined_return"]
    assert last > first


def test_the_world_model_knows_where_the_reward_is(walker, walked):
    demos = open_demonstrations([*walked], walker.domain, CPU)
    runs = walker.examples(demos)
    begins = runs[demos.step[runs] == 0]
    torch.manual_seed(0)
    with torch.no_grad():
        chunk = agent.sequences(demos, begins, 13)
        followed = walker.follow(demos, chunk, likeliest=True)
        keys = followed.around.keys[chunk.sequence]
        reward, goes_on = walker.world.readings(followed.observed.latent.features, keys)
    for found in (reward, 1 - goes_on):
        assert float(((found > 0.5) == chunk.success).float().mean()) > 0.97


def test_it_learns_the_actions_of_20_demonstrations_by_heart(monkeypatch):
    monkeypatch.setattr(agent, "HORIZON", 1)  # imagination is another test's
    monkeypatch.setattr(agent, "STARTS", 1)
    world = BabyAIWorld(2, 2, "abs")
    episodes = world.demonstrations(20, 0, failures=0.0)
    options = {"steps": 150, "batch": 8, "learning_rate": 3e-3, "types": ["robot", "item"]}
    clone = pdsketch_paper.train_baseline("dreamer", world.domain, episodes, **options)
    assert clone.notes["score"] == 1.0
    for episode in episodes:
        clone.reset()
        (goal,) = episode.goals
        assert [clone.act(state, goal) for state in episode.states[:-1]] == [*episode.actions]
    assert read_by_the_encoder(clone, episodes) > 0.9


def read_by_the_encoder(network, episodes):
    """How often the encoder's own layer names the action that was shown."""
    demos = open_demonstrations([*episodes], network.domain, CPU)
    examples = demos.dataset.place((demos.taken & (demos.to_go > 0)).nonzero()[0])
    batch, trees, goal = demos.states(examples)
    with torch.no_grad():
        scores = network.direct(batch, *network.encoder(batch, trees, goal))
    targets = network.direct.targets(batch, *demos.actions(examples))
    return float((scores.argmax(1) == targets).float().mean())


def test_the_encoders_own_layer_is_for_training_alone():
    domain, episodes = demonstrations(3)
    network, _ = untrained(domain, episodes)
    before = by_action(network, [episodes[0].states[0]], [episodes[0].goal])
    torch.nn.init.normal_(network.direct.whole.weight)
    assert by_action(network, [episodes[0].states[0]], [episodes[0].goal]) == before


def test_the_order_of_objects_changes_no_score():
    world = BabyAIWorld(4, 4, "abs")
    network, _ = untrained(world.domain, world.demonstrations(3, 0))
    state = world.reset(seed=5)
    order = torch.randperm(len(state.objects["item"])).tolist()
    (mine,) = by_action(network, [state], [world.goal])
    (theirs,) = by_action(network, [permuted(state, "item", order)], [world.goal])
    assert mine == pytest.approx(theirs, abs=1e-5)


def test_the_order_of_objects_and_the_rest_of_a_batch_change_no_score_of_actions_over_objects():
    domain, episodes = demonstrations(5)
    network, _ = untrained(domain, episodes)
    many = pds.Model(domain).step(start(domain, ["b0", "b1", "b2", "b3"]), ("pick-up", "b1"))
    few, goals = start(domain, ["b0", "b1"]), [tower(["b1", "b0", "b2"]), tower(["b0", "b1"])]
    together = by_action(network, [many, few], goals)
    assert len(together[0]) == 4 + 4 + 16 + 16
    assert len(together[1]) == 2 + 2 + 4 + 4
    (alone,) = by_action(network, [few], goals[1:])
    assert together[1] == pytest.approx(alone, abs=1e-4)
    (other,) = by_action(network, [permuted(many, "block", [2, 0, 3, 1])], goals[:1])
    assert together[0] == pytest.approx(other, abs=1e-4)
    assert other["stack", "b1", "b0"] != pytest.approx(other["stack", "b0", "b1"], abs=1e-4)


def test_episodes_side_by_side_are_acted_in_as_one_by_one():
    domain, episodes = demonstrations(6, seed=3)
    network, _ = untrained(domain, episodes)
    network.reset()
    together = []
    for t in range(2):
        here = {i: e.states[t] for i, e in enumerate(episodes)}
        network.act_some(here, {i: e.goal for i, e in enumerate(episodes)})
    with torch.no_grad():
        _, latent, _ = network.look(here, {i: e.goal for i, e in enumerate(episodes)})
    together = latent.features
    for i, episode in enumerate(episodes):
        network.reset()
        for t in range(2):
            network.act(episode.states[t], episode.goal)
        with torch.no_grad():
            _, alone, _ = network.look({0: episode.states[1]}, {0: episode.goal})
        torch.testing.assert_close(alone.features[0], together[i], atol=1e-4, rtol=1e-4)


def test_at_a_temperature_actions_are_drawn_the_same_after_each_reset():
    domain, episodes = demonstrations(6, seed=3)
    network, _ = untrained(domain, episodes)
    states, goals = [e.states[0] for e in episodes], [e.goal for e in episodes]

    def acted(temperature):
        network.reset()
        network.temperature = temperature
        return network.act_some(dict(enumerate(states)), dict(enumerate(goals)))

    likeliest, drawn = acted(0.0), acted(1.0)
    assert [*likeliest.values()] == [max(found, key=found.get) for found in by_action(network, states, goals)]
    assert drawn != likeliest
    assert drawn == acted(1.0)


def test_a_saved_agent_is_the_same(walker, tmp_path):
    walker.save(tmp_path / "dreamer")
    loaded = pdsketch_paper.load_baseline(tmp_path / "dreamer")
    assert loaded.notes == walker.notes
    mine, theirs = walker.state_dict(), loaded.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert success(loaded) == 1.0


def test_practice_takes_the_steps_it_was_given_and_the_same_seed_gives_the_same(walked):
    domain = walked[0].states[0].domain

    def trained(seed):
        return pdsketch_paper.train_baseline(
            "dreamer",
            domain,
            [*walked][:6],
            steps=2,
            seed=seed,
            batch=4,
            world=lambda: Corridor(domain),
            environment_steps=13,
        )

    one, same, other = trained(1), trained(1), trained(2)
    assert one.notes["environment_steps"] == 13
    assert sum(entry["steps"] for entry in one.notes["practice"]) == 13
    assert not one.exploring
    assert one.notes["practice"] == same.notes["practice"]
    weights = one.state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in same.state_dict().items())
    assert not torch.equal(
        weights["actor.scores.whole.weight"], other.state_dict()["actor.scores.whole.weight"]
    )


def test_what_it_is_not_for_is_refused(walked):
    domain = walked[0].states[0].domain
    with pytest.raises(pds.Error, match="no world to take them in"):
        pdsketch_paper.train_baseline("dreamer", domain, [*walked], environment_steps=5)
    with pytest.raises(pds.Error, match="`cloning` is a number"):
        pdsketch_paper.train_baseline("dreamer", domain, [*walked], cloning=-1.0)
    with pytest.raises(pds.Error, match="`environment_steps` is a whole number"):
        pdsketch_paper.train_baseline("dreamer", domain, [*walked], environment_steps=-5)
    with pytest.raises(pds.Error, match="not for `bc`"):
        pdsketch_paper.train_baseline("bc", domain, [*walked], environment_steps=5, world=Corridor(domain))


def test_train_and_eval_from_the_command_line(tmp_path, capsys, walked):
    sketch, data, folder = tmp_path / "corridor.pdsketch", tmp_path / "data", tmp_path / "dreamer"
    sketch.write_text(SKETCH)
    walked.save(data)
    pds.register_world("corridor", Corridor, f"{CELLS} cells in a row")
    words = ["baseline", "dreamer", str(sketch), str(data), "-o", str(folder), "--steps", "1"]
    words += ["--batch", "2", "--json", "--world", "corridor"]
    capsys.readouterr()
    assert main([*words, "--environment-steps", "8"]) == 0
    assert json.loads(capsys.readouterr().out)["environment_steps"] == 8
    assert main([*words, "--force"]) == 2
    capsys.readouterr()
    assert main(["eval", str(folder), "corridor", "--episodes", "2", "--max-steps", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 2

"""Behaviour cloning: what it can learn, what it must not depend on, and its folder."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from paper.tests.baselines.blocks import demonstrations, start, tower
from tests.training.rooms import world as rooms_world

import pdsketch as pds
import pdsketch_paper
from pdsketch.cli.main import main
from pdsketch.lang.load import parse_goal
from pdsketch.lang.types import OBJECT
from pdsketch.tensor.states.state import StateBatch
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.baselines.formulas import tree_of
from pdsketch_paper.baselines.graph import scattered
from pdsketch_paper.baselines.imitation import BehaviourCloning
from pdsketch_paper.baselines.network import open_demonstrations

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def towers():
    domain, episodes = demonstrations(20)
    return pdsketch_paper.train_baseline("bc", domain, episodes, steps=150, learning_rate=3e-3, batch=64)


def untrained(domain, episodes, seed=0):
    demos = open_demonstrations(episodes, domain, CPU)
    torch.manual_seed(seed)
    network = BehaviourCloning(domain, demos.shapes).eval()
    network.standardise(demos)
    return network


def permuted(state, type_, order):
    """The same state with the objects of a type listed in another order."""
    objects = dict(state.objects)
    objects[type_] = tuple(objects[type_][i] for i in order)
    listed = [name for names in objects.values() for name in names]
    values = {}
    for name, table in state.values.items():
        tensor = table
        for axis, axis_type in enumerate(state.domain.predicates[name].object_types):
            before = state.members(axis_type)
            after = sorted(before, key=lambda one: listed.index(one) if one in listed else -1)
            tensor = tensor.index_select(axis, torch.tensor([before.index(one) for one in after]))
        values[name] = tensor
    return pds.State(state.domain, objects, values)


def test_it_learns_the_actions_of_20_towers_by_heart_and_builds_them(towers):
    assert towers.notes["episodes"] == 20
    assert towers.notes["score"] == 1.0
    model = pds.Model(towers.domain)
    _, episodes = demonstrations(20)
    for episode in episodes:
        state = episode.states[0]
        for _ in episode.actions:
            state = model.step(state, towers.act(state, episode.goal), crisp=True)
        assert model.holds(state, episode.goal, crisp=True)


def test_it_learns_20_episodes_of_babyai_by_heart():
    world = BabyAIWorld(2, 2, "abs")
    episodes = world.demonstrations(20, 0)
    agent = pdsketch_paper.train_baseline(
        "bc", world.domain, episodes, steps=70, learning_rate=3e-3, types=["robot", "item"]
    )
    assert agent.notes["score"] == 1.0
    reached = [i for i, episode in enumerate(episodes) if episode.success[-1]]
    assert agent.notes["episodes"] == len(reached)  # failures are not cloned


def test_the_order_of_objects_changes_no_score_of_babyai():
    world = BabyAIWorld(4, 4, "abs")
    network = untrained(world.domain, world.demonstrations(3, 0))
    state = world.reset(seed=5)
    order = np.random.default_rng(0).permutation(len(state.objects["item"]))
    seen = network.seen([state], [world.goal])
    other = network.seen([permuted(state, "item", order)], [world.goal])
    with torch.no_grad():
        torch.testing.assert_close(network(*seen), network(*other), atol=1e-5, rtol=1e-5)


def test_the_order_of_objects_changes_no_score_of_an_action_over_objects(towers):
    goal = tower(["b1", "b0", "b2"])
    state = pds.Model(towers.domain).step(start(towers.domain, ["b0", "b1", "b2", "b3"]), ("pick-up", "b1"))
    mine, theirs = (
        by_action(towers, state, goal),
        by_action(towers, permuted(state, "block", [2, 0, 3, 1]), goal),
    )
    assert mine.keys() == theirs.keys()
    assert len(mine) == 4 + 4 + 16 + 16
    for step, score in mine.items():
        assert theirs[step] == pytest.approx(score, abs=1e-4)
    assert mine["stack", "b1", "b0"] != pytest.approx(mine["stack", "b0", "b1"], abs=1e-2)


def by_action(network, state, goal):
    """The score of each ground action."""
    seen = network.seen([state], [goal])
    with torch.no_grad():
        found = network(*seen)[0]
    names = [network.scores.steps(seen[0], torch.tensor([i]))[0] for i in range(len(found))]
    return dict(zip(names, found.tolist(), strict=True))


def at_once(agent, states, goals):
    return [*agent.act_some(dict(enumerate(states)), dict(enumerate(goals))).values()]


def test_states_with_other_numbers_of_objects_in_the_batch_change_no_score(towers):
    few, many = ["b0", "b1"], ["b0", "b1", "b2", "b3"]
    states = [start(towers.domain, few), start(towers.domain, many)]
    goals = [tower(["b0", "b1"]), tower(["b3", "b0", "b2"])]
    batch, trees, goal = towers.seen(states, goals)
    with torch.no_grad():
        together = towers(batch, trees, goal)
    for row, (state, wanted) in enumerate(zip(states, goals, strict=True)):
        alone = by_action(towers, state, wanted)
        real = together[row][torch.isfinite(together[row])]
        torch.testing.assert_close(real, torch.tensor([*alone.values()]), atol=1e-4, rtol=1e-4)
    alone = [towers.act(s, g) for s, g in zip(states, goals, strict=True)]
    assert at_once(towers, states, goals) == alone


def test_objects_that_a_state_does_not_have_have_no_features(towers):
    names = (["b0", "b1"], ["b0", "b1", "b2", "b3"])
    batch = StateBatch.of([start(towers.domain, some) for some in names])
    for axes in (1, 2):
        ones = torch.ones(2, *(4,) * axes, 1)
        found = scattered(batch, ones, (OBJECT,) * axes, OBJECT)[..., 0]
        assert [int(part.sum()) for part in found] == [2**axes, 4**axes]


def test_a_goal_is_its_words_not_the_names_of_its_variables():
    domain, _ = rooms_world(1)
    objects = {"rob": "robot"}
    one, same, other = (
        tree_of(parse_goal(text, domain, objects))
        for text in (
            "(exists (?b - box) (and (near rob ?b) (is-red ?b)))",
            "(exists (?x - box) (and (near rob ?x) (is-red ?x)))",
            "(exists (?b - box) (and (near rob ?b) (is-blue ?b)))",
        )
    )
    assert one == same
    assert one != other
    assert [m.objects for m in one.mentions] == [("rob",)]


def test_what_a_goal_says_reaches_the_scores():
    domain, episodes = rooms_world(4)
    network = untrained(domain, episodes)
    state = episodes[0].states[0]
    goals = ["(in-last rob)", "(not (in-last rob))", "(forall (?b - box) (is-red ?b))",
             "(or (in-last rob) (exists (?b - box) (is-red ?b)))"]  # fmt: skip
    with torch.no_grad():
        found = network(*network.seen([state] * len(goals), goals))
    distances = torch.cdist(found, found) + torch.eye(len(goals))
    assert float(distances.min()) > 1e-4


def test_a_saved_agent_is_the_same_and_a_changed_folder_is_refused(towers, tmp_path):
    towers.save(tmp_path / "bc")
    loaded = pdsketch_paper.load_baseline(tmp_path / "bc")
    assert loaded.notes == towers.notes
    state, goal = start(towers.domain, ["b0", "b1", "b2"]), tower(["b2", "b0"])
    same = start(loaded.domain, ["b0", "b1", "b2"])
    assert by_action(loaded, same, goal) == by_action(towers, state, goal)
    manifest = tmp_path / "bc" / "baseline.json"
    manifest.write_text(manifest.read_text().replace('"bc"', '"dt"'))
    with pytest.raises(pds.Error) as refused:
        pdsketch_paper.load_baseline(tmp_path / "bc")
    assert refused.value.diagnostics[0].code == "bad-model"


def test_actions_are_drawn_with_their_probabilities_and_again_after_a_reset(tmp_path):
    domain, episodes = demonstrations(2)
    agent = untrained(domain, episodes)
    state, goal = start(domain, ["b0", "b1", "b2"]), tower(["b1", "b0"])
    count = 2000
    likeliest = agent.act(state, goal)
    assert at_once(agent, [state] * 20, [goal] * 20) == [likeliest] * 20
    agent.temperature = 0.1
    agent.save(tmp_path / "bc")
    assert pdsketch_paper.load_baseline(tmp_path / "bc").temperature == 0.1
    agent.reset()
    drawn = at_once(agent, [state] * count, [goal] * count)
    agent.reset()
    assert at_once(agent, [state] * count, [goal] * count) == drawn
    scores = by_action(agent, state, goal)
    wanted = torch.tensor([*scores.values()]).div(0.1).softmax(0)
    found = torch.tensor([drawn.count(step) / count for step in scores])
    assert float((found - wanted).abs().max()) < 4 * 0.5 / count**0.5


def test_what_cannot_be_cloned_is_refused(tmp_path):
    domain, episodes = rooms_world(4)
    with pytest.raises(pds.Error, match="no baseline"):
        pdsketch_paper.train_baseline("bd", domain, episodes)
    failed = [pds.Episode(e.states, e.actions, e.goal, [0] * len(e.states)) for e in episodes]
    with pytest.raises(pds.Error, match="how a goal is reached"):
        pdsketch_paper.train_baseline("bc", domain, failed, steps=1)
    with pytest.raises(pds.Error, match="trained for `rooms`"):
        untrained(domain, episodes).act(
            start(pds.load_domain("examples/blocks/domain.pddl"), ["b"]), "(clear b)"
        )
    three = pds.parse_domain("""(define (domain d) (:types t) (:predicates (p ?a ?b ?c - t))
      (:action go :parameters (?a - t) :precondition (and) :effect (p ?a ?a ?a)))""")
    with pytest.raises(pds.Error, match="3 objects"):
        BehaviourCloning(three, {"p": ()})


def test_train_and_eval_from_the_command_line(tmp_path, capsys):
    world = BabyAIWorld(1, 1, "abs")
    sketch, data, folder = tmp_path / "abs.pdsketch", tmp_path / "data", tmp_path / "bc"
    sketch.write_text(world.domain.source.text)
    assert main(["data", "babyai", "--episodes", "4", "-o", str(data), "--world-option", "sketch=abs"]) == 0
    words = ["baseline", "bc", str(sketch), str(data), "-o", str(folder), "--steps", "2", "--json"]
    capsys.readouterr()
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 2
    assert main(words) == 31  # the folder is taken
    assert main([*words, "--force", "--usage", "1"]) == 2
    capsys.readouterr()
    assert main(["eval", str(folder), "babyai", "--episodes", "2", "--max-steps", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 2
    assert main(["eval", str(folder), str(data)]) == 2


def test_objects_of_other_types_are_not_seen():
    world = BabyAIWorld(2, 2, "abs")
    episodes = world.demonstrations(4, 0)
    demos = open_demonstrations(episodes, world.domain, CPU)
    network = BehaviourCloning(world.domain, demos.shapes, ["robot", "item"]).eval()
    state = world.reset(seed=3)
    last = {name: state[name].clone() for name in ("item-pose", "item-feature")}
    for tensor in last.values():
        tensor[-1] = 0  # a wall: walls come last
    moved = pds.State(world.domain, state.objects, {**state.values, **last})
    last["item-pose"][0] += 1
    item_moved = pds.State(world.domain, state.objects, {**state.values, **last})
    with torch.no_grad():
        mine, same, other = (network(*network.seen([s], [world.goal])) for s in (state, moved, item_moved))
    assert torch.equal(mine, same)
    assert not torch.equal(mine, other)
    with pytest.raises(pds.Error, match="leaves such objects out"):
        BehaviourCloning(world.domain, demos.shapes, ["item"])
    with pytest.raises(pds.Error, match="did you mean `robot`"):
        BehaviourCloning(world.domain, demos.shapes, ["robt", "item"])

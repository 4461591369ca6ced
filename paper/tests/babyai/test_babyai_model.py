"""The sketches with exact modules against Minigrid, step by step."""

import numpy as np
import pytest

import pdsketch as pds
from pdsketch_paper.babyai.data import ACTION_NAMES, DataConfig, generate
from pdsketch_paper.babyai.goals import UNSEEN, mission_goal, things_of
from pdsketch_paper.babyai.modules import exact_modules
from pdsketch_paper.babyai.observation import load_sketch, look, observe, to_state, values_of
from pdsketch_paper.babyai.world import ActionObjDoor, make

SKETCHES = ["abs", "rob", "base"]
# Mostly forward, so that a walk reaches things; every action often enough.
ODDS = np.array([2, 2, 5, 2, 2, 2]) / 15


@pytest.fixture(scope="module", params=SKETCHES)
def exact(request):
    domain = load_sketch(request.param)
    return pds.Model(domain, modules=exact_modules(request.param))


def walk(env, rng, steps):
    """Observations along a random walk, and the actions and successes between them."""
    scene = look(env)
    seen, actions, ends = [observe(env, scene)], [], []
    for _ in range(steps):
        action = int(rng.choice(6, p=ODDS))
        ends.append(env.step(action)[2])
        actions.append(ACTION_NAMES[action])
        seen.append(observe(env, scene))
    return seen, actions, ends


@pytest.mark.parametrize("setting", [(4, 4), (8, 6)])
def test_exact_modules_predict_every_step_of_minigrid(exact, setting):
    domain = exact.domain
    env, rng, happened = ActionObjDoor(*setting), np.random.default_rng(0), set()
    for seed in range(3):
        env.reset(seed=seed)
        seen, actions, _ = walk(env, rng, 80)
        states = [to_state(domain, one) for one in seen]
        for name in ACTION_NAMES:
            at = [i for i, action in enumerate(actions) if action == name]
            before = pds.StateBatch.of([states[i] for i in at])
            could = exact.applicable(before, (name, "agent"), crisp=True).reshape(-1) > 0.5
            after = exact.step(before, (name, "agent"), crisp=True)
            for row, i in enumerate(at):
                if not could[row]:  # PDS-Rob: a step into an obstacle, which changes nothing
                    assert np.array_equal(seen[i].robot_pose, seen[i + 1].robot_pose)
                    continue
                for predicate, value in values_of(domain, seen[i + 1]).items():
                    predicted = np.asarray(after[predicate][row], dtype=np.float32)
                    assert np.allclose(predicted, value, atol=1e-3), (name, predicate)
                    if not np.array_equal(value, values_of(domain, seen[i])[predicate]):
                        happened.add(name)
    assert happened == set(ACTION_NAMES)


def test_the_goal_formula_is_the_verifiers_word_up_to_the_first_success(exact):
    env, rng, successes = ActionObjDoor(), np.random.default_rng(1), 0
    for seed in range(25):
        env.reset(seed=seed)
        goal = mission_goal(env, look(env))
        seen, _, ends = walk(env, rng, 40)
        stop = ends.index(True) + 1 if True in ends else len(ends)
        successes += True in ends
        batch = pds.StateBatch.of([to_state(exact.domain, one) for one in seen[: stop + 1]])
        truth = (exact.holds(batch, goal, crisp=True) > 0.5).reshape(-1).tolist()
        assert truth == [False, *ends[:stop]]
    assert successes >= 3


@pytest.mark.parametrize("level", ["ActionObjDoor", "GoToLocal", "PickupDist", "OpenDoorLoc"])
def test_stock_levels_agree_with_the_same_modules(level):
    domain = load_sketch("abs")
    exact = pds.Model(domain, modules=exact_modules("abs"))
    env, rng = make(f"BabyAI-{level}-v0"), np.random.default_rng(2)
    for seed in range(3):
        env.reset(seed=seed)
        goal = mission_goal(env, look(env))
        seen, actions, ends = walk(env, rng, 25)
        room = [i for i, one in enumerate(seen) if (one.robot_pose >= 0).all()]
        stop = min(ends.index(True) + 1 if True in ends else len(ends), len(room) - 1)
        states = [to_state(domain, one) for one in seen[: stop + 1]]
        truth = [bool(exact.holds(state, goal, crisp=True) > 0.5) for state in states]
        assert truth == [False, *ends[:stop]]
        for i in range(stop):
            after = exact.step(states[i], (actions[i], "agent"), crisp=True)
            assert np.allclose(after["item-pose"], states[i + 1]["item-pose"], atol=1e-3)
    env.close()


def test_unseen_goals_are_formulas_that_do_not_hold_at_the_start():
    domain = load_sketch("abs")
    exact = pds.Model(domain, modules=exact_modules("abs"))
    env, rng = ActionObjDoor(), np.random.default_rng(0)
    made = dict.fromkeys(UNSEEN, 0)
    for seed in range(12):
        env.reset(seed=seed)
        seen = observe(env, look(env))
        for kind, maker in UNSEEN.items():
            goal = maker(things_of(seen), rng)
            if goal is not None:
                made[kind] += 1
                assert not bool(exact.holds(to_state(domain, seen), goal, crisp=True) > 0.5), (kind, goal)
    assert len(made) >= 10
    assert all(made.values()), made


@pytest.mark.parametrize("sketch", SKETCHES)
def test_columns_hold_what_the_states_hold(sketch):
    domain = load_sketch(sketch)
    columns = generate(DataConfig(3, seed=2), domain)
    episode = columns[1]
    assert len(episode.states) == len(episode.actions) + 1 == len(episode.success)
    assert set(episode.states[0].values) == {
        p.name for p in domain.predicates.values() if p.role == "observed"
    }

"""Goals of several variables: which is which, and values relative to objects."""

import numpy as np
import pytest
import torch

import pdsketch as pds
import pdsketch_paper
from pdsketch_paper.baselines.formulas import Role, tree_of
from pdsketch_paper.baselines.graph import GraphInput

COLOURS = ("red", "green", "blue", "grey")
DOMAIN = pds.parse_domain(
    f"""
(define (domain shelf)
  (:types ball - object place - vector[float32, 2])
  (:predicates (at [return_type=place] ?b - ball) (held ?b - ball)
    {" ".join(f"(is-{name} ?b - ball)" for name in COLOURS)} (beside ?a - ball ?b - ball))
  (:action put :parameters (?b - ball ?p - place) :effect (and (at::assign ?b ?p) (held ?b))))
"""
)
OFFSET = np.array([0.1, 0.0])


def goal(first, second):
    return (
        f"(exists (?a - ball ?b - ball) (and (is-{COLOURS[first]} ?a) (is-{COLOURS[second]} ?b)"
        " (beside ?a ?b)))"
    )


def scene(rng):
    """Three balls of different colours, two of which a goal is about."""
    colours = rng.permutation(4)[:3]
    order = rng.permutation(3)
    truth = {f"is-{name}": colours == i for i, name in enumerate(COLOURS)}
    values = {
        "at": rng.uniform(0, 1, (3, 2)),
        "held": np.zeros(3, bool),
        "beside": np.zeros((3, 3), bool),
        **truth,
    }
    names = [f"b{i}" for i in range(3)]
    return pds.State(DOMAIN, {"ball": names}, values), int(order[0]), int(order[1]), colours


def episode(rng, model):
    """The ball of the first colour is put beside that of the second."""
    state, first, second, colours = scene(rng)
    place = tuple((state["at"][second].numpy() + OFFSET).tolist())
    action = ("put", f"b{first}", place)
    after = model.step(state, action, crisp=True)
    return pds.Episode([state, after], [action], goal(colours[first], colours[second]), [0, 1])


@pytest.fixture(scope="module")
def agent():
    rng, model = np.random.default_rng(0), pds.Model(DOMAIN)
    data = [episode(rng, model) for _ in range(80)]
    return pdsketch_paper.train_baseline("bc", DOMAIN, data, steps=150, batch=80, learning_rate=3e-3, seed=0)


def test_roles_of_variables_are_read():
    universe = scene(np.random.default_rng(0))[0].batch.layout.universes[0]
    tree = tree_of(universe.formula(goal(0, 2)))
    assert set(tree.roles) == {
        Role("predicate:is-red", 0, 0),
        Role("predicate:is-blue", 0, 1),
        Role("predicate:beside", 0, 0),
        Role("predicate:beside", 1, 1),
    }


def test_which_variable_wants_what_is_learned(agent):
    rng, right, swapped, off = np.random.default_rng(1), 0, 0, []
    for _ in range(40):
        state, first, second, colours = scene(rng)
        _, ball, place = agent.act(state, goal(colours[first], colours[second]))
        right += ball == f"b{first}"
        off.append(np.abs(np.array(place) - state["at"][second].numpy() - OFFSET).max())
        swapped += agent.act(state, goal(colours[second], colours[first]))[1] == f"b{second}"
    assert right >= 36
    assert swapped >= 36
    assert np.median(off) < 0.05  # of places that are anywhere within 1


def test_a_goal_of_one_variable_is_left_to_the_embedding_of_the_formula():
    shapes = {"at": (2,), "held": (), "beside": (), **{f"is-{name}": () for name in COLOURS}}
    torch.manual_seed(0)
    part = GraphInput(DOMAIN, shapes, 16, 8)
    state = scene(np.random.default_rng(0))[0]
    universe = state.batch.layout.universes[0]
    one = tree_of(universe.formula("(exists (?a - ball) (is-red ?a))"))
    two = tree_of(universe.formula(goal(0, 1)))
    nodes, which = torch.ones(2, 3, 16), torch.tensor([0, 1])
    assert part.variables(nodes, [one], torch.zeros(2, dtype=torch.int64)) is None
    for weights in (part.variables.compared, part.variables.asked):
        torch.nn.init.ones_(weights.weight)
    of_nodes, of_goals = part.variables(nodes, [one, two], which)
    assert not of_nodes[0].any()
    assert not of_goals[0].any()
    assert of_nodes[1].any()
    assert of_goals[1].any()

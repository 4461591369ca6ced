"""The interface of a Model: formulas, actions, errors, gradients."""

from __future__ import annotations

import copy
import pickle
import time

import pytest
import torch
from tests.tensor.worlds import GRID, facing, grid_state
from torch import nn

import pdsketch as pds
from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_domain, parse_goal
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State, StateBatch


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(GRID, {"facing": facing}, seed=0)


def test_the_interface_is_as_documented(tmp_path):
    path = tmp_path / "grid.pdsketch"
    path.write_text(GRID.source.text)
    domain = pds.load_domain(path)
    state = pds.State(
        domain,
        objects={"robot": ["agent"], "item": ["key#1", "ball#2"]},
        values={
            "robot-pose": [[3, 3]],
            "robot-direction": [0],
            "item-pose": [[9, 9], [1, 1], [5, 2]],
            "item-image": torch.rand(3, 3),
            "locked": [False, True, False],
            "beside": torch.zeros(3, 3, dtype=torch.bool),
            "night": False,
        },
    )
    net = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    model = pds.Model(domain, modules={"derived::is-red::f": net, "facing": facing})
    latent = model.encode(state)
    assert latent["item-feature"].shape == (3, 4)
    truth = model.holds(state, "(exists (?o - item) (is-red ?o))")
    assert truth.shape == ()
    assert 0 <= truth <= 1
    after = model.step(state, ("forward", "agent"))
    assert after["robot-pose"].tolist() == [[4, 3]]
    assert model.applicable(state, ("forward", "agent")) == 1
    model.save(str(tmp_path / "model"))
    again = pds.load_model(str(tmp_path / "model"), modules={"derived::is-red::f": net, "facing": facing})
    assert torch.equal(again.holds(state, "(exists (?o - item) (is-red ?o))"), truth)


def test_a_goal_may_name_objects_and_constants(model):
    state = grid_state()
    assert model.holds(state, "(robot-is-facing agent home)") == 1
    assert model.holds(state, "(ROBOT-IS-FACING AGENT KEY#1)") < 1e-6
    assert model.holds(state, "(= (item-pose ball#2) [6, 3])") > 0.99
    assert model.holds(state, "(and (locked home) (not (locked key#1)))", crisp=True) == 1


def test_each_state_of_a_batch_resolves_names_for_itself(model):
    batch = StateBatch.of([grid_state(keys=("x", "k")), grid_state(keys=("k",)), grid_state(keys=("k", "x"))])
    assert model.holds(batch, "(= (item-pose k) [5, 3])", crisp=True).tolist() == [0, 1, 1]
    with pytest.raises(Error, match="no object `x`"):
        model.holds(batch, "(locked x)")


def test_some_states_of_a_batch_need_only_their_own_objects(model):
    batch = StateBatch.of([grid_state(), grid_state(keys=("only-here",))])
    chosen = batch.select(torch.tensor([1, 1]))
    assert model.holds(chosen, "(not (locked only-here))", crisp=True).tolist() == [1, 1]
    with pytest.raises(Error, match="only-here"):
        model.holds(batch, "(locked only-here)")


def test_a_batch_may_ask_a_formula_of_each_state(model):
    states = [grid_state(), grid_state(keys=("only-here",)), grid_state(night=True)]
    formulas = ["(locked home)", "(locked only-here)", "(night)"]
    batch = StateBatch.of(states)
    assert model.holds(batch, formulas, crisp=True).tolist() == [1, 0, 1]
    with pytest.raises(Error, match="2 formulas were given for 3 states"):
        model.holds(batch, formulas[:2])


def test_checked_expressions_are_formulas_too(model):
    expr = parse_goal("(locked home)", GRID, grid_state().universe)
    assert model.holds(grid_state(), expr) == 1
    with pytest.raises(Error, match="Boolean"):
        model.holds(grid_state(), 3)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("(is-rde home)", "is-red"),
        ("(is-red hmoe)", "home"),
        ("(is-red ?o)", "?o"),
        ("(item-pose home)", ""),
        ("(and (", ""),
        ("", "nothing"),
        ("(robot-is-facing home agent)", ""),
    ],
)
def test_bad_goals_are_errors(model, formula, words):
    with pytest.raises(Error) as caught:
        model.holds(grid_state(), formula)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (("forwards", "agent"), "did you mean `forward`"),
        (("forward",), "takes 1 arguments, and 0 are given"),
        (("forward", "agent", "agent"), "takes 1"),
        (("forward", "agnet"), "did you mean `agent`"),
        (("forward", "home"), "`?r` of `forward` is a robot, and `home` is a item"),
        (("forward", 3), "the name of a robot"),
        (("drop", "home", (1, 2, 3)), "(3,)"),
        (("drop", "home", "there"), "`?p` of `drop`"),
        (("drop", "home", (1, float("nan"))), "not finite"),
        ((), "tuple of its name"),
        (7, "tuple of its name"),
        ([("forward", "agent")] * 2, "2 actions were given for 1 states"),
    ],
)
def test_bad_actions_are_errors(model, step, words):
    with pytest.raises(Error) as caught:
        model.step(grid_state(), step)
    assert words in str(caught.value)


def test_bad_states_are_errors(model):
    other = parse_domain("(define (domain other) (:predicates (p)))")
    with pytest.raises(Error, match="a state of `other`"):
        model.holds(State(other, {}, {"p": True}), "(night)")
    with pytest.raises(Error, match="a dict was given"):
        model.holds({}, "(night)")
    with pytest.raises(Error, match="a str was given"):
        Model("grid")


def test_a_domain_loaded_twice_is_one_domain(model):
    again = parse_domain(GRID.source.text)
    twin = Model(again, {"facing": facing}, seed=0)
    assert twin.holds(grid_state(), "(locked home)") == 1


def test_reading_what_is_absent_after_a_step_is_an_error():
    domain = parse_domain("""
    (define (domain d) (:types item - object) (:predicates (raw [return_type=vector[float32, 2]] ?o - item))
      (:derived (feature [return_type=vector[float32, 2]] ?o - item) (??f (raw ?o)))
      (:derived (odd ?o - item) (??f (raw ?o)))
      (:action a :parameters (?o - item) :effect (assign (feature ?o) (??f (feature ?o)))))
    """)
    model = Model(domain, seed=0)
    state = State(domain, {"item": ["x"]}, {"raw": [[1, 2]]})
    model.holds(state, "(= (raw x) [1, 2])")
    after = model.step(state, ("a", "x"))
    role = domain.predicates["raw"].role
    if role == "raw":
        with pytest.raises(Error, match="absent"):
            model.holds(after, "(odd x)")


def test_encoded_variables_are_computed_once_and_carried():
    calls = []

    def encoder(image):
        calls.append(image)
        return torch.cat([image, image[..., :1]], -1)

    model = Model(GRID, {"facing": facing, "derived::item-feature::f": encoder}, seed=0)
    latent = model.encode(grid_state())
    after = model.step(latent, ("forward", "agent"))
    model.holds(after, "(exists (?o - item) (is-red ?o))")
    assert model.encode(latent) == latent
    assert len(calls) == 1
    given = {**latent.values, "item-feature": torch.ones(3, 4)}
    own = State(GRID, latent.objects, given)
    assert torch.equal(model.encode(own)["item-feature"], torch.ones(3, 4))


def test_shared_subterms_are_computed_once():
    calls = []

    def red(feature):
        calls.append(1)
        return feature.mean(-1).sigmoid()

    model = Model(GRID, {"facing": facing, "derived::is-red::f": red}, seed=0)
    pairs = "(forall (?a ?b - item) (or (is-red ?a) (is-red ?b)))"
    text = f"(and (exists (?o - item) (is-red ?o)) {pairs} (is-red home))"
    model.holds(grid_state(), text)
    assert len(calls) == 1


def test_a_batch_may_hold_derived_predicates_that_are_known(model):
    batch = model.encode(StateBatch.of([grid_state(), grid_state(night=True)]))
    known = batch.with_tensors({**batch.tensors, "is-red": torch.tensor([[True, False, False]] * 2)})
    assert model.holds(known, "(is-red home)", crisp=True).tolist() == [1, 1]
    assert "is-red" not in model.step(known, ("forward", "agent"), crisp=True)[0]


def test_what_all_states_share_is_computed_once(model):
    seen = []

    def red(feature):
        seen.append(tuple(feature.shape))
        return feature.mean(-1).sigmoid()

    shared = Model(GRID, {"facing": facing, "derived::is-red::f": red}, seed=0)
    one = shared.encode(grid_state()).batch
    tensors = {name: t.expand(5, *t.shape[1:]) for name, t in one.tensors.items()}
    tensors["night"] = torch.tensor([True, False, True, False, True])
    many = StateBatch(GRID, one.layout, None, 5, tensors)
    truth = shared.holds(many, "(and (is-red home) (not (night)))")
    assert seen == [(1, 3, 4)]
    assert truth.shape == (5,)
    after = shared.step(many, ("paint", "home"))
    assert after["item-feature"].shape == (5, 3, 4)


def test_only_what_is_needed_is_computed():
    def boom(*args):
        raise AssertionError("not needed")

    model = Model(GRID, {"facing": boom, "derived::is-red::f": boom, "derived::item-feature::f": boom})
    assert model.holds(grid_state(), "(locked home)") == 1


def test_recursion_is_a_least_fixpoint(model):
    state = grid_state(keys=("k1", "k2", "k3"))
    assert model.holds(state, "(reach home ball#2)") == 1
    assert model.holds(state, "(reach ball#2 home)", crisp=True) == 0
    ring = torch.roll(torch.eye(5), 1, 1) > 0
    state = grid_state(keys=("k1", "k2", "k3"), beside=ring)
    assert model.holds(state, "(forall (?a ?b - item) (reach ?a ?b))", crisp=True) == 1


def test_soft_recursion_takes_the_best_path():
    domain = parse_domain("""
    (define (domain d) (:types n - object)
      (:predicates (w [return_type=float32] ?a - n ?b - n))
      (:derived (edge ?a - n ?b - n) (??f (w ?a ?b)))
      (:derived (path ?a - n ?b - n)
        (or (edge ?a ?b) (exists (?c - n) (and (edge ?a ?c) (path ?c ?b))))))
    """)
    model = Model(domain, {"derived::edge::f": lambda w: w})
    w = torch.tensor([[0.0, 0.9, 0.3, 0.0], [0.0, 0.0, 0.8, 0.1], [0.0, 0.0, 0.0, 0.7], [0.0] * 4])
    state = State(domain, {"n": ["a", "b", "c", "d"]}, {"w": w})
    assert torch.allclose(model.holds(state, "(path a d)"), torch.tensor(0.7))
    assert torch.allclose(model.holds(state, "(path a c)"), torch.tensor(0.8))
    assert model.holds(state, "(path a d)", crisp=True) == 1
    product = model.holds(state, "(path a d)", tnorm="product")
    assert 0.5 < product < 0.9


def test_quantifiers_over_nothing(model):
    state = State(
        GRID,
        {"robot": ["agent"]},
        {k: v[:1] if k not in ("robot-pose", "robot-direction", "night") else v for k, v in _small().items()},
    )
    for crisp in (True, False):
        assert model.holds(state, "(forall (?b - ball) (locked ?b))", crisp=crisp) == 1
        assert model.holds(state, "(exists (?b - ball) (locked ?b))", crisp=crisp) == 0
        assert model.holds(state, "(exists (?b - ball ?i - item) (locked ?i))", crisp=crisp) == 0


def _small():
    return {
        "robot-pose": [[3.0, 3.0]],
        "robot-direction": [0],
        "item-pose": [[4.0, 3.0]],
        "item-image": [[0.0, 0.0, 0.0]],
        "locked": [True],
        "beside": [[False]],
        "night": False,
    }


def test_quantifiers_range_over_declared_choices(model):
    state = grid_state()
    text = "(exists (?d - direction) (= (facing (robot-pose agent) ?d) (item-pose home)))"
    assert model.holds(state, text, crisp=True) == 1
    assert model.holds(state, "(forall (?d - direction) (= (robot-direction agent) ?d))", crisp=True) == 0
    assert model.holds(state, "(exists (?d - direction) (= (robot-direction agent) ?d))") == 1


def test_crisp_truth_is_the_rounded_godel_truth(model):
    state = grid_state()
    text = "(exists (?o - item) (and (is-red ?o) (not (locked ?o))))"
    assert (model.holds(state, text) > 0.5) == (model.holds(state, text, crisp=True) > 0.5)


def test_a_goal_that_is_nan_is_reported():
    model = Model(GRID, {"facing": lambda p, d: p * float("nan")})
    with pytest.raises(Error, match="`facing` returned NaN"):
        model.holds(grid_state(), "(robot-is-facing agent home)")
    with pytest.raises(Error, match="`facing` returned NaN"):
        model.step(grid_state(), ("forward", "agent"))


def test_gradients_agree_with_finite_differences():
    domain = parse_domain("""
    (define (domain d) (:types item - object v - vector[float32, 2])
      (:predicates (at [return_type=v] ?o - item))
      (:derived (red ?o - item) (??f (at ?o)))
      (:derived (near ?a - item ?b - item) (??g (at ?a) (at ?b)))
      (:action push :parameters (?o - item) :effect
        (forall (?p - item) (when (near ?o ?p) (assign (at ?p) (??h (at ?p) (at ?o)))))))
    """)
    modules = {
        "derived::red::f": lambda x: torch.sigmoid(x.sum(-1) - 1),
        "derived::near::g": lambda a, b: torch.exp(-(a - b).square().sum(-1)),
        "action::push::h": lambda p, o: p + 0.3 * torch.tanh(p - 2 * o),
    }
    goal = "(exists (?a - item) (and (red ?a) (forall (?b - item) (implies (red ?b) (near ?a ?b)))))"
    at = torch.tensor([[0.1, 0.4], [0.7, 0.2], [-0.3, 0.9]])
    state = State(domain, {"item": ["x", "y", "z"]}, {"at": at})
    for tnorm in ("godel", "product", "lukasiewicz"):
        model = Model(domain, modules, tnorm=tnorm)

        def loss(values, model=model):
            batch = StateBatch(domain, state.batch.layout, None, 1, {"at": values[None]})
            return model.holds(model.step(batch, ("push", "y")), goal).sum()

        values = at.clone().requires_grad_(True)
        loss(values).backward()
        for i in range(3):
            for j in range(2):
                step = torch.zeros(3, 2)
                step[i, j] = 1e-2
                slope = (loss(at + step) - loss(at - step)) / 2e-2
                assert torch.allclose(values.grad[i, j], slope, atol=5e-3), (tnorm, i, j)


def test_soft_comparisons_have_gradients_at_any_distance():
    domain = parse_domain("""
    (define (domain d) (:predicates (a [return_type=float32]) (b [return_type=float32])))
    """)
    model = Model(domain)
    for distance in (0.0005, 0.01, 1.0, 100.0):
        for text in ("(= (a) (b))", "(< (b) (a))", "(<= (b) (a))"):
            a = torch.zeros(1, requires_grad=True)
            state = State(domain, {}, {"a": 0.0, "b": 0.0})
            batch = StateBatch(domain, state.batch.layout, None, 1, {"a": a, "b": torch.tensor([distance])})
            truth = model.holds(batch, text)
            torch.log(truth.clamp(min=1e-38)).sum().backward()
            assert torch.isfinite(a.grad).all()
            assert a.grad >= 0
            assert distance > 10 or distance < 0.001 or a.grad > 0, text


def test_open_dimensions_are_bound_at_the_first_state():
    domain = parse_domain("""
    (define (domain d) (:types item - object) (:predicates (image [return_type=vector[float32]] ?o - item))
      (:derived (red ?o - item) (??f (image ?o)))
      (:action a :parameters (?o - item) :effect (assign (image ?o) (??g (image ?o)))))
    """)
    model = Model(domain, seed=0)
    assert not list(model.parameters())
    state = State(domain, {"item": ["x", "y"]}, {"image": torch.rand(2, 7)})
    model.bind(state)
    assert len(list(model.parameters())) > 4
    assert not model.blanks.unbound
    assert model.step(state, ("a", "x"))["image"].shape == (2, 7)
    with pytest.raises(Error, match=r"shape \(5,\); the first state had \(7,\)"):
        model.holds(State(domain, {"item": ["x"]}, {"image": torch.rand(1, 5)}), "(red x)")


def test_models_can_be_copied(model):
    twin = copy.deepcopy(model)
    before = model.holds(grid_state(), "(is-red home)")
    with torch.no_grad():
        for p in twin.parameters():
            p.add_(1.0)
    assert torch.equal(model.holds(grid_state(), "(is-red home)"), before)
    assert not torch.equal(twin.holds(grid_state(), "(is-red home)"), before)
    assert twin.domain is model.domain


def test_one_formula_on_one_state_costs_less_than_a_millisecond(model):
    state = model.encode(grid_state())
    text = "(exists (?o - item) (and (is-red ?o) (robot-is-facing agent ?o)))"
    best = float("inf")
    for _ in range(30):
        start = time.process_time()
        model.holds(state, text)
        best = min(best, time.process_time() - start)
    assert best < 1e-3


def test_planning_in_inference_mode_leaves_training_possible():
    model = Model(GRID, {"facing": facing}, seed=0)
    state = grid_state()
    text = "(exists (?b - ball) (and (is-red ?b) (not (= ?b home)) (= (robot-direction agent) 0)))"
    with torch.inference_mode():
        model.step(state, ("forward", "agent"), crisp=True)
        model.holds(state, text)
        model.holds(StateBatch.of([state, grid_state(keys=())]), text)
    model.holds(StateBatch.of([state, grid_state(keys=())]), text).sum().backward()
    assert any(p.grad is not None for p in model.parameters())


def test_boolean_parameters_are_truth_values():
    domain = parse_domain("""
    (define (domain d) (:predicates (lamp) (count [return_type=int64]))
      (:action switch :parameters (?on - bool ?n - int64) :precondition (not ?on)
        :effect (and (assign (lamp) ?on) (assign (count) ?n))))
    """)
    model = Model(domain)
    state = State(domain, {}, {"lamp": False, "count": 2})
    for crisp in (True, False):
        after = model.step(state, ("switch", True, 7), crisp=crisp)
        assert after["lamp"] == 1
        assert after["count"] == 7
        assert model.applicable(state, ("switch", True, 7), crisp=crisp) == 0


def test_a_model_that_was_used_can_be_pickled(model):
    state = grid_state()
    before = model.holds(state, "(is-red home)")
    model.step(state, ("forward", "agent"), crisp=True)
    twin = pickle.loads(pickle.dumps(model))
    there = pickle.loads(pickle.dumps(state))
    assert torch.equal(twin.holds(there, "(is-red home)"), before)
    assert torch.equal(twin.holds(state, "(is-red home)"), before)
    assert twin.step(there, ("forward", "agent"))["robot-pose"].tolist() == [[4, 3]]

"""Offsets: relations of two vectors that propose vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.tabletop import DOMAIN, OFFSETS, Tabletop, learned

import pdsketch as pds
from pdsketch.nets.normalise import recording
from pdsketch.nets.offset import QUICKNESS
from pdsketch.tensor.store import check_architecture


def sharp(size: int = 2) -> pds.nets.Offset:
    """Holds within a tenth of [1, 0]."""
    module = pds.nets.Offset(size)
    with torch.no_grad():
        module.shift[0] = 1 / QUICKNESS
        module.log_radius.fill_(torch.tensor(0.1).log() / QUICKNESS)
        module.log_softness.fill_(torch.tensor(0.03).log() / QUICKNESS)
    return module


def test_it_is_the_classifier_of_the_paper() -> None:
    module = sharp()
    torch.testing.assert_close(module.theta, torch.tensor([1.0, 0.0]))
    assert module.gamma.item() == pytest.approx(0.01)
    assert module.tau.item() == pytest.approx(0.0009)
    a, b = torch.randn(5, 3, 2), torch.randn(5, 3, 2)
    expected = torch.sigmoid((module.gamma - (a - b - module.theta).square().sum(-1)) / module.tau)
    torch.testing.assert_close(module(a, b), expected)
    assert module(torch.tensor([1.0, 0.0]), torch.zeros(2)) > 0.99
    assert module(torch.tensor([0.0, 1.0]), torch.zeros(2)) < 0.01


@pytest.mark.parametrize("argument", [0, 1])
def test_it_proposes_values_for_which_it_holds_the_surest_first(argument: int) -> None:
    module, given = sharp(), torch.randn(4, 2)
    found = module.sample(given, 20, argument=argument, generator=torch.Generator().manual_seed(0))
    assert found.shape == (4, 20, 2)
    pair = (found, given[:, None]) if argument == 0 else (given[:, None], found)
    truth = module(*(x.expand(4, 20, 2) for x in pair))
    assert (truth >= 0.5).all()
    assert (truth[:, :1] >= truth).all()
    assert found.std(1).min() > 0.02
    again = module.sample(given, 20, argument=argument, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(found, again)


def test_it_is_learned_from_the_successes_of_100_demonstrations() -> None:
    model = learned()
    for name, offset in OFFSETS.items():
        module = model.blanks.network(f"derived::{name}::f")
        assert isinstance(module, pds.nets.Offset)
        torch.testing.assert_close(module.theta, torch.tensor(offset), atol=0.01, rtol=0)
        assert 0.01 < module.gamma.sqrt().item() < 0.1
    world = Tabletop(4)
    right = [
        bool(model.holds(world.observe() if seed % 2 else _placed(world), f"({r} b0 b1)") > 0.5)
        == world.holds(r, "b0", "b1")
        for seed in range(40)
        for r in OFFSETS
        if world.reset(seed)
    ]
    assert sum(right) / len(right) > 0.95


def _placed(world: Tabletop) -> pds.State:
    return world.step(("move-to", "b0", world.at[1] + OFFSETS["left-of"]))


def test_units_do_not_matter() -> None:
    """The first radius and softness come from the data: millimetres are learned as metres are."""
    metres, millimetres = pds.nets.Offset(3), pds.nets.Offset(3)
    a, b = torch.randn(50, 3), torch.randn(50, 3)
    for module, unit in ((metres, 1.0), (millimetres, 1000.0)):
        with recording(module) as fresh:
            assert fresh
            module(a * unit, b * unit)
    torch.testing.assert_close(metres(a, b), millimetres(a * 1000, b * 1000))
    mean = (a - b).square().sum(-1).mean()
    torch.testing.assert_close(metres.gamma, mean, rtol=1e-3, atol=0.0)


def test_false_examples_do_not_push_the_offset_away() -> None:
    module = pds.nets.Offset(2)
    a = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    truth = module(a, torch.zeros(2, 2))
    torch.nn.functional.binary_cross_entropy(truth, torch.tensor([1.0, 0.0])).backward()
    assert module.shift.grad is not None
    assert module.shift.grad[0] < 0  # towards the true one
    assert module.shift.grad[1] == 0
    before = module.log_radius.grad.clone()  # type: ignore[union-attr]
    module.shrink(0.1)
    assert module.log_radius.grad is not None
    assert module.log_radius.grad > before  # a smaller ball is preferred


def test_it_is_saved_and_loaded_with_the_model(tmp_path: Path) -> None:
    model = learned()
    model.save(str(tmp_path / "model"))
    state = Tabletop().reset(1)
    goal = "(exists (?a - block ?b - block) (or (on ?a ?b) (left-of ?a ?b)))"
    given = {name: pds.nets.Offset(3) for name in OFFSETS}
    for again in (pds.load_model(tmp_path / "model"), pds.load_model(tmp_path / "model", modules=given)):
        torch.testing.assert_close(again.holds(state, goal), model.holds(state, goal))
    with pytest.raises(pds.Error, match="weights"):
        pds.load_model(tmp_path / "model", modules={name: pds.nets.Offset(2) for name in OFFSETS})


@pytest.mark.parametrize("arguments", [(1,), (0, 1)])
def test_a_loaded_one_proposes_the_same_arguments(tmp_path: Path, arguments: tuple[int, ...]) -> None:
    offset = pds.nets.Offset(3, arguments=arguments)
    pds.Model(DOMAIN, modules={"left-of": offset}).save(str(tmp_path / "model"))
    again = pds.load_model(tmp_path / "model").blanks.network("derived::left-of::f")
    assert isinstance(again, pds.nets.Offset)
    assert again.arguments == arguments


@pytest.mark.parametrize("arguments", [[2], None, "a", []])
def test_one_that_was_tampered_with_is_refused(tmp_path: Path, arguments: object) -> None:
    pds.Model(DOMAIN, modules={"left-of": pds.nets.Offset(3)}).save(str(tmp_path / "model"))
    described = json.loads((tmp_path / "model" / "model.json").read_text())
    check_architecture(described, tmp_path)
    described["blanks"]["derived::left-of::f"]["arguments"] = arguments
    with pytest.raises(pds.Error, match="left-of"):
        check_architecture(described, tmp_path)


def test_a_predicate_stands_for_its_only_blank() -> None:
    module = pds.nets.Offset(3)
    model = pds.Model(DOMAIN, modules={"Left-Of": module})
    assert model.blanks.network("derived::left-of::f") is module
    assert [*model.blanks.given] == ["derived::left-of::f"]
    with pytest.raises(pds.Error, match="given twice"):
        pds.Model(DOMAIN, modules={"left-of": module, "derived::left-of::f": module})
    two = pds.parse_domain("""
    (define (domain two) (:types b - object) (:predicates (x [return_type=float32] ?b - b))
      (:derived (p ?b - b) (and (??f (x ?b)) (??g (x ?b)))))""")
    with pytest.raises(pds.Error, match=r"it has derived::p::f, derived::p::g"):
        pds.Model(two, modules={"p": module})


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "3"])
def test_a_size_that_is_none_is_refused(size: object) -> None:
    with pytest.raises(pds.Error, match="size of its vectors"):
        pds.nets.Offset(size)  # type: ignore[arg-type]


def test_it_shows_what_it_learned() -> None:
    assert "theta=[1, 0], radius=0.1" in repr(sharp())


def beside_either_way(count: int, seed: int) -> list[pds.Episode]:
    """Blocks to the left or to the right of others, and elsewhere."""
    random = np.random.default_rng(seed)
    episodes = []
    for _ in range(count):
        a, b = random.uniform(0, 1, (2, 3))
        states, success = [], []
        for kind in range(3):
            off = (-0.1, 0.1)[kind] if kind < 2 else random.uniform(-1, 1)
            a = b + np.array([off, 0, 0]) + random.normal(0, 0.01, 3)
            states.append(pds.State(DOMAIN, {"block": ["a", "b"]}, {"at": [a, b]}))
            success.append(int(abs(abs(off) - 0.1) < 0.03))
        moves = [("move-to", "a", tuple(map(float, s["at"][0]))) for s in states[1:]]
        episodes.append(pds.Episode(states, moves, "(left-of a b)", success))
    return episodes


def test_several_modes_are_learned_proposed_and_stored(tmp_path: Path) -> None:
    model = pds.Model(DOMAIN, modules={"left-of": pds.nets.Offset(3, modes=2), "on": pds.nets.Offset(3)})
    pds.fit(model, beside_either_way(100, 0), steps=400, learning_rate=0.01)
    module = model.blanks.network("derived::left-of::f")
    assert isinstance(module, pds.nets.Offset)
    assert sorted(module.theta[:, 0].tolist()) == pytest.approx([-0.1, 0.1], abs=0.02)
    proposed = module.sample(torch.zeros(1, 3), 6, generator=torch.Generator().manual_seed(0))
    assert (module(proposed, torch.zeros(1, 6, 3)) >= 0.5).all()
    torch.testing.assert_close(proposed[0, :2], module.theta)
    model.save(str(tmp_path / "model"))
    again = pds.load_model(tmp_path / "model").blanks.network("derived::left-of::f")
    torch.testing.assert_close(again(proposed, torch.zeros(1, 6, 3)), module(proposed, torch.zeros(1, 6, 3)))
    # Where there is no room to the left, a place to the right is proposed at once.
    state = pds.State(DOMAIN, {"block": ["a", "b"]}, {"at": [[0.5, 0.5, 0], [0.05, 0.5, 0]]})
    goal = "(and (left-of a b) (> (component (at a) 0) 0))"
    result = pds.plan(model, state, goal, candidates="generators")
    assert len(result.plan or ()) == 1


def test_modes_are_a_whole_number() -> None:
    with pytest.raises(pds.Error, match="whole number above 0"):
        pds.nets.Offset(3, modes=0)

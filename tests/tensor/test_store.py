"""Models on disk: nothing is lost, nothing is run, and changes are told."""

from __future__ import annotations

import json

import pytest
import torch
from tests.tensor.worlds import GRID, facing, grid_state
from torch import nn

from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_domain
from pdsketch.tensor.model import Model
from pdsketch.tensor.state import State
from pdsketch.tensor.store import ARCHITECTURE, SKETCH, WEIGHTS, load_model

GOAL = "(exists (?o - item) (is-red ?o))"


@pytest.fixture
def folder(tmp_path):
    model = Model(GRID, {"facing": facing}, seed=3, tnorm="product")
    model.notes["trained"] = ["derived::is-red::f"]
    model.save(str(tmp_path / "m"))
    return tmp_path / "m"


def test_a_model_comes_back_as_it_was(folder):
    model = load_model(folder, modules={"facing": facing})
    assert model.logic.name == "product"
    assert model.notes == {"trained": ["derived::is-red::f"]}
    before = Model(GRID, {"facing": facing}, seed=3, tnorm="product")
    assert torch.equal(model.holds(grid_state(), GOAL), before.holds(grid_state(), GOAL))
    a, b = (m.step(grid_state(), ("paint", "home"))["item-feature"] for m in (model, before))
    assert torch.equal(a, b)
    assert sorted(p.name for p in folder.iterdir()) == sorted([SKETCH, ARCHITECTURE, WEIGHTS])


def test_the_users_own_modules_are_given_again_with_their_weights(tmp_path):
    def fresh():
        return nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())

    net = fresh()
    given = {"derived::is-red::f": net, "facing": facing, "action::turn::f": lambda d: d.roll(1, -1) * 9}
    model = Model(GRID, given, seed=0)
    model.save(tmp_path)
    with pytest.raises(Error) as caught:
        load_model(tmp_path)
    assert {d.code for d in caught.value.diagnostics} == {"missing-module"}
    assert len(caught.value.diagnostics) == 2
    other = load_model(tmp_path, modules={**given, "derived::is-red::f": fresh()})
    assert torch.equal(model.holds(grid_state(), GOAL), other.holds(grid_state(), GOAL))
    with pytest.raises(Error, match="are not those of its module"):
        load_model(
            tmp_path, modules={**given, "derived::is-red::f": nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1))}
        )
    with pytest.raises(Error, match="is stored as"):
        load_model(
            tmp_path, modules={**given, "derived::is-red::f": nn.Sequential(nn.Linear(5, 1), nn.Sigmoid())}
        )


def test_shared_modules_are_saved(tmp_path):
    domain = parse_domain("""
    (define (domain d) (:types item - object) (:predicates (v [return_type=vector[float32, 2]] ?o - item))
      (:derived (p ?o - item) (??f (v ?o))) (:derived (q ?o - item) (??f (v ?o))))
    """)
    net = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
    names = ("derived::p::f", "derived::q::f")
    Model(domain, dict.fromkeys(names, net)).save(tmp_path)
    again = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
    model = load_model(tmp_path, modules=dict.fromkeys(names, again))
    assert torch.equal(again[0].weight, net[0].weight)
    assert len(list(model.parameters())) == 2


def test_dimensions_that_a_state_said_are_kept(tmp_path):
    domain = parse_domain("""
    (define (domain d) (:types item - object) (:predicates (v [return_type=vector[float32]] ?o - item))
      (:derived (p ?o - item) (??f (v ?o))))
    """)
    model = Model(domain, seed=0)
    Model(domain, seed=0).save(tmp_path / "unbound")
    assert load_model(tmp_path / "unbound").blanks.unbound == ("derived::p::f",)
    state = State(domain, {"item": ["x"]}, {"v": [[1, 2, 3]]})
    truth = model.holds(state, "(p x)")
    model.save(tmp_path / "bound")
    again = load_model(tmp_path / "bound")
    assert again.bound == {"v": (3,)}
    assert torch.equal(again.holds(state, "(p x)"), truth)


def test_a_changed_sketch_is_told_blank_by_blank(folder):
    text = (folder / SKETCH).read_text()
    changed = (
        text.replace(
            "(:derived (is-red ?o - item) (??f (item-feature ?o)))",
            "(:derived (is-red ?o - item) (??f (item-pose ?o)))",
        )
        .replace("(??f (robot-direction ?r))", "(??g (robot-direction ?r))")
        .replace(
            "(item-feature::assign ?o (??f (item-feature ?o)))",
            "(item-feature::assign ?o (??f (item-feature home)))",
        )
    )
    (folder / SKETCH).write_text(changed)
    with pytest.raises(Error) as caught:
        load_model(folder, modules={"facing": facing})
    messages = [d.message for d in caught.value.diagnostics]
    assert {d.code for d in caught.value.diagnostics} == {"changed-sketch"}
    assert any("`derived::is-red::f` was" in m for m in messages)
    assert any("`action::turn::g` is new" in m for m in messages)
    assert any("`action::turn::f` is gone" in m for m in messages)
    assert any("`action::paint::f` was called as" in m for m in messages)
    assert not any("derived::item-feature::f" in m for m in messages)


def test_a_change_beside_the_blanks_does_no_harm(folder):
    text = (folder / SKETCH).read_text()
    (folder / SKETCH).write_text(text.replace("(:action unlock", "; a comment\n(:action open-up"))
    model = load_model(folder, modules={"facing": facing})
    assert "open-up" in model.domain.actions


def test_another_domain_can_be_given(folder):
    assert load_model(folder, {"facing": facing}, domain=GRID).domain is GRID
    other = parse_domain("(define (domain other) (:predicates (p)))")
    with pytest.raises(Error, match="is gone"):
        load_model(folder, domain=other)


def edit(folder, **fields):
    described = json.loads((folder / ARCHITECTURE).read_text())
    described.update(fields)
    (folder / ARCHITECTURE).write_text(json.dumps(described))


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: (f / ARCHITECTURE).write_text("{"),
        lambda f: (f / ARCHITECTURE).write_text("[" * 100000),
        lambda f: (f / ARCHITECTURE).write_text("[]"),
        lambda f: (f / ARCHITECTURE).write_bytes(b"\0\1\2"),
        lambda f: (f / ARCHITECTURE).unlink(),
        lambda f: (f / SKETCH).unlink(),
        lambda f: (f / SKETCH).write_text("(define (domain"),
        lambda f: (f / WEIGHTS).unlink(),
        lambda f: (f / WEIGHTS).write_bytes(b"\x80\x04\x95pickle"),
        lambda f: (f / WEIGHTS).write_bytes(b""),
        lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:-8]),
        lambda f: edit(f, format=99),
        lambda f: edit(f, seed="x"),
        lambda f: edit(f, tnorm="x"),
        lambda f: edit(f, blanks=[]),
        lambda f: edit(f, blanks={"derived::is-red::f": 3}),
        lambda f: edit(f, bound={"v": ["x"]}),
        lambda f: edit(f, notes=None),
    ],
)
def test_a_damaged_folder_is_an_error(folder, damage):
    damage(folder)
    with pytest.raises(Error):
        load_model(folder, modules={"facing": facing})


def test_what_is_no_folder_is_an_error(tmp_path):
    with pytest.raises(Error, match="no such folder"):
        load_model(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(Error, match="cannot be written"):
        Model(GRID).save(tmp_path / "file")
    model = Model(GRID)
    model.notes["x"] = object()
    with pytest.raises(Error, match="JSON"):
        model.save(tmp_path / "m")


def test_what_is_no_folder_no_mapping_or_no_seed_is_refused(tmp_path):
    domain = parse_domain("(define (domain d))")
    with pytest.raises(Error, match="folder"):
        Model(domain).save(None)
    with pytest.raises(Error, match="folder"):
        load_model(3)
    with pytest.raises(Error, match="maps names"):
        load_model(str(tmp_path), modules=[1])
    with pytest.raises(Error, match="seed"):
        Model(domain, seed="x")


def test_weights_for_inputs_of_another_size_are_told_by_the_signature(folder):
    text = (folder / SKETCH).read_text()
    changed = text.replace(
        "(item-image [return_type=vector[float32, 3]]", "(item-image [return_type=vector[float32, 5]]"
    )
    assert changed != text
    (folder / SKETCH).write_text(changed)
    with pytest.raises(Error) as caught:
        load_model(folder, modules={"facing": facing})
    assert {d.code for d in caught.value.diagnostics} == {"changed-sketch"}
    assert any(
        "`derived::item-feature::f` was" in d.message and "and is" in d.message
        for d in caught.value.diagnostics
    )

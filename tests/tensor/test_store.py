"""Models on disk: nothing is lost, nothing is run, and changes are told."""

from __future__ import annotations

import json
import os
import shutil
import stat

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.files.killed import killed_at_each_step
from tests.files.reseal import reseal
from tests.files.test_writing import largest_file
from tests.tensor.worlds import GRID, facing, grid_state
from torch import nn

from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_domain
from pdsketch.nets.forms import Condition, TreeForm, plain
from pdsketch.nets.readings import InputReading
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State
from pdsketch.tensor.store import ARCHITECTURE, SKETCH, WEIGHTS_FILE, load_model

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
    assert not model.training  # networks that were trained are asked, not taught
    assert model.notes == {"trained": ["derived::is-red::f"]}
    before = Model(GRID, {"facing": facing}, seed=3, tnorm="product")
    assert torch.equal(model.holds(grid_state(), GOAL), before.holds(grid_state(), GOAL))
    a, b = (m.step(grid_state(), ("paint", "home"))["item-feature"] for m in (model, before))
    assert torch.equal(a, b)
    assert sorted(p.name for p in folder.iterdir()) == sorted([SKETCH, ARCHITECTURE, WEIGHTS_FILE])


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


def test_a_sketch_changed_beside_the_blanks_is_refused_unless_it_is_given(folder):
    changed = (folder / SKETCH).read_text().replace("(:action unlock", "; a comment\n(:action open-up")
    (folder / SKETCH).write_text(changed)
    with pytest.raises(Error, match="does not belong to the others") as caught:
        load_model(folder, modules={"facing": facing})
    (found,) = caught.value.diagnostics
    assert found.file == str(folder / SKETCH)
    assert "domain=load_domain" in found.help
    model = load_model(folder, modules={"facing": facing}, domain=parse_domain(changed))
    assert "open-up" in model.domain.actions


def test_another_domain_can_be_given(folder):
    assert load_model(folder, {"facing": facing}, domain=GRID).domain is GRID
    other = parse_domain("(define (domain other) (:predicates (p)))")
    with pytest.raises(Error, match="is gone"):
        load_model(folder, domain=other)


def edit(folder, **fields):
    """Change what ``model.json`` says, as somebody does who knows about digests."""
    reseal(folder, ARCHITECTURE, {**json.loads((folder / ARCHITECTURE).read_text()), **fields})


def edit_blank(folder, **fields):
    blanks = json.loads((folder / ARCHITECTURE).read_text())["blanks"]
    edit(folder, blanks={**blanks, "derived::is-red::f": {**blanks["derived::is-red::f"], **fields}})


def edit_weights(folder, change):
    weights = load_file(folder / WEIGHTS_FILE)
    save_file(change(weights), folder / WEIGHTS_FILE)
    reseal(folder, ARCHITECTURE)


def write_weights(folder, data):
    (folder / WEIGHTS_FILE).write_bytes(data)
    reseal(folder, ARCHITECTURE)


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
        lambda f: (f / WEIGHTS_FILE).unlink(),
        lambda f: write_weights(f, b"\x80\x04\x95pickle"),
        lambda f: write_weights(f, b""),
        lambda f: write_weights(f, (f / WEIGHTS_FILE).read_bytes()[:-8]),
        lambda f: edit(f, format=99),
        lambda f: edit(f, seed="x"),
        lambda f: edit(f, tnorm="x"),
        lambda f: edit(f, blanks=[]),
        lambda f: edit(f, blanks={"derived::is-red::f": 3}),
        lambda f: edit(f, bound={"v": ["x"]}),
        lambda f: edit(f, bound={"v": [True]}),
        lambda f: edit(f, notes=None),
        lambda f: edit_blank(f, signature=3),
        lambda f: edit_blank(f, calls=3),
        lambda f: edit_blank(f, calls=[3]),
        lambda f: edit_blank(f, module=[]),
        lambda f: edit_blank(f, shapes=3),
        lambda f: edit_blank(f, shapes=[3]),
        lambda f: edit_blank(f, shapes=[[4], [4]]),
        lambda f: edit_blank(f, shapes=[[5]]),
        lambda f: edit_blank(f, shapes=[[1 << 23] * 4]),
    ],
)
def test_a_damaged_folder_is_an_error(folder, damage):
    damage(folder)
    with pytest.raises(Error):
        load_model(folder, modules={"facing": facing})


RANGE = {"low": [0.0] * 4, "high": [1.0] * 4, "least": [0.0] * 4, "most": [1.0] * 4}


@pytest.mark.parametrize(
    "notes",
    [
        {"trained": 3},
        {"trained": [3]},
        {"verdicts": []},
        {"verdicts": {"derived::is-red::f": ["learned"]}},
        {"spread": {"item-feature": ["loud"] * 4}},
        {"spread": {"item-feature": [-1] * 4}},
        {"spread": {"nothing": [1]}},
        {"codes": {"item-feature": {"values": [[0.0, 1.0]] * 4}}},
        {"codes": {"item-feature": {"values": [[0.0, 1.0]] * 3, "steps": [1.0] * 3}}},
        {"codes": {"item-feature": {"values": [[1.0, 0.0]] * 4, "steps": [1.0] * 4}}},
        {"codes": {"item-feature": {"values": [[0.0, 1.0]] * 4, "steps": [0.0] * 4}}},
        {"codes": {"item-feature": {"values": [[0.0, 10**400]] * 4, "steps": [1.0] * 4}}},
        {"codes": {"item-feature": {"values": [[*range(1000)]] * 4, "steps": [1.0] * 4}}},
        {"codes": {"item-feature": {"values": [["x"]] * 4, "steps": [1.0] * 4}}},
        {"codes": {"nothing": {"values": [[]], "steps": [1.0]}}},
        {"experience": {"derived::is-red::f": 3}},
        {"experience": {"derived::is-red::f": [3]}},
        {"experience": {"derived::is-red::f": [{"low": [1.0]}]}},
        {"experience": {"derived::is-red::f": [{**RANGE, "most": [1.0]}]}},
        {"experience": {"derived::is-red::f": [{"seen": [[-1]]}]}},
    ],
    ids=str,
)
def test_notes_that_no_fit_leaves_are_refused(folder, notes):
    edit(folder, notes=notes)
    with pytest.raises(Error, match="its notes are not those of a model"):
        load_model(folder, modules={"facing": facing})


@pytest.mark.parametrize("record", [{"seen": [[0]]}, {name: end[:3] for name, end in RANGE.items()}])
def test_notes_that_do_not_fit_a_blank_are_told_when_it_is_asked(folder, record):
    edit(folder, notes={"trained": ["derived::is-red::f"], "experience": {"derived::is-red::f": [record]}})
    model = load_model(folder, modules={"facing": facing})
    with pytest.raises(Error, match=r"does not fit its (input 1|choices)"):
        model.outside(grid_state(), GOAL)


def test_notes_of_the_users_own_are_kept(folder):
    edit(folder, notes={"mine": [1, {"a": None}]})
    assert load_model(folder, modules={"facing": facing}).notes == {"mine": [1, {"a": None}]}


OPEN = """
(define (domain d) (:types item - object) (:predicates (v [return_type=vector[float32]] ?o - item))
  (:derived (p ?o - item) (??f (v ?o))))
"""


@pytest.mark.parametrize("shapes", [[[16777215]], [[1 << 20]]])
def test_networks_are_compared_with_the_weights_before_they_are_made(tmp_path, shapes, monkeypatch):
    model = Model(parse_domain(OPEN), seed=0)
    model.holds(State(model.domain, {"item": ["x"]}, {"v": [[1, 2, 3]]}), "(p x)")
    model.save(tmp_path)
    blanks = json.loads((tmp_path / ARCHITECTURE).read_text())["blanks"]
    edit(tmp_path, blanks={"derived::p::f": {**blanks["derived::p::f"], "shapes": shapes}})
    monkeypatch.setattr("pdsketch.tensor.compile.blanks.make", None)
    with pytest.raises(Error, match="bad-weights"):
        load_model(tmp_path)


def test_a_sketch_that_asks_for_larger_networks_than_were_saved_makes_none(folder, monkeypatch):
    text = (folder / SKETCH).read_text()
    assert "vector[float32, 4]" in text
    (folder / SKETCH).write_text(text.replace("vector[float32, 4]", "vector[float32, 4000000]"))
    described = json.loads((folder / ARCHITECTURE).read_text().replace("float32, 4]", "float32, 4000000]"))
    for blank in described["blanks"].values():
        blank.pop("shapes", None)
    reseal(folder, ARCHITECTURE, described)
    monkeypatch.setattr("pdsketch.tensor.compile.blanks.make", None)
    with pytest.raises(Error, match="bad-weights"):
        load_model(folder, modules={"facing": facing})


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float64, torch.float16])
def test_weights_of_another_dtype_are_refused(folder, dtype):
    name = "derived::is-red::f/first.weight"
    edit_weights(folder, lambda weights: {**weights, name: weights[name].to(dtype)})
    with pytest.raises(Error, match=r"is stored as .*, and the module has torch.float32"):
        load_model(folder, modules={"facing": facing})


def test_forms_are_saved_and_damaged_ones_refused(tmp_path):
    model = Model(GRID, {"facing": facing}, seed=3)
    network = model.blanks.network("derived::is-red::f")
    reading = InputReading("number", 0, place=2)
    network.form = TreeForm(
        plain(network.signature), [Condition(reading, 0.5, order=True)], (0, 1, 0), [(0.0,), (1.0,)]
    )
    model.save(tmp_path)
    again = load_model(tmp_path, modules={"facing": facing})
    assert str(again.forms) == str(model.forms) == "{'derived::is-red::f': (item-feature ?o)[2] <= 0.5}"
    assert torch.equal(model.holds(grid_state(), GOAL), again.holds(grid_state(), GOAL))
    described = json.loads((tmp_path / ARCHITECTURE).read_text())
    for damage in ({"leaves": [[0.0], [2.0]]}, {"node": [0, 1, 2]}, {"kind": "table"}, {"base": [0, None]}):
        form = {**described["blanks"]["derived::is-red::f"]["form"], **damage}
        blanks = {
            **described["blanks"],
            "derived::is-red::f": {**described["blanks"]["derived::is-red::f"], "form": form},
        }
        reseal(tmp_path, ARCHITECTURE, {**described, "blanks": blanks})
        with pytest.raises(Error, match="the form of `derived::is-red::f` is not what it should be"):
            load_model(tmp_path, modules={"facing": facing})


def test_a_killed_save_leaves_the_old_model_or_the_new_one(tmp_path):
    text = OPEN.replace("vector[float32]", "vector[float32, 2]")
    models = [Model(parse_domain(t), seed=seed) for seed, t in enumerate((text, text.replace(" d)", " e)")))]
    for model in models:
        model.notes["mine"] = model.seed
    models[0].save(tmp_path)
    found = set()
    for _ in killed_at_each_step(lambda: models[1].save(tmp_path)):
        model = load_model(tmp_path)
        wanted = models[model.seed]
        assert (model.domain.name, model.notes) == (wanted.domain.name, wanted.notes)
        weights = wanted.state_dict()
        assert all(torch.equal(weights[name], t) for name, t in model.state_dict().items())
        found.add(model.seed)
        if model.seed:
            models[0].save(tmp_path)
    assert found == {0, 1}


@pytest.mark.parametrize("part", [SKETCH, WEIGHTS_FILE, ARCHITECTURE])
def test_files_of_two_models_do_not_belong_together(folder, tmp_path, part):
    other = Model(parse_domain(GRID.source.text + "\n"), {"facing": facing}, seed=4)
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / part, folder)
    with pytest.raises(Error, match="does not belong to the others"):
        load_model(folder, modules={"facing": facing})


def test_a_full_disk_leaves_the_old_model(folder):
    other = Model(GRID, {"facing": facing}, seed=4)
    with pytest.raises(Error, match="cannot-write") as caught, largest_file(10_000):
        other.save(folder)
    assert caught.value.diagnostics[0].help
    assert load_model(folder, modules={"facing": facing}).seed == 3


def test_saving_follows_no_links(folder, tmp_path):
    precious = tmp_path / "profile"
    precious.write_text("mine")
    names = [SKETCH, ARCHITECTURE, WEIGHTS_FILE]
    for name in names:
        (folder / name).unlink()
    for name in (*names, *(f"{name}.new" for name in names), *(f"{name}.part" for name in names)):
        (folder / name).symlink_to(precious)
    Model(GRID, {"facing": facing}, seed=4).save(folder)
    assert precious.read_text() == "mine"
    assert load_model(folder, modules={"facing": facing}).seed == 4


def test_all_files_have_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        Model(GRID, {"facing": facing}).save(tmp_path / "m")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "m").iterdir()} == {0o640}


@pytest.mark.parametrize("part", [SKETCH, WEIGHTS_FILE, ARCHITECTURE])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder, part):
    (folder / part).unlink()
    os.mkfifo(folder / part)
    with pytest.raises(Error, match="this is a pipe"):
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

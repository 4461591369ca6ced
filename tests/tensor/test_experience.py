"""What blanks were trained on, and what is outside of it."""

import json

import pytest
import torch
from torch import nn

import pdsketch as pds
from pdsketch.tensor.experience import MOST_SEEN, NOTE, ExperienceRecorder

SKETCH = """
(define (domain things)
  (:types thing - object place - vector[float32, 2, tolerance=0.1] paint - int64[choices=4]
          picture - vector[float32, 6, 6, 3])
  (:predicates (at [return_type=place] ?t - thing) (colour [return_type=paint] ?t - thing) (old ?t - thing)
               (photo [return_type=picture] ?t - thing))
  (:derived (beside ?a ?b - thing) (??f (at ?a) (at ?b)))
  (:derived (red ?t - thing) (??f (colour ?t)))
  (:derived (worn ?t - thing) (??f (colour ?t) (old ?t)))
  (:derived (lonely ?t - thing) (??f (at ?t) (foreach (?o - thing) (when (old ?o) (at ?o)))))
  (:derived (dark ?t - thing) (??f (photo ?t)))
  (:action push :parameters (?t - thing) :effect (at::assign ?t (??g (at ?t)))))
"""

DOMAIN = pds.parse_domain(SKETCH)
NAMES = "abcdefgh"


def things(at, colour=None, old=None, photo=0.5):
    n = len(at)
    return pds.State(
        DOMAIN,
        {"thing": list(NAMES[:n])},
        {
            "at": torch.tensor(at, dtype=torch.float32),
            "colour": colour or [0] * n,
            "old": old or [False] * n,
            "photo": torch.full((n, 6, 6, 3), photo),
        },
    )


@pytest.fixture(scope="module")
def model():
    """A model whose blanks saw three things: near each other, between (0, 0) and (4, 4), in some colours."""
    model = pds.Model(DOMAIN, seed=0)
    recorder = ExperienceRecorder(DOMAIN.blanks)
    with model.blanks.watched(recorder), torch.no_grad():
        for x in range(4):
            for y in range(5):
                state = things([[x, y], [x + 1, y], [x, y]], [0, 1, 3], [True, False, False], 0.4 + 0.05 * x)
                for name in ("beside", "red", "worn", "lonely", "dark"):
                    run = model.engine.open(model.ready(state))
                    model.engine.predicate(run, name)
                model.step(state, ("push", "a"), crisp=True)
    recorder.write(model.notes)
    return model


@pytest.mark.parametrize(
    ("state", "question", "said"),
    [
        (things([[2, 2], [3, 2]]), "(beside a b)", None),
        (things([[0, 0], [4, 4]]), "(beside a b)", "on [-4, -4] as the difference of its inputs 1 and 2"),
        (things([[8, 2], [8, 2]]), "(beside a b)", "on [8, 2] as its input 1 (seen: [0, 0] to [4, 4])"),
        (things([[1, 1]], [3]), "(red a)", None),
        (things([[1, 1]], [2]), "(red a)", "on 2 as its choices (seen: 0; 1; 3)"),
        (things([[1, 1]], [0], [True]), "(worn a)", None),
        (things([[1, 1]], [3], [True]), "(worn a)", "on [3, 1] as its choices"),
        (things([[1, 1]] * 2, old=[True, True]), "(lonely a)", None),
        (
            things([[1, 1]] * 7, old=[True] * 7),
            "(lonely a)",
            "on 7 as the size of its input 2 (seen: 1 to 1)",
        ),
        (things([[1, 1]]), "(lonely a)", "on 0 as the size"),
        (things([[1, 1], [1, 9]], old=[True, False]), "(lonely a)", None),
        (things([[1, 1], [1, 9]], old=[False, True]), "(lonely a)", "on [1, 9] as an element of its input 2"),
        (things([[1, 1]], photo=0.47), "(dark a)", None),
        (things([[1, 1]], photo=0.9), "(dark a)", "(mean, deviation, least, greatest)"),
        (things([[2, 2]]), ("push", "a"), None),
        (things([[2, -3]]), ("push", "a"), "`action::push::g` was never trained on [2, -3]"),
    ],
)
def test_a_blank_says_what_is_outside_its_experience(model, state, question, said):
    found = model.outside(state, question)
    if said is None:
        assert found == ()
    else:
        assert len(found) == 1
        assert said in found[0]


def test_an_untrained_model_and_a_batch(model):
    assert pds.Model(DOMAIN, seed=0).outside(things([[99, 99]]), ("push", "a")) == ()
    batch = pds.StateBatch.of([things([[2, 2]]), things([[2, 60]])])
    assert "[2, 60]" in model.outside(batch, ("push", "a"))[0]


def test_experience_is_saved_and_loaded(model, tmp_path):
    assert json.loads(json.dumps(model.notes[NOTE])) == model.notes[NOTE]
    model.save(str(tmp_path / "model"))
    again = pds.load_model(str(tmp_path / "model"))
    state = things([[8, 2], [8, 2]])
    assert again.outside(state, "(beside a b)") == model.outside(state, "(beside a b)") != ()


class Linear(nn.Module):
    """A user's module."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


def corridor(goal, **modules):
    """A fit of a few steps on things between 0 and 5, and its state."""
    states = [things([[x, 0], [0, 0]]) for x in range(6)]
    model = pds.Model(DOMAIN, modules=modules, seed=0)
    pds.fit(
        model,
        [pds.Episode(states, [("push", "a")] * 5, goal, [0, 0, 0, 0, 1, 1])] * 2,
        steps=3,
        seed=0,
        forms=False,
    )
    return model


def test_fit_records_what_each_trained_blank_saw_users_modules_too():
    model = corridor("(beside a b)", **{"action::push::g": Linear()})
    assert set(model.notes[NOTE]) == {"action::push::g", "derived::beside::f"}
    assert model.notes[NOTE]["action::push::g"][0]["high"] == [4.0, 0.0]
    assert model.outside(things([[3, 0], [0, 0]]), "(beside a b)") == ()
    assert "on [9, 0]" in model.outside(things([[9, 0], [5, 0]]), "(beside a b)")[0]


def test_an_empty_plan_whose_goal_rests_on_a_guess_is_warned_of():
    always = corridor("(beside a b)")
    always.blanks.calls["derived::beside::f"] = lambda a, _: torch.ones(a.shape[:-1])
    far = pds.plan(always, things([[0, 0], [30, 0]]), "(beside a b)")
    near = pds.plan(always, things([[3, 0], [0, 0]]), "(beside a b)")
    assert (far.plan, near.plan) == ([], [])
    assert near.warnings == ()
    assert any("`derived::beside::f` was never trained on" in warning for warning in far.warnings)


def test_only_the_objects_that_a_plan_is_about_are_looked_at():
    always = corridor("(beside a b)")
    always.blanks.calls["derived::beside::f"] = lambda a, _: torch.ones(a.shape[:-1])
    result = pds.plan(always, things([[3, 0], [0, 0], [99, 99]]), "(beside a b)")
    assert (result.plan, result.warnings) == ([], ())


def test_where_there_is_no_plan_the_reasons_say_what_is_a_guess():
    never = corridor("(beside a b)")
    never.blanks.calls["derived::beside::f"] = lambda a, _: torch.zeros(a.shape[:-1])
    result = pds.plan(never, things([[0, 0], [30, 0]]), "(beside a b)", max_expansions=3)
    assert result.status == "gave-up"
    assert any("`derived::beside::f` was never trained on" in reason for reason in result.reasons)


def test_unseen_combinations_of_many_choices_are_told():
    """However many there are; of a blank that met more than are kept, none is strange."""
    names = [f"p{i}" for i in range(14)]
    domain = pds.parse_domain(f"""
    (define (domain many) (:types box) (:predicates {" ".join(f"({n} ?b - box)" for n in names)})
      (:derived (odd ?b - box) (??f {" ".join(f"({n} ?b)" for n in names)})))
    """)
    rows = torch.randint(2, (2 * MOST_SEEN, 14), generator=torch.Generator().manual_seed(0))

    def said(some):
        model, recorder = pds.Model(domain, seed=0), ExperienceRecorder(domain.blanks)
        objects = {"box": [f"b{i}" for i in range(len(some))]}
        state = pds.State(domain, objects, {n: some[:, i].bool() for i, n in enumerate(names)})
        with model.blanks.watched(recorder), torch.no_grad():
            model.engine.predicate(model.engine.open(model.ready(state)), "odd")
        recorder.write(model.notes)
        asked = pds.State(domain, {"box": ["a"]}, {n: [i == 3] for i, n in enumerate(names)})
        return model.outside(asked, "(odd a)")

    assert not (rows == torch.tensor([i == 3 for i in range(14)])).all(1)[:300].any()
    assert "on [0, 0, 0, 1, 0, 0, …] as its choices" in said(rows[:300])[0]
    assert said(rows) == ()

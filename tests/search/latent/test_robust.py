"""A margin is in the units of values: plans are moved to where they survive errors of that size."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain near)
  (:types block - object pose - vector[float32, 2, tolerance=0.01])
  (:predicates (at [return_type=pose] ?b - block))
  (:derived (near ?a ?b - block) (??f (at ?a) (at ?b)))
  (:action put :parameters (?b - block ?p - pose) :effect (at::assign ?b ?p)))
""")


def near(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(300 * (0.1 - (p - q).norm(dim=-1, keepdim=True)))


MODEL = pds.Model(DOMAIN, modules={"near": near})
STATE = pds.State(DOMAIN, {"block": ["a", "b"]}, {"at": [[0.1, 0.1], [0.5, 0.5]]})
RIM: dict[str, Any] = {
    "generators": {"pose": lambda model, state, number: [[0.597, 0.5]]},
    "candidates": "generators",
}


def distance(plan: list[Any]) -> float:
    ((_, name, place),) = plan
    assert name == "a"
    return float((torch.tensor(place) - torch.tensor([0.5, 0.5])).norm())


@pytest.mark.parametrize("margin", [0.01, 0.03, {"at": 0.02}])
def test_a_plan_holds_wherever_errors_within_the_margin_lead(margin: Any) -> None:
    assert distance(pds.plan(MODEL, STATE, "(near a b)", **RIM).plan) > 0.096
    result = pds.plan(MODEL, STATE, "(near a b)", margin=margin, **RIM)
    size = margin["at"] if isinstance(margin, dict) else margin
    assert not result.warnings
    ((_, _, place),) = result.plan
    for way in torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]):
        assert near(torch.tensor(place) + size * way, STATE["at"][1]) > 0.5


def test_where_nothing_is_safe_the_safest_is_returned_with_a_warning() -> None:
    result = pds.plan(MODEL, STATE, "(near a b)", margin=0.2, **RIM)
    assert result.solved
    (warning,) = result.warnings
    assert "of 16 replays fail, and no values near those of the plan are safer" in warning


def test_unless_given_it_is_what_training_measured() -> None:
    model = pds.Model(DOMAIN, modules={"near": near})
    model.notes["spread"] = {"at": [0.02, 0.02]}
    assert distance(pds.plan(model, STATE, "(near a b)", **RIM).plan) < 0.08
    assert distance(pds.plan(model, STATE, "(near a b)", margin=0.0, **RIM).plan) > 0.096


@pytest.mark.parametrize(
    ("margin", "words"),
    [(-1, "not negative"), ("x", "not negative"), ({"on": 0.1}, "no such float variable")],
)
def test_what_is_no_margin_is_refused(margin: Any, words: str) -> None:
    with pytest.raises(pds.Error, match=words):
        pds.plan(MODEL, STATE, "(near a b)", margin=margin, **RIM)


def test_a_block_that_settles_elsewhere_within_the_tolerance_is_not_put_there_again_and_again() -> None:
    class Settling:
        """What is put down ends up 9 mm to the right."""

        domain, goal, executed = DOMAIN, "(near a b)", True

        def reset(self, seed: int | None = None) -> pds.State:
            self.at = torch.tensor([[0.1, 0.1], [0.5, 0.5]])
            return self.see()

        def step(self, action: Any) -> pds.State:
            assert action[1] == "a"
            self.at[0] = torch.tensor(action[2]) + torch.tensor([0.009, 0.0])
            return self.see()

        def see(self) -> pds.State:
            self.success = bool(near(*self.at) > 0.5)
            return pds.State(DOMAIN, {"block": ["a", "b"]}, {"at": self.at.clone()})

    def proposed(model: pds.Model, state: pds.State, *objects: str) -> list[list[float]]:
        return [[0.597, 0.5], [0.55, 0.5]] if objects == ("a",) else []

    options: Any = {"candidates": "generators", "margin": 0.0}
    remembers = pds.Policy(MODEL, samplers={"put.?p": proposed}, options=options)
    done = pds.rollout(remembers, Settling(), seeds=[0], max_steps=6)
    assert done.success == (True,)
    assert len(done[0].actions) <= 3
    careful = pds.Policy(MODEL, samplers={"put.?p": proposed}, options={**options, "margin": 0.01})
    assert pds.rollout(careful, Settling(), seeds=[0], max_steps=6).steps == (1,)


TOWER = pds.parse_domain("""
(define (domain tower)
  (:types block - object pose - vector[float32, 2, tolerance=0.01])
  (:predicates (at [return_type=pose] ?b - block))
  (:derived (on ?a ?b - block) (??f (at ?a) (at ?b)))
  (:action put :parameters (?b - block ?p - pose) :effect (at::assign ?b ?p)))
""")


def test_samplers_are_asked_about_states_that_were_reached() -> None:
    """A place above a block that was moved is no place above where it was."""

    def on(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(1000 * (0.01 - (p - q - torch.tensor([0.0, 0.1])).norm(dim=-1, keepdim=True)))

    def above(model: pds.Model, state: pds.State, block: str) -> Any:
        others = [i for i, name in enumerate(state.members("block")) if name != block]
        return state["at"][others] + torch.tensor([0.0, 0.1])

    names = ["a", "b", "c"]
    state = pds.State(TOWER, {"block": names}, {"at": [[0.1, 0.0], [0.5, 0.0], [0.9, 0.0]]})
    result = pds.plan(
        pds.Model(TOWER, modules={"on": on}),
        state,
        "(and (on a b) (on b c))",
        samplers={"put.?p": above},
        candidates="generators",
    )
    assert [step[1] for step in result.plan] == ["b", "a"]

"""Where the values of value parameters come from: goals, relations that sample, samplers, generators."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from tests.tabletop import Tabletop, learned, new_model, solved

import pdsketch as pds
from pdsketch.abstract import abstraction_of

ROW = "(and (left-of b0 b1) (left-of b1 b2))"
TOWER = "(and (on b0 b1) (on b1 b2))"

MOVES = """
(define (domain moves)
  (:types thing - object place - vector[float32, 2] size - float32)
  (:predicates (at [return_type=place] ?t - thing) (near ?a - place ?b - place) (held ?t - thing))
  (:action move-to :parameters (?t - thing ?p - place) :effect (assign (at ?t) ?p))
  (:action grasp :parameters (?t - thing) :precondition (near (at ?t) [9, 9]) :effect (held ?t)))
"""


def moves(near: Any = None, places: Any = ((0.0, 0.0), (1.0, 1.0))) -> tuple[pds.Model, pds.State]:
    domain = pds.parse_domain(MOVES)
    near = near or (lambda a, b: ((a - b).norm(dim=-1) < 0.5).float())
    names = [f"t{i}" for i in range(len(places))]
    state = pds.State(domain, {"thing": names}, {"at": places, "held": [False] * len(places)})
    return pds.Model(domain, modules={"near": near}), state


class Near(torch.nn.Module):
    """Holds half a unit around b, and proposes what ``proposed`` says."""

    def __init__(self, proposed: Any = None) -> None:
        super().__init__()
        self.proposed, self.asked = proposed, 0

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return ((a - b).norm(dim=-1) < 0.5).float()

    def sample(
        self, other: torch.Tensor, n: int = 1, *, argument: int = 0, generator: torch.Generator | None = None
    ) -> Any:
        self.asked += 1
        if self.proposed is not None:
            return self.proposed(other, n)
        return other.unsqueeze(-2).expand(*other.shape[:-1], n, 2)


@pytest.mark.parametrize("search", [None, "astar", "abstract"])
@pytest.mark.parametrize("candidates", ["all", "generators"])
def test_constants_of_the_goal_are_candidates(search: Any, candidates: Any) -> None:
    model, state = moves()
    goal = "(= (at t0) [0.25, 0.5])"
    result = pds.plan(model, state, goal, search=search, candidates=candidates)
    assert result.plan == [("move-to", "t0", (0.25, 0.5))]
    assert result.expanded <= 2


@pytest.mark.parametrize("goal", [ROW, TOWER])
def test_relations_that_were_learned_propose_places_for_goals_that_were_not(goal: str) -> None:
    model, began = learned(), time.process_time()
    for succeeded, result in solved(model, goal, range(5)):
        assert succeeded, result
        assert result.plan is not None
        assert len(result.plan) == 2
    assert time.process_time() - began < 25


def test_what_was_proposed_to_another_value_comes_after_it() -> None:
    """A search knows no gravity: only the order of the goal's parts says which block is to be put first."""
    result = pds.plan(learned(), Tabletop(4).reset(3), TOWER, search="abstract")
    assert result.plan is not None
    assert [step[2][2] for step in result.plan] == pytest.approx([0.06, 0.10], abs=0.01)


def test_the_rules_are_left_out_where_values_cannot_be_listed() -> None:
    result = pds.plan(learned(), Tabletop(4).reset(0), ROW)
    assert [(stage.name, stage.ended) for stage in result.stages] == [
        ("rules", "left out: actions take values that cannot be listed"),
        ("latent", "solved"),
    ]


def test_codes_of_what_was_proposed_in_earlier_problems_are_forgotten() -> None:
    model = learned()
    counts = []
    for seed in range(8):
        assert pds.plan(model, Tabletop(4).reset(seed), "(left-of b0 b1)", heuristic="ao").solved
        counts.append(sum(map(len, abstraction_of(model).books.books())))
    assert counts[-1] < max(counts)


def test_many_problems_and_policies_have_them_too() -> None:
    worlds = [Tabletop(4, goal) for goal in (ROW, TOWER)]
    results = pds.plan_many(learned(), [w.reset(7) for w in worlds], [w.goal for w in worlds])
    assert all(result.solved for result in results)
    done = pds.rollout(pds.Policy(learned()), worlds, seeds=[7, 8], max_steps=6)
    assert done.success == (True, True)


def test_relations_of_preconditions_propose_values() -> None:
    model, state = moves(Near())
    result = pds.plan(model, state, "(held t1)")
    assert result.plan == [("move-to", "t1", (9.0, 9.0)), ("grasp", "t1")]


def test_only_what_the_goal_speaks_of_is_proposed_at_first() -> None:
    near = Near()
    model, state = moves(near, [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)])
    result = pds.plan(model, state, "(near (at t0) (at t3))", candidates="generators", search="astar")
    assert result.plan == [("move-to", "t0", (3.0, 3.0))]
    assert result.generated <= 1 + 4  # one place, four things
    assert near.asked >= 1


def test_more_rounds_propose_more() -> None:
    """The surest value will not do: only what is proposed in the third round."""

    def proposed(other: torch.Tensor, n: int) -> torch.Tensor:
        return other.unsqueeze(-2) + torch.tensor([[9.0, 9.0], [8.0, 8.0], [0.25, 0.0]])[:n]

    class Beside(Near):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return super().forward(a * 50, b * 50 + torch.tensor([12.5, 0.0]))

    model, state = moves(Beside(proposed))
    result = pds.plan(model, state, "(near (at t0) (at t1))", candidates="generators")
    assert result.plan == [("move-to", "t0", (1.25, 1.0))]


def test_only_generated_values_where_that_is_asked_for() -> None:
    model, state = moves()
    goal = "(near (at t0) (at t1))"
    assert pds.plan(model, state, goal).plan == [("move-to", "t0", (1.0, 1.0))]
    none = pds.plan(model, state, goal, candidates="generators")
    assert none.status == "gave-up"
    own = {"place": lambda *_: [[1.25, 1.0]]}
    assert pds.plan(model, state, goal, candidates="generators", generators=own).plan == [
        ("move-to", "t0", (1.25, 1.0))
    ]


def test_samplers_see_the_other_arguments() -> None:
    asked = []

    def sampler(model: pds.Model, state: pds.State, thing: str) -> Any:
        asked.append(thing)
        return {"t0": [[5.0, 5.0]], "t1": [[1.0, 1.2]]}[thing]

    model, state = moves(places=[(0.0, 0.0), (3.0, 3.0)])
    given = {"Move-To.?p": sampler}
    for search in (None, "astar", "abstract"):
        goal = "(and (near (at t0) [5, 5]) (near (at t1) [1, 1]))"
        result = pds.plan(model, state, goal, search=search, samplers=given)
        assert sorted(result.plan or ()) == [
            ("move-to", "t0", (5.0, 5.0)),
            ("move-to", "t1", pytest.approx((1, 1.2))),
        ]
    assert {*asked} == {"t0", "t1"}
    # What is proposed for one is not for the other.
    assert pds.plan(model, state, "(near (at t1) [5, 5])", samplers=given, time_limit=600).status == "gave-up"
    policy = pds.Policy(model, samplers=given)
    assert policy.act(state, "(near (at t0) [5, 5])") == ("move-to", "t0", (5.0, 5.0))


def test_samplers_of_problems_with_different_objects_are_kept_apart() -> None:
    model, state = moves()
    _, other = moves(places=[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)])
    given = {"move-to.p": lambda m, s, thing: [[8.0, float(thing[1])]]}
    goals = ["(near (at t1) [8, 1])", "(near (at t2) [8, 2])"]
    results = pds.plan_many(model, [state, other], goals, samplers=given)
    assert [r.plan for r in results] == [[("move-to", "t1", (8.0, 1.0))], [("move-to", "t2", (8.0, 2.0))]]


def _raises(*_: Any) -> Any:
    raise KeyError("no such drawer")


WRONG = {
    "a wrong shape": (lambda *_: [[1.0, 2.0, 3.0]], "shape-mismatch"),
    "no row": (lambda *_: [1.0, 2.0], "shape-mismatch"),
    "NaN": (lambda *_: [[1.0, float("nan")]], "not-finite"),
    "None": (lambda *_: None, "bad-generator"),
    "words": (lambda *_: "here", "bad-generator"),
    "a failure": (_raises, "bad-generator"),
    "another signature": (lambda: [[1.0, 2.0]], "bad-generator"),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("source", ["generators", "samplers", "module"])
def test_what_proposes_nonsense_is_told(kind: str, source: str) -> None:
    wrong, code = WRONG[kind]
    model, state = moves(Near(wrong) if source == "module" else None)
    options: dict[str, Any] = {
        "generators": {"generators": {"place": wrong}},
        "samplers": {"samplers": {"move-to.?p": wrong}},
        "module": {},
    }[source]
    with pytest.raises(pds.Error) as failure:
        pds.plan(model, state, "(near (at t0) (at t1))", **options)
    (told,) = failure.value.diagnostics
    assert told.code == code
    assert {"generators": "generator of `place`", "samplers": "`move-to.?p` for t0", "module": "`near`"}[
        source
    ] in told.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samplers": {"move-to.?q": _raises}}, r"did you mean `move-to\.\?p`"),
        ({"samplers": {"grasp.?t": _raises}}, r"no such value parameter"),
        ({"samplers": {"move-to": _raises}}, r"no such value parameter"),
        ({"samplers": {"move-to.?p": 3}}, "no function"),
        ({"samplers": [_raises]}, "maps parameters"),
        ({"candidates": "state"}, "`all` or `generators`"),
    ],
)
def test_options_that_are_none_are_refused(options: Any, message: str) -> None:
    model, state = moves()
    with pytest.raises(pds.Error, match=message):
        pds.plan(model, state, "(held t0)", **options)


def test_why_there_is_no_plan_names_the_relation_that_nothing_was_proposed_for() -> None:
    model = new_model(**{"on": lambda a, b: ((a - b)[..., 2] > 5).float()})
    state = Tabletop(3).reset(0)
    result = pds.plan(model, state, "(and (left-of b0 b1) (on b1 b2))", time_limit=5, max_expansions=500)
    assert not result.solved
    (said,) = [reason for reason in result.reasons if "that were proposed" in reason]
    assert "`derived::on::f`" in said
    assert 'generators={"pose": fn}' in said
    assert said == result.reasons[1]


TRAY = """
(define (domain tray)
  (:types block tray - object pose - vector[float32, 3, tolerance=0.01])
  (:predicates (at [return_type=pose] ?b - block) (centre [return_type=pose] ?t - tray))
  (:derived (on ?a ?b - block) (??f (at ?a) (at ?b)))
  (:derived (inside ?a - block ?t - tray) (??f (at ?a) (centre ?t)))
  (:action put :parameters (?b - block ?p - pose) :effect (at::assign ?b ?p)))
"""


class On(torch.nn.Module):
    """Five centimetres above, give or take two."""

    above = torch.tensor([0, 0, 0.05])

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return ((a - b - self.above).norm(dim=-1) < 0.02).float()

    def sample(self, other: torch.Tensor, n: int, argument: int = 0, generator: Any = None) -> torch.Tensor:
        return (other + self.above).unsqueeze(-2).expand(*other.shape[:-1], n, 3)


def test_relations_propose_to_what_generators_propose() -> None:
    """And what stands below is put there first, though poses are absolute."""
    inside = lambda p, c: ((p - c)[..., :2].norm(dim=-1) < 0.07).float()  # noqa: E731
    model = pds.Model(pds.parse_domain(TRAY), modules={"on": On(), "inside": inside})
    values = {"at": [[0.1, 0.1, 0], [0.3, 0.1, 0], [0.5, 0.1, 0]], "centre": [[0.8, 0.8, 0]]}
    state = pds.State(model.domain, {"block": ["a", "b", "c"], "tray": ["t"]}, values)
    generators = {"pose": lambda model, state, number: [[0.82, 0.79, 0.01], [0.5, 0.5, 0.0]]}
    goal = "(and (inside b t) (on a b) (on c a))"
    result = pds.plan(model, state, goal, candidates="generators", generators=generators)
    assert [step[1] for step in result.plan or ()] == ["b", "a", "c"]
    assert pds.validate(model, result.plan, state, goal)


TOWERS = pds.parse_domain("""
(define (domain towers) (:types block - object place - vector[float32, 2, tolerance=0.01])
 (:predicates (at [return_type=place] ?b - block))
 (:derived (on ?a ?b - block) (??f (at ?a) (at ?b)))
 (:action put :parameters (?b - block ?p - place) :precondition (not (exists (?o - block) (on ?o ?b)))
  :effect (at::assign ?b ?p)))""")


def test_samplers_are_asked_where_each_part_of_a_goal_holds():
    def on(p, q):
        return ((p - q - torch.tensor([0.0, 1.0])).abs().amax(-1, keepdim=True) < 0.1).float()

    def above(model, state, block):
        others = [name for name in state.members("block") if name != block]
        at = dict(zip(state.members("block"), state["at"].tolist(), strict=True))
        return [[at[name][0], at[name][1] + 1] for name in others]

    model = pds.Model(TOWERS, modules={"derived::on::f": on})
    state = pds.State(TOWERS, {"block": [*"abc"]}, {"at": [[0, 0], [5, 0], [9, 0]]})
    # C on b is as near to the goal as b on a, and is no way to it: b can no longer be moved.
    found = pds.plan(
        model,
        state,
        "(and (on c b) (on b a))",
        samplers={"put.?p": above},
        candidates="generators",
        max_expansions=600,
    )
    assert found.plan == [("put", "b", (0.0, 1.0)), ("put", "c", (0.0, 2.0))]

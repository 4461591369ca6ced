"""What modules are given, and what they must return."""

from __future__ import annotations

import pytest
import torch
from tests.tensor.worlds import GRID, facing, grid_state
from torch import nn

from pdsketch.lang.diagnostics import Error
from pdsketch.lang.load import parse_domain
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import State, StateBatch

KINDS = parse_domain("""
(define (domain kinds)
  (:types item robot - object
          pose - vector[float32, 2]  code - vector[int64, 3, choices=5]
          picture - vector[float32, 4, 4, 3]  hue - int64[choices=6])
  (:predicates (at [return_type=pose] ?o - item) (size [return_type=float32] ?o - item)
    (count [return_type=int64] ?o - item) (hue-of [return_type=hue] ?o - item)
    (code-of [return_type=code] ?o - item) (picture-of [return_type=picture] ?o - item)
    (lit ?o - item) (near ?o - item ?r - robot) (home [return_type=pose] ?r - robot)
    (next-hue [return_type=hue] ?h - hue) (bright ?h - hue) (double [return_type=int64] ?n - int64)
    (total [return_type=float32] ?c - code))
  (:derived (every-kind ?o - item)
    (??f (at ?o) (size ?o) (count ?o) (hue-of ?o) (code-of ?o) (picture-of ?o) (lit ?o)))
  (:derived (pair ?o - item ?r - robot) (??f (at ?o) (home ?r)))
  (:derived (one ?o - item) (??f (at ?o)))
  (:derived (crowd ?r - robot)
    (??f (home ?r) (foreach (?o - item) (when (near ?o ?r) (at ?o)))
      (foreach (?a - item ?b - item) (lit ?a))))
  (:derived (maybe ?o - item) (??f (when (lit ?o) (at ?o))))
  (:derived (constant) (??f))
  (:derived (vector-out [return_type=pose] ?o - item) (??f (at ?o)))
  (:derived (number-out [return_type=float32] ?o - item) (??f (at ?o)))
  (:derived (hue-out [return_type=hue] ?o - item) (??f (at ?o)))
  (:derived (code-out [return_type=code] ?o - item) (??f (at ?o)))
  (:derived (is-bright ?o - item) (bright (next-hue (hue-of ?o))))
  (:derived (soft-bright ?o - item) (bright (next-hue (hue-out ?o))))
  (:derived (soft-total [return_type=float32] ?o - item) (total (code-out ?o))))
""")


def state(items=3, robots=2) -> State:
    objects = {"item": [f"i{k}" for k in range(items)], "robot": [f"r{k}" for k in range(robots)]}
    generator = torch.Generator().manual_seed(items)
    return State(
        KINDS,
        objects,
        {
            "at": torch.rand(items, 2, generator=generator),
            "size": torch.rand(items, generator=generator),
            "count": torch.arange(items),
            "hue-of": torch.arange(items) % 6,
            "code-of": torch.randint(5, (items, 3), generator=generator),
            "picture-of": torch.rand(items, 4, 4, 3, generator=generator),
            "lit": torch.arange(items) % 2 == 0,
            "near": torch.rand(items, robots, generator=generator) > 0.5,
            "home": torch.rand(robots, 2, generator=generator),
        },
    )


class ExperienceRecorder:
    """A module that notes what it is called with."""

    def __init__(self, result):
        self.calls = []
        self.result = result

    def __call__(self, *args):
        self.calls.append(args)
        return self.result(*args)


def truth_of(*args):
    first = args[0][0] if isinstance(args[0], tuple) else args[0]
    n = 2 if isinstance(args[0], tuple) else 1
    return torch.full(first.shape[:-n], 0.75)


def ask(name, blank, module, crisp=False, given=None, **more):
    model = Model(KINDS, {blank: module, **more})
    run = model.engine.open(model.ready(given or state()))
    from pdsketch.tensor.compile.logic import CRISP

    return model.engine.predicate(run, name, CRISP if crisp else model.logic)


@pytest.mark.parametrize("crisp", [False, True])
def test_every_kind_of_value_reaches_a_blank_in_its_form(crisp):
    recorder = ExperienceRecorder(truth_of)
    ask("every-kind", "derived::every-kind::f", recorder, crisp)
    (args,) = recorder.calls
    assert [tuple(a.shape) for a in args] == [
        (1, 3, 2),
        (1, 3, 1),
        (1, 3, 1),
        (1, 3, 6),
        (1, 3, 3, 5),
        (1, 3, 4, 4, 3),
        (1, 3, 1),
    ]
    assert all(a.dtype == torch.float32 for a in args)
    assert torch.equal(args[3].argmax(-1), torch.tensor([[0, 1, 2]]))
    assert torch.equal(args[3].sum(-1), torch.ones(1, 3))


def test_arguments_are_expanded_to_the_same_leading_axes():
    recorder = ExperienceRecorder(truth_of)
    found = ask("pair", "derived::pair::f", recorder)
    (args,) = recorder.calls
    assert [tuple(a.shape) for a in args] == [(1, 3, 2, 2), (1, 3, 2, 2)]
    assert found.shape == (1, 3, 2)


def test_a_unary_predicate_is_computed_over_its_own_axis_alone():
    recorder = ExperienceRecorder(truth_of)
    model = Model(KINDS, {"derived::one::f": recorder})
    model.holds(state(), "(forall (?a ?b - item ?r - robot) (and (one ?a) (one ?b) (near ?a ?r)))")
    assert [tuple(a[0].shape) for a in recorder.calls] == [(1, 3, 2)]


def test_sets_come_with_weights():
    recorder = ExperienceRecorder(lambda home, near, pairs: torch.ones(home.shape[:-1]))
    ask("crowd", "derived::crowd::f", recorder)
    ((home, near, pairs),) = recorder.calls
    assert home.shape == (1, 2, 2)
    assert near[0].shape == (1, 2, 3, 2)
    assert torch.equal(near[1], state()["near"].T.float()[None])
    assert pairs[0].shape == (1, 2, 9, 1)
    assert torch.equal(pairs[1], torch.ones(1, 2, 9))
    assert torch.equal(pairs[0][0, 0, :, 0], torch.tensor([1.0] * 3 + [0.0] * 3 + [1.0] * 3))


def test_when_alone_is_a_set_of_at_most_one():
    recorder = ExperienceRecorder(lambda maybe: torch.ones(maybe[1].shape[:-1]))
    ask("maybe", "derived::maybe::f", recorder, crisp=True)
    ((values, weights),) = recorder.calls[0]
    assert values.shape == (1, 3, 1, 2)
    assert weights[0, :, 0].tolist() == [1, 0, 1]


def test_padding_has_no_weight_in_a_set():
    recorder = ExperienceRecorder(lambda home, near, pairs: (near[0].sum(-1) * near[1]).sum(-1).clamp(0, 1))
    model = Model(KINDS, {"derived::crowd::f": recorder})
    states = [state(1), state(4), state(0)]
    together = model.holds(StateBatch.of(states), "(exists (?r - robot) (crowd ?r))")
    alone = torch.stack([model.holds(s, "(exists (?r - robot) (crowd ?r))") for s in states])
    assert torch.allclose(together, alone)


def test_a_blank_without_arguments_returns_its_value_alone():
    recorder = ExperienceRecorder(lambda: torch.tensor([0.25]))
    model = Model(KINDS, {"derived::constant::f": recorder})
    assert model.holds(state(), "(constant)") == 0.25
    assert recorder.calls == [()]


@pytest.mark.parametrize(
    ("name", "result", "shape"),
    [
        ("one", lambda x: x.sum(-1).sigmoid(), (1, 3)),
        ("one", lambda x: x.sum(-1, keepdim=True).sigmoid(), (1, 3)),
        ("one", lambda x: x.sum(-1) > 0, (1, 3)),
        ("vector-out", lambda x: x + 1, (1, 3, 2)),
        ("number-out", lambda x: x[..., :1], (1, 3)),
        ("number-out", lambda x: x[..., 0].double(), (1, 3)),
        ("hue-out", lambda x: torch.zeros(*x.shape[:-1], 6), (1, 3, 6)),
        ("code-out", lambda x: torch.zeros(*x.shape[:-1], 3, 5), (1, 3, 3, 5)),
    ],
)
def test_results_are_taken_in_the_forms_that_are_documented(name, result, shape):
    found = ask(name, f"derived::{name}::f", result)
    assert found.shape == shape
    assert found.dtype == torch.float32
    ask(name, f"derived::{name}::f", result, crisp=True)


def test_logits_become_probabilities_and_crisply_a_choice():
    logits = torch.tensor([0.0, 1.0, 3.0, 0.0, 0.0, 0.0])
    blank = {"derived::hue-out::f": lambda x: logits.expand(*x.shape[:-1], 6)}
    found = ask("hue-out", *blank.popitem())
    assert torch.allclose(found[0, 0], logits.softmax(-1))
    hard = ask("hue-out", "derived::hue-out::f", lambda x: logits.expand(*x.shape[:-1], 6), crisp=True)
    assert hard.tolist() == [[2, 2, 2]]
    assert hard.dtype == torch.int64


@pytest.mark.parametrize(
    ("name", "result", "words"),
    [
        ("one", lambda x: x, ["derived::one::f", "(1, 3, 2)", "(1, 3, 1)", "derived::one::f(pose) -> bool"]),
        ("one", lambda x: 0.5, ["float", "tensor was wanted"]),
        ("one", lambda x: x[0, 0, 0] * torch.ones(1), ["(1,)"]),
        ("one", lambda x: 5 * torch.ones(x.shape[:-1]), ["returned 5", "sigmoid"]),
        ("one", lambda x: torch.full(x.shape[:-1], float("nan")), ["NaN"]),
        ("vector-out", lambda x: x[..., :1], ["(1, 3, 1)", "(1, 3, 2)"]),
        ("vector-out", lambda x: x * float("nan"), ["NaN"]),
        ("hue-out", lambda x: x, ["(1, 3, 2)", "(1, 3, 6)"]),
        ("one", lambda x, y: x, ["failed on (1, 3, 2)", "positional argument"]),
        ("one", nn.Linear(5, 1), ["failed on (1, 3, 2)", "derived::one::f"]),
    ],
)
def test_wrong_results_name_the_blank_and_its_signature(name, result, words):
    with pytest.raises(Error) as caught:
        ask(name, f"derived::{name}::f", result)
    (found,) = caught.value.diagnostics
    for word in words:
        assert word in f"{found.message} {found.help}"


def test_external_functions_see_ints_as_int64():
    seen = []

    def next_hue(hue):
        seen.append(hue)
        return (hue + 1) % 6

    bright = ExperienceRecorder(lambda hue: (hue[..., 0] == 2).float())
    found = ask("is-bright", "next-hue", next_hue, bright=bright)
    assert found.tolist() == [[0, 1, 0]]
    assert seen[0].dtype == torch.int64
    assert seen[0].shape == (1, 3, 1)
    assert bright.calls[0][0].dtype == torch.int64


def test_soft_ints_are_mixed_by_probability():
    logits = torch.tensor([0.0, 1.0, 3.0, 0.0, -1.0, 0.0])
    modules = {
        "derived::hue-out::f": lambda x: logits.expand(*x.shape[:-1], 6),
        "bright": lambda hue: (hue[..., 0] >= 3).float(),
    }
    soft = ask("soft-bright", "next-hue", lambda hue: (hue + 1) % 6, **modules)
    p = logits.softmax(-1)
    assert torch.allclose(soft, (p[2] + p[3] + p[4]).expand(1, 3))
    crisp = ask("soft-bright", "next-hue", lambda hue: (hue + 1) % 6, crisp=True, **modules)
    assert crisp.tolist() == [[True] * 3]


def test_soft_vectors_of_ints_are_mixed_over_all_combinations():
    logits = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    blank = {"derived::code-out::f": lambda x: logits.expand(*x.shape[:-1], 3, 5)}
    found = ask("soft-total", "total", lambda code: code.sum(-1, keepdim=True).float(), **blank)
    mean = (logits.softmax(-1) * torch.arange(5)).sum()
    assert torch.allclose(found, mean.expand(1, 3), atol=1e-5)


def test_out_of_range_ints_are_refused():
    with pytest.raises(Error, match="returned 6; hue has choices 0 to 5"):
        ask("is-bright", "next-hue", lambda hue: hue * 0 + 6, bright=lambda h: h)


def test_an_external_function_that_is_not_given_is_asked_for_when_it_is_needed():
    model = Model(KINDS, {"derived::one::f": truth_of})
    model.holds(state(), "(exists (?o - item) (one ?o))")
    with pytest.raises(Error, match="`next-hue` is not given"):
        model.holds(state(), "(exists (?o - item) (is-bright ?o))")


def test_modules_are_checked_by_name():
    with pytest.raises(Error) as caught:
        Model(KINDS, {"derived::oen::f": truth_of, "nxt-hue": truth_of, "bright": 3})
    text = str(caught.value)
    assert "did you mean `derived::one::f`" in text
    assert "did you mean `next-hue`" in text
    assert "is a int, and no function" in text


def test_an_int_without_choices_needs_a_module():
    domain = parse_domain("""
    (define (domain d) (:types item - object) (:predicates (n [return_type=int64] ?o - item))
      (:action a :parameters (?o - item) :effect (assign (n ?o) (??f (n ?o)))))
    """)
    with pytest.raises(Error, match="an int without choices"):
        Model(domain)
    model = Model(domain, {"action::a::f": lambda n: n + 1.4})
    start = State(domain, {"item": ["x"]}, {"n": [3]})
    assert model.step(start, ("a", "x"), crisp=True)["n"].tolist() == [4]


def test_modules_are_registered_shared_and_frozen():
    net = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
    for p in net.parameters():
        p.requires_grad_(False)
    given = {"derived::one::f": net, "derived::maybe::f": lambda s: s[1].sum(-1)}
    model = Model(KINDS, given)
    own = {id(p) for p in model.parameters()}
    assert all(id(p) in own for p in net.parameters())
    assert not any(p.requires_grad for p in net.parameters())
    shared = Model(KINDS, {"derived::one::f": net, "derived::number-out::f": net})
    assert len([p for p in shared.parameters() if p is net[0].weight]) == 1


def test_no_objects_no_call():
    def boom(x):
        raise AssertionError("called over nothing")

    model = Model(KINDS, {"derived::one::f": boom, "derived::vector-out::f": boom})
    empty = state(items=0)
    assert model.holds(empty, "(forall (?o - item) (one ?o))") == 1
    assert model.holds(empty, "(exists (?o - item) (one ?o))") == 0


def test_default_networks_depend_on_the_seed_alone():
    def weights(model):
        return [p.detach() for p in model.parameters()]

    modules = {"facing": facing}
    a, b, c = (Model(GRID, modules, seed=s) for s in (1, 1, 2))
    assert all(torch.equal(x, y) for x, y in zip(weights(a), weights(b), strict=True))
    assert not all(torch.equal(x, y) for x, y in zip(weights(a), weights(c), strict=True))
    assert a.holds(grid_state().batch, "(exists (?o - item) (is-red ?o))").requires_grad


def test_torchs_own_seed_counts_where_none_is_given():
    torch.manual_seed(5)
    a = Model(GRID)
    torch.manual_seed(5)
    b = Model(GRID)
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


def test_modules_that_are_no_mapping_are_refused():
    with pytest.raises(Error, match="maps names of blanks"):
        Model(parse_domain("(define (domain d))"), modules=[1])


def test_an_external_int_function_that_returns_fractions_is_refused():
    domain = parse_domain(
        "(define (domain d) (:types k - int64[choices=4])"
        "(:predicates (on [return_type=k]) (up [return_type=k] ?k - k)))"
    )
    state = State(domain, {}, {"on": 1})
    with pytest.raises(Error, match="fractions"):
        Model(domain, {"up": lambda k: k + 0.5}).holds(state, "(= (up (on)) 1)")
    assert Model(domain, {"up": lambda k: k.float() + 1}).holds(state, "(= (up (on)) 2)") == 1

"""Rules of models: what is printed of them, and plans that rest on rules from samples."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pdsketch as pds
from pdsketch.abstract.andor import functions
from pdsketch.abstract.andor.codebooks import Codebook, Codebooks, closest, fitted, kmeans, relative_error
from pdsketch.abstract.andor.compile import abstraction_of, compile_and_or
from pdsketch.abstract.andor.readout import FunctionRules
from pdsketch.search.options import problem_options
from pdsketch.search.packed.engine import search


def one_hot(values, k):
    return torch.nn.functional.one_hot(values, k).float()


def of(domain, functions):
    """A model whose blanks, named as in ``cosy.f``, are these functions."""
    known = {}
    for name in domain.blanks:
        _, owner, blank = name.split("::")
        known[name] = functions[f"{owner}.{blank}"]
    return pds.Model(domain, modules=known)


LAMPS = """
(define (domain lamps)
  (:types lamp - object level - int64[choices=4])
  (:predicates (level-of [return_type=level] ?l - lamp) (switch [return_type=level] ?l - lamp))
  (:derived (odd ?l - lamp) (??f (level-of ?l) (switch ?l)))
  (:derived (same ?l - lamp) (??f (level-of ?l) (switch ?l)))
  (:action up :parameters (?l - lamp) :effect (level-of::assign ?l (??g (level-of ?l)))))
"""


def lamps():
    return of(
        pds.parse_domain(LAMPS),
        {
            "odd.f": lambda a, b: ((a.argmax(-1) + b.argmax(-1)) % 2).float(),
            "same.f": lambda a, b: (a.argmax(-1) == b.argmax(-1)).float(),
            "up.g": lambda a: one_hot((a.argmax(-1) + 1).clamp(max=3), 4),
        },
    )


def test_xor_and_equality_and_effects_are_printed_over_named_codes():
    found = pds.rules(lamps())
    by_owner = {f.owner: f for f in found.functions}
    odd = by_owner["odd"]
    assert odd.exact
    assert odd.cases == 16
    assert odd.lines()[0] == (
        "(odd ?l) = (or (and (or (level-of@0 ?l) (level-of@2 ?l)) (or (switch@1 ?l) (switch@3 ?l)))"
        " (and (or (level-of@1 ?l) (level-of@3 ?l)) (or (switch@0 ?l) (switch@2 ?l))))"
    )
    assert by_owner["same"].lines()[0] == "(same ?l) = (= (level-of ?l) (switch ?l))"
    assert by_owner["up"].lines() == [
        "(level-of ?l) <-",
        "  level@1 when (level-of@0 ?l)",
        "  level@2 when (level-of@1 ?l)",
        "  level@3 when (level-of@2 ?l)",
        "  unchanged otherwise",
        "  ; exact: all 4 combinations of codes",
    ]
    assert found.untrained == ()
    assert "up:\n  (level-of ?l) <-" in str(found)


WARMTH = """
(define (domain warmth)
  (:types thing - object heat - int64[choices=4])
  (:predicates (heat-of [return_type=heat] ?t - thing) (near ?t - thing) (done))
  (:derived (cosy) (??f (foreach (?t - thing) (when (near ?t) (heat-of ?t)))))
  (:action warm :parameters (?t - thing) :effect (heat-of::assign ?t (??g (heat-of ?t))))
  (:action fetch :parameters (?t - thing) :effect (near ?t))
  (:action finish :precondition (cosy) :effect (done)))
"""


def warmth(cosy):
    return of(
        pds.parse_domain(WARMTH),
        {"cosy.f": cosy, "warm.g": lambda a: one_hot((a.argmax(-1) + 1).clamp(max=3), 4)},
    )


def two_warm(values, held):
    return (((values.argmax(-1) >= 2).float() * held).sum(-1) >= 2).float()


def things(model, heats):
    names = [f"t{i}" for i in range(len(heats))]
    values = {"heat-of": heats, "near": [False] * len(heats), "done": False}
    return pds.State(model.domain, objects={"thing": names}, values=values)


def abstract_cost(model, state, goal):
    """The cost of an optimal plan in the abstraction."""
    universe = state.batch.universe(0)
    abstraction = compile_and_or(model, universe.types, universe.formula(goal), state.batch)
    return search(abstraction.task, problem_options(search="astar", heuristic="blind")).cost


def test_at_least_two_warm_things_are_planned_for_by_rules_from_samples():
    model = warmth(lambda given: two_warm(*given))
    result = pds.plan(model, things(model, [0, 1, 3]), "(done)", search="abstract")
    assert result.solved
    assert result.cost == pds.plan(model, things(model, [0, 1, 3]), "(done)", heuristic="blind").cost == 4
    assert result.refinements == 0
    assert abstract_cost(model, things(model, [0, 1, 3]), "(done)") == 4
    (cosy,) = [f for f in pds.rules(model).functions if f.owner == "cosy"]
    assert cosy.lines()[0] == (
        "(cosy) = (at-least-2 (?t - thing) (and (near ?t) (or (heat-of@2 ?t) (heat-of@3 ?t))))"
    )
    assert not cosy.exact
    assert cosy.agreement == 1.0
    assert cosy.compared_on == "held-out samples"


def test_an_effect_of_a_set_is_written_by_rules_from_samples():
    domain = pds.parse_domain("""
        (define (domain count)
          (:types thing - object n - int64[choices=3])
          (:predicates (on ?t - thing) (kind [return_type=n] ?t - thing) (score [return_type=n]))
          (:action switch :parameters (?t - thing) :effect (on ?t))
          (:action tally :effect
            (score::assign (??f (foreach (?t - thing) (when (on ?t) (kind ?t)))))))
    """)

    def tally(given):
        values, held = given
        twos = ((values.argmax(-1) == 2).float() * held).sum(-1)
        return one_hot(torch.where(twos >= 2, 2, 0).long(), 3)

    model = of(domain, {"tally.f": tally})
    state = pds.State(
        domain,
        objects={"thing": ["a", "b", "c"]},
        values={"on": [False] * 3, "kind": [2, 1, 2], "score": 1},
    )
    result = pds.plan(model, state, "(= (score) 2)", search="abstract")
    assert result.solved
    assert (result.cost, result.refinements) == (3, 0)
    assert abstract_cost(model, state, "(= (score) 2)") == 3
    (rules,) = [f for f in pds.rules(model).functions if f.owner == "tally"]
    assert rules.rules == (
        ("n@2", "(at-least-2 (?t - thing) (and (on ?t) (kind@2 ?t)))"),
        ("n@0", "otherwise"),
    )


def test_how_far_rules_agree_is_said_where_none_explain_a_function():
    def parity(given):
        values, held = given
        return (values.argmax(-1) * held).sum(-1) % 2

    model = warmth(parity)
    found = pds.rules(model)
    assert not found.left_out
    (cosy,) = [f for f in found.functions if f.owner == "cosy"]
    assert 0.5 < cosy.agreement < 1.0
    assert "agrees with " in str(found)
    result = pds.plan(model, things(model, [0, 1, 3]), "(done)", search="abstract")
    assert result.plan == [("fetch", "t1"), ("finish",)]


def test_rules_that_are_not_quite_right_have_a_counter_example():
    def nearly(given):
        values, held = given
        unusual = (values.argmax(-1) * held).sum(-1) == 9
        return torch.where(unusual, 0.0, two_warm(values, held))

    cosy = pds.rules(warmth(nearly)).functions[0]
    assert 0.9 <= cosy.agreement < 1.0
    assert cosy.counter_example.startswith("elements {(heat-of@")
    heats = torch.tensor([int(part[8]) for part in cosy.counter_example.split("(")[1:]])
    answer = nearly((one_hot(heats, 4), torch.ones(len(heats))))
    assert cosy.counter_example.endswith("says true" if answer else "says false")


def test_nearly_all_is_not_written_as_all():
    found = FunctionRules("a", "a.f", "(f)", False, (("true", "otherwise"),), False, 0.99996, 9000, "samples")
    assert found.remarks() == ["agrees with 99.9 % of 9,000 samples"]


def test_lists_from_samples_are_learned_once(monkeypatch):
    model = warmth(lambda given: two_warm(*given))
    found = pds.rules(model)
    monkeypatch.setattr(functions, "learn_list", None)
    assert str(pds.rules(model)) == str(found)


MANY = """
(define (domain many)
  (:types thing - object word - vector[int64, 5, choices=6])
  (:predicates (word-of [return_type=word] ?t - thing) (key [return_type=word] ?t - thing) (open ?t - thing))
  (:derived (fits ?t - thing) (??f (word-of ?t) (key ?t)))
  (:action try :parameters (?t - thing) :precondition (fits ?t) :effect (open ?t))
  (:action shift :parameters (?t - thing) :effect (word-of::assign ?t (key ?t))))
"""


def test_too_many_combinations_are_sampled_and_equality_is_found():
    def fits(word, key):
        a, b = (x.reshape(*x.shape[: x.dim() - 2], 5, 6).argmax(-1) for x in (word, key))
        return ((a[..., 0] == b[..., 0]) & (a[..., 1] == b[..., 1]) & (b[..., 4] <= 3)).float()

    model = of(pds.parse_domain(MANY), {"fits.f": fits})
    values = {"word-of": [[0, 0, 0, 0, 0]], "key": [[1, 2, 3, 4, 3]], "open": [False]}
    state = pds.State(model.domain, objects={"thing": ["a"]}, values=values)
    assert pds.plan(model, state, "(open a)", search="abstract").plan == [("shift", "a"), ("try", "a")]
    (rules,) = [f for f in pds.rules(model).functions if f.owner == "fits"]
    assert not rules.exact
    assert rules.agreement >= 0.9


def test_nan_is_false_or_writes_nothing_and_is_said():
    def broken(values):
        found = (values.argmax(-1) == 1).float()
        return torch.where(values.argmax(-1) == 3, torch.nan, found)

    domain = pds.parse_domain("""
        (define (domain d) (:types o - object n - int64[choices=4])
          (:predicates (x [return_type=n] ?o - o) (y [return_type=float32] ?o - o))
          (:derived (good ?o - o) (??f (x ?o)))
          (:action up :parameters (?o - o) :effect (y::assign ?o (??g (x ?o)))))
    """)
    model = of(domain, {"good.f": broken, "up.g": broken})
    state = pds.State(domain, objects={"o": ["a"]}, values={"x": [0], "y": [0.0]})
    found = pds.rules(model, state)
    good, up = found.functions
    assert good.lines()[0] == "(good ?o) = (x@1 ?o)"
    assert good.not_finite == up.not_finite == 1
    assert ("unchanged", "otherwise") in up.rules or ("unchanged", "(x@3 ?o)") in up.rules
    assert "NaN from the network in 1 cases: nothing is written" in str(found)
    assert "`good.f` returned NaN in 1 of the cases it was asked" in found.warnings()
    assert found.facts == ("(x a) = n@0", "(y a) = float32@0")


def test_what_is_computed_from_nan_is_not_true():
    def gap(values):
        return torch.where(values.argmax(-1) == 3, torch.nan, values.argmax(-1).float())

    domain = pds.parse_domain("""
        (define (domain d) (:types o - object n - int64[choices=4])
          (:predicates (x [return_type=n] ?o - o) (y ?o - o))
          (:derived (gap [return_type=float32] ?o - o) (??g (x ?o)))
          (:derived (odd ?o - o) (??f (gap ?o)))
          (:action up :parameters (?o - o) :precondition (odd ?o) :effect (y ?o)))
    """)
    model = of(domain, {"gap.g": gap, "odd.f": lambda y: ((y == 1) | y.isnan()).float()})
    state = pds.State(domain, objects={"o": ["a"]}, values={"x": [0], "y": [False]})
    assert "(odd ?o) = (x@1 ?o)" in [f.lines()[0] for f in pds.rules(model, state).functions]


def test_an_empty_type_and_untrained_blanks():
    domain = pds.parse_domain("""
        (define (domain d) (:types o)
          (:predicates (x [return_type=float32] ?o - o) (z [return_type=vector[float32, 2]] ?o - o) (ok))
          (:derived (good ?o - o) (??f (x ?o) (z ?o)))
          (:action up :parameters (?o - o) :effect (z::assign ?o (??g (x ?o))))
          (:action win :precondition (forall (?o - o) (good ?o)) :effect (ok)))
    """)
    model = pds.Model(domain, seed=0)
    found = pds.rules(model)
    assert found.untrained == ("derived::good::f", "action::up::g")
    assert "(good ?o) = unknown\n    ; no values of what it reads are known" in str(found)
    assert "`derived::good::f` was never trained: its rules are a guess" in found.warnings()
    empty = pds.State(domain, objects={"o": []}, values={"x": [], "z": np.zeros((0, 2)), "ok": False})
    assert pds.plan(model, empty, "(ok)", search="abstract").plan == [("win",)]


def test_k_means_is_deterministic_finds_clusters_and_takes_no_more_than_they_are():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [1.0, 4.0], [3.0, 0.0], [4.0, 4.0]])
    rows = np.repeat(centres, 50, 0) + rng.normal(0, 0.02, (200, 2))
    found = fitted(rows)
    assert len(found) == 4
    assert np.abs(found - centres).max() < 0.02
    assert np.allclose(kmeans(rows, 4), kmeans(rows[::-1], 4))
    assert np.array_equal(kmeans(rows, 7), kmeans(rows, 7))
    assert len(np.unique(closest(rows, found))) == 4
    assert relative_error(rows, found) < 0.02
    assert len(kmeans(np.zeros((5, 3)), 8)) == 1


def test_values_off_every_code_of_k_means_have_the_nearest_and_are_uncertain():
    book = Codebook.clustered("v", np.array([[0.0, 0.0], [1.0, 1.0], [1.02, 1.0]]), 1e-3, 2)
    far = np.array([[5.0, 5.0], [0.0, 0.0]])
    assert book.know(far).tolist() == [1, 0]
    assert len(book) == 2
    codes, sure = book.meet(far)
    assert codes.tolist() == [1, 0]
    assert sure.tolist() == [False, True]


LATENT = """
(define (domain pictures)
  (:types thing - object picture - vector[float32, 6] look - vector[float32, 4])
  (:predicates (picture-of [return_type=picture] ?t - thing) (flat ?t - thing))
  (:derived (look-of [return_type=look] ?t - thing) (??e (picture-of ?t)))
  (:derived (red ?t - thing) (??f (look-of ?t)))
  (:action paint :parameters (?t - thing) :effect (look-of::assign ?t (??g (look-of ?t)))))
"""


def test_latent_vectors_get_codes_by_k_means_and_are_planned_over():
    """Pictures are three prototypes with noise; painting leads from each to the next."""
    domain = pds.parse_domain(LATENT)
    looks = torch.eye(4)[:3]

    def embed(picture):
        return picture[..., :4] * 1.0

    def following(look):
        return looks[((look[..., :3].argmax(-1)) + 1).clamp(max=2)]

    model = of(
        domain, {"look-of.e": embed, "red.f": lambda x: (x[..., 2] > 0.5).float(), "paint.g": following}
    )
    rng = np.random.default_rng(0)
    pictures = np.zeros((300, 6))
    pictures[np.arange(300), np.arange(300) % 3] = 1.0
    pictures += rng.normal(0, 0.01, pictures.shape)
    model.notes["codes"] = {"look-of": {"values": [[], [], [], []], "steps": [0.01] * 4}}
    model.notes["samples"] = {"look-of": pictures[:, :4].tolist()}
    books = Codebooks(domain, model.notes)
    (part,) = books.parts(domain.predicates["look-of"].type)
    assert part.book.kind == "k-means"
    assert len(part.book) == 4
    assert books.error("look-of", 0) < 0.05
    state = pds.State(
        domain,
        objects={"thing": ["a"]},
        values={"picture-of": pictures[:1].astype(np.float32), "flat": [True]},
    )
    result = pds.plan(model, state, "(red a)", search="abstract")
    assert result.plan == [("paint", "a"), ("paint", "a")]
    assert result.refinements == 0
    assert len(abstraction_of(model).books.parts(domain.predicates["look-of"].type)[0].book) == 4
    found = pds.rules(model, codes={"look": 2})
    assert "look: 2 codes (k-means), of look-of, quantisation error" in found.text(codes=True)
    model.notes["code_counts"] = {"look": 3}
    assert len(abstraction_of(model).books.parts(domain.predicates["look-of"].type)[0].book) == 3


def test_a_number_of_codes_is_checked():
    model = lamps()
    for wrong, why in [
        ({"lvel": 4}, "no state variable"),
        ({"level": 4}, "no type of floats"),
        ({"level": 0}, "count"),
    ]:
        with pytest.raises(pds.Error, match=why):
            pds.rules(model, codes=wrong)


def test_a_fit_records_values_of_latent_vectors_and_their_rules_are_told():
    domain = pds.parse_domain(LATENT)
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(48):
        kinds = [int(rng.integers(3))]
        kinds.append(min(kinds[0] + 1, 2))
        states = []
        for kind in kinds:
            picture = rng.normal(0, 0.01, (1, 6)).astype(np.float32)
            picture[0, kind] += 1
            values = {"picture-of": picture, "flat": [True]}
            states.append(pds.State(domain, objects={"thing": ["a"]}, values=values))
        episodes.append(pds.Episode(states, [("paint", "a")], "(red a)", [int(k == 2) for k in kinds]))
    model = pds.Model(domain, seed=0)
    pds.fit(model, episodes, steps=4)
    assert len(model.notes["samples"]["look-of"]) == 96
    assert "look-of" not in model.notes["rows"]
    found = pds.rules(model)
    (book,) = [b for b in found.codebooks if b.name == "look"]
    assert book.kind == "k-means"
    assert book.used_by == ("look-of",)
    assert 0.0 <= book.error < 0.3
    red, paint = found.functions
    assert red.exact
    assert paint.exact
    assert red.cases <= len(book.codes)

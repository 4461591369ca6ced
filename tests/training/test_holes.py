"""Warnings: what the data cannot teach."""

from __future__ import annotations

from types import SimpleNamespace

from tests.training.models import rooms_model
from tests.training.rooms import GOALS
from tests.training.test_fit import lifts

import pdsketch as pds
from pdsketch.training.diagnosis.blanks import BlankReport
from pdsketch.training.diagnosis.warnings import _blanks


def told(found, *words):
    """The one warning with all of these words."""
    matching = [w for w in found.warnings if all(word in w for word in words)]
    assert len(matching) == 1, found.warnings
    return matching[0]


def test_a_precondition_without_signal_is_told():
    domain, episodes = lifts(executable=False)
    report = pds.fit(pds.Model(domain, seed=0), episodes, steps=3)
    told(report, "precondition of `lift` has no signal", "give `executable`", "derived::light::f")
    assert not any("never-trained" in w for w in report.warnings)
    assert "has no signal" in str(report)
    assert report.as_json()["warnings"] == list(report.warnings)


def test_a_precondition_with_signal_is_measured():
    domain, episodes = lifts(executable=True)
    report = pds.fit(pds.Model(domain, seed=0), episodes, steps=3)
    assert not any("no signal" in w for w in report.warnings)
    assert report.train.preconditions["lift"].count == len(episodes)


def test_labels_that_contradict_each_other_are_counted(rooms):
    episode = next(e for e in rooms[1] if e.goal == GOALS[2])
    other = pds.Episode(episode.states, episode.actions, episode.goal, [1 - s for s in episode.success])
    found = pds.evaluate(rooms_model(rooms[0]), [*rooms[1], other])
    assert "contradict" in told(found, "(in-last rob)", "contradict")
    assert not any("contradict" in w for w in pds.evaluate(rooms_model(rooms[0]), rooms[1]).warnings)


def test_a_blank_that_was_never_trained_is_told(rooms):
    model = rooms_model(rooms[0])
    model.notes["trained"] = [n for n in model.notes["trained"] if "in-last" not in n]
    told(pds.evaluate(model, rooms[1]), "never-trained: `derived::in-last::f`")


def test_held_out_episodes_that_fare_much_worse_are_told(rooms):
    from pdsketch.training.diagnosis.warnings import _worse_held_out

    right = pds.evaluate(rooms_model(rooms[0]), rooms[1]).measures
    wrong = pds.evaluate(rooms_model(rooms[0], right=lambda at: at), rooms[1]).measures
    assert ["held-out" in w for w in _worse_held_out(right, wrong)] == [True]
    assert not list(_worse_held_out(right, right))


def test_facts_about_no_object_may_be_in_the_data_and_tell_states_apart():
    domain = pds.parse_domain("""(define (domain d)
      (:types thing) (:predicates (night) (w [return_type=float32] ?t - thing))
      (:derived (seen ?t - thing) (??f (w ?t)))
      (:action wait :parameters () :effect (and)))""")
    for nights, count in (((True, False), 0), ((True, True), 2)):
        states = [pds.State(domain, {"thing": ["t"]}, {"night": night, "w": [1.0]}) for night in nights]
        episodes = [pds.Episode([state], [], "(seen t)", [at]) for at, state in enumerate(states)]
        report = pds.fit(pds.Model(domain, seed=0), episodes, steps=1)
        told = [w for w in report.warnings if "contradict each other" in w]
        assert len(told) == (1 if count else 0)


def test_what_is_not_known_of_blanks_is_one_line_a_kind_and_names_rivals_and_examples():
    form, rival = "(hue ?b) = 1", "(kind ?b) = 2"
    model = SimpleNamespace(forms={"a": form}, rivals={"a": [rival]})
    known = {"trained": True, "boolean": True, "calls": 100, "true": 50, "right": 1.0, "form": "tree"}
    blanks = {
        "a": BlankReport("a", **known, outside=20),
        "b": BlankReport("b", **known, outside=10),
        "c": BlankReport("c", **known, examples=2),
        "d": BlankReport("d", **known, examples=4),
        "e": BlankReport("e", **{**known, "true": 100}),
        "f": BlankReport("f", **known, examples=9),
        "g": BlankReport("g", **{**known, "true": 0}),
        "h": BlankReport("h", **{**known, "right": 0.5}),
        "i": BlankReport("i", **{**known, "boolean": False}, target_changed=False),
        "j": BlankReport("j", **{**known, "trained": False}),
    }
    never, still, one_sided, wrong, undecided, thin = _blanks(SimpleNamespace(model=model), blanks)
    assert undecided.startswith(f"`a` may be `{form}` or `{rival}`; more than one form fits `b`, too: ")
    assert thin.startswith("few examples show a case: 2 of `c`, 4 of `d`: ")
    assert one_sided.startswith(
        "one-sided: `e`, `g` (a Boolean that is true on all inputs of the data, or on none): "
    )
    assert [told.partition(" (")[0] for told in (never, still, wrong)] == [
        "never-trained: `j`",
        "never-varied: `i`",
        "ambiguous: `h`",
    ]


def test_the_progress_line_names_the_blanks_not_learned_yet(capsys):
    domain = pds.parse_domain("""
    (define (domain dial) (:types d) (:predicates (at [return_type=int64[choices=9]] ?d - d))
      (:action turn :parameters (?d - d) :effect (at::assign ?d (??f (at ?d)))))
    """)
    states = [pds.State(domain, {"d": ["a"]}, {"at": [value]}) for value in (0, 5, 1, 8)]
    episode = pds.Episode(states, [("turn", "a")] * 3)
    pds.fit(pds.Model(domain, seed=0), [episode], steps=1, evaluate_every=1, progress=True, forms=False)
    assert "not learned yet: action::turn::f" in capsys.readouterr().err


def test_a_written_precondition_that_holds_where_the_world_refused_is_told():
    domain = pds.parse_domain("""
    (define (domain grasping)
      (:types block)
      (:predicates (held ?b - block) (at-the-wall ?b - block))
      (:action pick :parameters (?b - block) :precondition (not (held ?b)) :effect (held ?b)))
    """)

    def state(held, wall):
        return pds.State(domain, {"block": ["a"]}, {"held": [held], "at-the-wall": [wall]})

    # Four tries: two succeed, one fails at the wall, and in one the block is held.
    tries = [(False, False), (False, False), (False, True), (True, False)]
    episodes = [
        pds.Episode(
            [state(held, wall), state(held or not wall, wall)],
            [("pick", "a")],
            executable=[not held and not wall],
        )
        for held, wall in tries
    ]
    found = pds.evaluate(pds.Model(domain), episodes)
    told(found, "`pick` was refused in 1 of 3 steps", "(??can …)")
    pick = found.measures.preconditions["pick"]
    assert (pick.positives, pick.negatives, pick.right_negatives) == (2, 2, 1)
    fine = pds.evaluate(pds.Model(domain), [*episodes[:2], episodes[3]])
    assert not any("was refused" in w for w in fine.warnings)

"""Canonical layout, and what is said of traces and plans, in full."""

from __future__ import annotations

import re

from tests.written import ROOT, is_written

import pdsketch as pds
from pdsketch.lang.diagnostics import Error, render
from pdsketch.lang.printer import format_source
from pdsketch.lang.source import Source
from pdsketch.lang.traces import read_trace

LONG = """
; before
(define (domain long-lines) ; behind the name

; alone


  (:requirements :adl :typing :derived-predicates :action-costs :numeric-fluents :equality :disjunctive-preconditions)
  (:types a-rather-long-name another-rather-long-name - object yet-another-rather-long-name - a-rather-long-name p - vector[float32, 2])
  (:constants first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth - a-rather-long-name)
  (:predicates (on ?a - a-rather-long-name ?b - another-rather-long-name) (at [return_type=p] ?a - a-rather-long-name) (clear ?x)) ; why
  (:derived (wanted ?x - a-rather-long-name) (exists (?y - another-rather-long-name ?z - yet-another-rather-long-name) (and (on ?x ?y) (not (clear ?z)) (on ?z ?y))))
  (:derived (short ?x - a-rather-long-name) (clear ?x))
  (:action act :parameters () :effect (and))
  ; an action
  (:action move-everything :parameters (?x - a-rather-long-name ?y - another-rather-long-name ?z - yet-another-rather-long-name)
   :precondition (and (on ?x ?y) ; first
     (or (wanted ?x) (forall (?q - another-rather-long-name) (imply (on ?x ?q) (and (clear ?x) (clear ?z) (clear ?q)))))
     (not (= (at ?x) [1.5, -2.0])) (??learned_function_of_some_length (at ?x) (at ?z) (at ?x) (at ?z) (at ?x)))
   :effect (and (not (on ?x ?y)) (at::assign ?x (??next (at ?x) (at ?z))) (when (and (clear ?x) (wanted ?x)) (not (clear ?x)))
     (forall (?w - a-rather-long-name) (when (on ?w ?y) (clear ?w))) (increase (total-cost) (+ 1 (* 2 3)))))
) ; the end
"""  # noqa: E501


def crowded(text: str) -> str:
    """A text on one line, without its comments."""
    return " ".join(re.sub(r";[^\n]*", "", text).split())


def test_canonical_layout_is_as_written():
    texts = {"long": LONG, "long, crowded": crowded(LONG)}
    for path in ("blocks/domain.pddl", "delivery/p01.pddl", "kitchen/domain.pdsketch"):
        texts[f"{path}, crowded"] = crowded((ROOT / "examples" / path).read_text(encoding="utf-8"))
    shown = [f"--- {name}\n{format_source(Source(name, text))}" for name, text in texts.items()]
    is_written("lang/layout.txt", "\n".join(shown))


TRACES = (
    "",
    "(:state (on a b))",
    "(:state (on a b) (:action stack a b))",
    "(trace (:objects a b - block) (:state (on-table a)) (:state (on-table a)))",
    "(:action stack a b) (:state (on a b))",
    "(:state (on-table a)) (:action stack a) (:state (on a b))",
    "(:state (on-table a)) (:action stak a b) (:state (on a b))",
    "(:state (on-table a)) (:action put-down a)",
    "(:sate (on-table a)) (:action pick-up a)",
    "(:objects a - blok) (:state (on-table a))",
    "stack",
    "(:state (on-table a)) (:refused put-down a) (:action pick-up a) (:state (held a))",
    "(:objects a - block) (:state (on-table a)) (:refused put-down a)",
    "(:objects a - block) (:goal (held a)) (:state (on-table a)) (:action pick-up a) (:state (held a))",
)


def test_what_is_said_of_traces_is_as_written():
    domain = pds.load_domain(ROOT / "examples" / "blocks" / "domain.pddl")
    lines = []
    for text in TRACES:
        lines.append(f"--- {text}")
        try:
            trace = read_trace(Source("trace", text), domain)
        except Error as wrong:
            lines += [render(one) for one in wrong.diagnostics]
            continue
        objects = {name: str(type_) for name, type_ in trace.universe.items()}
        goal = None if trace.goal is None else trace.goal.span.text
        lines += [f"{objects} {trace.steps} {trace.executed} {goal}", *(str(dict(s)) for s in trace.states)]
    is_written("lang/traces.txt", "\n".join(lines) + "\n")

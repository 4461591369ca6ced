"""How fast an editor's questions are answered: ``python benchmarks/analyse.py [--lines 3000]``.

A domain and a problem of so many lines are analysed as they are, and with half a form typed into their
middle; then come a definition, a hover, completions and a rename there. The figures are the median
CPU time of several runs in one warm process, beside that of loading the good text.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import pdsketch
from pdsketch.editor.analysis import TextAnalysis, analyse
from pdsketch.editor.complete import completions
from pdsketch.editor.navigate import definition, hover, rename

RUNS = 9
HEAD = """(define (domain long)
  (:types item place - object pose - vector[float32, 2])
  (:predicates
    (item-pose [return_type=pose] ?i - item)
    (place-pose [return_type=pose] ?p - place)
    (holds ?i - item)
    (free))
"""
BLOCK = """
  ;; Part {n}.
  (:derived (near-{n} ?i - item ?p - place)
    (??near (item-pose ?i) (place-pose ?p)))
  (:derived (settled-{n} ?p - place)
    (forall (?i - item)
      (implies (near-{n} ?i ?p) (not (holds ?i)))))
  (:action put-{n}
    :parameters (?i - item ?p - place)
    :precondition (and
      (holds ?i)
      (not (near-{n} ?i ?p))
      (settled-{n} ?p))
    :effect (and
      (not (holds ?i))
      (free)
      (item-pose::assign ?i (??move (item-pose ?i) (place-pose ?p)))
      (forall (?o - item)
        (when (near-{n} ?o ?p)
          (assign (item-pose ?o) (??push (item-pose ?o) (foreach (?q - place) (place-pose ?q))))))))
"""


def long_domain(lines: int) -> str:
    """A domain of about so many lines."""
    size = BLOCK.count("\n")
    return HEAD + "".join(BLOCK.format(n=n) for n in range(lines // size)) + ")\n"


def long_problem(lines: int) -> str:
    """A problem of about so many lines for the domain above."""
    half = lines // 2
    names = "\n".join(f"    i{n} - item p{n} - place" for n in range(half))
    facts = "\n".join(f"    (holds i{n}) (= (item-pose i{n}) [0, {n}])" for n in range(half))
    goal = "(and (near-0 i0 p0) (exists (?p - place) (settled-1 ?p)))"
    sections = f"(:domain long)\n  (:objects\n{names})\n  (:init\n{facts})\n  (:goal {goal})"
    return f"(define (problem big) {sections})\n"


def half_typed(text: str) -> str:
    """The text with a form begun in its middle."""
    at = text.index("(holds", len(text) // 2)
    return f"{text[:at]}(and (holds {text[at:]}"


def milliseconds(what: Callable[[], object]) -> float:
    """The median time of a call."""
    times = []
    what()
    for _ in range(RUNS):
        begin = time.process_time()
        what()
        times.append(time.process_time() - begin)
    return 1000 * statistics.median(times)


def questions(analysis: TextAnalysis) -> None:
    """What an editor asks at one place."""
    at = analysis.source.text.index("(holds", len(analysis.source.text) // 2) + 1
    assert definition(analysis, at) is not None
    assert hover(analysis, at) is not None
    assert completions(analysis, at).items
    assert rename(analysis, at, "grasps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=3000)
    lines = parser.parse_args().lines
    text, problem = long_domain(lines), long_problem(lines)
    domain = pdsketch.parse_domain(text)
    analysis = analyse(text)
    rows = [
        ("domain: load", milliseconds(lambda: pdsketch.parse_domain(text))),
        ("domain: analyse", milliseconds(lambda: analyse(text))),
        ("domain, half typed: analyse", milliseconds(lambda: analyse(half_typed(text)))),
        ("domain: four questions", milliseconds(lambda: questions(analysis))),
        ("problem: load", milliseconds(lambda: pdsketch.parse_problem(problem, domain))),
        ("problem: analyse", milliseconds(lambda: analyse(problem, domain=analysis))),
        (
            "problem, half typed: analyse",
            milliseconds(lambda: analyse(half_typed(problem), domain=analysis)),
        ),
    ]
    for name, value in rows:
        print(f"{name:<32}{value:8.1f} ms")


if __name__ == "__main__":
    main()

"""What commands say, in full: their options, and answers about small domains, to people and to machines."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest
from tests.written import is_written

from pdsketch.cli.main import _load, main

OPTIONS_OF_THEIR_OWN = ("check", "fmt", "show", "validate", "explain", "export", "rules", "serve")
"""The others take those that are declared by calls, which the documents list."""

LAMPS = """(define (domain lamps) (:types lamp room - object hall - room)
  (:constants main - hall)
  (:predicates (in ?l - lamp ?r - room) (lit ?l - lamp) (level [return_type=int64] ?l - lamp))
  (:functions (total-cost) - number)
  (:derived (bright ?r - room) (exists (?l - lamp) (and (in ?l ?r) (lit ?l))))
  (:action press :parameters (?l - lamp ?r - room) :precondition (and (in ?l ?r) (not (lit ?l)))
    :effect (and (lit ?l) (increase (total-cost) 2)))
  (:action up :parameters (?l - lamp) :precondition (or (lit ?l) (> (level ?l) 0))
    :effect (and (level::assign ?l (+ (level ?l) 1)) (increase (total-cost) 1))))
"""
PROBLEM = """(define (problem evening) (:domain lamps)
  (:objects a b - lamp cellar - room)
  (:init (in a main) (in b cellar) (= (level a) 0) (= (level b) 3))
  (:goal (and (bright main) (forall (?l - lamp) (or (lit ?l) (> (level ?l) 3)))))
  (:metric minimize (total-cost)))
"""
SKETCH = """(define (domain sketch) (:types thing)
  (:predicates (spot [return_type=vector[float32, 2]] ?t - thing) (seen ?t - thing))
  (:derived (close ?a ?b - thing) (??near (spot ?a) (spot ?b)))
  (:action move :parameters (?a ?b - thing) :precondition (not (close ?a ?b))
    :effect (spot::assign ?a (??to (spot ?a) (spot ?b)))))
"""
FILES = {
    "lamps.pddl": LAMPS,
    "evening.pddl": PROBLEM,
    "sketch.pdsketch": SKETCH,
    "wrong.pddl": LAMPS.replace("(in ?l ?r) (lit ?l)))", "(inn ?l ?r) (lit ?q)))").replace(
        "- hall)", "- hal)"
    ),
    "untidy.pddl": LAMPS.replace("\n", " ; why\n").replace("  ", "     "),
    "good.plan": "(press a main)\n(up b) ; cost = 3\n",
    "bad.plan": "(press a main)\n(press b main)\n",
    "worse.plan": "(press a main)\nup a\n",
    "unknown.plan": "(press a main)\n(pres a nowhere)\n",
    "few.plan": "(press a)\n",
    "short.plan": "(press a main)\n",
}
WORDS = {
    "check": ("lamps.pddl evening.pddl sketch.pdsketch", "wrong.pddl evening.pddl nowhere.pddl"),
    "show": ("lamps.pddl", "sketch.pdsketch", "evening.pddl", "evening.pddl --domain lamps.pddl"),
    "fmt": ("--check lamps.pddl untidy.pddl wrong.pddl", "untidy.pddl"),
    "explain": (
        "lamps.pddl evening.pddl",
        "lamps.pddl evening.pddl --goal '(exists (?r - room) (and (bright ?r) (in b ?r)))'",
        "lamps.pddl evening.pddl --goal '(lit c)'",
    ),
    "validate": tuple(
        f"lamps.pddl evening.pddl {name}.plan"
        for name in ("good", "bad", "worse", "unknown", "few", "short", "nowhere")
    ),
    "rules": ("lamps.pddl",),
}


@pytest.mark.parametrize("name", OPTIONS_OF_THEIR_OWN)
def test_the_options_of_a_command_are_as_written(name):
    parser = argparse.ArgumentParser()
    _load(name).add_arguments(parser)
    lines = []
    for action in parser._actions[1:]:
        words = "|".join(action.option_strings) or "argument"
        of = {
            key: getattr(action, key) for key in ("dest", "metavar", "nargs", "default", "choices", "const")
        }
        said = " ".join(f"{key}={value!r}" for key, value in of.items() if value is not None)
        lines.append(f"{words}: {said}\n  {action.help}\n")
    is_written(f"options/{name}.txt", "".join(lines))


@pytest.mark.parametrize("name", WORDS)
def test_the_answers_of_a_command_are_as_written(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shown = []
    for words in (f"{words}{json}" for words in WORDS[name] for json in ("", " --json")):
        for file, text in FILES.items():
            Path(file).write_text(text, encoding="utf-8")
        code = main([name, *shlex.split(words)])
        said = capsys.readouterr()
        shown.append(f"$ pdsketch {name} {words}\n{said.out}{said.err}exit code {code}\n")
        for file, text in FILES.items():
            if (after := Path(file).read_text(encoding="utf-8")) != text:
                shown.append(f"--- {file}\n{after}")
    is_written(f"answers/{name}.txt", "\n".join(shown))

"""A declared option: what it takes, what is said of the rest, and what else comes from its declaration."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from typing import Literal

import pytest
from tests.docs.generated import table, typed_dict
from tests.written import is_written

import pdsketch as pds
from pdsketch.options import (
    add_options,
    at_least,
    between,
    checked,
    not_negative,
    number,
    one_of,
    option,
    read_options,
)

Colour = Literal["red", "green", "blue"]


@dataclass(frozen=True)
class Paint:
    """Options of each kind."""

    coats: int = option(2, "how often", at_least(1))
    gloss: float = option(0.5, "how much of 100 %", between(0, 1))
    limit: float | None = option(None, "litres", not_negative("bad-limit"))
    colour: Colour = option("red", "which `colour`", one_of(Colour))
    dry: bool = option(True, "whether it dries")
    wet: bool = option(False, "whether it is wet", of="model")
    note: str | None = option(None, "a word")
    places: list[str] = option(list, "where")
    size: float = option(1.0, "metres", number("above 0", lambda size: size > 0))
    year: int = option(0, "since then")


NAMES = ("coats", "gloss", "limit", "colour", "dry", "wet", "note")


@pytest.mark.parametrize(
    ("given", "said", "code"),
    [
        ({"coats": 0}, "`coats` must be an int of at least 1, not 0", "bad-option"),
        ({"coats": True}, "an int of at least 1, not True", "bad-option"),
        ({"coats": 1.0}, "an int of at least 1, not 1.0", "bad-option"),
        ({"coats": None}, "an int of at least 1, not None", "bad-option"),
        ({"gloss": 1.1}, "`gloss` must be a number from 0 to 1, not 1.1", "bad-option"),
        ({"size": 0}, "`size` must be a number above 0, not 0", "bad-option"),
        ({"year": -1}, "`year` must be an int of at least 0, not -1", "bad-option"),
        ({"gloss": math.nan}, "not nan", "bad-option"),
        ({"limit": -1}, "`limit` must be a number that is not negative, not -1", "bad-limit"),
        ({"colour": "rde"}, "`colour` must be `red`, `green` or `blue`, not 'rde'", "bad-option"),
        ({"dry": 1}, "`dry` must be True or False, not 1", "bad-option"),
        ({"coat": 1}, "`paint` has no option `coat`", "unknown-option"),
        ({"layers": 1}, "`paint` has no option `layers`", "unknown-option"),
    ],
)
def test_what_an_option_does_not_take_is_refused_in_its_own_words(given, said, code):
    with pytest.raises(pds.Error) as refused:
        checked(Paint, given, "`paint`", synonyms={"layers": "coats"})
    (diagnostic,) = refused.value.diagnostics
    assert said in diagnostic.message
    assert diagnostic.code == code
    if "colour" in given:
        assert diagnostic.help == "did you mean `red`?"
    if code == "unknown-option":
        assert diagnostic.help == "did you mean `coats`?"


@pytest.mark.parametrize(
    "given",
    [{"limit": 0}, {"limit": 0.5}, {"gloss": 1}, {"gloss": 0.0}, {"coats": 1}, {"year": 0}, {"size": 1e-9}],
)
def test_what_an_option_takes_begins_at_its_bound(given):
    assert checked(Paint, given, "`paint`") == replace(Paint(), **given)


def test_what_options_take_and_their_defaults():
    assert checked(Paint, {}, "`paint`") == Paint()
    given = {"coats": 1, "gloss": 0, "limit": None, "colour": "blue", "dry": False, "note": "x"}
    assert checked(Paint, given, "`paint`") == replace(Paint(), **given)
    assert Paint().places is not Paint().places
    with pytest.raises(pds.Error, match="no option `wet`"):
        checked(Paint, {"wet": True}, "`paint`", of="problem")
    assert checked(Paint, {"wet": True}, "`paint`", of="model").wet


def test_the_command_line_takes_options_and_refuses_the_rest(capsys):
    parser = argparse.ArgumentParser()
    add_options(parser, Paint, NAMES)
    words = ["--coats", "3", "--gloss", "0.25", "--colour", "green", "--no-dry", "--wet", "--note", "x"]
    found = read_options(parser.parse_args(words), NAMES)
    assert found == {"coats": 3, "gloss": 0.25, "colour": "green", "dry": False, "wet": True, "note": "x"}
    assert read_options(parser.parse_args([]), NAMES) == {}
    for wrong in (["--coats", "0"], ["--coats", "two"], ["--gloss", "2"], ["--colour", "rde"]):
        with pytest.raises(SystemExit):
            parser.parse_args(wrong)
    said = capsys.readouterr().err
    assert "--coats: wanted an int of at least 1, found 0" in said
    assert "--gloss: wanted a number from 0 to 1, found 2" in said
    for line in (
        "how often (default: 2)",
        "how much of 100 % (default: 0.5)",
        "with a model: whether it is wet",
    ):
        assert line in parser.format_help()


def test_the_arguments_of_a_command_are_as_written():
    parser = argparse.ArgumentParser()
    add_options(parser, Paint, NAMES)
    said = [
        f"{' '.join(one.option_strings)} {one.dest} {one.metavar} {one.const} {one.choices}: {one.help}\n"
        for one in parser._actions[1:]
    ]
    is_written("options/declared.txt", "".join(said))


def test_the_table_and_the_types_say_what_is_declared():
    assert '| `colour` | "red" | which `colour` |\n| `dry` | True | whether it dries |\n' in table(Paint)
    assert "| `wet` | False | of models alone: whether it is wet |" in table(Paint)
    text = typed_dict(
        "PaintOptions", Paint, "Of paint.", without=("places", "size", "year"), unset=("coats", "limit")
    )
    assert "    coats: int | None\n    gloss: float\n    limit: float | None\n" in text
    assert "places" not in text

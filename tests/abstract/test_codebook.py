"""Codebooks against a slow reading of what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import pdsketch as pds
from pdsketch.abstract import abstraction_of
from pdsketch.abstract.andor import codebooks
from pdsketch.abstract.andor.codebooks import Codebook

NUMBERS = st.integers(-12, 12).map(lambda n: n / 4)


def rows(width, least=0):
    row = st.lists(NUMBERS, min_size=width, max_size=width)
    return st.lists(row, min_size=least, max_size=12).map(lambda found: np.array(found).reshape(-1, width))


@st.composite
def books(draw):
    radius = np.array(draw(st.sampled_from([[0.25], [1.0], [0.5, 0.25]])))
    book = Codebook("some", radius, whole=False, grows=draw(st.booleans()))
    book.know(draw(rows(len(radius), least=1)))
    return book


def nearest(book, row):
    """The first of the codes that are closest, in units of the radius of each dimension."""
    off = [max(abs(row - value) / book.radius) for value in book.values]
    return off.index(min(off))


@given(books(), st.data())
def test_the_nearest_code_is_the_first_of_the_closest(book, data):
    numbers = data.draw(rows(len(book.radius)))
    assert book.nearest(numbers).tolist() == [nearest(book, row) for row in numbers]


@given(books(), st.data())
def test_what_is_known_has_a_code_of_its_own_and_codes_stand_apart(book, data):
    numbers = data.draw(rows(len(book.radius)))
    before = book.values.copy()
    codes = book.know(numbers)
    assert np.array_equal(book.values[: len(before)], before)
    assert (np.abs(numbers - book.values[codes]) <= book.radius).all()
    for i, one in enumerate(book.values):
        for other in book.values[:i]:
            assert (np.abs(one - other) > book.radius).any()


@given(books(), st.data())
def test_computed_numbers_get_codes_in_the_known_range_and_a_few_beyond(book, data):
    numbers = data.draw(rows(len(book.radius)))
    low, high, before = book.low - book.radius, book.high + book.radius, len(book)
    codes, own = book.meet(numbers)
    assert own.tolist() == [
        bool((np.abs(row - book.values[code]) <= book.radius).all())
        for row, code in zip(numbers, codes, strict=True)
    ]
    inside = ((numbers >= low) & (numbers <= high)).all(1)
    assert own[inside].all()
    beyond = [value for value in book.values[before:] if ((value < low) | (value > high)).any()]
    assert len(beyond) == book.grown
    assert book.grows or not beyond


def test_no_more_codes_are_made_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(codebooks, "MOST_CODES", 4)
    monkeypatch.setattr(codebooks, "GROWTH", 1)
    book = Codebook("some", np.array([0.1]), whole=False, grows=True)
    assert book.know(np.array([[0.0], [4.0]])).tolist() == [0, 1]
    assert book.meet(np.array([[9.0], [8.0]]))[1].tolist() == [False, True]  # one of them is all it may grow
    assert book.know(np.array([[2.0], [3.5], [8.0]])).tolist() == [3, 1, 2]


def test_numbers_that_are_too_far_have_no_code():
    book = Codebook("some", np.array([0.1]), whole=False, grows=True)
    book.know(np.array([[1.0], [1e300]]))
    assert book.values.tolist() == [[1.0]]
    assert not book.is_near(np.array([[1e300]])).any()
    assert book.nearest(np.array([[-1e300]])) == pytest.approx(0)


def test_what_is_no_declared_choice_has_no_code():
    domain = pds.parse_domain("""
        (define (domain d) (:types kind - int64[choices=3] thing - object)
          (:predicates (of [return_type=kind] ?t - thing) (big [return_type=float32] ?t - thing))
          (:derived (odd ?t - thing) (??f (of ?t) (big ?t)))
          (:action up :parameters (?t - thing) :effect (of::assign ?t (+ (of ?t) 1))))
    """)
    model = pds.Model(domain, modules={"derived::odd::f": lambda kind, big: kind[..., 2]})
    state = pds.State(domain, objects={"thing": ["a"]}, values={"of": [0], "big": [0.5]})
    result = pds.plan(model, state, "(and (odd a) (> (big a) -1.5))", search="abstract")
    assert result.plan == [("up", "a"), ("up", "a")]
    assert next(book.values[:, 0].tolist() for book in abstraction_of(model).books.books()) == [0.0, 1.0, 2.0]

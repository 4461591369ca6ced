"""Diagnostics as values: they travel between processes."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from pdsketch.lang.diagnostics import Error, as_json
from pdsketch.lang.load import parse_domain

WRONG = "(define (domain d) (:predicates (p ?x - nowhere)) (:action a :effect (q)))"


@pytest.mark.parametrize("travel", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy, copy.copy])
def test_an_error_arrives_as_it_was(travel):
    with pytest.raises(Error) as caught:
        parse_domain(WRONG)
    caught.value.add_note("in run 3")
    there = travel(caught.value)
    assert str(there) == str(caught.value)
    assert there.__notes__ == ["in run 3"]
    assert [as_json(d) for d in there.diagnostics] == [as_json(d) for d in caught.value.diagnostics]
    assert len(there.diagnostics) > 1


def test_an_error_in_a_worker_reaches_the_parent_and_leaves_the_pool_at_work():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(Error, match="nowhere"):
            pool.submit(parse_domain, WRONG).result()
        assert pool.submit(len, "ok").result() == 2

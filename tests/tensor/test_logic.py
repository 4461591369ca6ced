"""The laws of each t-norm."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given, settings, strategies as st

from pdsketch.lang.diagnostics import Error
from pdsketch.tensor.compile.logic import CRISP, LOGICS, logic_of

TRUTHS = st.floats(0, 1, width=32)
ALL = list(LOGICS.values())
SOFT = pytest.mark.parametrize("logic", ALL, ids=lambda logic: logic.name)
few = settings(max_examples=50, deadline=None)


def t(*values):
    return [torch.tensor(v, dtype=torch.float32) for v in values]


def near(a, b):
    return torch.allclose(a, b, atol=1e-5)


@SOFT
@few
@given(TRUTHS, TRUTHS, TRUTHS)
def test_conjunction_is_a_t_norm_and_disjunction_its_dual(logic, x, y, z):
    a, b, c = t(x, y, z)
    one, zero = t(1.0, 0.0)
    assert near(logic.conj(a, b), logic.conj(b, a))
    assert near(logic.conj(logic.conj(a, b), c), logic.conj(a, logic.conj(b, c)))
    assert torch.equal(logic.conj(a, one), a) or near(logic.conj(a, one), a)
    assert near(logic.conj(a, zero), zero)
    assert near(logic.disj(a, zero), a)
    assert near(logic.disj(a, one), one)
    assert near(logic.disj(a, b), logic.neg(logic.conj(logic.neg(a), logic.neg(b))))
    assert near(logic.implies(a, b), logic.disj(logic.neg(a), b))
    low, high = torch.minimum(a, b), torch.maximum(a, b)
    assert bool(logic.conj(low, c) <= logic.conj(high, c) + 1e-6)


@SOFT
@few
@given(st.lists(TRUTHS, min_size=1, max_size=9))
def test_quantifiers_fold_the_connectives(logic, values):
    tensor = torch.tensor(values)
    every, some = tensor[0], tensor[0]
    for other in tensor[1:]:
        every, some = logic.conj(every, other), logic.disj(some, other)
    assert near(logic.every(tensor, (0,)), every)
    assert near(logic.some(tensor, (0,)), some)
    assert near(logic.every(tensor.flip(0), (0,)), every)


@SOFT
def test_all_logics_agree_on_true_and_false(logic):
    for values in product([0.0, 1.0], repeat=3):
        soft, hard = torch.tensor(values), torch.tensor(values) > 0.5
        assert torch.equal(logic.every(soft, (0,)) > 0.5, CRISP.every(hard, (0,)))
        assert torch.equal(logic.some(soft, (0,)) > 0.5, CRISP.some(hard, (0,)))
        for name in ("conj", "disj", "implies"):
            found = getattr(logic, name)(soft[0], soft[1])
            assert found in (0.0, 1.0)
            assert torch.equal(found > 0.5, getattr(CRISP, name)(hard[0], hard[1]))


@SOFT
@pytest.mark.parametrize("fill", [0.0, 1.0, 0.5])
def test_gradients_are_finite_over_many_objects(logic, fill):
    truths = torch.full((3, 1000), fill, requires_grad=True)
    for fold in (logic.every, logic.some):
        fold(truths, (1,)).sum().backward()
        assert torch.isfinite(truths.grad).all()


def test_the_product_gives_every_object_a_gradient():
    truths = torch.tensor([0.9, 0.8, 0.7, 0.0, 0.6], requires_grad=True)
    product_ = logic_of("product")
    product_.some(truths, (0,)).backward()
    assert (truths.grad > 0).all()


@SOFT
def test_folding_several_axes_is_folding_one_after_the_other(logic):
    truths = torch.rand(2, 3, 4)
    assert near(logic.every(truths, (1, 2)), logic.every(logic.every(truths, (2,)), (1,)))
    assert near(logic.some(truths, (1, 2)), logic.some(logic.some(truths, (2,)), (1,)))


def test_an_unknown_t_norm_is_an_error_that_offers_one():
    with pytest.raises(Error, match="did you mean `godel`"):
        logic_of("goedel")

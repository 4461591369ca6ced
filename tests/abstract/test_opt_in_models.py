"""The facts of OPT, computed by the tensor program for many states at once, are the reference's."""

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from tests.strategies import sketch
from tests.strategies.modules import modules_of

from pdsketch.lang.semantics import EvaluationContext, apply, encode
from pdsketch.search.heuristics import MODEL_HEURISTICS
from pdsketch.search.latent.heuristics import Searched
from pdsketch.tensor.model import Model
from pdsketch.tensor.states.state import StateBatch

SETTINGS = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@SETTINGS
@given(sketch(value_parameters=False))
def test_a_model_gives_facts_the_truth_of_the_reference(sample):
    model = Model(sample.domain, modules_of(sample))
    states = [encode(sample.world, sample.problem.init)]
    batch = [model.encode(sample.problem.state)]
    for step in sample.steps[:4]:
        states.append(apply(sample.world, states[0], step))
        batch.append(model.step(batch[0], step, crisp=True))
    together = StateBatch.of(batch)
    searched = Searched(model, [sample.problem.goal], together, [together.universe(0)], costs=False)
    opt = MODEL_HEURISTICS["opt"](searched)
    facts = opt.reader.facts(together, torch.zeros(len(batch), dtype=torch.int64)).numpy()
    expressions = opt.abstractions[0].expressions
    moments = [EvaluationContext(sample.world, s) for s in states]
    expected = [[moment.value(e, {}) for e in expressions] for moment in moments]
    assert np.array_equal(facts, np.array(expected, np.bool_).reshape(facts.shape))

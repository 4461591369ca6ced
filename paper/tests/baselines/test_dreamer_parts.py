"""The parts of Dreamer: latents, balanced divergence, returns, sequences, and where gradients go."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from paper.tests.baselines.blocks import demonstrations
from paper.tests.baselines.corridor import walks

import pdsketch as pds
from pdsketch.lang.types import OBJECT
from pdsketch.tensor.states.state import StateBatch
from pdsketch_paper.baselines.dreamer.agent import LAMBDA, Dreamer, ends, lambda_returns, sequences, starts
from pdsketch_paper.baselines.dreamer.world_model import (
    BALANCE,
    RSSM,
    SeenState,
    balanced_kl,
    straight_through,
)
from pdsketch_paper.baselines.graph import WIDTH
from pdsketch_paper.baselines.network import open_demonstrations

CPU = torch.device("cpu")


def divergence(posterior, prior):
    p, q = (torch.distributions.Categorical(logits=logits) for logits in (posterior, prior))
    return torch.distributions.kl_divergence(p, q).sum(-1)


def test_a_balanced_divergence_moves_the_prior_more_than_the_posterior():
    torch.manual_seed(0)
    posterior, prior = (torch.randn(5, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    plain = torch.autograd.grad(divergence(posterior, prior).sum(), [posterior, prior])
    found = balanced_kl(posterior, prior)
    torch.testing.assert_close(found, divergence(posterior, prior))
    balanced = torch.autograd.grad(found.sum(), [posterior, prior])
    torch.testing.assert_close(balanced[0], (1 - BALANCE) * plain[0])
    torch.testing.assert_close(balanced[1], BALANCE * plain[1])
    assert BALANCE > 0.5


def test_a_sample_is_one_hot_and_its_gradient_that_of_the_probabilities():
    torch.manual_seed(0)
    logits = torch.randn(4000, 2, 3).mul(0.5)[:1].expand(4000, -1, -1).clone().requires_grad_()
    sample = straight_through(logits)
    assert torch.equal(sample.sum(-1), torch.ones(4000, 2))
    assert set(sample.detach().round(decimals=5).flatten().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(sample.mean(0), logits.softmax(-1)[0], atol=0.03, rtol=0)
    weights = torch.randn(4000, 2, 3)
    (through,) = torch.autograd.grad((sample * weights).sum(), logits)
    (soft,) = torch.autograd.grad((logits.softmax(-1) * weights).sum(), logits)
    torch.testing.assert_close(through, soft)
    assert torch.equal(straight_through(logits, likeliest=True).argmax(-1), logits.argmax(-1))


def test_lambda_returns_are_the_weighted_mean_of_returns_of_all_lengths():
    rng = np.random.default_rng(0)
    reward, discount, value = rng.random((3, 4, 2))
    found = lambda_returns(*(torch.from_numpy(a) for a in (reward, discount, value))).numpy()
    for t in range(4):
        lengths = range(1, 4 - t + 1)
        weights = [(1 - LAMBDA) * LAMBDA ** (n - 1) for n in lengths]
        weights[-1] = LAMBDA ** (len(weights) - 1)
        wanted = np.zeros(2)
        for weight, n in zip(weights, lengths, strict=True):
            total, factor = np.zeros(2), np.ones(2)
            for k in range(t, t + n):
                total += factor * reward[k]
                factor = factor * discount[k]
            wanted += weight * (total + factor * value[t + n - 1])
        assert found[t] == pytest.approx(wanted)


def test_a_sequence_is_followed_as_step_by_step():
    torch.manual_seed(0)
    rssm = RSSM(6, 5)
    seen, actions = torch.randn(4, 3, 6), torch.randn(3, 3, 5)
    found = rssm.follow(seen, actions, likeliest=True)
    latent = rssm.observed(rssm.begin(seen[0]), seen[0], likeliest=True)
    wanted = [latent]
    for action, observed in zip(actions, seen[1:], strict=True):
        latent = rssm.observed(rssm.advance(latent, action), observed, likeliest=True)
        wanted.append(latent)
    for mine, theirs in zip(found, zip(*wanted, strict=True), strict=True):
        torch.testing.assert_close(mine, torch.stack(theirs))
    torch.manual_seed(1)
    drawn = rssm.follow(seen, actions)
    assert not torch.equal(drawn.sample, found.sample)
    assert torch.equal(drawn.sample.sum(-1), torch.ones(4, 3, 16))


def test_of_each_type_the_maximum_is_seen_and_nothing_where_there_is_no_object():
    domain = pds.parse_domain(
        """(define (domain d) (:types robot box - object) (:predicates (near ?r - robot) (heavy ?b - box))
        (:action go :parameters (?r - robot) :precondition (and) :effect (near ?r)))"""
    )
    torch.manual_seed(0)
    seen = SeenState(domain, OBJECT)
    full = pds.State(domain, {"robot": ["r"], "box": ["a", "b"]}, {"near": [1], "heavy": [1, 0]})
    empty = pds.State(domain, {"robot": ["r"]}, {"near": [1], "heavy": []})
    both = StateBatch.of([full, empty])
    nodes, whole = torch.randn(2, 3, WIDTH), torch.randn(2, WIDTH)
    nodes[1, 1:] = nodes[1, 0]  # as the encoder pads
    found = seen(both, nodes, whole)
    torch.testing.assert_close(seen(StateBatch.of([empty]), nodes[1:, :1], whole[1:]), found[1:])
    less = nodes.clone()
    less[0, 0] -= 100.0  # the robot has the maximum of nothing but its own type
    changed = seen(both, less, whole)[0]
    less[0, 0] -= 100.0
    assert not torch.equal(seen(both, less, whole)[0], changed)
    swapped = nodes[:, [0, 2, 1]]
    torch.testing.assert_close(seen(both, swapped, whole), found)


@pytest.fixture(scope="module")
def towers():
    domain, episodes = demonstrations(4)
    demos = open_demonstrations(episodes, domain, CPU)
    torch.manual_seed(0)
    return Dreamer(domain, demos.shapes), demos


def moved(network, loss):
    """The parts of the network that a loss reaches."""
    network.zero_grad(set_to_none=True)
    loss.backward()
    touched = {n for n, p in network.named_parameters() if p.grad is not None and bool(p.grad.any())}
    return {name.split(".")[0] for name in touched}


def test_each_loss_moves_its_own_weights(towers):
    network, demos = towers
    examples = demos.dataset.place(network.examples(demos)[:3])
    assert moved(network, network.losses(demos, examples).world) == {"encoder", "world"}
    assert moved(network, network.losses(demos, examples).dream.actor) == {"actor"}
    assert moved(network, network.losses(demos, examples).dream.critic) == {"critic"}
    assert moved(network, network.losses(demos, examples).cloning) == {"encoder", "world", "actor", "direct"}
    assert all(p.requires_grad for p in network.world.parameters())


def test_sequences_end_with_the_first_success_and_before_what_is_unknown():
    episodes = [*walks(12)]
    domain = episodes[0].states[0].domain
    reached = next(e for e in episodes if e.success[-1] and len(e.actions) > 4)
    never = next(e for e in episodes if not e.success[-1])
    more = pds.Episode(
        [*reached.states, *never.states[:2]],
        [*reached.actions, ("left", "rob"), ("left", "rob")],
        reached.goal,
        [*reached.success, 0, 0],
    )
    doubtful = pds.Episode(
        never.states, never.actions, never.goal, [0, 0, 0, None, *[0] * (len(never.states) - 4)]
    )
    aimless = pds.Episode(never.states, never.actions)
    demos = open_demonstrations([more, never, doubtful, aimless], domain, CPU)
    first = np.flatnonzero(demos.step == 0)
    last = ends(demos)[first]
    lengths = (last - first).tolist()
    assert lengths[:3] == [len(reached.actions), len(never.actions), 2]
    assert lengths[3] < 0
    assert set(demos.run[starts(demos)].tolist()) == {0, 1, 2}
    chunk = sequences(demos, last[:1] - 1, 4)  # a late start: earlier states fill the sequence
    assert chunk.examples.tolist() == list(range(int(last[0]) - 3, int(last[0]) + 1))
    assert chunk.success.tolist() == [False, False, False, True]
    short = sequences(demos, first[2:3], 10)
    assert len(short.examples) == 3
    both = sequences(demos, first[1:3], 5)
    assert both.examples.tolist() == [*range(first[1], first[1] + 5), *range(first[2], first[2] + 3)]
    assert both.sequence.tolist() == [0] * 5 + [1] * 3
    assert both.first.tolist() == [0, 5]
    assert both.grid.T.tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 7, 7]]
    assert both.grid.flatten()[both.place].tolist() == [*range(8)]

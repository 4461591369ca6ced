"""Each default network on each kind of signature."""

from __future__ import annotations

import itertools

import pytest
import torch

from pdsketch.nets.default import Constant, Head, least_weights, make, outline
from pdsketch.nets.normalise import Normalise, recording
from pdsketch.nets.signature import Input, Signature, Spec

FLOAT2 = Spec("float", (2,))
SPECS = {
    "bool": Spec("bool"),
    "bools": Spec("bool", (3,)),
    "float": Spec("float"),
    "vector": FLOAT2,
    "matrix": Spec("float", (2, 3)),
    "image": Spec("float", (9, 7, 3)),
    "pixel": Spec("float", (1, 1, 1)),
    "int": Spec("int"),
    "ints": Spec("int", (3,)),
    "choice": Spec("int", (), 4),
    "choices": Spec("int", (3,), 5),
    "choice-grid": Spec("int", (2, 2), 3),
}
OUTPUTS = {name: spec for name, spec in SPECS.items() if name not in ("int", "ints")}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sample(spec: Spec, leading: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    rng = generator(seed)
    if spec.is_categorical:
        codes = torch.randint(spec.choices or 1, (*leading, *spec.shape), generator=rng)
        return torch.nn.functional.one_hot(codes, spec.choices or 1).float()
    if spec.prim == "bool":
        return torch.randint(2, (*leading, *spec.axes), generator=rng).float()
    if spec.prim == "int":
        return torch.randint(9, (*leading, *spec.axes), generator=rng).float()
    return torch.randn(*leading, *spec.axes, generator=rng)


def sample_set(spec: Spec, leading: tuple[int, ...], n: int, seed: int = 0):
    weights = torch.rand(*leading, n, generator=generator(seed + 1))
    return sample(spec, (*leading, n), seed), weights


@pytest.mark.parametrize("leading", [(), (4,), (2, 3), (0,), (2, 0)], ids=str)
@pytest.mark.parametrize(("source", "target"), list(itertools.product(SPECS, OUTPUTS)))
def test_every_kind_of_value_maps_to_every_kind(source, target, leading):
    net = make(Signature((Input(SPECS[source]),), SPECS[target]), generator())
    out = net(sample(SPECS[source], leading))
    assert out.shape == (*leading, *SPECS[target].axes)
    assert out.isfinite().all()
    if SPECS[target].prim == "bool":
        assert ((out >= 0) & (out <= 1)).all()


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_constant_has_the_values_own_axes(name):
    net = make(Signature((), SPECS[name]), generator())
    assert isinstance(net, Constant)
    assert net().shape == SPECS[name].axes
    net().sum().backward()
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize("name", ["float", "vector", "matrix", "image"])
def test_a_residual_over_numbers_starts_as_the_identity(name):
    spec = SPECS[name]
    net = make(Signature((Input(spec), Input(SPECS["choice"])), spec, residual=0), generator())
    x = sample(spec, (5,))
    assert torch.equal(net(x, sample(SPECS["choice"], (5,))), x)


@pytest.mark.parametrize("name", ["choice", "choices", "choice-grid"])
def test_a_residual_over_choices_starts_by_keeping_them(name):
    spec = SPECS[name]
    net = make(Signature((Input(spec),), spec, residual=0), generator())
    x = sample(spec, (5,))
    probabilities = torch.softmax(net(x), -1)
    assert torch.allclose(probabilities, x, atol=0.03)


@pytest.mark.parametrize("name", ["bool", "bools"])
def test_a_residual_over_booleans_starts_by_keeping_them(name):
    spec = SPECS[name]
    net = make(Signature((Input(spec),), spec, residual=0), generator())
    x = sample(spec, (5,))
    assert torch.allclose(net(x), x, atol=0.03)


@pytest.mark.parametrize("name", ["choice", "bool", "vector"])
def test_gradient_reaches_every_part_of_a_residual_after_one_step(name):
    spec = SPECS[name]
    net = make(Signature((Input(spec),), spec, residual=0), generator())
    x = sample(spec, (8,))
    optimiser = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        optimiser.zero_grad()
        (net(x) - sample(spec, (8,), 3)).abs().sum().backward()
        optimiser.step()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def set_signature(name: str) -> Signature:
    inputs = (Input(SPECS[name], type_id="t"), Input(SPECS[name], is_set=True, type_id="t"))
    return Signature(inputs, FLOAT2)


@pytest.mark.parametrize("name", SPECS)
def test_a_set_has_no_order(name):
    net = make(set_signature(name), generator())
    values, weights = sample_set(SPECS[name], (3,), 5)
    single = sample(SPECS[name], (3,), 9)
    order = torch.tensor([4, 2, 0, 1, 3])
    assert torch.allclose(
        net(single, (values, weights)),
        net(single, (values[:, order], weights[:, order])),
        atol=1e-5,
    )


@pytest.mark.parametrize("name", SPECS)
def test_elements_of_weight_zero_leave_no_trace(name):
    net = make(set_signature(name), generator())
    values, weights = sample_set(SPECS[name], (3,), 5)
    weights[:, 3:] = 0
    single = sample(SPECS[name], (3,), 9)
    with_padding = net(single, (values, weights))
    without = net(single, (values[:, :3], weights[:, :3]))
    assert torch.allclose(with_padding, without, atol=1e-5)


def test_an_empty_set_is_a_set_whose_weights_are_zero():
    net = make(set_signature("vector"), generator())
    values, weights = sample_set(FLOAT2, (3,), 2)
    single = sample(FLOAT2, (3,), 9)
    empty = net(single, (values[:, :0], weights[:, :0]))
    assert torch.allclose(empty, net(single, (values, 0 * weights)), atol=1e-6)


@pytest.mark.parametrize("leading", [(0,), (2, 0)], ids=str)
@pytest.mark.parametrize("target", ["bool", "vector", "choice"])
def test_an_empty_batch_of_sets_has_an_empty_answer(target, leading):
    inputs = (Input(FLOAT2, type_id="t"), Input(FLOAT2, is_set=True, type_id="t"))
    net = make(Signature(inputs, SPECS[target]), generator())
    one = sample(FLOAT2, leading)
    for n in (0, 3):
        assert net(one, sample_set(FLOAT2, leading, n)).shape == (*leading, *SPECS[target].axes)


def test_a_set_may_be_the_only_argument():
    net = make(Signature((Input(FLOAT2, is_set=True),), SPECS["bool"]), generator())
    assert net(sample_set(FLOAT2, (3,), 4)).shape == (3, 1)
    assert net((torch.zeros(0, 2), torch.zeros(0))).shape == (1,)


def test_two_inputs_of_one_type_generalise_over_position():
    inputs = (Input(FLOAT2, type_id="pose"), Input(FLOAT2, type_id="pose"))
    net = make(Signature(inputs, SPECS["bool"]), generator())
    rng = generator(1)
    optimiser = torch.optim.AdamW(net.parameters(), 5e-3)

    def draw(low: int, high: int):
        a = torch.randint(low, high, (256, 2), generator=rng).float()
        b = a + torch.randint(-2, 3, (256, 2), generator=rng)
        return a, b, ((b - a) == torch.tensor([0.0, 1.0])).all(-1).float()

    with recording(net), torch.no_grad():
        net(*draw(0, 5)[:2])
    for _ in range(500):
        a, b, y = draw(0, 5)
        loss = torch.nn.functional.binary_cross_entropy(net(a, b)[..., 0], y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    a, b, y = draw(5, 9)
    assert ((net(a, b)[..., 0] > 0.5).float() == y).float().mean() > 0.97


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    signature = set_signature("vector")
    first, again, other = (make(signature, generator(s)).state_dict() for s in (0, 0, 1))
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not all(torch.equal(first[k], other[k]) for k in first)


def test_making_a_network_does_not_touch_the_global_generator():
    before = torch.random.get_rng_state()
    make(set_signature("image"), generator())
    assert torch.equal(before, torch.random.get_rng_state())


def test_an_int_without_choices_cannot_be_returned():
    with pytest.raises(ValueError, match="choices"):
        make(Signature((Input(FLOAT2),), SPECS["int"]), generator())


def test_recording_normalises_once_and_only_once():
    net = make(Signature((Input(FLOAT2),), SPECS["bool"]), generator())
    x = sample(FLOAT2, (1000,)) * torch.tensor([1000.0, 0.01]) + 5
    with recording(net) as fresh:
        assert fresh
        net(x)
    normalise = next(m for m in net.modules() if isinstance(m, Normalise))
    assert torch.allclose(normalise(x).std(0), torch.ones(2), atol=1e-2)
    with recording(net) as fresh:
        assert not fresh
        net(10 * x)
    assert torch.allclose(normalise(x).std(0), torch.ones(2), atol=1e-2)


def test_numbers_to_expect_set_the_scale_of_the_output():
    net = make(Signature((), FLOAT2), generator())
    net.head.expect(torch.tensor([100.0, -3.0]), torch.tensor([10.0, 1.0]))
    assert torch.equal(net(), torch.tensor([100.0, -3.0]))


def test_a_bounded_latent_never_runs_away_and_is_exact_inside():
    net = make(Signature((Input(FLOAT2),), FLOAT2, residual=0, bounded=True), generator())
    inside = 2 * torch.rand(5, 2, generator=generator()) - 1
    assert torch.equal(net(inside), inside)
    torch.nn.init.constant_(net.direct.bias, 100.0)
    for _ in range(30):
        inside = net(inside)
    assert inside.abs().max() <= 2.0


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("given", SPECS)
def test_the_weights_of_a_network_are_known_before_it_is_made(given, output):
    plain = Signature((Input(SPECS[given], False, "a"), Input(SPECS[given], True, "a")), OUTPUTS[output])
    around = Signature((Input(OUTPUTS[output]),), OUTPUTS[output], residual=0)
    for signature in (plain, around, Signature((), OUTPUTS[output])):
        weights = make(signature, generator()).state_dict()
        assert outline(signature) == {name: (t.dtype, tuple(t.shape)) for name, t in weights.items()}
        assert least_weights(signature) <= sum(t.numel() for t in weights.values())


def test_a_truth_that_is_kept_or_set_is_at_most_one():
    head = Head(1, Spec("bool"), None, residual=True)
    raw = torch.randn(10_000, 3, generator=torch.Generator().manual_seed(0)) - torch.tensor([30.0, 0.0, 0.0])
    assert float(head.value(raw, torch.ones(10_000, 1)).max()) == 1.0

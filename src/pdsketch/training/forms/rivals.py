"""Forms that explain as much as a chosen one, and say something else where nothing was seen.

Together with the form they are what is left of a version space (Mitchell, 1982): where all say the same, the
data decide; where they differ, nothing that was seen does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import torch

from pdsketch.nets import Argument, BlankForm, Condition, Node, Signature, Spec, TreeForm, always, readings_of
from pdsketch.training.forms.propose import Answers, all_of, propose, read_all, what_held
from pdsketch.training.forms.trees import Array

MOST_RIVALS: Final = 4
"""No more are kept of one blank."""

MARGIN: Final = 1e-3
"""A range of numbers is so much wider than what was seen, for float32."""

FAR: Final = 0.02
"""A number is explained if no more of the weight of its answers is wrong; set by hand."""


def possible(signature: Signature, asked: list[Argument]) -> list[Argument]:
    """Inputs that are possible: those ``asked``, and as many in which each argument of a ``signature`` is one
    that was asked, or any of few values.
    """
    generator = torch.Generator().manual_seed(0)
    found: list[Argument] = []
    for one, value in zip(signature.inputs, asked, strict=True):
        if isinstance(value, tuple):
            order = torch.randperm(len(value[0]), generator=generator).to(value[0].device)
            found.append((torch.cat([value[0], value[0][order]]), torch.cat([value[1], value[1][order]])))
            continue
        if one.spec.prim == "bool":
            other = torch.randint(2, value.shape, generator=generator)
        elif one.spec.is_categorical:
            codes = torch.randint(one.spec.choices or 1, value.shape[:-1], generator=generator)
            other = torch.nn.functional.one_hot(codes, value.shape[-1])
        else:
            other = value[torch.randperm(len(value), generator=generator).to(value.device)]
        found.append(torch.cat([value, other.to(value)]))
    return found


def alternatives(own: BlankForm, given: Answers, asked: list[Argument]) -> list[list[BlankForm]]:
    """Forms that agree with ``own`` on all answers that mattered, and not on all that may be ``asked``; of
    those that answer alike the simplest.

    Lists of which one each is wanted: of truths those that are true most seldom, and those that are true most
    often; then all, the simplest first.
    """
    signature, seen = own.signature, {_said(own, asked)}
    found: list[tuple[float, BlankForm]] = []
    for form, error in sorted(_fitting(signature, given), key=lambda one: one[0].cost):
        if error > (FAR if signature.output.prim == "float" else 1e-9):
            continue
        said = _said(form, asked)
        if said not in seen:
            seen.add(said)
            found.append((float((form(*asked) > 0.5).float().mean()), form))
    cheap = [form for _, form in found]
    listed = [form for _, form in sorted(found, key=lambda one: one[0])]
    return [listed, listed[::-1], cheap] if signature.output == Spec("bool") else [cheap]


def _fitting(signature: Signature, given: Answers) -> Iterator[tuple[BlankForm, float]]:
    yield from ((one.form, one.error) for one in propose(signature, given))
    if (
        signature.output != Spec("bool")
        or not signature.inputs
        or not len(given)
        or any(one.is_set for one in signature.inputs)
    ):
        return
    true = given.values[:, 0].cpu().numpy() > 0.5
    ends = [
        all_of(signature, what_held(signature, given, true)),
        _enclosing(signature, given, true),
        all_of(signature, what_held(signature, given, ~true), truth=False),
        always(signature, True),
    ]
    for form in ends:
        wrong = (form(*given.args)[:, 0].cpu().numpy() > 0.5) != true
        yield form, float(given.weights[:, 0].cpu().numpy()[wrong].sum())


def _enclosing(signature: Signature, given: Answers, true: Array) -> TreeForm:
    """What held whenever a truth was to be true, and the ranges of numbers: of how two lie to each other, or
    of single ones where none can be compared.
    """
    readings = readings_of(signature)
    values = read_all(readings, given.args, signature)[true]
    between = [one for one in readings if one.second >= 0]
    tests = what_held(signature, given, true)
    least = []
    for at, one in enumerate(readings if len(values) else ()):
        if not one.is_discrete and (one in between or not between):
            tests.append(Condition(one, float(values[:, at].max()) + MARGIN, order=True))
            least.append(Condition(one, float(values[:, at].min()) - MARGIN, order=True))
    node: Node = 1
    for at in reversed(range(len(tests) + len(least))):
        node = (at, node, 0) if at < len(tests) else (at, 0, node)
    return TreeForm(signature, [*tests, *least], node, [(0.0,), (1.0,)])


def _said(form: BlankForm, asked: list[Argument]) -> bytes:
    found = form(*asked)
    if form.signature.output.is_categorical:
        found = found.argmax(-1)
    return bytes(np.ascontiguousarray(found.cpu().numpy()))

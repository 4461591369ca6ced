"""Forms that explain as much as a chosen one, and say something else where nothing was seen; and on how many
answers each case of a form rests.

Together with the form they are what is left of a version space (Mitchell, 1982): where all say the same, the
data decide; where they differ, nothing that was seen does. Only what is about as short to describe counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import torch

from pdsketch.nets import (
    Argument,
    BlankForm,
    ComponentForm,
    Condition,
    CountForm,
    InputReading,
    Node,
    Signature,
    Spec,
    TableForm,
    TreeForm,
    always,
    readings_of,
)
from pdsketch.training.forms.propose import (
    NOTHING,
    Answers,
    Known,
    all_of,
    among,
    propose,
    read_all,
    what_held,
)
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


def alternatives(
    own: BlankForm,
    given: Answers,
    asked: list[Argument],
    known: Known = NOTHING,
    alike: Sequence[BlankForm] = (),
) -> list[BlankForm]:
    """Forms that agree with ``own`` on all answers that mattered, and not on all that may be ``asked``; of
    those that answer alike the simplest, the simplest first.

    ``given`` are the answers, ``known`` is what others read; the forms of blanks ``alike`` are tried, too.
    """
    seen, found = {_said(own, asked)}, list[BlankForm]()
    forms = [*_fitting(own.signature, given, known), *_swapped(own, given.args), *alike]
    for form in sorted(forms, key=lambda one: one.price(known)):
        far = FAR if form.signature.output.prim == "float" else 1e-9
        if error_of(form, given) <= far and (said := _said(form, asked)) not in seen:
            seen.add(said)
            found.append(form)
    return found


# -- what each case rests on --------------------------------------------------------------


def support(form: BlankForm | None, given: Answers) -> Array:
    """On how many of the answers that mattered each case rests that a form tells apart, ``[case]``.

    All that is false is one case: what is not shown to be true is taken to be false. Where there is no form,
    or it tells no cases apart, those of a truth are its two values.
    """
    counts = given.weights.sum(1) > 0.5
    if isinstance(form, ComponentForm):
        return np.concatenate([support(part, given) for part in form.parts])
    if isinstance(form, CountForm) and form.against is None:
        row, args = _elements(form, given.args)
        return support(form.element, Answers(args, given.values[row], counts[row].float().unsqueeze(1)))
    if isinstance(form, TreeForm | TableForm):
        ends = form.leaves if isinstance(form, TreeForm) else [*form.rows.values(), form.otherwise]
        is_truth = form.signature.output == Spec("bool")
        place = [0.0 if is_truth and end[0] < 0.5 else at + 1.0 for at, end in enumerate(ends)]
        if isinstance(form, TreeForm):
            told: BlankForm = TreeForm(form.signature, form.tests, form.node, [(at,) for at in place])
        else:
            rows = {row: (at,) for row, at in zip(form.rows, place, strict=False)}
            told = TableForm(form.signature, form.keys, rows, (place[-1],))
        cases = told.answer(given.args, len(given))[:, 0].long()
        found = np.bincount(cases[counts].cpu().numpy(), minlength=1 + len(ends))
        happens = place[:-1] if isinstance(form, TableForm) and form.is_whole else place
        return found[sorted({int(at) for at in happens})]
    if given.values.shape[1] == 1 and (form is None or form.signature.output == Spec("bool")):
        return np.bincount((given.values[counts, 0] > 0.5).long().cpu().numpy(), minlength=2)
    return np.array([int(counts.sum())])


def once_more(form: BlankForm, given: Answers) -> int | None:
    """How many of the answers that mattered say what becomes of a value that the form itself has made.

    Who only ever saw closed doors opened does not know what happens to open ones. None: nothing changes, or
    by steps, which go on; or what is written is no choice, or the like of it is not read.
    """
    output = form.signature.output
    places = [at for at, one in enumerate(form.signature.inputs) if one.spec == output and not one.is_set]
    if not output.is_categorical or not places or not len(given):
        return None
    counts, own = given.weights.sum(1) > 0.5, given.args[places[0]]
    assert isinstance(own, torch.Tensor)
    old = own.argmax(-1).reshape(len(own), -1)[counts].cpu().numpy()
    new = given.values[counts].long().cpu().numpy()
    changed = new != old
    moved = [part for part, moves in zip(form.parts, changed.any(0), strict=True) if moves]
    if not any(isinstance(one, TreeForm) and one.base is None for one in moved):
        return None
    return int(among(old, np.unique(new[changed.any(1)], axis=0)).sum())


# -- forms that explain the answers -------------------------------------------------------


def _fitting(signature: Signature, given: Answers, known: Known) -> Iterator[BlankForm]:
    yield from (one.form for one in propose(signature, given, known))
    if (
        signature.output != Spec("bool")
        or not signature.inputs
        or not len(given)
        or any(one.is_set for one in signature.inputs)
    ):
        return
    true = given.values[:, 0].cpu().numpy() > 0.5
    yield all_of(signature, what_held(signature, given, true))
    yield _enclosing(signature, given, true)
    yield all_of(signature, what_held(signature, given, ~true), truth=False)
    yield always(signature, True)


def error_of(form: BlankForm, given: Answers) -> float:
    """The part of the weight of the answers that a form gets wrong."""
    found, weights = form(*given.args), given.weights.amax(1)
    if form.signature.output.is_categorical:
        found = found.argmax(-1)
    off = (found.reshape(given.values.shape).float() - given.values).abs()
    if form.signature.output.prim == "float" and len(given):
        off = (off / (given.values.std(0, correction=0).max() + 1e-9)).clamp(max=1.0)
    else:
        off = (off > 0.5).float()
    return float((off.amax(1) * weights).sum() / weights.sum().clamp_min(1e-12))


def _swapped(form: BlankForm, args: list[Argument]) -> Iterator[BlankForm]:
    """The forms in which another test stands for one, and separates the arguments as that does."""
    if isinstance(form, ComponentForm):
        parts = form.parts
        for at, part in enumerate(parts):
            for other in _swapped(part, args):
                yield ComponentForm(form.signature, [*parts[:at], other, *parts[at + 1 :]])
    elif isinstance(form, CountForm):
        for other in _swapped(form.element, _elements(form, args)[1]):
            yield CountForm(form.signature, form.set, other, form.count, few=form.few, against=form.against)
    elif isinstance(form, TreeForm) and form.tests:
        readings = readings_of(form.signature)
        values = read_all(readings, args, form.signature)
        held = np.stack([test.holds(args, form.signature).cpu().numpy() for test in form.tests], 1)
        for at, test in enumerate(form.tests):
            rows = _reaching(form.node, at, held)
            for new, holds in _separating(readings, values[rows], held[rows, at]):
                if new != test:
                    tests = [*form.tests[:at], new, *form.tests[at + 1 :]]
                    node = form.node if holds else _turned(form.node, at)
                    yield TreeForm(form.signature, tests, node, form.leaves, form.base)


def _elements(form: CountForm, args: list[Argument]) -> tuple[torch.Tensor, list[Argument]]:
    """The rows of all elements of a set, and the arguments with each in the place of its set."""
    values, weights = args[form.set]
    row, at = (weights > 0.5).nonzero(as_tuple=True)
    found = [values[row, at] if place == form.set else x[row] for place, x in enumerate(args)]
    return row, [*found]


def _reaching(node: Node, at: int, held: Array) -> Array:
    """Which rows come to a test of a tree, by the tests that hold of each, ``[row, test]``."""
    if isinstance(node, int):
        return np.zeros(len(held), dtype=np.bool_)
    test, yes, no = node
    if test == at:
        return np.ones(len(held), dtype=np.bool_)
    found: Array = np.where(held[:, test], _reaching(yes, at, held), _reaching(no, at, held))
    return found


def _turned(node: Node, at: int) -> Node:
    """A tree in which what follows a test is exchanged."""
    if isinstance(node, int):
        return node
    test, yes, no = node[0], _turned(node[1], at), _turned(node[2], at)
    return (test, no, yes) if test == at else (test, yes, no)


def _separating(
    readings: Sequence[InputReading], values: Array, held: Array
) -> Iterator[tuple[Condition, bool]]:
    """Tests of ``values [row, reading]`` that hold of the rows where another ``held``, or of all others."""
    if held.all() or not held.any():
        return
    for at, reading in enumerate(readings):
        for holds in (True, False):
            inside, outside = values[held == holds, at], values[held != holds, at]
            if (inside == inside[0]).all() and reading.is_discrete and not (outside == inside[0]).any():
                yield Condition(reading, float(inside[0])), holds
            if not reading.is_discrete and inside.max() < outside.min():
                yield Condition(reading, float(inside.max() + outside.min()) / 2, order=True), holds


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

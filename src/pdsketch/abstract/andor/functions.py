"""What an expression over values computes, as a function of codes: tables over all combinations of them.

The *inputs* of an expression are the state variables that it reads, the Boolean formulas that it is given,
and variables over values. Each has *axes*: one for each part of its type, or one of two codes. A table is the
expression's truth, or the codes of its value, over all axes; axes on which nothing depends are dropped.

Where there are too many, a decision list is learned from samples: half of these are random codes, half are
combinations that were seen in data; more are near misses (Winston, 1970): samples that differ from another in
one code, or in one element of the set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Final, final

import numpy as np
import torch
from torch import Tensor

from pdsketch.abstract.andor.codebooks import Codebooks, CodePart
from pdsketch.abstract.decision_lists.decision_list import CodeColumn, CodedExamples, CodedSet, DecisionList
from pdsketch.abstract.decision_lists.foil import learn_list
from pdsketch.budget import LimitError, current
from pdsketch.core import Bools, Longs
from pdsketch.lang import (
    Apply,
    BlankCall,
    Component,
    Domain,
    Each,
    Expr,
    Logic,
    ObjectType,
    Quantified,
    ValueType,
    Variable,
    map_children,
    unfold,
    walk,
)
from pdsketch.tensor import Callee, Detached, Given, Model, Node

if TYPE_CHECKING:
    from pdsketch.abstract.andor.model_function import ModelFunction

MOST_COMBINATIONS: Final = 500_000
"""Combinations of codes on which an expression is evaluated: two seconds for a small network. Set by hand."""

_AT_ONCE: Final = 1 << 16


class NotAbstractableError(Exception):
    """An expression has no form over codes; says which, and why."""


class TooManyCombinationsError(Exception):
    """An expression depends on more combinations of codes than are looked at."""


@final
@dataclass(frozen=True, slots=True)
class CodeInput:
    """What an expression depends on: a state variable, a formula (Boolean), or a variable over values."""

    expr: Expr
    variable: Variable

    @property
    def type(self) -> ValueType:
        """The type of its value."""
        assert isinstance(self.variable.type, ValueType)
        return self.variable.type


@final
@dataclass(frozen=True, slots=True)
class CodeAxis:
    """One axis of a table: a part of an input (None: a Boolean one), and its codes in order."""

    input: CodeInput
    place: int
    part: CodePart | None
    codes: Longs

    @property
    def is_bool(self) -> bool:
        """Whether it is a formula's truth: 0 or 1."""
        return self.part is None


@final
@dataclass(frozen=True, slots=True)
class CodeTable:
    """A function of codes: ``results`` over the axes: Booleans, or codes of one part of the value."""

    axes: tuple[CodeAxis, ...]
    results: Bools | Longs

    def reduced(self) -> CodeTable:
        """The same without the axes on which nothing depends."""
        axes, results = list(self.axes), self.results
        if not results.size:
            return self
        for i in reversed(range(len(axes))):
            first = results.take([0] if results.size else [], axis=i)
            if results.size and (results == first).all():
                results = first.squeeze(i)
                del axes[i]
        return CodeTable(tuple(axes), results)


@final
@dataclass(slots=True)
class Counts:
    """In how many combinations of codes something was out of the ordinary.

    - ``not_finite``: a network returned NaN: they are false, or write nothing.
    - ``off``: the value is off every code: the nearest stands for it.
    - ``unseen``: no data had the value: nothing is written.
    - ``corrected``: the result is what the model did in a plan (`Corrections`).
    """

    not_finite: int = 0
    off: int = 0
    unseen: int = 0
    corrected: int = 0


UNCHANGED, AS_EMPTY = -1, -2
"""Among the codes that a function gives: it writes nothing; what it gives for the empty set."""


@final
@dataclass(frozen=True, slots=True)
class CounterExample:
    """A case in which rules are wrong: the codes on axes, those of elements of a set, and the results."""

    axes: tuple[CodeAxis, ...]
    codes: tuple[int, ...]
    own: tuple[CodeAxis, ...] = ()
    elements: tuple[tuple[int, ...], ...] = ()
    result: tuple[int, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a function is represented: exactly, or how often it agreed in so many ``cases``."""

    name: str
    exact: bool
    agreement: float
    cases: int
    counts: Counts
    counter_example: CounterExample | None = None


@final
@dataclass(frozen=True, slots=True)
class SampledRules:
    """A decision list that was learned from samples: ``meanings[label]`` is a code, or 0 and 1 of truth."""

    axes: tuple[CodeAxis, ...]
    own: tuple[CodeAxis, ...]
    rules: DecisionList
    meanings: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class CodeFunction:
    """What a function of ``owner``, an action or a derived predicate, gives at a ``place`` of its type.

    ``table`` says its results; of a set, those of the empty one, and ``elements`` how one element changes
    them (`AS_EMPTY`: not at all). ``sampled`` says them where there are no tables.
    """

    owner: str
    function: ModelFunction
    place: int
    behaviour: Behaviour
    table: CodeTable | None = None
    elements: CodeTable | None = None
    sampled: SampledRules | None = None


@final
class CodeInputs:
    """Collects what an expression depends on, and puts variables in its place."""

    def __init__(self, domain: Domain, books: Codebooks, fresh: count[int]) -> None:
        self._domain = domain
        self._books = books
        self._fresh = fresh
        self.found: dict[Expr, CodeInput] = {}
        self._places: dict[Expr, set[int]] = {}

    @property
    def variables(self) -> list[Variable]:
        """The variables in the places of inputs."""
        return [each.variable for each in self.found.values()]

    def replaced(self, expr: Expr) -> Expr:
        """The expression with a variable for each of its inputs."""
        for node in walk(expr):
            if isinstance(node, Component):
                self._places.setdefault(node.vector, set()).add(node.place)
        return self._replaced(expr)

    def _replaced(self, expr: Expr) -> Expr:
        match expr:
            case Variable() if isinstance(expr.type, ValueType):
                return self._input(expr)
            case Logic() | Quantified():
                return self._input(expr)
            case BlankCall() if expr.type.is_bool and any(isinstance(a, Each) for a in expr.args):
                return self._input(expr)
            case Apply():
                predicate = self._domain.predicates[expr.predicate]
                if predicate.is_state or predicate.role == "raw":
                    return self._input(expr)
                if predicate.role == "derived":
                    if predicate.type.is_bool and all(isinstance(a.type, ObjectType) for a in expr.args):
                        return self._input(expr)
                    return self._replaced(unfold(expr, self._domain, self._fresh))
                return map_children(expr, self._replaced)
            case Component() if self._is_one_number(expr):
                return self._input(expr)
            case Each():
                raise NotAbstractableError("a set is given to a function inside of another")
            case _:
                return map_children(expr, self._replaced)

    def _is_one_number(self, expr: Component) -> bool:
        """Whether it is all that is read of a state variable whose codes are of several numbers."""
        vector = expr.vector
        if not isinstance(vector, Apply) or not self._domain.predicates[vector.predicate].is_state:
            return False
        if self._places.get(vector) != {expr.place}:
            return False
        return self._books.is_joint(vector.type)

    def _input(self, expr: Expr) -> Variable:
        if expr not in self.found:
            assert isinstance(expr.type, ValueType)
            variable = Variable(f"?{next(self._fresh)}@in", expr.type)
            self.found[expr] = CodeInput(expr, variable)
        return self.found[expr].variable


@final
class CodeEvaluator:
    """Evaluates programs of expressions whose only variables are inputs, on values of codes.

    ``broken`` says for which rows of the last run a network returned NaN; ``counts`` goes on until it is
    replaced.
    """

    def __init__(self, model: Model, books: Codebooks) -> None:
        self.books = books
        self.programs = Detached(model)
        self.broken: Bools = np.zeros(0, np.bool_)
        self.counts = Counts()
        self._functions = model.blanks

    def axes(self, inputs: Iterable[CodeInput]) -> list[CodeAxis]:
        """The axes of inputs, with the codes that each can have."""
        found = []
        for each in inputs:
            if each.type.is_bool:
                found.append(CodeAxis(each, 0, None, np.arange(2)))
                continue
            if isinstance(each.expr, Component):
                part, codes = self._component(each.expr)
                found.append(CodeAxis(each, 0, part, codes))
                continue
            for place, part in enumerate(self.books.parts(each.type)):
                found.append(CodeAxis(each, place, part, self._codes(each, place, part)))
        return found

    def _component(self, expr: Component) -> tuple[CodePart, Longs]:
        """The codes of one number of a state variable: far fewer than the variable has."""
        assert isinstance(expr.vector, Apply)
        part, of_whole = self.books.component(expr.vector.type, expr.place)
        (own,) = self.books.domains[expr.vector.predicate]
        return part, np.array([*dict.fromkeys(of_whole[[*own]].tolist())], np.int64)

    def _codes(self, each: CodeInput, place: int, part: CodePart) -> Longs:
        if isinstance(each.expr, Apply):
            return np.array([*self.books.domains[each.expr.predicate][place]], np.int64)
        return np.arange(len(part.book))

    def run_on(self, parameters: Mapping[str, Tensor], n: int, node: Node) -> Tensor:
        """The values of a program on values of its inputs, ``[1, n, *shape]`` each."""
        watch = _NotFinite(n)
        with self._functions.watched(watch):
            found = self.programs.run(node, parameters, n).cpu()
        self.broken = watch.rows
        self.counts.not_finite += int(self.broken.sum())
        return found

    def truths_on(self, parameters: Mapping[str, Tensor], n: int, node: Node) -> Bools:
        """`run_on` of a truth: false where a network returned NaN."""
        truths: Bools = self.run_on(parameters, n, node).numpy().astype(np.bool_)
        return truths & ~self.broken

    def parameters(self, axes: Sequence[CodeAxis], rows: Longs) -> dict[str, Tensor]:
        """The values of inputs on rows of codes, ``[1, n, *shape]`` each."""
        by_input: dict[CodeInput, list[tuple[int, int]]] = {}
        for column, axis in enumerate(axes):
            by_input.setdefault(axis.input, []).append((axis.place, column))
        found = {}
        for each, places in by_input.items():
            (_, column), part = places[0], axes[places[0][1]].part
            if part is None:
                tensor = torch.from_numpy(rows[:, column] > 0)
            elif isinstance(each.expr, Component):
                tensor = torch.from_numpy(part.book.values[rows[:, column], 0])
                tensor = tensor.round().long() if each.type.prim == "int64" else tensor.float()
            else:
                tensor = self.books.value_of(each.type, [rows[:, column] for _, column in sorted(places)])
            found[each.variable.name] = tensor[None].to(self.programs.device)
        return found

    def coded(self, values: Tensor, type_: ValueType, *, constant: bool) -> Longs:
        """The codes of the values of the last run, ``[n, *shape]``, a column a part; -1: it is no number."""
        size = prod(type_.shape or ()) if type_.shape != () else 1
        numbers = values.double().reshape(-1, size).numpy()
        wrong = self.broken | ~np.isfinite(numbers).all(1)
        numbers = np.nan_to_num(numbers)
        found, near = [], np.ones(len(numbers), np.bool_)
        for part in self.books.parts(type_):
            own = numbers[:, list(part.dimensions)]
            if constant:
                codes = part.book.admit(own)
            else:
                codes, sure = part.book.meet(own)
                if part.book.closed:  # nothing else is written than what was seen
                    codes = np.where(sure, codes, -1)
                    self.counts.unseen += int((~sure & ~wrong).sum())
                else:
                    near &= sure
            found.append(codes)
            wrong |= not len(part.book)
        self.counts.off += int((~near & ~wrong).sum())
        coded = np.stack(found, -1)
        coded[wrong] = -1
        return coded


@final
class _NotFinite:
    """Notices for which of ``n`` rows a network returned NaN: give it to `Functions.watched`."""

    def __init__(self, n: int) -> None:
        self.rows: Bools = np.zeros(n, np.bool_)

    def __call__(self, _callee: Callee, _given: Sequence[Given], leading: torch.Size, result: Tensor) -> None:
        """Look at one call."""
        if not result.is_floating_point() or not bool(torch.isnan(result).any()):
            return
        flat = torch.isnan(result).reshape(*leading, -1).any(-1)
        if len(leading) > 1 and leading[1] == len(self.rows):
            self.rows |= flat.transpose(0, 1).reshape(len(self.rows), -1).any(1).cpu().numpy()
        else:
            self.rows[:] = True


Evaluate = Callable[[Longs], Longs]
"""Rows of codes ``[n, axes]`` → results ``[n, k]``."""


@final
@dataclass(frozen=True, slots=True)
class Tabulated:
    """The tables of a function's results, over the axes that matter."""

    tables: tuple[CodeTable, ...]
    counts: Counts


def tables_of(axes: Sequence[CodeAxis], evaluate: Evaluate) -> tuple[CodeTable, ...]:
    """The tables of a function's results over all combinations of codes.

    Raises `TooManyCombinationsError` where these are too many.
    """
    sizes = [len(axis.codes) for axis in axes]
    if prod(sizes) > MOST_COMBINATIONS:
        raise TooManyCombinationsError
    # An image has more axes than an array may have, and most of its numbers never vary.
    varied = [i for i, size in enumerate(sizes) if size != 1]
    few = tuple(axes[i] for i in varied)
    own = every_row(few)
    rows = np.empty((len(own), len(axes)), np.int64)
    rows[:] = [int(axis.codes[0]) if len(axis.codes) else 0 for axis in axes]
    rows[:, varied] = own
    shape = [len(axis.codes) for axis in few]
    return tuple(CodeTable(few, column.reshape(shape)).reduced() for column in evaluate(rows).T)


def portions(n: int) -> Iterator[slice]:
    """So many rows, not too many at a time."""
    for first in range(0, max(1, n), _AT_ONCE):
        current().check()
        yield slice(first, first + _AT_ONCE)


def own_column(axes: Sequence[CodeAxis], target: Apply, place: int) -> int | None:
    """Which axis is the part of the target that is written."""
    own = [i for i, axis in enumerate(axes) if axis.input.expr == target and axis.place == place]
    return own[0] if own else None


def every_row(axes: Sequence[CodeAxis]) -> Longs:
    """All combinations of the codes of axes, ``[n, axes]``."""
    grids = np.meshgrid(*(axis.codes for axis in axes), indexing="ij") if axes else []
    if not grids:
        return np.zeros((1, 0), np.int64)
    return np.stack([grid.reshape(-1) for grid in grids], -1)


SAMPLES: Final = 4096
"""Random samples, and as many near misses of them, and of these. Set by hand."""

_ELEMENTS: Final = 5
"""Elements of a random set at most, where no fit has noted how many there were."""

_MOST_RESULTS: Final = 64
"""A function with more results than this has no short list."""

_SECONDS: Final = 20.0
"""Time for one list."""

SeenRows = Mapping[str, Longs]
"""Combinations of codes, one column a part, that were seen of state variables."""

SampleEvaluate = Callable[[Longs, Longs, Bools], Longs]
"""Rows of codes, elements ``[n, m, axes]`` and which of these are in the set → results ``[n]``."""

_Samples = tuple[Longs, Longs, Bools, Longs]
"""Arguments, and results."""


@final
class ArgumentSampler:
    """Draws arguments of a function: rows of codes, and sets of elements, no larger than those of data.

    ``axes`` are those of its values, ``own`` those of an element of its set; ``seen`` are codes that were
    seen together, and ``largest`` is the size of a set (None: not known). What a network says of larger sets
    than it was trained on means nothing, and has no short rules.
    """

    def __init__(
        self,
        axes: Sequence[CodeAxis],
        own: Sequence[CodeAxis],
        seen: SeenRows,
        largest: int | None = None,
    ) -> None:
        self.axes, self.own = tuple(axes), tuple(own)
        self._seen = seen
        self._largest = max(1, _ELEMENTS if largest is None else largest) if own else 1
        self._rng = np.random.default_rng(0)

    def draw(self, n: int) -> tuple[Longs, Longs, Bools]:
        """Random arguments, the second half of them of combinations that were seen."""
        m = self._largest
        rows = np.concatenate([self._random(self.axes, n // 2), self._known(self.axes, n - n // 2)])
        flat = [self._random(self.own, n // 2 * m), self._known(self.own, (n - n // 2) * m)]
        held = np.arange(m)[None] < self._rng.integers(0, m + 1, (n, 1))
        return rows, np.concatenate(flat).reshape(n, m, len(self.own)), held & bool(self.own)

    def near(self, rows: Longs, elements: Longs, held: Bools) -> tuple[Longs, Longs, Bools]:
        """Each of some arguments with one code changed, or one element in or out of the set."""
        rows, elements, held = rows.copy(), elements.copy(), held.copy()
        rng, n = self._rng, len(rows)
        outer, inner = len(self.axes), len(self.own)
        choice = rng.integers(0, outer + inner + (1 if inner else 0), n)
        place = rng.integers(0, held.shape[1], n)
        for i, axis in enumerate((*self.axes, *self.own)):
            where = np.flatnonzero(choice == i)
            new = rng.choice(axis.codes, len(where))
            if i < outer:
                rows[where, i] = new
            else:
                elements[where, place[where], i - outer] = new
        where = np.flatnonzero(choice == outer + inner)
        held[where, place[where]] ^= True
        return rows, elements, held

    def _random(self, axes: Sequence[CodeAxis], n: int) -> Longs:
        columns = [self._rng.choice(axis.codes, n) for axis in axes]
        return np.stack(columns, -1) if columns else np.zeros((n, 0), np.int64)

    def _known(self, axes: Sequence[CodeAxis], n: int) -> Longs:
        rows = self._random(axes, n)
        sources = {axis.input.expr: axis.input for axis in axes}
        for source in sources:
            if isinstance(source, Apply) and len(self._seen.get(source.predicate, ())):
                drawn = self._rng.choice(self._seen[source.predicate], n)
                for column, axis in enumerate(axes):
                    if axis.input.expr == source:
                        rows[:, column] = drawn[:, axis.place]
        return rows


def lists_of(model: Model) -> dict[str, DecisionList]:
    """The lists that were learned of a model, by a digest of their examples: learning one takes seconds."""
    found = model.engine.kept.setdefault("decision lists", {})
    assert isinstance(found, dict)
    return found


def learn_sampled(
    name: str,
    sampler: ArgumentSampler,
    evaluate: SampleEvaluate,
    known: MutableMapping[str, DecisionList],
) -> tuple[SampledRules, Behaviour]:
    """A decision list of a function, and how well it agrees; results are codes, or 0 and 1.

    ``name`` is the function's, for messages; ``sampler`` draws its arguments; ``evaluate`` computes it on
    these. Lists are kept among those that are ``known``. One that agrees badly is a list, too: plans are
    checked in the model. Raises `NotAbstractableError` where there is none.
    """
    axes, own = sampler.axes, sampler.own
    if any(not len(axis.codes) for axis in (*axes, *own)):
        raise NotAbstractableError(f"`{name}` reads values of which none are known")
    samples = _samples(sampler, evaluate)
    meanings = np.unique(samples[-1])
    if len(meanings) > _MOST_RESULTS:
        raise NotAbstractableError(f"`{name}` has more than {_MOST_RESULTS} results for its many arguments")
    found = _learned(name, _examples(axes, own, samples, meanings), known)
    wrong = found.counter_example
    counter = None if wrong is None else _case(axes, own, samples, wrong)
    behaviour = Behaviour(name, False, found.held_out, found.n_held_out, Counts(), counter)
    return SampledRules(axes, own, found, tuple(map(int, meanings))), behaviour


def _examples(
    axes: Sequence[CodeAxis], own: Sequence[CodeAxis], samples: _Samples, meanings: Longs
) -> CodedExamples:
    """Samples with labels: places among the meanings."""
    rows, elements, held, results = samples
    sets = (CodedSet(elements, held, _columns(own)),) if own else ()
    labels = np.searchsorted(meanings, results).clip(0, len(meanings) - 1)
    return CodedExamples(rows, _columns(axes), labels.astype(np.int64), sets)


def _case(axes: Sequence[CodeAxis], own: Sequence[CodeAxis], samples: _Samples, at: int) -> CounterExample:
    rows, elements, held, results = samples
    members = tuple(tuple(map(int, e)) for e in elements[at][held[at]])
    row = tuple(map(int, rows[at]))
    return CounterExample(tuple(axes), row, tuple(own), members, (int(results[at]),))


def _samples(sampler: ArgumentSampler, evaluate: SampleEvaluate) -> _Samples:
    """Samples of a function, and near misses of as many of each result."""
    drawn = sampler.draw(SAMPLES)
    results = evaluate(*drawn)
    _, label = np.unique(results, return_inverse=True)
    order, counts = np.argsort(label.reshape(-1), kind="stable"), np.bincount(label.reshape(-1))
    starts, each = np.cumsum(counts) - counts, np.arange(-(-SAMPLES // len(counts)))
    some = np.concatenate([order[s + each % c] for s, c in zip(starts, counts, strict=True)])[:SAMPLES]
    near = sampler.near(drawn[0][some], drawn[1][some], drawn[2][some])
    again = sampler.near(*near)
    rows, elements, held = (np.concatenate(parts) for parts in zip(drawn, near, again, strict=True))
    return rows, elements, held, np.concatenate([results, evaluate(*near), evaluate(*again)])


def _columns(axes: Sequence[CodeAxis]) -> tuple[CodeColumn, ...]:
    """Codes of one codebook can be compared."""
    return tuple(
        CodeColumn(2) if axis.part is None else CodeColumn(len(axis.part.book), axis.part.book.name)
        for axis in axes
    )


def _learned(name: str, examples: CodedExamples, known: MutableMapping[str, DecisionList]) -> DecisionList:
    digest = sha256()
    for array in (examples.codes, examples.y, *(a for s in examples.sets for a in (s.codes, s.mask))):
        digest.update(np.ascontiguousarray(array).tobytes())
    key = digest.hexdigest()
    if key not in known:
        outer = current()
        try:
            with outer.narrowed(_SECONDS).running():
                known[key] = learn_list(examples)
        except LimitError:
            outer.check()
            raise NotAbstractableError(f"`{name}`: no rules were found within {_SECONDS:.0f} s") from None
    return known[key]

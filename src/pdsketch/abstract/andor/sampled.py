"""Decision lists from samples of a function, where it has no table over codes.

Half of the samples are random codes, half are combinations that were seen in data; more are near misses
(Winston, 1970): samples that differ from another in one code, or in one element of the set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from hashlib import sha256
from typing import Final, final

import numpy as np

from pdsketch.abstract.andor.functions import (
    Behaviour,
    CodeAxis,
    CounterExample,
    Counts,
    NotAbstractableError,
    SampledRules,
)
from pdsketch.abstract.decision_lists.decision_list import (
    CodeColumn,
    CodedExamples,
    CodedSet,
    DecisionList,
)
from pdsketch.abstract.decision_lists.foil import learn_list
from pdsketch.budget import LimitError, current
from pdsketch.core import Bools, Longs
from pdsketch.lang import Apply
from pdsketch.tensor import Model

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

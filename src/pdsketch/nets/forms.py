"""Forms: what fills a blank where a simple function does as well as a network.

A constant, a decision tree over codes, numbers and differences, a table, a sparse linear function, a
threshold, *at least k of a set*. Each answers in batches, prints itself, and is plain data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log2, prod
from typing import Any, Final, cast, final

import torch
from torch import Tensor, nn

from pdsketch.nets.features import Argument
from pdsketch.nets.readings import InputReading
from pdsketch.nets.signature import Signature, Spec

LOGIT: Final = 20.0
"""How sure a form is of an int: far surer than float32 tells from certain."""

NEAR: Final = 0.25
"""A number is a value if it is no further from it than this part of the smallest step between values."""

BITS: Final = 4.0
"""What a test is worth: a choice between some sixteen, a few readings of a few values each."""

Value = tuple[float, ...]
Reads = frozenset[Hashable]
Node = int | tuple[int, "Node", "Node"]
"""The place of a leaf, or that of a test and what follows where it holds and where not."""


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """Whether a reading is a value, within a tolerance; or, for ``order``, at most that value."""

    reading: InputReading
    value: float
    tolerance: float = 0.0
    order: bool = False

    def holds(self, args: Sequence[Argument], signature: Signature) -> Tensor:
        """Of arguments ``[n, *axes]``: ``[n]``."""
        found = self.reading.of(args, signature)
        return found <= self.value if self.order else (found - self.value).abs() <= self.tolerance

    def said(self, names: Sequence[str], sizes: Sequence[int]) -> str:
        """It, in words."""
        return f"{self.reading.said(names, sizes)} {'<=' if self.order else '='} {self.value:.4g}"

    def as_json(self) -> list[Any]:
        """Plain data."""
        return [self.reading.as_json(), self.value, self.tolerance, self.order]


@final
@dataclass(frozen=True, slots=True)
class Base:
    """The argument that a value is added to: whole, or one of its numbers."""

    argument: int
    place: int | None = None


class BlankForm(nn.Module, ABC):
    """A function of the arguments that a signature describes, with nothing to train.

    ``read`` is what it reads off them, ``parts`` are the forms that it is made of, if it is not itself one.
    """

    def __init__(
        self, signature: Signature, read: Sequence[InputReading] = (), parts: Sequence[BlankForm] = ()
    ) -> None:
        super().__init__()
        self.signature = signature
        self.names: tuple[str, ...] = ()
        self.parts: tuple[BlankForm, ...] = tuple(parts) or (self,)
        self.reads: Reads = frozenset(one.typed(signature) for one in read)
        self.reads = self.reads.union(*(part.reads for part in parts))

    @property
    @abstractmethod
    def cost(self) -> float:
        """How much there is to say to describe it, in tests."""

    def price(self, known: Mapping[Reads, int]) -> float:
        """Its cost, if readings are drawn as the ``known`` ones were (Krichevsky and Trofimov, 1981)."""
        return self.cost - sum(log2(1 + 2 * known.get(part.reads, 0)) for part in self.parts) / BITS

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        return str(self.as_json()["kind"])

    @abstractmethod
    def answer(self, args: Sequence[Argument], count: int) -> Tensor:
        """Of ``count`` rows: truths ``[n, size]``, codes ``[n, size]`` or numbers ``[n, size]``."""

    @abstractmethod
    def said(self, names: Sequence[str]) -> str:
        """It, in words; ``names`` are those of the arguments."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Plain data, from which `form_of` makes it again."""

    def forward(self, *args: Argument) -> Tensor:
        """The result as `Signature` lays it out."""
        flat, leading = flattened(self.signature, args)
        found = self.answer(flat, prod(leading))
        return shaped(found, self.signature.output, leading)

    def extra_repr(self) -> str:
        """It, in words."""
        return self.said(self.names or [f"x{at}" for at in range(len(self.signature.inputs))])

    def __repr__(self) -> str:
        """It, in words, by the ``names`` of its arguments."""
        return self.extra_repr()

    @property
    def sizes(self) -> list[int]:
        """How many numbers each argument has."""
        return [one.spec.size for one in self.signature.inputs]


def flattened(signature: Signature, args: Sequence[Argument]) -> tuple[list[Argument], tuple[int, ...]]:
    """Arguments with one leading axis, and the leading axes that there were."""
    leading: tuple[int, ...] = ()
    flat: list[Argument] = []
    for value, one in zip(args, signature.inputs, strict=True):
        if isinstance(value, tuple):
            values, weights = value
            leading = tuple(weights.shape[:-1])
            rows, size = prod(leading), weights.shape[-1]
            flat.append((values.reshape(rows, size, *one.spec.axes), weights.reshape(rows, size)))
        else:
            leading = tuple(value.shape[: value.dim() - len(one.spec.axes)])
            flat.append(value.reshape(prod(leading), *one.spec.axes))
    return flat, leading


def shaped(found: Tensor, spec: Spec, leading: Sequence[int]) -> Tensor:
    """Truths and numbers as they are, codes as logits, with the value's own axes."""
    if spec.is_categorical:
        found = LOGIT * nn.functional.one_hot(found.long(), spec.choices or 1)
    return found.to(torch.float32).reshape(*leading, *spec.axes)


def based(base: Base | None, found: Tensor, args: Sequence[Argument], signature: Signature) -> Tensor:
    """What was ``found``, added to the ``base`` among ``args``: numbers, or by the ``signature`` codes modulo
    their choices.
    """
    if base is None:
        return found
    size = signature.inputs[base.argument].spec.size
    places = range(size) if base.place is None else [base.place]
    kind = "code" if signature.output.is_categorical else "number"
    own = torch.stack([InputReading(kind, base.argument, place=p).of(args, signature) for p in places], 1)  # type: ignore[arg-type]
    return (own + found) % (signature.output.choices or 1) if signature.output.is_categorical else own + found


@final
class TreeForm(BlankForm):
    """A decision tree, whose leaves are values, or what is added to an argument (``base``).

    A constant is a tree without tests, and so is *one further*. ``node`` is the tree itself, of places in
    ``tests`` and in ``leaves``; ``signature`` is that of the blank, here and below.
    """

    def __init__(
        self,
        signature: Signature,
        tests: Sequence[Condition],
        node: Node,
        leaves: Sequence[Value],
        base: Base | None = None,
    ) -> None:
        super().__init__(signature, [test.reading for test in tests])
        self.tests, self.node, self.leaves, self.base = tuple(tests), node, tuple(leaves), base

    @property
    def kind(self) -> str:
        """A tree without tests is a constant, or what is added to an argument."""
        return "tree" if self.tests else "constant" if self.base is None else "step"

    @property
    def cost(self) -> float:
        """The number of leaves, dearer the more absolute the tests are."""
        price = max([test.reading.price for test in self.tests], default=1.0)
        return _leaves(self.node) * price + (0.0 if self.base is None else 0.1)

    def answer(self, args: Sequence[Argument], count: int) -> Tensor:
        """The value of each row's leaf."""
        device = device_of(args)
        values = torch.tensor(self.leaves, dtype=torch.float32, device=device)
        held = [test.holds(args, self.signature) for test in self.tests]

        def leaf(node: Node) -> Tensor:
            if isinstance(node, int):
                return torch.full((), node, device=device)
            return torch.where(held[node[0]], leaf(node[1]), leaf(node[2]))

        found = values[leaf(self.node).expand(count)]
        return based(self.base, found, args, self.signature)

    def said(self, names: Sequence[str]) -> str:
        """Nested *if*s; a Boolean one as what makes it true."""
        if self.signature.output == Spec("bool"):
            return _or(_paths(self.node, self.leaves, [t.said(names, self.sizes) for t in self.tests]))
        added = "" if self.base is None else _based(self.base, names, self.sizes)

        def text(node: Node) -> str:
            if isinstance(node, int):
                return _sum(added, [(self.leaves[node], "")], self.signature)
            return f"({self.tests[node[0]].said(names, self.sizes)} ? {text(node[1])} : {text(node[2])})"

        return text(self.node)

    def smaller(self) -> Iterator[TreeForm]:
        """The trees with a test less, larger cuts first."""
        for node in _cut(self.node):
            used = sorted(set(_tests_of(node)))
            ends = sorted(set(_leaves_of(node)))
            yield TreeForm(
                self.signature,
                [self.tests[at] for at in used],
                _renumbered(node, used, ends),
                [self.leaves[at] for at in ends],
                self.base,
            )

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "tree",
            "tests": [test.as_json() for test in self.tests],
            "node": _listed(self.node),
            "leaves": [list(leaf) for leaf in self.leaves],
            "base": None if self.base is None else [self.base.argument, self.base.place],
        }


@final
class TableForm(BlankForm):
    """A value for each combination of codes, or of whole numbers, that occurred, and one for all others.

    ``rows`` are the values by what the ``keys`` read, ``otherwise`` is that of all others; both are added to
    an argument, if there is a ``base``. ``signature`` is that of the blank.
    """

    def __init__(
        self,
        signature: Signature,
        keys: Sequence[InputReading],
        rows: Mapping[tuple[int, ...], Value],
        otherwise: Value,
        base: Base | None = None,
    ) -> None:
        super().__init__(signature, keys)
        self.keys, self.rows = tuple(keys), dict(sorted(rows.items()))
        self.otherwise, self.base = otherwise, base

    @property
    def is_whole(self) -> bool:
        """Whether there are no others: a row for each combination of codes that there is."""
        specs = [self.signature.inputs[key.first].spec for key in self.keys]
        codes = all(key.is_discrete for key in self.keys)
        return codes and len(self.rows) == prod(spec.choices or 2 for spec in specs)

    @property
    def cost(self) -> float:
        """A test of each key for the first row, and a little less than a test for each further one."""
        added = 0.0 if self.base is None else 0.1
        return 1.1 * (1 + len(self.keys)) + 0.7 * (len(self.rows) - 1) + added

    def answer(self, args: Sequence[Argument], count: int) -> Tensor:
        """The value of each row's codes."""
        device = device_of(args)
        hit = torch.ones(count, len(self.rows), dtype=torch.bool, device=device)
        for reading, *column in zip(self.keys, *self.rows, strict=True):
            number = reading.of(args, self.signature).unsqueeze(1)
            hit &= (number - torch.tensor(column, device=device)).abs() <= NEAR
        values = torch.tensor([*self.rows.values(), self.otherwise], dtype=torch.float32, device=device)
        found = values[torch.where(hit.any(1), hit.int().argmax(1), len(self.rows))]
        return based(self.base, found, args, self.signature)

    def said(self, names: Sequence[str]) -> str:
        """Its rows."""
        over = ", ".join(reading.said(names, self.sizes) for reading in self.keys)
        added = "" if self.base is None else _based(self.base, names, self.sizes)
        said = {row: _sum(added, [(v, "")], self.signature) for row, v in self.rows.items()}
        rows = "; ".join(f"{', '.join(map(str, row))}: {value}" for row, value in said.items())
        others = f"; else {_sum(added, [(self.otherwise, '')], self.signature)}"
        return f"table of {over}: {rows}{'' if self.is_whole else others}"

    def smaller(self) -> Iterator[TableForm]:
        """The tables with a row less."""
        for row in self.rows if len(self.rows) > 1 else ():
            rest = {other: value for other, value in self.rows.items() if other != row}
            yield TableForm(self.signature, self.keys, rest, self.otherwise, self.base)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "table",
            "keys": [key.as_json() for key in self.keys],
            "rows": [[list(row), list(value)] for row, value in self.rows.items()],
            "otherwise": list(self.otherwise),
            "base": None if self.base is None else [self.base.argument, self.base.place],
        }


Column = tuple[InputReading, float | None]
"""A number, or whether a code is a value."""


@final
class LinearForm(BlankForm):
    """A sparse linear function of numbers and of whether codes are values (``columns``), added to a ``base``;
    for a truth, whether it is above 0.

    ``matrix [1 + columns, size]`` begins with the constant; ``signature`` is that of the blank.
    """

    def __init__(
        self,
        signature: Signature,
        columns: Sequence[Column],
        matrix: Sequence[Value],
        base: Base | None = None,
    ) -> None:
        super().__init__(signature, [reading for reading, _ in columns])
        self.columns, self.matrix, self.base = tuple(columns), tuple(matrix), base
        self._is_truth = signature.output == Spec("bool")

    @property
    def kind(self) -> str:
        """Of truths a threshold."""
        return "threshold" if self._is_truth else "linear"

    @property
    def cost(self) -> float:
        """One and a half for each column; a threshold is more than a single test."""
        return 1.5 + 2.0 * len(self.columns) if self._is_truth else 1.0 + 1.5 * len(self.columns)

    def answer(self, args: Sequence[Argument], count: int) -> Tensor:
        """The sum, or whether it is above 0."""
        matrix = torch.tensor(self.matrix, dtype=torch.float32, device=device_of(args))
        found = design(self.columns, args, self.signature, count) @ matrix
        return (found > 0).to(found) if self._is_truth else based(self.base, found, args, self.signature)

    def said(self, names: Sequence[str]) -> str:
        """The sum, or the inequality."""
        added = "" if self.base is None else _based(self.base, names, self.sizes)
        said = [_column(column, names, self.sizes) for column in self.columns]
        if not self._is_truth:
            return _sum(added, [*zip(self.matrix, ["", *said], strict=True)], self.signature)
        sign, than = (-1, "<") if all(by < 0 for (by,) in self.matrix[1:]) else (1, ">")
        parts = [((sign * by,), what) for (by,), what in zip(self.matrix[1:], said, strict=True)]
        return f"{_sum(added, parts, self.signature)} {than} {_vector([-sign * self.matrix[0][0]])}"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "linear",
            "columns": [[reading.as_json(), value] for reading, value in self.columns],
            "matrix": [list(row) for row in self.matrix],
            "base": None if self.base is None else [self.base.argument, self.base.place],
        }


@final
class CountForm(BlankForm):
    """Whether at least (``few``: fewer than) ``count`` elements of a set are of a kind, or more of that kind
    than are of another.

    ``set_`` is the place of the set in the ``signature``, ``element`` the form that says which are of the
    kind, ``against`` that of the other.
    """

    def __init__(
        self,
        signature: Signature,
        set_: int,
        element: BlankForm,
        count: int,
        *,
        few: bool = False,
        against: BlankForm | None = None,
    ) -> None:
        super().__init__(signature, parts=[element] if against is None else [element, against])
        self.set, self.element, self.count, self.few = set_, element, count, few
        self.against = against

    @property
    def cost(self) -> float:
        """That of the elements' form, and a test more the more there are to be."""
        other = 0.0 if self.against is None else self.against.cost
        return self.element.cost + other + 1.0 + 0.5 * (self.count - 1)

    def answer(self, args: Sequence[Argument], count: int) -> Tensor:
        """The truth."""
        held = held_elements(self.element, self.set, args, count).sum(1)
        if self.against is not None:
            held = held - held_elements(self.against, self.set, args, count).sum(1)
        enough = held >= self.count
        return (enough != self.few).to(torch.float32).unsqueeze(1)

    def said(self, names: Sequence[str]) -> str:
        """The count."""
        word = "fewer than" if self.few else "at least"
        if self.against is None:
            return f"{word} {self.count} of {names[self.set]} with {self.element.said(names)}"
        both = f"{self.element.said(names)} than with {self.against.said(names)}"
        return f"{word} {self.count} more of {names[self.set]} with {both}"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "at-least",
            "set": self.set,
            "element": self.element.as_json(),
            "count": self.count,
            "few": self.few,
            "against": None if self.against is None else self.against.as_json(),
        }


@final
class ComponentForm(BlankForm):
    """A form for each component of a vector: one component changes, the others stay."""

    def __init__(self, signature: Signature, parts: Sequence[BlankForm]) -> None:
        super().__init__(signature, parts=parts)

    @property
    def cost(self) -> float:
        """That of the components' forms; to keep one costs a tenth."""
        costs = [part.cost for part in self.parts]
        return sum(0.1 if cost <= 1.1 else cost for cost in costs) + 1.0

    def answer(self, args: Sequence[Argument], count: int) -> Tensor:
        """The components, side by side."""
        return torch.cat([part.answer(args, count) for part in self.parts], 1)

    def said(self, names: Sequence[str]) -> str:
        """The components."""
        return "[" + ", ".join(part.said(names) for part in self.parts) + "]"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "componentwise", "parts": [part.as_json() for part in self.parts]}


def always(signature: Signature, truth: bool) -> TreeForm:
    """The constant truth."""
    return TreeForm(signature, [], 0, [(float(truth),)])


def plain(signature: Signature) -> Signature:
    """What a network takes and returns, however it is used."""
    return Signature(signature.inputs, signature.output)


def component(signature: Signature) -> Signature:
    """The signature of one component of a vector."""
    return Signature(signature.inputs, replace(signature.output, shape=()))


def element(signature: Signature, set_: int) -> Signature:
    """The signature of a truth about one element of a set."""
    inputs = [replace(one, is_set=False) if at == set_ else one for at, one in enumerate(signature.inputs)]
    return Signature(tuple(inputs), Spec("bool"))


def held_elements(form: BlankForm, set_: int, args: Sequence[Argument], count: int) -> Tensor:
    """Of which elements of a set a ``form`` is true, ``[n, m]``; ``set_`` is its place among the ``args`` of
    ``count`` rows.
    """
    return elements(set_, args, count, lambda flat: form.answer(flat, len(flat[set_]))[:, 0]) > 0.5


def elements(set_: int, args: Sequence[Argument], count: int, ask: Any) -> Tensor:
    """An answer for each element of a set, ``[n, m]``, 0 where there is none.

    ``set_`` is its place among the ``args`` of ``count`` rows; ``ask`` gives the answers ``[n · m]`` to
    arguments in which each element stands in the place of its set.
    """
    values, weights = args[set_]
    size = weights.shape[1]
    flat = [
        values.flatten(0, 1) if at == set_ else cast(Tensor, x).repeat_interleave(size, 0)
        for at, x in enumerate(args)
    ]
    return cast(Tensor, ask(flat).reshape(count, size) * (weights > 0.5))


def design(columns: Sequence[Column], args: Sequence[Argument], signature: Signature, count: int) -> Tensor:
    """A constant and the ``columns``, read off ``count`` rows of the ``args`` of a ``signature``."""
    found = [torch.ones(count, device=device_of(args))]
    for reading, value in columns:
        read = reading.of(args, signature)
        found.append(read if value is None else (read == value).to(torch.float32))
    return torch.stack(found, 1)


def device_of(args: Sequence[Argument]) -> torch.device | None:
    """Where the arguments are; None: there are none."""
    for value in args:
        return value[0].device if isinstance(value, tuple) else value.device
    return None


# -- in words ---------------------------------------------------------------------------


def _paths(node: Node, leaves: Sequence[Value], tests: Sequence[str]) -> list[list[str]]:
    """The ways to a leaf that is true, each the tests that hold on it."""
    if isinstance(node, int):
        return [[]] if leaves[node][0] > 0.5 else []
    at, yes, no = node
    return [
        *([tests[at], *path] for path in _paths(yes, leaves, tests)),
        *([f"not {tests[at]}", *path] for path in _paths(no, leaves, tests)),
    ]


def _or(paths: Sequence[Sequence[str]]) -> str:
    return " or ".join(" and ".join(path) or "true" for path in paths) or "false"


def _column(column: Column, names: Sequence[str], sizes: Sequence[int]) -> str:
    reading, value = column
    said = reading.said(names, sizes)
    return said if value is None else f"[{said} = {value:.4g}]"


def _based(base: Base, names: Sequence[str], sizes: Sequence[int]) -> str:
    whole = base.place is None or sizes[base.argument] == 1
    return names[base.argument] + ("" if whole else f"[{base.place}]")


def _sum(first: str, parts: Sequence[tuple[Value, str]], signature: Signature) -> str:
    """A value, and the products added to it, as one writes them: *x - 1*; of codes, 11 of 12 is -1."""
    choices = (signature.output.choices or inf) if signature.output.is_categorical and first else inf
    for value, what in parts:
        by = [number - choices if 2 * number > choices else number for number in value]
        if any(by):
            sign = "-" if max(by) <= 0 else "+"
            size = _vector([-number for number in by] if sign == "-" else by)
            term = " ".join(([] if size == "1" and what else [size]) + [what] * bool(what))
            first = f"{first} {sign} {term}" if first else term if sign == "+" else f"-{term}"
    return first or _vector(parts[0][0])


def _vector(value: Sequence[float]) -> str:
    shown = [f"{number + 0.0:.4g}" for number in value]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _cut(node: Node) -> Iterator[Node]:
    """A node with one test less, the larger cuts first."""
    if isinstance(node, int):
        return
    at, yes, no = node
    yield yes
    yield no
    yield from ((at, smaller, no) for smaller in _cut(yes))
    yield from ((at, yes, smaller) for smaller in _cut(no))


def _tests_of(node: Node) -> Iterator[int]:
    if not isinstance(node, int):
        yield node[0]
        yield from _tests_of(node[1])
        yield from _tests_of(node[2])


def _leaves_of(node: Node) -> Iterator[int]:
    if isinstance(node, int):
        yield node
    else:
        yield from _leaves_of(node[1])
        yield from _leaves_of(node[2])


def _renumbered(node: Node, tests: Sequence[int], leaves: Sequence[int]) -> Node:
    if isinstance(node, int):
        return leaves.index(node)
    at, yes, no = node
    return tests.index(at), _renumbered(yes, tests, leaves), _renumbered(no, tests, leaves)


def _leaves(node: Node) -> int:
    return 1 if isinstance(node, int) else _leaves(node[1]) + _leaves(node[2])


def _listed(node: Node) -> Any:
    return node if isinstance(node, int) else [node[0], _listed(node[1]), _listed(node[2])]

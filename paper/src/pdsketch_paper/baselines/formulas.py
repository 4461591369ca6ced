"""Goals as trees of words, and the embeddings of many goals at once.

A word of a goal is a predicate, a connective, a type or a variable by its number.
What a node means is the sum of what its parts mean and its own word, with one layer
beside it: for *pick up a red key*, a conjunction over one thing, these are the
embeddings of verb, colour and noun. Objects that a goal names are not words: their
places in the graph are marked (`Mention`), so that the names themselves mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, final

import torch
from torch import Tensor, nn

from pdsketch.lang import (
    Apply,
    Arithmetic,
    Compare,
    Component,
    Domain,
    Equal,
    Expr,
    Logic,
    Object,
    Quantified,
    Value,
    Variable,
    children,
)

_VARIABLES: Final = 8
"""So many variables of a goal have words of their own; later ones share the last."""

PLACES: Final = 4
"""So many arguments are told apart by their place."""

_WORDS: Final = ("and", "or", "not", "implies", "forall", "exists", "=", "<", "<=", ">", ">=")
_MORE: Final = ("+", "-", "*", "/", "set", "vector", "number", "true", "false", "object", "equal", "blank")


@final
@dataclass(frozen=True, slots=True)
class Mention:
    """A goal names objects: as one argument of a predicate, or as two arguments next to each other."""

    word: str
    place: int
    objects: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Role:
    """A variable of a goal, by its number, is one argument of a predicate."""

    word: str
    place: int
    variable: int


@final
@dataclass(frozen=True, slots=True)
class GoalTree:
    """A goal as words in the order of a walk; ``parents`` by index, −1 for the root."""

    words: tuple[str, ...]
    parents: tuple[int, ...]
    places: tuple[int, ...]
    depths: tuple[int, ...]
    numbers: tuple[float, ...]
    mentions: tuple[Mention, ...]
    roles: tuple[Role, ...]


def words_of(domain: Domain) -> tuple[str, ...]:
    """All words that goals of a domain are made of."""
    variables = (f"?{i}" for i in range(_VARIABLES))
    types = (f"type:{name}" for name in domain.hierarchy.names)
    return (*_WORDS, *_MORE, *variables, *types, *(f"predicate:{name}" for name in domain.predicates))


def tree_of(goal: Expr) -> GoalTree:
    """The words of a goal, its variables numbered in the order in which they are bound."""
    rows: list[tuple[str, int, int, int, float]] = []
    mentions: list[Mention] = []
    roles: list[Role] = []
    bound: list[str] = []

    def add(word: str, parent: int, place: int, number: float = 0.0) -> int:
        depth = 0 if parent < 0 else rows[parent][3] + 1
        rows.append((word, parent, min(place, PLACES - 1), depth, number))
        return len(rows) - 1

    def visit(node: Expr, parent: int, place: int) -> None:
        if isinstance(node, Value):
            _add_value(node, parent, place)
            return
        at = add(_word(node, bound), parent, place)
        if isinstance(node, Quantified):
            for variable in node.variables:
                bound.append(variable.name)
                add(f"type:{str(variable.type).split()[-1].strip(')')}", at, 0)
        ordered = not isinstance(node, Logic) or node.op == "implies"
        _mention(rows[at][0], children(node), mentions)
        for i, child in enumerate(children(node)):
            if isinstance(child, Variable) and child.name in bound:
                roles.append(Role(rows[at][0], min(i, PLACES - 1), bound.index(child.name)))
        for i, child in enumerate(children(node)):
            visit(child, at, i if ordered else 0)
        if isinstance(node, Component):
            add("number", at, 1, float(node.place))

    def _add_value(node: Value, parent: int, place: int) -> None:
        match node.value:
            case bool():
                add(str(node.value).lower(), parent, place)
            case tuple():
                at = add("vector", parent, place)
                for i, number in enumerate(node.value):
                    add("number", at, i, float(number))
            case number:
                add("number", parent, place, float(number))

    visit(goal, -1, 0)
    words, parents, places, depths, numbers = zip(*rows, strict=True)
    return GoalTree(words, parents, places, depths, numbers, tuple(mentions), tuple(roles))


def _word(node: Expr, bound: Sequence[str]) -> str:
    match node:
        case Apply():
            return f"predicate:{node.predicate}"
        case Variable():
            at = bound.index(node.name) if node.name in bound else _VARIABLES
            return f"?{min(at, _VARIABLES - 1)}"
        case Object():
            return "object"
        case Logic() | Quantified() | Compare() | Arithmetic():
            return node.op
        case Equal():
            return "="
        case Component():
            return "vector"
        case _:
            return "blank"


def _mention(word: str, args: Sequence[Expr], found: list[Mention]) -> None:
    named = [arg.name if isinstance(arg, Object) else None for arg in args]
    for place, name in enumerate(named):
        if name is not None:
            found.append(Mention(word, min(place, PLACES - 1), (name,)))
    for place, (one, other) in enumerate(pairwise(named)):
        if one is not None and other is not None:
            found.append(Mention(word, min(place, PLACES - 1), (one, other)))


class _Forest(NamedTuple):
    """Trees side by side: their words and numbers, their roots, and their levels, the deepest first.

    Of each node of a level: its place, that of its parent (None: it is a root), and its place below it.
    By objects that are named: which goals do, and the numbers of the ways.
    """

    trees: Sequence[GoalTree]
    words: Tensor
    numbers: Tensor
    roots: Tensor
    levels: Sequence[tuple[Tensor, Tensor | None, Tensor]]
    mentions: Mapping[tuple[str, ...], Sequence[Tensor]]


@final
class GoalEncoder(nn.Module):
    """Embeddings of goals, and of how goals mention objects."""

    def __init__(self, domain: Domain, width: int, pair_width: int) -> None:
        super().__init__()
        self.number_of = {word: i for i, word in enumerate(words_of(domain))}
        count = len(self.number_of)
        self.words = nn.Embedding(count, width)
        self.places = nn.Embedding(PLACES, width)
        self.amount = nn.Linear(1, width, bias=False)
        self.inner = nn.Linear(width, width, bias=False)
        self.scale = nn.LayerNorm(width)
        self.marks = nn.Embedding(count * PLACES, width)
        self.pair_marks = nn.Embedding(count * PLACES, pair_width)
        for table in (self.words, self.places, self.marks, self.pair_marks):
            nn.init.normal_(table.weight, std=0.1)
        self._forest: _Forest | None = None  # of the trees that were asked about last: mostly the same

    def forward(self, trees: Sequence[GoalTree]) -> Tensor:
        """An embedding of each goal ``[g, width]``; all nodes of one depth at a time, the deepest first."""
        forest = self._laid_out(trees)
        own = self.words(forest.words) + self.amount(forest.numbers)
        below = torch.zeros_like(own)
        meaning: Tensor = own
        for here, parents, places in forest.levels:
            summed = own + below
            meaning = summed + torch.tanh(self.inner(summed))
            if parents is not None:
                told = meaning[here] + self.places(places)
                below = below.index_add(0, parents, told)
        found: Tensor = self.scale(meaning[forest.roots])
        return found

    def mentions(self, trees: Sequence[GoalTree]) -> dict[tuple[str, ...], Tensor]:
        """By objects that are named, the embeddings of how each goal mentions them ``[g, width]``."""
        found = {}
        for names, (goals, marks) in self._laid_out(trees).mentions.items():
            table = self.marks if len(names) == 1 else self.pair_marks
            embedded = table(marks)
            found[names] = embedded.new_zeros(len(trees), embedded.shape[-1]).index_add(0, goals, embedded)
        return found

    def _laid_out(self, trees: Sequence[GoalTree]) -> _Forest:
        forest = self._forest
        if forest is None or forest.trees is not trees or forest.words.device != self.words.weight.device:
            forest = self._forest = self._planted(trees)
        return forest

    def _planted(self, trees: Sequence[GoalTree]) -> _Forest:
        """The words of all trees in one row, and the levels of the trees as places in it."""

        def placed(values: Sequence[Any]) -> Tensor:
            return torch.tensor(values, device=self.words.weight.device)

        begins = [*accumulate((len(tree.words) for tree in trees), initial=0)]
        parents = [p + b for tree, b in zip(trees, begins, strict=False) for p in tree.parents]
        places = [place for tree in trees for place in tree.places]
        depths = [depth for tree in trees for depth in tree.depths]
        levels: list[tuple[Tensor, Tensor | None, Tensor]] = []
        for depth in range(max(depths), -1, -1):
            here = [i for i, own in enumerate(depths) if own == depth]
            above = placed([parents[i] for i in here]) if depth else None
            levels.append((placed(here), above, placed([places[i] for i in here])))
        mentions: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for goal, tree in enumerate(trees):
            for mention in tree.mentions:
                mentions.setdefault(mention.objects, []).append((goal, self._mark(mention)))
        return _Forest(
            trees,
            placed([self.number_of[word] for tree in trees for word in tree.words]),
            placed([number for tree in trees for number in tree.numbers])[:, None],
            placed(begins[:-1]),
            levels,
            {names: placed(pairs).unbind(1) for names, pairs in mentions.items()},
        )

    def _mark(self, mention: Mention) -> int:
        """The number of a way to be mentioned."""
        return self.number_of[mention.word] * PLACES + mention.place

"""Goals as trees of words, and the embeddings of many goals at once.

A word of a goal is a predicate, a connective, a type or a variable by its number.
What a node means is the sum of what its parts mean and its own word, with one layer
beside it: for *pick up a red key*, a conjunction over one thing, these are the
embeddings of verb, colour and noun. Objects that a goal names are not words: their
places in the graph are marked (`Mention`), so that the names themselves mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

import torch
from torch import Tensor, nn

from pdsketch.lang.domain import Domain
from pdsketch.lang.terms import (
    Apply,
    Arithmetic,
    Compare,
    Component,
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

    def forward(self, trees: Sequence[GoalTree]) -> Tensor:
        """An embedding of each goal ``[g, width]``; all nodes of one depth at a time, the deepest first."""
        device = self.words.weight.device
        begins = [0]
        for tree in trees:
            begins.append(begins[-1] + len(tree.words))
        words = _joined([[self.number_of[w] for w in tree.words] for tree in trees], device)
        parents = _joined(
            [[p + b for p in tree.parents] for tree, b in zip(trees, begins, strict=False)], device
        )
        places = _joined([tree.places for tree in trees], device)
        depths = _joined([tree.depths for tree in trees], device)
        numbers = torch.tensor([n for tree in trees for n in tree.numbers], device=device)
        own = self.words(words) + self.amount(numbers[:, None])
        below = torch.zeros_like(own)
        meaning: Tensor = own
        for depth in range(int(depths.max()), -1, -1):
            summed = own + below
            meaning = summed + torch.tanh(self.inner(summed))
            here = (depths == depth).nonzero()[:, 0]
            if depth:
                told = meaning[here] + self.places(places[here])
                below = below.index_add(0, parents[here], told)
        found: Tensor = self.scale(meaning[torch.tensor(begins[:-1], device=device)])
        return found

    def mark(self, mention: Mention) -> int:
        """The number of a way to be mentioned."""
        return self.number_of[mention.word] * PLACES + mention.place


def _joined(lists: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    return torch.tensor([i for some in lists for i in some], device=device)

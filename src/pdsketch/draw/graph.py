"""The graph itself: labelled nodes of a few kinds, and arrows along which data flows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Literal, final

Kind = Literal[
    "observed",
    "raw",
    "external",
    "derived",
    "encoded",
    "cost",
    "blank",
    "operator",
    "set",
    "value",
    "action",
    "next",
]
"""What a node stands for: the role of a predicate, or one of

- ``blank``: a function left for learning;
- ``operator``: a connective, a quantifier, a comparison, arithmetic;
- ``set``: the values that a ``foreach`` or a ``when`` hands to a blank;
- ``value``: a literal or a value parameter;
- ``action``: an action, or its precondition;
- ``next``: a state variable after the step.
"""

LEGEND: Final[dict[Kind, str]] = {
    "observed": "observed",
    "raw": "read by the encoder alone",
    "external": "function given by the user",
    "encoded": "encoded state variable",
    "derived": "derived",
    "cost": "cost",
    "blank": "blank: to be learned",
    "set": "set of values",
    "action": "action",
    "next": "after the step",
}
"""What the kinds are called in a picture; the others speak for themselves."""


@final
@dataclass(frozen=True, slots=True)
class GraphNode:
    """A box of the picture. ``detail`` is a second, smaller line."""

    label: str
    kind: Kind
    detail: str = ""


@final
@dataclass(frozen=True, slots=True)
class Arrow:
    """Data flows from one node to another; ``label`` says in which role (``not``, ``when``)."""

    source: int
    target: int
    label: str = ""


@final
class Graph:
    """Nodes and arrows in the order in which they were added."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.nodes: list[GraphNode] = []
        self.arrows: dict[Arrow, None] = {}
        self._known: dict[Hashable, int] = {}

    def node(self, key: Hashable, node: GraphNode) -> int:
        """The number of the node with this key; equal keys are one node."""
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return self._known[key]

    def arrow(self, source: int, target: int, label: str = "") -> None:
        """An arrow; the same arrow twice is one."""
        self.arrows[Arrow(source, target, label)] = None

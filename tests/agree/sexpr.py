"""S-expressions as plain lists, read without any code of the package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Node = Any
"""A word, a list, or a `Vector`."""


class Vector(list):
    """What stands in square brackets."""


def read(text: str) -> Node:
    """The one S-expression of a text."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"[()\[\]]|[^\s()\[\],]+", re.sub(r";[^\n]*", "", text).lower()):
        if token in "([":
            stack.append([] if token == "(" else Vector())
        elif token in ")]":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    (found,) = stack[0]
    return found


def typed(items: list[Node]) -> Iterator[tuple[str, Node]]:
    """``a b - t c``: names with their types, ``object`` where none is given."""
    names: list[str] = []
    at = 0
    while at < len(items):
        if items[at] != "-":
            names.append(items[at])
            at += 1
            continue
        type_ = items[at + 1]
        at += 2
        if at < len(items) and isinstance(items[at], Vector):
            type_ = [type_, items[at]]
            at += 1
        yield from ((name, type_) for name in names)
        names = []
    yield from ((name, "object") for name in names)


def literal(word: Node) -> Any:
    """What a written value stands for."""
    if isinstance(word, Vector):
        return tuple(literal(part) for part in word)
    if word in ("true", "false"):
        return word == "true"
    return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)

"""A failing case made small: parts of its text are left out as long as it still fails.

Works on S-expressions, so that whatever a generator writes can be shrunk: an action, an
effect, a conjunct, a fact, an object with everything that mentions it; ``(not x)``, ``(and x)``
and quantifiers become their parts; another state becomes the initial one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.agree.case import Case
from tests.agree.sexpr import Vector, read as read_tree
from tests.strategies.oracle import told

from pdsketch.lang.diagnostics import Error

Tree = Any
WRAPPERS = ("and", "or", "not", "when", "forall", "foreach", "exists", "imply", "implies")


def shrink(case: Case, fails: Callable[[Case], str | None], seconds: float = 20.0) -> tuple[Case, str]:
    """A smaller case that fails in the same way, and what it says; as small as the time allows."""
    said = fails(case)
    assert said is not None
    engine = said.split(",")[0]
    deadline = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < deadline:
        again = False
        for smaller in candidates(case):
            if time.monotonic() > deadline:
                break
            if size(smaller) >= size(case):
                continue
            now = _outcome(smaller, fails)
            if now is not None and now.split(",")[0] == engine:
                case, said, again = smaller, now, True
                break
    return case, said


def _outcome(case: Case, fails: Callable[[Case], str | None]) -> str | None:
    """How a candidate fails; None where it does not, or is no longer a case."""
    try:
        _ = case.sample.problem, case.formulas
        _ = case.graph
    except (Error, KeyError, IndexError, ValueError, StopIteration):
        return None
    return fails(case)


def size(case: Case) -> int:
    """How much there is to read."""
    sample = case.sample
    return sum(map(len, (sample.domain_text, sample.problem_text, *sample.formulas)))


def candidates(case: Case) -> Iterator[Case]:
    """Cases that are a little smaller, the large steps first."""
    sample = case.sample
    for i, text in enumerate(sample.formulas):
        fewer = (*sample.formulas[:i], *sample.formulas[i + 1 :])
        yield replace(case, sample=replace(sample, formulas=fewer))
        yield replace(case, sample=_with_goal(replace(sample, formulas=()), text))
    domain, problem = read_tree(sample.domain_text), read_tree(sample.problem_text)
    still = [block for block in domain if block[0] != ":action"]
    for start in _other_starts(case, problem):
        yield _changed(case, still, start)
        yield _changed(case, domain, start)
    for name in _objects(problem):
        yield _changed(case, domain, _without_object(problem, name))
    for size in ("large", "small"):
        for smaller in _smaller(domain, size):
            yield _changed(case, smaller, problem)
        for smaller in _smaller(problem, size):
            yield _changed(case, domain, smaller)


def _with_goal(sample: Any, goal: str) -> Any:
    tree = read_tree(sample.problem_text)
    tree = [[":goal", read_tree(goal)] if block[0] == ":goal" else block for block in tree]
    return replace(sample, problem_text=written(tree))


def _other_starts(case: Case, problem: Tree) -> Iterator[Tree]:
    """The problem from its own state, and from others that it can reach."""
    yield problem
    if any(p.role in ("raw", "encoded") for p in case.sample.domain.predicates.values()):
        return
    for facts in case.graph.states[1:8]:
        init = [read_tree(told(fact, value)) for fact, value in facts.items() if value is not False]
        yield [[":init", *init] if block[0] == ":init" else block for block in problem]


def _changed(case: Case, domain: Tree, problem: Tree) -> Case:
    texts = {"domain_text": written(domain), "problem_text": written(problem)}
    return replace(case, sample=replace(case.sample, **texts))


def _objects(problem: Tree) -> list[str]:
    listed = next((block[1:] for block in problem[1:] if block[0] == ":objects"), [])
    return listed[0::3]


def _without_object(problem: Tree, name: str) -> Tree:
    """The problem without an object, and without all facts and parts of the goal that mention it."""
    found = []
    for block in problem:
        if block[0] == ":objects":
            at = block.index(name)
            found.append(block[:at] + block[at + 3 :])
        elif block[0] == ":init":
            found.append([part for part in block if not _mentions(part, name)])
        elif block[0] == ":goal" and _mentions(block, name):
            parts = block[1][1:] if block[1][0] == "and" else []
            found.append([":goal", ["and", *(part for part in parts if not _mentions(part, name))]])
        else:
            found.append(block)
    return found


def _mentions(tree: Tree, name: str) -> bool:
    return tree == name if isinstance(tree, str) else any(_mentions(part, name) for part in tree)


def _smaller(tree: Tree, size: str) -> Iterator[Tree]:
    """The tree with one of its lists left out or replaced by a part of it; ``size``: of which lists."""
    for path in list(_paths(tree)):
        node = _at(tree, path)
        if (len(written(node)) > 40) != (size == "large"):
            continue
        if len(path) > 1 or (node and node[0] in (":action", ":derived", ":metric", ":constants")):
            yield _put(tree, path, None)
        if node and node[0] in WRAPPERS:
            for part in reversed(node[1:]):
                if isinstance(part, list) and part and isinstance(part[0], str) and part[0][0] != "?":
                    yield _put(tree, path, part)


def _paths(tree: Tree, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Where lists stand, the outer ones first."""
    for i, part in enumerate(tree):
        if isinstance(part, list) and not isinstance(part, Vector):
            yield (*path, i)
    for i, part in enumerate(tree):
        if isinstance(part, list) and not isinstance(part, Vector):
            yield from _paths(part, (*path, i))


def _at(tree: Tree, path: tuple[int, ...]) -> Tree:
    for i in path:
        tree = tree[i]
    return tree


def _put(tree: Tree, path: tuple[int, ...], node: Tree) -> Tree:
    """The tree with another node at a place, or with none."""
    i, rest = path[0], path[1:]
    if rest:
        return [*tree[:i], _put(tree[i], rest, node), *tree[i + 1 :]]
    return [*tree[:i], *([] if node is None else [node]), *tree[i + 1 :]]


def written(tree: Tree) -> str:
    """The text of a tree, a block a line."""
    if isinstance(tree, str):
        return tree
    if isinstance(tree, Vector):
        return f"[{', '.join(map(written, tree))}]"
    inside = ""
    for part in tree:
        space = "\n" if isinstance(part, list) and part and str(part[0])[:1] == ":" else " "
        inside += ("" if not inside or _glued(inside, part) else space) + written(part)
    return f"({inside})"


def _glued(before: str, part: Tree) -> bool:
    """Whether brackets belong to the word before them: ``vector[float32, 2]``."""
    types = ("vector", "int64", "float32")
    return isinstance(part, Vector) and before.endswith(types)

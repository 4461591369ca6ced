"""What one page is looking at: the goal, the search under way, the plan and where it leads.

Questions come from several threads of the server, the search runs in one of its
own; what it leaves behind is replaced whole, never changed.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from pdsketch.budget import DEFAULT_MEGABYTES
from pdsketch.draw import graph_of, to_svg
from pdsketch.lang import Error, Expr, Step, as_json, error, parse_goal, parts_of, short, show_atom
from pdsketch.search import Nodes, Result, SearchNode
from pdsketch.serve.subjects import Subject

if TYPE_CHECKING:
    from pdsketch.act import World
    from pdsketch.training import Findings


# Pictures as PNG files (ISO 15948), by zlib alone.


def png(picture: NDArray[Any]) -> bytes:
    """A picture of bytes, ``[height, width, 3]``, as a file."""
    height, width, _ = picture.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = np.ascontiguousarray(picture, np.uint8).reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# How true a goal is in a state, part by part and object by object, as the page shows it.


def truths(subject: Subject, state: Any, goal: Expr) -> dict[str, Any]:
    """The truth of the goal, of its conjuncts, and of each instance of those that begin with a quantifier."""
    parts = parts_of(goal, subject.domain, subject.universe, lambda part: subject.truth(state, part))
    return {
        "truth": subject.truth(state, goal),
        "conjuncts": [
            {
                "text": part.text,
                "truth": part.truth,
                "instances": [{"objects": " ".join(objects), "truth": t} for objects, t in part.instances],
            }
            for part in parts
        ],
    }


# Nodes of a search tree, as the page shows them: states, and which successors are not in the tree.


@final
class Tree:
    """The nodes of a search for a goal, with the states that they stand for.

    States are predicted from the initial one, step by step, when they are asked for.
    """

    def __init__(self, subject: Subject, goal: Expr, nodes: Sequence[SearchNode]) -> None:
        self.nodes = nodes
        self.goal = goal
        self._subject = subject
        self._known: dict[int, int] | None = None

    def path(self, number: int) -> list[Step]:
        """The steps to a node."""
        found = []
        while (step := (node := self.nodes[number]).step) is not None:
            found.append(step)
            number = node.parent
        return found[::-1]

    def state(self, number: int) -> Any:
        """The state of a node."""
        state = self._subject.start
        for step in self.path(number):
            state = self._subject.step(state, step)
        return state

    def left_out(self, number: int) -> list[tuple[Step, int | None]]:
        """Applicable steps without a node here, and the node that has their state (None: there is none yet).

        Of nodes that are not expanded, and of searches that have nodes for them, there are none.
        """
        if self.nodes[number].fate != "expanded":
            return []
        subject, state = self._subject, self.state(number)
        taken = {node.step for node in self.nodes if node.parent == number}
        found: list[tuple[Step, int | None]] = []
        for step in subject.steps(self.goal):
            if step not in taken and subject.applicable(state, step) > 0.5:
                found.append((step, self._same(subject.step(state, step))))
        return found

    def why_dead(self, number: int) -> Sequence[str]:
        """Why a dead end is one."""
        if self.nodes[number].fate != "dead-end":
            return ()
        return self._subject.why_dead(self.state(number), self.goal)

    def _same(self, state: Any) -> int | None:
        if self._known is None:
            self._known = self._digests()
        return self._known.get(self._digest(state))

    def _digest(self, state: Any) -> int:
        return hash(frozenset(self._subject.facts(state).items()))

    def _digests(self) -> dict[int, int]:
        """The node of each state, from the root down, so that few states are held at a time."""
        children = defaultdict(list)
        for number, node in enumerate(self.nodes):
            children[node.parent].append(number)
        found: dict[int, int] = {}
        agenda = [(number, self._subject.start) for number in children[-1]]
        while agenda:
            number, state = agenda.pop()
            found.setdefault(self._digest(state), number)
            for child in children[number]:
                step = self.nodes[child].step
                assert step is not None
                agenda.append((child, self._subject.step(state, step)))
        return found


MOST_NODES: Final = 2000
"""Of the search tree: what a page can draw."""

TIME_LIMIT: Final = 30.0
"""Seconds of a search unless the page asks for another limit; as long as people like to wait."""


@final
@dataclass(frozen=True)
class Trajectory:
    """A plan with its predicted states and, in a world, what was observed, drawn and different."""

    steps: Sequence[Step] = ()
    predicted: Sequence[Any] = ()
    applicable: Sequence[float] = ()
    observed: Sequence[Any] = ()
    pictures: Sequence[bytes] = ()
    deviations: Sequence[Sequence[str]] = ()
    success: bool | None = None


@final
@dataclass
class _Search:
    """A search while it runs and after it has ended."""

    number: int
    running: bool = True
    nodes: list[SearchNode] = field(default_factory=list)
    goal: Expr | None = None
    tree: Tree | None = None
    result: Result | None = None
    failure: list[dict[str, Any]] = field(default_factory=list)


@final
class Exploration:
    """One subject, one goal at a time, one search at a time.

    ``subject`` is the problem or the model with a state that the page is about, ``goal`` the formula that it
    begins with. In ``world``, where there is one, plans are also carried out after a reset with ``seed``.
    ``report`` is what an evaluation on episodes found, to be shown beside.
    """

    def __init__(
        self,
        subject: Subject,
        goal: str,
        *,
        world: World | None = None,
        seed: int = 0,
        report: Findings | None = None,
    ) -> None:
        self.subject = subject
        self.goal = goal
        self.report = report
        self._world = world
        self._seed = seed
        self._lock = threading.Lock()
        self._search = _Search(0, running=False)
        self._trajectory = self._played(())

    # -- questions ------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """The sketch in names, and what can be asked."""
        domain = self.subject.domain
        return {
            "name": domain.name,
            "source": domain.source.text,
            "goal": self.goal,
            "objects": {name: str(type_) for name, type_ in self.subject.universe.items()},
            "actions": list(domain.actions),
            "predicates": {p.name: p.role for p in domain.predicates.values()},
            "blanks": [str(blank) for blank in domain.blanks.values()],
            "warnings": [as_json(d) for d in domain.warnings],
            "searches": list(self.subject.searches),
            "report": "" if self.report is None else str(self.report),
            "worst": [] if self.report is None else [asdict(step) for step in self.report.wrong_steps],
            "world": self._world is not None,
        }

    def graph(self, name: str | None) -> str:
        """The computation graph of the sketch, or of a predicate or an action, as SVG."""
        return to_svg(graph_of(self.subject.domain, name or None))

    def state(self, index: int) -> dict[str, Any]:
        """The state after so many steps of the plan, predicted and, in a world, observed."""
        played = self._trajectory
        at = max(0, min(index, len(played.predicted) - 1))
        last = self._facts(played.predicted[at - 1]) if at else {}
        predicted = self._facts(played.predicted[at])
        observed = self._facts(played.observed[at]) if at < len(played.observed) else None
        return {
            "step": at,
            "steps": [show_atom(short(tuple(step))) for step in played.steps],
            "applicable": played.applicable[at] if at < len(played.applicable) else None,
            "facts": [[fact, value] for fact, value in predicted.items()],
            "changed": sorted(f for f in {*last, *predicted} if at and last.get(f) != predicted.get(f)),
            "observed": None if observed is None else [[fact, value] for fact, value in observed.items()],
            "deviations": list(played.deviations[at]) if at < len(played.deviations) else [],
            "picture": at < len(played.pictures),
            "success": played.success,
        }

    def picture(self, index: int) -> bytes:
        """What the world drew after so many steps, as PNG."""
        if not 0 <= index < len(self._trajectory.pictures):
            raise error("no-picture", "there is no picture of this step", help="give a world: --world NAME")
        return self._trajectory.pictures[index]

    def truths(self, goal: str, index: int) -> dict[str, Any]:
        """How true a goal is after so many steps."""
        played = self._trajectory
        at = max(0, min(index, len(played.predicted) - 1))
        return truths(self.subject, played.predicted[at], self._parsed(goal))

    def searched(self, first: int) -> dict[str, Any]:
        """How far the search is, and its nodes from ``first`` on."""
        search = self._search
        nodes = search.nodes[first:]
        found: dict[str, Any] = {
            "number": search.number,
            "running": search.running,
            "count": len(search.nodes),
            "capped": len(search.nodes) >= MOST_NODES,
            "nodes": [_shown(node) for node in nodes],
            "diagnostics": search.failure,
            "result": None,
        }
        if search.result is not None:
            found["result"] = _told(search.result)
        return found

    def node(self, number: int) -> dict[str, Any]:
        """A node of the search tree: its facts, the truth of the goal, and what of it is not in the tree."""
        tree = self._tree()
        if tree is None or not 0 <= number < len(tree.nodes):
            raise error("bad-request", "there is no such node", help="plan first")
        node, state = tree.nodes[number], tree.state(number)
        facts = self._facts(state)
        before = self._facts(tree.state(node.parent)) if node.parent >= 0 else facts
        return {
            "number": number,
            "fate": node.fate,
            "path": [show_atom(short(tuple(step))) for step in tree.path(number)],
            "facts": [[fact, value] for fact, value in facts.items()],
            "changed": sorted(f for f in {*before, *facts} if before.get(f) != facts.get(f)),
            "truth": self.subject.truth(state, tree.goal),
            "left_out": [[show_atom(short(tuple(step))), same] for step, same in tree.left_out(number)],
            "reasons": list(tree.why_dead(number)),
        }

    def _tree(self) -> Tree | None:
        """The tree as it is now; one that does not grow is kept."""
        search = self._search
        nodes, tree = search.nodes, search.tree
        if search.goal is not None and (tree is None or tree.nodes is not nodes):
            tree = search.tree = Tree(self.subject, search.goal, nodes)
        return tree

    # -- the search -----------------------------------------------------------------

    def plan(self, goal: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a search; the one under way must have ended."""
        parsed = self._parsed(goal)
        asked = self._options(options)
        with self._lock:
            if self._search.running:
                raise error("search-running", "a search is under way", help="wait until it has ended")
            search = self._search = _Search(self._search.number + 1, goal=parsed)
            self.goal = goal
        threading.Thread(target=self._run, args=(search, parsed, asked), daemon=True).start()
        return {"number": search.number}

    def _options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        known = {"search", "heuristic", "time_limit", "max_expansions"}
        options = {name: given[name] for name in known if given.get(name) not in (None, "")}
        options.setdefault("time_limit", TIME_LIMIT)
        options["memory_limit"] = DEFAULT_MEGABYTES
        return options

    def _run(self, search: _Search, goal: Expr, options: dict[str, Any]) -> None:
        def look(nodes: Nodes) -> None:
            search.nodes = nodes(0, MOST_NODES)

        try:
            result = self.subject.plan(goal, {**options, "trace": look})
            if result.plan is not None:
                self._trajectory = self._played([tuple(step) for step in result.plan])
            search.result = result
        except Error as refused:
            search.failure = [as_json(d) for d in refused.diagnostics]
        finally:
            search.running = False

    def _played(self, steps: Sequence[Step]) -> Trajectory:
        """The plan step by step: in the model, and in the world if there is one."""
        states, applicable = [self.subject.start], []
        for step in steps:
            applicable.append(self.subject.applicable(states[-1], step))
            states.append(self.subject.step(states[-1], step))
        if self._world is None:
            return Trajectory(tuple(steps), states, applicable)
        from pdsketch.act import deviations

        world = self._world
        observed, pictures = [world.reset(self._seed)], [png(world.render())]
        different: list[Sequence[str]] = [()]
        for step, predicted in zip(steps, states[1:], strict=True):
            observed.append(world.step(step))
            pictures.append(png(world.render()))
            different.append(
                [str(deviation) for deviation in deviations(predicted, self.subject.encoded(observed[-1]))]
            )
        success = world.success
        return Trajectory(tuple(steps), states, applicable, observed, pictures, different, success)

    def _facts(self, state: Any) -> dict[str, Any]:
        facts = self.subject.facts(state)
        return {show_atom(fact): short(value) for fact, value in facts.items()}

    def _parsed(self, goal: str) -> Expr:
        return parse_goal(goal, self.subject.domain, dict(self.subject.universe))


def _shown(node: SearchNode) -> list[Any]:
    """A node as a short row: parent, step, g, h, f, fate; JSON has no infinity."""
    step = None if node.step is None else show_atom(short(tuple(node.step)))
    numbers = [value if isfinite(value) else None for value in (node.g, node.h, node.f)]
    return [node.parent, step, *numbers, node.fate]


def _told(result: Result) -> dict[str, Any]:
    return {
        "status": result.status,
        "plan": None if result.plan is None else [show_atom(short(tuple(step))) for step in result.plan],
        "cost": result.cost,
        "expanded": result.expanded,
        "evaluated": result.evaluated,
        "generated": result.generated,
        "seconds": result.seconds,
        "reasons": list(result.reasons),
        "warnings": list(result.warnings),
        "refinements": result.refinements,
    }

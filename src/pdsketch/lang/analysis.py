"""What expressions and actions read and write, directly and through the bodies of predicates.

`Domain.analysis` keeps what has been found for a domain.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, final

from pdsketch.lang.terms import Apply, BlankCall, Expr, Update, walk
from pdsketch.lang.types import ObjectType

if TYPE_CHECKING:
    from pdsketch.lang.domain import Action, Domain

_K = TypeVar("_K", bound=Hashable)


def names_in(expr: Expr) -> frozenset[str]:
    """The predicates that an expression names."""
    return frozenset(node.predicate for node in walk(expr) if isinstance(node, Apply))


def has_blank(expr: Expr) -> bool:
    """Whether an expression itself holds a blank."""
    return any(isinstance(node, BlankCall) for node in walk(expr))


def effect_expressions(effects: Iterable[Update]) -> list[Expr]:
    """The conditions of effects, then their values."""
    updates = [*effects]
    return [u.condition for u in updates] + [u.value for u in updates if u.value is not None]


def action_reads(action: Action) -> frozenset[str]:
    """The predicates that an action names: in its precondition, its cost, its effects."""
    arguments = [argument for update in action.effects for argument in update.target.args]
    cost = [] if action.cost is None else [action.cost]
    expressions = [action.precondition, *cost, *effect_expressions(action.effects), *arguments]
    return frozenset().union(*map(names_in, expressions))


def closure(start: Iterable[_K], reads: Mapping[_K, Iterable[_K]], stop: Iterable[_K] = ()) -> set[_K]:
    """What can be reached from ``start``, itself included; what ``stop`` reads is not followed."""
    seen, ends = set(start), frozenset(stop)
    stack = list(seen)
    while stack:
        for read in reads.get(stack.pop(), ()):
            if read not in seen:
                seen.add(read)
                if read not in ends:
                    stack.append(read)
    return seen


def components(graph: Mapping[_K, Iterable[_K]]) -> Iterator[tuple[_K, ...]]:
    """The strongly connected components, callees first (Tarjan 1972, without recursion)."""
    index: dict[_K, int] = {}
    low: dict[_K, int] = {}
    open_: list[_K] = []
    closed: set[_K] = set()
    for start in graph:
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        open_.append(start)
        while work:
            node, callees = work[-1]
            for callee in callees:
                if callee not in index:
                    index[callee] = low[callee] = len(index)
                    open_.append(callee)
                    work.append((callee, iter(graph.get(callee, ()))))
                    break
                if callee not in closed:
                    low[node] = min(low[node], index[callee])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = [open_.pop()]
                    while component[-1] != node:
                        component.append(open_.pop())
                    closed.update(component)
                    yield tuple(reversed(component))


def cycle_of(
    name: _K, graph: Mapping[_K, Iterable[_K]], members: Collection[_K], by: _K | None = None
) -> list[_K]:
    """A shortest way from ``name`` in the ``graph`` back to it, by some ``members``; ``by`` comes first."""
    first = [callee for callee in graph[name] if callee in members] if by is None else [by]
    before = dict.fromkeys(first, name)
    queue = [*before]
    while name not in before:
        at = queue.pop(0)
        new = [callee for callee in graph[at] if callee in members and callee not in before]
        before |= dict.fromkeys(new, at)
        queue += new
    way = [name, before[name]]
    while way[-1] != name:
        way.append(before[way[-1]])
    return way[::-1]


@final
class Analysis:
    """What the expressions and actions of a domain read and write."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._predicates: dict[str, frozenset[str]] = {}

    @cached_property
    def bodies(self) -> dict[str, frozenset[str]]:
        """The predicates that each body, derived or encoded, names."""
        found = self._domain.predicates.values()
        return {p.name: names_in(p.body) for p in found if p.body is not None}

    @cached_property
    def derived(self) -> dict[str, frozenset[str]]:
        """The predicates that each derived body names."""
        return {name: read for name, read in self.bodies.items() if self._role(name) == "derived"}

    @cached_property
    def written(self) -> frozenset[str]:
        """The predicates that some action writes; all others are static."""
        return frozenset(name for action in self._domain.actions for name in self.writes(action))

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The derived predicates over objects alone, whose values form a table; callees first."""
        return tuple(
            name
            for component in self._domain.components
            for name in component
            if self._role(name) == "derived"
            and all(isinstance(p.type, ObjectType) for p in self._domain.predicates[name].parameters)
        )

    def writes(self, action: str) -> tuple[str, ...]:
        """What an action writes, each once."""
        return tuple(dict.fromkeys(u.target.predicate for u in self._domain.actions[action].effects))

    def predicate_reads(self, name: str) -> frozenset[str]:
        """The state variables (and raw predicates) on which the value of a predicate depends."""
        if name not in self._predicates:
            given = ("observed", "raw", "encoded")
            below = closure([name], self.derived)
            self._predicates[name] = frozenset(n for n in below if self._role(n) in given)
        return self._predicates[name]

    def reads(self, expr: Expr) -> frozenset[str]:
        """The state variables (and raw predicates) on which the value of an expression depends."""
        return frozenset().union(*map(self.predicate_reads, names_in(expr)))

    def effect_reads(self, action: str) -> frozenset[str]:
        """The state variables that the effects of an action read or write."""
        expressions = effect_expressions(self._domain.actions[action].effects)
        return frozenset(self.writes(action)).union(*map(self.reads, expressions))

    def absent_reads(self, expr: Expr) -> tuple[str, ...]:
        """The raw predicates that an expression reads, directly or not: absent after a step."""
        read = self.reads(expr)
        return tuple(name for name in self._domain.predicates if name in read and self._role(name) == "raw")

    def encoder_inputs(self, encoded: Iterable[str], given: Iterable[str] = ()) -> frozenset[str]:
        """The observed and raw predicates that encoded ones are computed from, where others are given."""
        found = closure(encoded, self.bodies, stop=given)
        return frozenset(name for name in found if self._role(name) in ("observed", "raw"))

    def read_tables(self, expressions: Iterable[Expr]) -> tuple[str, ...]:
        """The derived tables that expressions name, through others too, callees first.

        What a recursive one reads is left out: its fixpoint computes it.
        """
        named = frozenset().union(*map(names_in, expressions))
        follow = {n: read for n, read in self.derived.items() if n not in self._domain.recursive}
        found = closure(named, follow)
        return tuple(name for name in self.tables if name in found)

    def effect_tables(self, action: str) -> tuple[str, ...]:
        """The derived tables that the effects of an action read."""
        return self.read_tables(effect_expressions(self._domain.actions[action].effects))

    def blanks(self, expr: Expr, *, encoders: bool = True) -> tuple[str, ...]:
        """The blanks that an expression calls, through derived predicates and, if asked, through encoders."""
        agenda, seen, found = [expr], set[str](), dict[str, None]()
        while agenda:
            for node in walk(agenda.pop()):
                if isinstance(node, BlankCall):
                    found[node.blank] = None
                elif isinstance(node, Apply) and node.predicate not in seen:
                    seen.add(node.predicate)
                    body = self._domain.predicates[node.predicate].body
                    if body is not None and (encoders or self._role(node.predicate) == "derived"):
                        agenda.append(body)
        return tuple(found)

    def _role(self, name: str) -> str:
        return self._domain.predicates[name].role

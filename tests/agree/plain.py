"""A domain and a problem run from their text, without any code of the package.

Plain recursion over S-expressions, as the language is described: types with ``either``,
quantifiers, derived predicates as least fixpoints, conditional and quantified effects,
costs, numbers and vectors. No blanks, external functions or encoded predicates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.agree.asking import DEFAULT_TOLERANCE, Asking, Env, RefusedError, State, combined
from tests.agree.sexpr import Node, Vector, literal, read, typed


class Plain:
    """A domain and a problem, ready to run."""

    def __init__(self, domain: str, problem: str) -> None:
        self.parents: dict[str, list[str]] = {}
        self.values: dict[str, Node] = {}
        self.objects: dict[str, str] = {}
        self.predicates: dict[str, tuple[list[tuple[str, Node]], Node]] = {}
        self.bodies: dict[str, Node] = {}
        self.actions: dict[str, tuple[list[tuple[str, Node]], Node, Node]] = {}
        for block in read(domain)[2:]:
            self._block(block)
        self.metric = False
        self.start: State = {}
        self.goal: Node = ["and"]
        for block in read(problem)[2:]:
            self._of_problem(block)
        self._reads = {name: self._called(body) for name, body in self.bodies.items()}
        self._together = {name: self._loop(name) for name in self.bodies}
        self._members: dict[str, list[Any]] = {}
        self._ground = list(self._steps())

    def _block(self, block: Node) -> None:
        match block[0]:
            case ":types":
                for name, above in typed(block[1:]):
                    self._type(name, above)
            case ":constants":
                self.objects.update(typed(block[1:]))
            case ":predicates" | ":functions":
                for header, type_ in typed(block[1:]):
                    self._declare(header, "number" if block[0] == ":functions" else "bool", type_)
            case ":derived":
                self._declare(block[1], "bool")
                self.bodies[block[1][0]] = block[2]
            case ":action":
                parts = dict(zip(block[2::2], block[3::2], strict=True))
                parameters = list(typed(parts[":parameters"]))
                self.actions[block[1]] = (parameters, parts.get(":precondition", ["and"]), parts[":effect"])

    def _type(self, name: str, above: Node) -> None:
        word = above[0] if isinstance(above, list) else above
        if word in ("float32", "int64", "vector", "bool"):
            self.values[name] = above
        else:
            self.parents[name] = above[1:] if isinstance(above, list) else [above]

    def _declare(self, header: Node, returns: Node, _: Node = None) -> None:
        rest = header[1:]
        if rest and isinstance(rest[0], Vector):
            returns = rest[0][0].removeprefix("return_type=")
            rest = rest[1:]
        self.predicates[header[0]] = (list(typed(rest)), returns)

    def _of_problem(self, block: Node) -> None:
        match block[0]:
            case ":objects":
                self.objects.update(typed(block[1:]))
            case ":init":
                for item in block[1:]:
                    if item[0] == "=":
                        fact = tuple(item[1])
                        self.start[fact] = self._as(self.predicates[fact[0]][1], literal(item[2]))
                    else:
                        self.start[tuple(item)] = True
            case ":goal":
                self.goal = block[1]
            case ":metric":
                self.metric = True

    # -- types ------------------------------------------------------------------

    def _ancestors(self, name: str) -> set[str]:
        found = {name, "object"}
        for parent in self.parents.get(name, []):
            found |= self._ancestors(parent)
        return found

    def is_a(self, name: str, type_: Node) -> bool:
        """Whether an object is of a type, or of one of several."""
        wanted = type_[1:] if isinstance(type_, list) else [type_]
        return any(w in self._ancestors(self.objects[name]) for w in wanted)

    def members(self, type_: Node) -> list[Any]:
        """What a variable of a type ranges over."""
        if str(type_) not in self._members:
            if isinstance(type_, str) and type_ in self.values:
                settings = self.values[type_][1]
                choices = next(int(s.removeprefix("choices=")) for s in settings if s.startswith("choices="))
                self._members[str(type_)] = list(range(choices))
            else:
                self._members[str(type_)] = [name for name in self.objects if self.is_a(name, type_)]
        return self._members[str(type_)]

    def _prim(self, type_: Node) -> tuple[str, float]:
        """int, float or bool, and the tolerance."""
        type_ = self.values.get(type_, type_) if isinstance(type_, str) else type_
        words = [type_] if isinstance(type_, str) else [type_[0], *(type_[1] if len(type_) > 1 else [])]
        tolerance = [float(w.removeprefix("tolerance=")) for w in words if str(w).startswith("tolerance=")]
        prim = "float" if {"float32", "number"} & set(words) else "int" if "int64" in words else "bool"
        return prim, tolerance[0] if tolerance else DEFAULT_TOLERANCE

    def _as(self, type_: Node, value: Any) -> Any:
        """A value as its type holds it."""
        if self._prim(type_)[0] != "float":
            return value
        return tuple(map(float, value)) if isinstance(value, tuple) else float(value)

    # -- expressions --------------------------------------------------------------

    def holds(self, state: State, formula: Node) -> bool:
        """Whether a closed formula is true."""
        return bool(Asking(self, state).value(formula, {}))

    def _called(self, body: Node) -> set[str]:
        if not isinstance(body, list):
            return set()
        own = {body[0]} if body and isinstance(body[0], str) and body[0] in self.bodies else set()
        return own.union(*(self._called(part) for part in body))

    def together(self, name: str) -> set[str]:
        """The predicates that call each other with this one; none if it is not recursive."""
        return self._together[name]

    def _loop(self, name: str) -> set[str]:
        return {other for other in self._below(name) if name in self._below(other)}

    def _below(self, name: str) -> set[str]:
        found: set[str] = set()
        agenda = list(self._reads[name])
        while agenda:
            other = agenda.pop()
            if other not in found:
                found.add(other)
                agenda += self._reads[other]
        return found

    def tolerance(self, expr: Node, env: Env) -> float:
        """How far apart two values may be: what a declared type says, else the default."""
        if isinstance(expr, str):
            return self._prim(env[expr][1])[1] if expr in env else DEFAULT_TOLERANCE
        if isinstance(expr, Vector) or not expr:
            return DEFAULT_TOLERANCE
        if expr[0] in self.predicates:
            return self._prim(self.predicates[expr[0]][1])[1]
        told = {self.tolerance(part, env) for part in expr[1:]} - {DEFAULT_TOLERANCE}
        return max(told, default=DEFAULT_TOLERANCE)

    # -- steps ----------------------------------------------------------------------

    def _steps(self) -> Iterator[tuple[tuple[Any, ...], Env]]:
        """Every ground action, and what its parameters stand for."""
        for name, (parameters, _, _) in self.actions.items():
            for arguments in product(*(self.members(type_) for _, type_ in parameters)):
                env = {n: (value, t) for (n, t), value in zip(parameters, arguments, strict=True)}
                yield (name, *arguments), env

    def successors(
        self, state: State, only: tuple[Any, ...] | None = None
    ) -> Iterator[tuple[tuple[Any, ...], float, State]]:
        """The steps that can be taken, what each costs, and where it leads; all of them, or one."""
        asking = Asking(self, state)
        for step, env in self._ground:
            if only is not None and step != only:
                continue
            _, condition, effect = self.actions[step[0]]
            if asking.value(condition, env):
                try:
                    after, cost = self._after(asking, effect, env)
                except RefusedError:
                    continue
                yield step, cost if self.metric else 1.0, after

    def _after(self, asking: Asking, effect: Node, env: Env) -> tuple[State, float]:
        writes: list[tuple[str, tuple[Any, ...], Any]] = []
        asking.effects(effect, env, writes)
        cost = sum(float(value) for op, fact, value in writes if fact[0] == "total-cost")
        after = dict(asking.state)
        changed: dict[Any, list[tuple[str, Any]]] = {}
        for op, fact, value in writes:
            if fact[0] != "total-cost":
                changed.setdefault(fact, []).append((op, value))
        for fact, own in changed.items():
            value = combined(own, after.get(fact, False))
            if value is False:
                after.pop(fact, None)
            else:
                after[fact] = self._as(self.predicates[fact[0]][1], value)
        return after, cost

    def valid(self, plan: list[tuple[Any, ...]]) -> tuple[bool, float]:
        """Whether a plan can be taken and ends in a goal, and what it costs."""
        state, paid = self.start, 0.0
        for step in plan:
            there = list(self.successors(state, step))
            if not there:
                return False, paid
            ((_, cost, state),) = there
            paid += cost
        return self.holds(state, self.goal), paid

    def optimum(self, limit: int) -> float | None:
        """The cost of a cheapest plan by brute force: all states, then costs lowered until none can be."""
        states, numbers, edges = [self.start], {_key(self.start): 0}, []
        for i, state in enumerate(states):
            for _, cost, after in self.successors(state):
                j = numbers.setdefault(_key(after), len(states))
                if j == len(states):
                    states.append(after)
                edges.append((i, j, cost))
            if len(states) > limit:
                raise OverflowError("too many states")
        far = [0.0] + [math.inf] * (len(states) - 1)
        changed = True
        while changed:
            changed = False
            for i, j, cost in edges:
                if far[i] + cost < far[j]:
                    far[j] = far[i] + cost
                    changed = True
        reached = [far[i] for i, state in enumerate(states) if self.holds(state, self.goal)]
        return min(reached, default=None)


def _key(state: State) -> frozenset[Any]:
    return frozenset(state.items())

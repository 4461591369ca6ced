"""A domain and a problem run from their text, without any code of the package.

Plain recursion over S-expressions, as the language is described: types with ``either``,
quantifiers, derived predicates as least fixpoints, conditional and quantified effects,
costs, numbers and vectors. No blanks, external functions or encoded predicates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

Node = Any
"""A word, a list, or a `Vector`."""

State = dict[tuple[Any, ...], Any]
Env = dict[str, tuple[Any, Any]]
"""What variables stand for, and their types."""

DEFAULT_TOLERANCE = 1e-3


class Vector(list):
    """What stands in square brackets."""


class RefusedError(Exception):
    """A step that has no meaning."""


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
            value = _written(own, after.get(fact, False))
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
        """The cost of a cheapest plan by brute force: all states, then costs made smaller until none can be."""
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


class Asking:
    """Questions about one state; what was derived is kept."""

    def __init__(self, plain: Plain, state: State) -> None:
        self.plain = plain
        self.state = state
        self._known: dict[Any, Any] = {}
        self._assumed: dict[Any, bool] = {}

    def value(self, expr: Node, env: Env) -> Any:
        """What an expression evaluates to."""
        if isinstance(expr, str):
            return env[expr][0] if expr in env else expr if expr in self.plain.objects else literal(expr)
        if isinstance(expr, Vector):
            return literal(expr)
        if not expr:
            return True
        head, rest = expr[0], expr[1:]
        if head in self.plain.predicates:
            return self._atom(head, [self.value(part, env) for part in rest])
        match head:
            case "and":
                return all(self.value(part, env) for part in rest)
            case "or":
                return any(self.value(part, env) for part in rest)
            case "not":
                return not self.value(rest[0], env)
            case "imply" | "implies":
                return not self.value(rest[0], env) or self.value(rest[1], env)
            case "forall":
                return all(self.value(rest[1], inner) for inner in self.each(rest[0], env))
            case "exists":
                return any(self.value(rest[1], inner) for inner in self.each(rest[0], env))
            case "=" | "eq" | "equal":
                told = {self.plain.tolerance(part, env) for part in rest} - {DEFAULT_TOLERANCE}
                return alike(*(self.value(part, env) for part in rest), max(told, default=DEFAULT_TOLERANCE))
            case "<" | "<=" | ">" | ">=":
                a, b = (self.value(part, env) for part in rest)
                return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[head]
            case _:
                return calculated(head, [self.value(part, env) for part in rest])

    def each(self, variables: Node, env: Env) -> Iterator[Env]:
        """The scope with every choice for some variables."""
        own = list(typed(variables))
        for chosen in product(*(self.plain.members(type_) for _, type_ in own)):
            yield env | {name: (value, type_) for (name, type_), value in zip(own, chosen, strict=True)}

    def _atom(self, name: str, args: list[Any]) -> Any:
        parameters, returns = self.plain.predicates[name]
        if not self._fits(parameters, args):
            return False
        fact = (name, *args)
        if name not in self.plain.bodies:
            return self.state.get(fact, False)
        if fact in self._assumed:
            return self._assumed[fact]
        if fact not in self._known:
            loop = self.plain.together(name)
            if loop:
                self._known.update(self._fixpoint(loop))
            else:
                self._known[fact] = self.plain._as(returns, self._body(fact))
        return self._known[fact]

    def _fits(self, parameters: list[tuple[str, Node]], args: list[Any]) -> bool:
        """Whether every object is of its parameter's type; of others no atom is true."""
        return all(
            not isinstance(arg, str) or arg in self.plain.members(type_)
            for (_, type_), arg in zip(parameters, args, strict=True)
        )

    def _body(self, fact: tuple[Any, ...]) -> Any:
        parameters, _ = self.plain.predicates[fact[0]]
        env = {name: (value, type_) for (name, type_), value in zip(parameters, fact[1:], strict=True)}
        return self.value(self.plain.bodies[fact[0]], env)

    def _fixpoint(self, loop: set[str]) -> dict[Any, bool]:
        """All atoms of some predicates: false, then again and again what their bodies say."""
        outside = self._assumed
        facts = []
        for name in loop:
            parameters, _ = self.plain.predicates[name]
            ranges = (self.plain.members(type_) for _, type_ in parameters)
            facts += [(name, *args) for args in product(*ranges)]
        truth = dict.fromkeys(facts, False)
        changed = True
        while changed:
            self._assumed = outside | truth
            new = {fact: bool(self._body(fact)) for fact in facts}
            changed, truth = new != truth, new
        self._assumed = outside
        return truth

    def effects(self, effect: Node, env: Env, writes: list[tuple[str, tuple[Any, ...], Any]]) -> None:
        """Everything that an effect writes: what is done, to which fact, with which value."""
        if not effect:
            return
        head, rest = effect[0], effect[1:]
        match head:
            case "and":
                for part in rest:
                    self.effects(part, env, writes)
            case "forall" | "foreach":
                for inner in self.each(rest[0], env):
                    self.effects(rest[1], inner, writes)
            case "when":
                if self.value(rest[0], env):
                    self.effects(rest[1], env, writes)
            case "not":
                self._write("delete", rest[0], None, env, writes)
            case "assign" | "increase" | "decrease" | "scale-up" | "scale-down":
                self._write(head, rest[0], rest[1], env, writes)
            case _ if head.endswith("::assign"):
                self._write("assign", [head.removesuffix("::assign"), *rest[:-1]], rest[-1], env, writes)
            case _ if head.endswith("::cond-assign"):
                if self.value(rest[-2], env):
                    target = [head.removesuffix("::cond-assign"), *rest[:-2]]
                    self._write("assign", target, rest[-1], env, writes)
            case _:
                self._write("add", effect, None, env, writes)

    def _write(self, op: str, target: Node, value: Node, env: Env, writes: list[Any]) -> None:
        args = [self.value(part, env) for part in target[1:]]
        if self._fits(self.plain.predicates[target[0]][0], args):
            written = None if value is None else self.value(value, env)
            writes.append((op, (target[0], *args), written))


def _written(writes: list[tuple[str, Any]], old: Any) -> Any:
    """The value of one fact after all that is done to it at once: deletes, assignments, adds."""
    kinds = {_KINDS[op] for op, _ in writes}
    if len(kinds & {"=", "+", "*"}) > 1:
        raise RefusedError
    value = False if "delete" in kinds else old
    for op, new in writes:
        if op == "assign":
            first = next(other for kind, other in writes if kind == "assign")
            if not alike(first, new, 1e-6):
                raise RefusedError
            value = first
        elif op not in ("add", "delete"):
            value = calculated(_SYMBOLS[op], [value, new])
    return True if "add" in kinds else value


_KINDS = {
    **{"add": "add", "delete": "delete", "assign": "="},
    **{"increase": "+", "decrease": "+", "scale-up": "*", "scale-down": "*"},
}
_SYMBOLS = {"increase": "+", "decrease": "-", "scale-up": "*", "scale-down": "/"}


def literal(word: Node) -> Any:
    """What a written value stands for."""
    if isinstance(word, Vector):
        return tuple(literal(part) for part in word)
    if word in ("true", "false"):
        return word == "true"
    return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)


def alike(a: Any, b: Any, tolerance: float) -> bool:
    """Equality: of floats within a tolerance, of all else exact."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) <= tolerance
    return a == b


def calculated(op: str, values: list[Any]) -> Any:
    """Arithmetic of numbers and vectors, element by element."""
    if len(values) == 1:
        return calculated("-", [0, values[0]])
    found = values[0]
    for other in values[1:]:
        found = _each(op, found, other)
    return found


def _each(op: str, a: Any, b: Any) -> Any:
    if isinstance(a, tuple) or isinstance(b, tuple):
        size = len(a) if isinstance(a, tuple) else len(b)
        left = a if isinstance(a, tuple) else (a,) * size
        right = b if isinstance(b, tuple) else (b,) * size
        return tuple(_each(op, x, y) for x, y in zip(left, right, strict=True))
    if op == "/":
        if b == 0:
            raise RefusedError
        return a / b
    return a + b if op == "+" else a - b if op == "-" else a * b


def _key(state: State) -> frozenset[Any]:
    return frozenset(state.items())

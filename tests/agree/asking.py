"""Questions about one state of a `Plain` problem: formulas, values, and what effects write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from tests.agree.sexpr import Node, Vector, literal, typed

if TYPE_CHECKING:
    from tests.agree.plain import Plain

State = dict[tuple[Any, ...], Any]
Env = dict[str, tuple[Any, Any]]
"""What variables stand for, and their types."""

DEFAULT_TOLERANCE = 1e-3


class RefusedError(Exception):
    """A step that has no meaning."""


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
            case "component":
                return self.value(rest[0], env)[int(rest[1])]
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


def combined(writes: list[tuple[str, Any]], old: Any) -> Any:
    """The value of one fact after all that is done to it at once: deletes, assignments, adds."""
    kinds = {_KINDS[op] for op, _ in writes}
    if len(kinds & {"=", "+", "*"}) > 1:
        raise RefusedError
    value = False if "delete" in kinds else old
    for op, new in writes:
        if op == "assign":
            assigned = [other for kind, other in writes if kind == "assign"]
            if all(isinstance(other, bool) for other in assigned):
                value = any(assigned)
                continue
            if not alike(assigned[0], new, 1e-6):
                raise RefusedError
            value = assigned[0]
        elif op not in ("add", "delete"):
            value = calculated(_SYMBOLS[op], [value, new])
    return True if "add" in kinds else value


_KINDS = {
    **{"add": "add", "delete": "delete", "assign": "="},
    **{"increase": "+", "decrease": "+", "scale-up": "*", "scale-down": "*"},
}
_SYMBOLS = {"increase": "+", "decrease": "-", "scale-up": "*", "scale-down": "/"}


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

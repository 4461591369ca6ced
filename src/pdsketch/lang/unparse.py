"""Checked domains, problems and formulas → text that reads as the same terms.

Sugar is gone from terms, and so it is from the text: ``(p::assign …)`` comes out as ``(assign (p …) …)``.
Variables that the checker made, whose names no author can write, get names that one can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, groupby, islice, product
from typing import Final, final

from pdsketch.lang.check.typenames import PRIMITIVES, RESERVED
from pdsketch.lang.data import show_atom, shown
from pdsketch.lang.domain import Action, Domain, Predicate, Problem
from pdsketch.lang.printer import format_source
from pdsketch.lang.rewrite import conjuncts, substitute
from pdsketch.lang.source import Source
from pdsketch.lang.terms import (
    TRUE,
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Component,
    Each,
    Equal,
    Expr,
    Logic,
    Object,
    Quantified,
    Update,
    Value,
    Variable,
    walk,
)
from pdsketch.lang.types import FLOAT, Hierarchy, ObjectType, ValueType

# Names that any PDDL planner reads: a letter, then letters, digits, ``-`` and ``_``; each for one thing.

WORDS: Final = RESERVED | {*PRIMITIVES, "object", "either", "vector", "total-cost", "define"}
"""Words of PDDL and of the sketch language, which name nothing else."""


def legal(text: str) -> str:
    """The text as a name: what may not stand in one becomes ``-``."""
    found = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-_")
    return found if found[:1].isalpha() and found.isascii() else f"n{found}" if found else "unnamed"


@final
class Names:
    """One name space: every name that is given away is given once."""

    def __init__(self, taken: Iterable[str] = WORDS) -> None:
        self._taken = set(taken)

    def give(self, wish: str, suffix: str = "") -> str:
        """A legal name near to a wish; where it is taken, with the suffix, or with a number."""
        name = legal(wish)
        if name in self._taken and suffix:
            name = f"{name}-{suffix}"
        if name in self._taken:
            name = next(other for i in count(2) if (other := f"{name}-{i}") not in self._taken)
        self._taken.add(name)
        return name

    def give_all(self, wishes: Iterable[str], suffix: str = "") -> dict[str, str]:
        """A name for each of these, in their order; what is a name already keeps it."""
        wanted = list(wishes)
        first = {wish: self.give(wish, suffix) for wish in wanted if legal(wish) == wish}
        return {wish: first[wish] if wish in first else self.give(wish, suffix) for wish in wanted}


_Names = Mapping[str, str]
"""How variables are written, where not by their own names."""


def domain_text(domain: Domain) -> str:
    """A domain in canonical layout."""
    sections = [f"(domain {domain.name})"]
    if domain.requirements:
        sections.append(f"(:requirements {' '.join(domain.requirements)})")
    types = [*_object_types(domain.hierarchy), *_value_types(domain.value_types)]
    if types:
        sections.append(f"(:types {' '.join(types)})")
    if domain.constants:
        sections.append(f"(:constants {_objects(domain.constants)})")
    predicates = [p for p in domain.predicates.values() if not _is_function(p)]
    functions = [p for p in domain.predicates.values() if _is_function(p)]
    if predicates:
        sections.append(f"(:predicates {' '.join(map(_header, predicates))})")
    if functions:
        sections.append(f"(:functions {' '.join(f'{_head(p)} - number' for p in functions)})")
    blanks = _Blanks(domain)
    sections += [_derived(p, blanks) for p in domain.predicates.values() if p.body is not None]
    sections += [_action(action, blanks) for action in domain.actions.values()]
    return _laid_out(sections)


def problem_text(problem: Problem) -> str:
    """A problem in canonical layout."""
    own = {name: t for name, t in problem.universe.items() if name not in problem.domain.constants}
    facts = [
        show_atom(fact) if value is True else f"(= {show_atom(fact)} {shown(value)})"
        for fact, value in problem.init.items()
        if value is not False
    ]
    sections = [
        f"(problem {problem.name})",
        f"(:domain {problem.domain.name})",
        f"(:objects {_objects(own)})",
        f"(:init {' '.join(facts)})",
        f"(:goal {formula_text(problem.goal)})",
    ]
    if problem.metric == "cost":
        sections.append("(:metric minimize (total-cost))")
    return _laid_out(sections)


def formula_text(expr: Expr) -> str:
    """A formula on one line."""
    return _Writer(_readable([expr])).text(expr)


def _laid_out(sections: Iterable[str]) -> str:
    return format_source(Source("<text>", f"(define {' '.join(sections)})"))


def _object_types(hierarchy: Hierarchy) -> Iterator[str]:
    for name, parents in hierarchy.parents.items():
        if name != "object":
            yield f"{name} - {ObjectType(parents) if parents else 'object'}"


def _value_types(types: Mapping[str, ValueType]) -> Iterator[str]:
    for name, type_ in types.items():
        yield f"{name} - {replace(type_, alias=None)}"


def _objects(objects: Mapping[str, ObjectType]) -> str:
    """Objects with their types, those of one type that follow each other together."""
    groups: list[tuple[ObjectType, list[str]]] = []
    for name, type_ in objects.items():
        if not groups or groups[-1][0] != type_:
            groups.append((type_, []))
        groups[-1][1].append(name)
    return " ".join(f"{' '.join(names)} - {type_}" for type_, names in groups)


def _is_function(predicate: Predicate) -> bool:
    """Whether a predicate is declared as PDDL's functions are."""
    return predicate.type.alias == "number" and predicate.type.is_number


def _head(predicate: Predicate) -> str:
    return f"({' '.join([predicate.name, *_typed(predicate.parameters)])})"


def _header(predicate: Predicate) -> str:
    returns = [] if predicate.type.is_bool else [f"[return_type={predicate.type}]"]
    return f"({' '.join([predicate.name, *returns, *_typed(predicate.parameters)])})"


def _typed(variables: Iterable[Variable], names: _Names | None = None) -> list[str]:
    return [f"{(names or {}).get(v.name, v.name)} - {v.type}" for v in variables]


def _derived(predicate: Predicate, blanks: _Blanks) -> str:
    assert predicate.body is not None
    writer = _Writer(_readable([predicate.body], predicate.parameters), blanks)
    return f"(:derived {_header(predicate)} {writer.text(predicate.body)})"


def _action(action: Action, blanks: _Blanks) -> str:
    effects = action.effects
    inside = [
        action.precondition,
        *(e for u in effects for e in (u.target, u.value, u.condition) if e is not None),
    ]
    bound = [*action.parameters, *(v for u in effects for v in u.variables)]
    writer = _Writer(_readable(inside, bound), blanks)
    parts = [
        text
        for (variables, condition), updates in groupby(effects, lambda u: (u.variables, u.condition))
        for text in writer.effects(variables, condition, updates)
    ]
    parts += [f"(increase (total-cost) {writer.text(cost)})" for cost in _summands(action.cost)]
    effect = parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})"
    return (
        f"(:action {action.name} :parameters ({' '.join(_typed(action.parameters))})"
        f" :precondition {writer.text(action.precondition)} :effect {effect})"
    )


def _summands(cost: Expr | None) -> tuple[Expr, ...]:
    if cost is None:
        return ()
    return cost.args if isinstance(cost, Arithmetic) and cost.op == "+" else (cost,)


def _readable(expressions: Iterable[Expr], bound: Iterable[Variable] = ()) -> dict[str, str]:
    """Names for the variables that the checker made (``?$0``, ``?o$1``), which nothing else has."""
    used = {v.name for v in bound}
    for expr in expressions:
        for node in walk(expr):
            if isinstance(node, Variable):
                used.add(node.name)
            elif isinstance(node, Quantified | Each):
                used |= {v.name for v in node.variables}
    fresh = (name for i in count() if (name := f"?v{i}") not in used)
    return {name: next(fresh) for name in sorted(used) if "$" in name}


class _Blanks:
    """What is written in brackets behind blanks: always what they return, their settings once."""

    def __init__(self, domain: Domain) -> None:
        self._all = domain.blanks
        self._written: set[str] = set()

    def settings(self, name: str) -> str:
        """The type that the blank returns, and its settings where it stands for the first time.

        The type is said again at each use: inside arithmetic, a place alone does not tell it.
        """
        blank = self._all.get(name)
        if blank is None:
            return ""
        own = {"return_type": str(blank.returns)}
        if name not in self._written:
            own |= {k: _setting(v) for k, v in blank.settings.items()}
        self._written.add(name)
        return f" [{', '.join(f'{key}={value}' for key, value in own.items())}]"


def _setting(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return shown(value)


class _Writer:
    """Writes the expressions and updates of one definition."""

    def __init__(self, names: _Names, blanks: _Blanks | None = None) -> None:
        self._names = names
        self._blanks = blanks

    def text(self, expr: Expr) -> str:
        """An expression."""
        match expr:
            case Variable():
                return self._names.get(expr.name, expr.name)
            case Object():
                return expr.name
            case Value():
                return _literal(expr)
            case Apply():
                return self._list(expr.predicate, expr.args)
            case BlankCall():
                settings = self._blanks.settings(expr.blank) if self._blanks else ""
                return self._list(f"??{expr.blank.split('::', 2)[2]}{settings}", expr.args)
            case Logic():
                return self._list("imply" if expr.op == "implies" else expr.op, expr.args)
            case Quantified():
                return f"({expr.op} ({self._variables(expr.variables)}) {self.text(expr.body)})"
            case Each():
                inner = self.text(expr.body)
                if expr.condition != TRUE or not expr.variables:
                    inner = f"(when {self.text(expr.condition)} {inner})"
                return f"(foreach ({self._variables(expr.variables)}) {inner})" if expr.variables else inner
            case Equal():
                return self._list("=", (expr.left, expr.right))
            case Compare():
                return self._list(expr.op, (expr.left, expr.right))
            case Arithmetic():
                return self._list(expr.op, expr.args)
            case Component():
                return f"(component {self.text(expr.vector)} {expr.place})"

    def effects(self, variables: Iterable[Variable], condition: Expr, updates: Iterable[Update]) -> list[str]:
        """Updates over the same variables, under the same condition: one by one where there are neither."""
        parts = list(map(self._update, updates))
        if condition == TRUE and not variables:
            return parts
        text = parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})"
        if condition != TRUE:
            text = f"(when {self.text(condition)} {text})"
        return [f"(forall ({self._variables(variables)}) {text})" if variables else text]

    def _update(self, update: Update) -> str:
        target = self.text(update.target)
        if update.op == "add":
            return target
        if update.op == "delete":
            return f"(not {target})"
        assert update.value is not None
        return f"({update.op} {target} {self.text(update.value)})"

    def _list(self, head: str, parts: Iterable[Expr]) -> str:
        return f"({' '.join([head, *map(self.text, parts)])})"

    def _variables(self, variables: Iterable[Variable]) -> str:
        return " ".join(_typed(variables, self._names))


def _literal(value: Value) -> str:
    """A value; whole numbers that were given a float's type are written as the author wrote them."""
    number = value.value
    if isinstance(number, float) and value.type != FLOAT and number.is_integer():
        return str(int(number))
    return shown(number)


# A goal part by part: its conjuncts, and the instances of those that begin with a quantifier.

MOST_INSTANCES: Final = 200
"""Of one quantified part: more than anybody reads."""


@final
@dataclass(frozen=True, slots=True)
class GoalPart:
    """A conjunct, how true it is, and if it is quantified, how true its body is for which objects."""

    text: str
    truth: float
    instances: tuple[tuple[tuple[str, ...], float], ...] = ()


def parts_of(
    goal: Expr, domain: Domain, universe: Mapping[str, ObjectType], truth: Callable[[Expr], float]
) -> tuple[GoalPart, ...]:
    """The parts of a goal; ``truth`` gives the truth of a closed formula.

    ``goal`` is taken apart at its conjunctions; a part that is quantified also has an instance for each
    object of ``universe`` (names to types) that its variables may stand for in ``domain``.
    """
    found = []
    for part in conjuncts(goal):
        text = " ".join(part.span.text.split()) if part.span is not None else formula_text(part)
        bodies = _instances(part, domain, universe)
        found.append(GoalPart(text, truth(part), tuple((objects, truth(body)) for objects, body in bodies)))
    return tuple(found)


def _instances(
    part: Expr, domain: Domain, universe: Mapping[str, ObjectType]
) -> list[tuple[tuple[str, ...], Expr]]:
    """The body of a quantifier over objects for the first `MOST_INSTANCES` ways to choose them."""
    if not isinstance(part, Quantified):
        return []
    types = [v.type for v in part.variables if isinstance(v.type, ObjectType)]
    if len(types) < len(part.variables):
        return []
    members = [domain.hierarchy.members(type_, universe) for type_ in types]
    found = []
    for objects in islice(product(*members), MOST_INSTANCES):
        named = zip(part.variables, objects, strict=True)
        by: dict[str, Expr] = {v.name: Object(name, universe[name]) for v, name in named}
        found.append((objects, substitute(part.body, by)))
    return found

"""Expressions and effects of unified-planning as text of the language.

The language has no fluents that return objects: ``place(r)`` becomes the predicate ``(place r p)``.
Where such a fluent stands inside an atom, a variable stands for its value, guarded by that predicate:
``free(place(r))`` is ``(exists (?o - room) (and (place r ?o) (free ?o)))``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

from pdsketch.lang import Diagnostic, Error, Names, error

# Which features of unified-planning's problems the language has, by the names that it gives them.

CLASSICAL: Final = frozenset(
    (
        "ACTION_BASED",
        "FLAT_TYPING",
        "HIERARCHICAL_TYPING",
        "NEGATIVE_CONDITIONS",
        "DISJUNCTIVE_CONDITIONS",
        "EQUALITIES",
        "EXISTENTIAL_CONDITIONS",
        "UNIVERSAL_CONDITIONS",
        "CONDITIONAL_EFFECTS",
        "FORALL_EFFECTS",
        "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
        "FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
        "OBJECT_FLUENTS",
        "STATIC_FLUENTS_IN_OBJECT_ASSIGNMENTS",
        "FLUENTS_IN_OBJECT_ASSIGNMENTS",
        "ACTIONS_COST",
        "STATIC_FLUENTS_IN_ACTIONS_COST",
        "INT_NUMBERS_IN_ACTIONS_COST",
        "REAL_NUMBERS_IN_ACTIONS_COST",
        "PLAN_LENGTH",
        "STATE_INVARIANTS",
        "UNDEFINED_INITIAL_NUMERIC",
    )
)
"""What becomes Boolean facts, and numbers that no action changes: searched over packed states."""

NUMERIC: Final = CLASSICAL - {"UNDEFINED_INITIAL_NUMERIC"} | frozenset(
    (
        "SIMPLE_NUMERIC_PLANNING",
        "GENERAL_NUMERIC_PLANNING",
        "INT_FLUENTS",
        "REAL_FLUENTS",
        "BOUNDED_TYPES",
        "INCREASE_EFFECTS",
        "DECREASE_EFFECTS",
        "STATIC_FLUENTS_IN_NUMERIC_ASSIGNMENTS",
        "FLUENTS_IN_NUMERIC_ASSIGNMENTS",
    )
)
"""Also numbers that change, all of which have an initial value: searched through a model."""

TRANSLATED: Final = CLASSICAL | NUMERIC

_WORDS: Final = {
    "CONTINUOUS_TIME": "durative actions",
    "DISCRETE_TIME": "durative actions",
    "HIERARCHICAL": "tasks and methods",
    "CONTINGENT": "sensing actions",
    "ACTION_BASED_MULTI_AGENT": "several agents",
    "SCHEDULING": "activities to schedule",
    "TAMP": "motions",
    "BOOL_FLUENT_PARAMETERS": "fluents over Booleans",
    "BOUNDED_INT_FLUENT_PARAMETERS": "fluents over ints",
    "OVERSUBSCRIPTION": "goals that may be left out",
    "FINAL_VALUE": "a metric over the final state",
    "SIMULATED_EFFECTS": "effects that are Python functions",
    "TRAJECTORY_CONSTRAINTS": "trajectory constraints",
    "UNDEFINED_INITIAL_SYMBOLIC": "fluents without an initial value",
}
"""Features in plainer words than their names, for those that are refused."""

_HELP: Final = "some features can be compiled away there first: see `Compiler` of unified-planning"


def refuse(name: str, features: Iterable[str]) -> Error:
    """The error that names every feature that the language does not have."""
    return Error(
        Diagnostic(
            "unsupported-feature",
            f"{_WORDS.get(feature, feature.lower().replace('_', ' '))} (`{feature}`): not in the language",
            file=name,
            help=_HELP,
        )
        for feature in sorted(features)
    )


def unsupported(what: str, place: str) -> Error:
    """The error for what no feature's name covers."""
    return error("unsupported-feature", f"{what}: not in the language", file=place, help=_HELP)


def check_features(problem: Any) -> None:
    """Refuse what is no problem of unified-planning, and features that the language does not have."""
    features = getattr(getattr(problem, "kind", None), "features", None)
    if features is None:
        kind = type(problem).__name__
        raise error("wrong-kind", f"a Problem of unified-planning was wanted, and a {kind} was given")
    beyond = features - TRANSLATED
    if beyond:
        raise refuse(problem.name or "problem", beyond)


_ARITHMETIC = {"PLUS": "+", "MINUS": "-", "TIMES": "*", "DIV": "/"}
_COMPARISONS = {"LE": "<=", "LT": "<"}
_JOINS = {"AND": "and", "OR": "or", "NOT": "not", "IMPLIES": "imply"}


@final
@dataclass(frozen=True, slots=True)
class ProblemNames:
    """What things of a unified-planning problem are called in the language.

    ``mentioned`` collects the objects that actions name: they are the domain's constants.
    """

    types: dict[str, str]
    fluents: dict[str, str]
    objects: dict[str, str]
    mentioned: set[str] = field(default_factory=set)

    def typed(self, variable: str, type_: Any) -> str:
        """A variable with its type."""
        return f"{variable} - {self.types[type_.name]}"


class _Guards(list[tuple[str, str]]):
    """Variables for values of object fluents (with their types), each with the atom that defines it."""

    def around(self, text: str) -> str:
        """A formula that holds for these values."""
        if not self:
            return text
        variables, atoms = zip(*self, strict=True)
        return f"(exists ({' '.join(variables)}) {conjunction([*atoms, text])})"


@final
class Formulas:
    """Writes the expressions of one definition: an action, or a goal."""

    def __init__(self, vocabulary: ProblemNames, place: str, parameters: Sequence[Any] = ()) -> None:
        self._words = vocabulary
        self._place = place
        self._names = Names()
        self._variables: dict[tuple[str, str], str] = {}
        self.parameters = [self._declared("PARAM_EXP", p) for p in parameters]

    def formula(self, node: Any) -> str:
        """A Boolean expression."""
        kind = node.node_type.name
        if kind in _JOINS:
            return f"({_JOINS[kind]} {' '.join(map(self.formula, node.args))})"
        if kind == "IFF":
            left, right = map(self.formula, node.args)
            return f"(and (imply {left} {right}) (imply {right} {left}))"
        if kind in ("EXISTS", "FORALL"):
            declared = [self._declared("VARIABLE_EXP", variable) for variable in node.variables()]
            return f"({kind.lower()} ({' '.join(declared)}) {self.formula(node.arg(0))})"
        if kind == "BOOL_CONSTANT":
            return "(and)" if node.bool_constant_value() else "(or)"
        guards = _Guards()
        return guards.around(self._atom(node, kind, guards))

    def cost(self, node: Any) -> str:
        """What an action costs."""
        guards = _Guards()
        text = self._number(node, guards)
        if guards:
            raise unsupported("a fluent that returns an object, inside a cost", self._place)
        return text

    def effect(self, effect: Any) -> str:
        """One effect, with its variables and its condition."""
        guards = _Guards()
        bound = [self._declared("VARIABLE_EXP", variable) for variable in effect.forall]
        fluent = effect.fluent.fluent()
        arguments = [self._object(argument, guards) for argument in effect.fluent.args]
        name = self._words.fluents[fluent.name]
        target = _list(name, arguments)
        if fluent.type.is_bool_type():
            text = self._boolean(target, effect.value)
        elif fluent.type.is_user_type():
            value = self._object(effect.value, guards)
            other = f"?{self._names.give('other')}"
            old = _list(name, [*arguments, other])
            # Deletes come before adds, so that the new value stays.
            text = (
                f"(and (forall ({self._words.typed(other, fluent.type)}) (not {old}))"
                f" {_list(name, [*arguments, value])})"
            )
        else:
            word = effect.kind.name.lower()
            text = f"({word} {target} {self._number(effect.value, guards)})"
        conditions = [atom for _, atom in guards]
        if effect.is_conditional():
            conditions.append(self.formula(effect.condition))
        if conditions:
            text = f"(when {conjunction(conditions)} {text})"
        bound += [variable for variable, _ in guards]
        return f"(forall ({' '.join(bound)}) {text})" if bound else text

    def _boolean(self, target: str, value: Any) -> str:
        if value.is_bool_constant():
            return target if value.bool_constant_value() else f"(not {target})"
        condition = self.formula(value)
        return f"(and (when {condition} {target}) (when (not {condition}) (not {target})))"

    def _atom(self, node: Any, kind: str, guards: _Guards) -> str:
        if kind in _COMPARISONS:
            return _list(_COMPARISONS[kind], [self._number(part, guards) for part in node.args])
        if kind == "EQUALS":
            write = self._object if node.arg(0).type.is_user_type() else self._number
            return _list("=", [write(part, guards) for part in node.args])
        if kind == "FLUENT_EXP":
            return self._applied(node, guards)
        raise unsupported(f"`{node}` ({kind.lower().replace('_', ' ')})", self._place)

    def _applied(self, node: Any, guards: _Guards, *more: str) -> str:
        arguments = [self._object(argument, guards) for argument in node.args]
        return _list(self._words.fluents[node.fluent().name], [*arguments, *more])

    def _number(self, node: Any, guards: _Guards) -> str:
        kind = node.node_type.name
        if kind in _ARITHMETIC:
            return _list(_ARITHMETIC[kind], [self._number(part, guards) for part in node.args])
        if kind in ("INT_CONSTANT", "REAL_CONSTANT"):
            return number(node.constant_value())
        if kind == "FLUENT_EXP":
            return self._applied(node, guards)
        raise unsupported(f"`{node}` ({kind.lower().replace('_', ' ')})", self._place)

    def _object(self, node: Any, guards: _Guards) -> str:
        kind = node.node_type.name
        if kind == "OBJECT_EXP":
            self._words.mentioned.add(node.object().name)
            return self._words.objects[node.object().name]
        if kind in ("PARAM_EXP", "VARIABLE_EXP"):
            thing = node.parameter() if kind == "PARAM_EXP" else node.variable()
            return self._variables[kind, thing.name]
        if kind == "FLUENT_EXP":
            value = f"?{self._names.give('value')}"
            atom = self._applied(node, guards, value)
            guards.append((self._words.typed(value, node.fluent().type), atom))
            return value
        raise unsupported(f"`{node}` as an object ({kind.lower().replace('_', ' ')})", self._place)

    def _declared(self, kind: str, thing: Any) -> str:
        """A parameter or a variable; the two may share a name there, and have two here."""
        key = kind, thing.name
        if key not in self._variables:
            self._variables[key] = f"?{self._names.give(thing.name)}"
        return self._words.typed(self._variables[key], thing.type)


def number(value: int | Fraction) -> str:
    """A number as it is read; fractions are as near as a float is."""
    return str(int(value)) if value == int(value) else repr(float(value))


def conjunction(parts: Iterable[str]) -> str:
    """All of some formulas."""
    several = list(parts)
    return several[0] if len(several) == 1 else _list("and", several)


def _list(head: str, parts: Iterable[str]) -> str:
    return f"({' '.join([head, *parts])})"

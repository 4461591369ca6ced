"""Which features of unified-planning's problems the language has, by the names that it gives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pdsketch.lang import Diagnostic, Error, error

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

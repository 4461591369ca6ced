"""PDDL's requirements: what is supported, and what is refused by its name."""

from __future__ import annotations

from collections.abc import Iterable

from pdsketch.lang.reader import Token
from pdsketch.lang.report import CheckReport

SUPPORTED = (
    ":strips",
    ":typing",
    ":equality",
    ":negation",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":quantified-preconditions",
    ":conditional-effects",
    ":adl",
    ":derived-predicates",
    ":action-costs",
    ":fluents",
    ":numeric-fluents",
    ":pdsketch",
)
UNSUPPORTED = {
    ":durative-actions": "durative actions",
    ":duration-inequalities": "durative actions",
    ":continuous-effects": "continuous effects",
    ":time": "processes and events",
    ":timed-initial-literals": "timed initial literals",
    ":timed-effects": "timed effects",
    ":preferences": "preferences",
    ":constraints": "trajectory constraints",
    ":object-fluents": "functions that return objects",
    ":goal-utilities": "goal utilities",
    ":hierarchy": "task networks",
    ":htn": "task networks",
    ":multi-agent": "several agents",
    ":unfactored-privacy": "several agents",
    ":factored-privacy": "several agents",
    ":probabilistic-effects": "probabilistic effects",
    ":rewards": "rewards",
    ":mdp": "rewards",
    ":non-deterministic": "non-deterministic effects",
    ":partial-observability": "partial observability",
    ":open-world": "open worlds",
    ":true-negation": "open worlds",
    ":ucpop": "the extensions of UCPOP",
    ":action-expansions": "action expansions",
    ":foreach-expansions": "action expansions",
    ":dag-expansions": "action expansions",
    ":subgoal-through-axioms": "the axioms of PDDL 1.2",
    ":safety-constraints": "safety constraints",
    ":expression-evaluation": "expression evaluation",
    ":domain-axioms": "the axioms of PDDL 1.2",
}


def check_requirements(requirements: Iterable[Token], report: CheckReport) -> tuple[str, ...]:
    """The requirements, each one supported; the others are reported."""
    for atom in requirements:
        if atom.text in UNSUPPORTED:
            report.error(
                "unsupported-requirement", f"`{atom.text}`: {UNSUPPORTED[atom.text]} are not supported", atom
            )
        elif atom.text not in SUPPORTED:
            report.error(
                "unsupported-requirement",
                f"there is no requirement `{atom.text}`",
                atom,
                help=report.near(atom.text, [*SUPPORTED, *UNSUPPORTED]),
            )
    return tuple(dict.fromkeys(atom.text for atom in requirements))

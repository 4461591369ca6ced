"""A random domain and problem, as text and as the language loads them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from pdsketch.lang.domain import Domain, Problem
from pdsketch.lang.load import parse_domain, parse_problem
from pdsketch.lang.semantics import StaticContext
from pdsketch.lang.steps import Step
from pdsketch.lang.types import ObjectType

from .exploration import Exploration
from .functions import Linear


@dataclass(frozen=True)
class Sample:
    """A domain, a problem, more closed formulas over its objects, and functions for what is blank.

    ``candidates`` are values for parameters of value types without choices;
    ``roles`` are what the generator meant each predicate to be.
    """

    domain_text: str
    problem_text: str
    formulas: tuple[str, ...] = ()
    functions: dict[str, Linear] = field(default_factory=dict)
    candidates: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)

    @cached_property
    def domain(self) -> Domain:
        return parse_domain(self.domain_text)

    @cached_property
    def problem(self) -> Problem:
        return parse_problem(self.problem_text, self.domain)

    @cached_property
    def world(self) -> StaticContext:
        """What stays the same, with objects in the order that states have: constants, then type by type."""
        universe, constants = self.problem.universe, self.domain.constants
        types = [*dict.fromkeys(str(t) for name, t in universe.items() if name not in constants)]
        ordered = sorted(universe, key=lambda n: -1 if n in constants else types.index(str(universe[n])))
        return StaticContext(self.domain, {name: universe[name] for name in ordered}, self.functions)

    @cached_property
    def steps(self) -> list[Step]:
        """Every ground action."""
        found: list[Step] = []
        for action in self.domain.actions.values():
            ranges = [self._range(parameter.type) for parameter in action.parameters]
            found += [(action.name, *args) for args in product(*ranges)]
        return found

    @cached_property
    def explored(self) -> Exploration:
        """Its states, as far as they are known."""
        return Exploration(self.world, self.problem, self.steps)

    def with_goal(self, problem_text: str) -> Sample:
        """The same but for the goal: what is known of the domain and of the states stays known."""
        other = replace(self, problem_text=problem_text)
        vars(other).update({name: getattr(self, name) for name in ("domain", "explored")})
        return other

    def _range(self, type_: Any) -> tuple[Any, ...]:
        if isinstance(type_, ObjectType) or type_.choices is not None:
            return self.world.members(type_)
        return self.candidates[type_.alias]

    def __repr__(self) -> str:
        parts = [self.domain_text, self.problem_text, *self.formulas]
        parts += [f"; {name}: {function}" for name, function in self.functions.items()]
        return "\n" + "\n".join(parts)

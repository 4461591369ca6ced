"""A problem of unified-planning → a domain and a problem, and plans back. Needs nothing of that package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

from pdsketch.interchange.unified.formulas import Formulas, ProblemNames, check_features, conjunction, number
from pdsketch.lang import Domain, Names, Problem, Step, error, parse_domain, parse_problem


@final
@dataclass(frozen=True, slots=True)
class Translation:
    """A problem in the language, and what its actions and objects are in unified-planning."""

    domain: Domain
    problem: Problem
    actions: Mapping[str, Any]
    objects: Mapping[str, Any]

    def steps(self, instances: Iterable[Any]) -> list[Step]:
        """The steps of a unified-planning plan."""
        actions = {action.name: name for name, action in self.actions.items()}
        objects = {thing.name: name for name, thing in self.objects.items()}
        found: list[Step] = []
        for instance in instances:
            name = actions.get(instance.action.name)
            named = [objects.get(argument.object().name) for argument in instance.actual_parameters]
            if name is None or None in named:
                raise error("unknown-action", f"`{instance}` is not of problem `{self.problem.name}`")
            found.append((name, *named))
        return found

    def instances(self, steps: Iterable[Step]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Actions of unified-planning with their objects, for the steps of a plan."""
        for name, *arguments in steps:
            yield self.actions[name], tuple(self.objects[argument] for argument in arguments)


def from_unified_planning(problem: Any) -> tuple[Domain, Problem]:
    """A problem of unified-planning as a domain and a problem of the language.

    Names that the language does not have (capitals, spaces, words of PDDL) are
    changed; fluents that return objects become predicates with one more
    argument; bounds of numbers and state invariants become part of every
    precondition and of the goal. What the language does not have is an error
    that names the feature.
    """
    translation = translate(problem)
    return translation.domain, translation.problem


def translate(problem: Any) -> Translation:
    """The problem, with the way back."""
    check_features(problem)
    things = Names()
    words = ProblemNames(
        types=Names().give_all([t.name for t in problem.user_types]),
        fluents=Names().give_all([f.name for f in problem.fluents]),
        objects=things.give_all([o.name for o in problem.all_objects]),
    )
    names = Names().give_all([a.name for a in problem.actions])
    goal_words = Formulas(words, "the goal")
    goals = [goal_words.formula(goal) for goal in problem.goals]
    words.mentioned.clear()
    always = _invariants(problem, words)
    actions = [_action(problem, action, names[action.name], words, always) for action in problem.actions]
    title = Names().give(problem.name or "problem")
    domain = parse_domain("\n".join(_domain(problem, title, words, actions)), f"{title} (domain)")
    text = "\n".join(_problem(problem, title, words, [*goals, *always]))
    objects = {words.objects[o.name]: o for o in problem.all_objects}
    return Translation(
        domain,
        parse_problem(text, domain, f"{title} (problem)"),
        {names[action.name]: action for action in problem.actions},
        objects,
    )


def _domain(problem: Any, title: str, words: ProblemNames, actions: Sequence[str]) -> Iterator[str]:
    yield f"(define (domain {title})"
    types = [
        f"{words.types[t.name]} - {'object' if t.father is None else words.types[t.father.name]}"
        for t in problem.user_types
    ]
    if types:
        yield f"  (:types {' '.join(types)})"
    constants = [o for o in problem.all_objects if o.name in words.mentioned]
    if constants:
        yield f"  (:constants {_typed(constants, words)})"
    predicates = [f for f in problem.fluents if _is_relation(f)]
    functions = [f for f in problem.fluents if not _is_relation(f)]
    if predicates:
        yield f"  (:predicates {' '.join(_head(f, words) for f in predicates)})"
    numbers = [f"{_head(f, words)} - number" for f in functions]
    if _costs(problem) is not None:
        numbers.append("(total-cost) - number")
    if numbers:
        yield f"  (:functions {' '.join(numbers)})"
    yield from actions
    yield ")"


def _is_relation(fluent: Any) -> bool:
    return bool(fluent.type.is_bool_type() or fluent.type.is_user_type())


def _head(fluent: Any, words: ProblemNames) -> str:
    types = [p.type for p in fluent.signature]
    if fluent.type.is_user_type():
        types.append(fluent.type)
    parameters = [words.typed(f"?x{at}", type_) for at, type_ in enumerate(types)]
    return f"({' '.join([words.fluents[fluent.name], *parameters])})"


def _action(problem: Any, action: Any, name: str, words: ProblemNames, always: Sequence[str]) -> str:
    formulas = Formulas(words, f"action `{action.name}`", action.parameters)
    condition = conjunction([*map(formulas.formula, action.preconditions), *always])
    effects = [formulas.effect(effect) for effect in action.effects]
    costs = _costs(problem)
    if costs is not None:
        cost = costs.get_action_cost(action)
        if cost is None:
            raise error(
                "unsupported-metric",
                f"action `{action.name}` has no cost, and the metric asks for one",
                file=problem.name or "problem",
                help="give it one, or a default: MinimizeActionCosts(costs, default=0)",
            )
        effects.append(f"(increase (total-cost) {formulas.cost(cost)})")
    return (
        f"  (:action {name}\n    :parameters ({' '.join(formulas.parameters)})\n"
        f"    :precondition {condition}\n    :effect (and {' '.join(effects)}))"
    )


def _costs(problem: Any) -> Any:
    """The metric that says what actions cost, if that is what is minimised."""
    metrics = [metric for metric in problem.quality_metrics if metric.is_minimize_action_costs()]
    return metrics[0] if metrics else None


def _invariants(problem: Any, words: ProblemNames) -> list[str]:
    """What holds in every state: asked of each state that is acted in, and of the last one."""
    invariant = Formulas(words, "a state invariant")
    found = [invariant.formula(node) for node in problem.state_invariants]
    changed = {effect.fluent.fluent().name for action in problem.actions for effect in action.effects}
    for fluent in problem.fluents:
        if fluent.name not in changed or _is_relation(fluent):
            continue
        variables = [f"?x{at}" for at in range(len(fluent.signature))]
        atom = f"({' '.join([words.fluents[fluent.name], *variables])})"
        low, high = fluent.type.lower_bound, fluent.type.upper_bound
        bounds = [f"(<= {number(low)} {atom})"] if low is not None else []
        bounds += [f"(<= {atom} {number(high)})"] if high is not None else []
        if bounds:
            typed = [words.typed(v, p.type) for v, p in zip(variables, fluent.signature, strict=True)]
            text = conjunction(bounds)
            found.append(f"(forall ({' '.join(typed)}) {text})" if typed else text)
    return found


def _problem(problem: Any, title: str, words: ProblemNames, goals: Sequence[str]) -> Iterator[str]:
    yield f"(define (problem {title})\n  (:domain {title})"
    own = [o for o in problem.all_objects if o.name not in words.mentioned]
    yield f"  (:objects {_typed(own, words)})"
    yield f"  (:init {' '.join(_initial(problem, words))})"
    yield f"  (:goal {conjunction(goals)})"
    if _costs(problem) is not None:
        yield "  (:metric minimize (total-cost))"
    yield ")"


def _typed(objects: Iterable[Any], words: ProblemNames) -> str:
    return " ".join(words.typed(words.objects[o.name], o.type) for o in objects)


def _initial(problem: Any, words: ProblemNames) -> Iterator[str]:
    """The initial values; of Boolean fluents that are false unless said otherwise, what is said."""
    explicit = problem.explicit_initial_values
    for fluent in problem.fluents:
        default = problem.fluents_defaults.get(fluent)
        if default is not None and default.is_bool_constant() and not default.bool_constant_value():
            atoms = [(atom, value) for atom, value in explicit.items() if atom.fluent() == fluent]
        else:
            domains = [list(problem.objects(p.type)) for p in fluent.signature]
            ground = [fluent(*objects) for objects in product(*domains)]
            atoms = [(atom, explicit.get(atom, default)) for atom in ground]
        for atom, value in atoms:
            if value is None:  # a number that is not known, as PDDL has it
                continue
            text = " ".join(
                [words.fluents[fluent.name], *(words.objects[a.object().name] for a in atom.args)]
            )
            if value.is_bool_constant():
                if value.bool_constant_value():
                    yield f"({text})"
            elif value.is_object_exp():
                yield f"({text} {words.objects[value.object().name]})"
            else:
                yield f"(= ({text}) {number(value.constant_value())})"

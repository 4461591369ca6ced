"""The reference semantics against a plain reading of the text, and formatted text against itself."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.agree.case import Case, DifferError, near
from tests.agree.plain import Plain
from tests.agree.sexpr import read
from tests.strategies.exploration import key

from pdsketch.lang.domain import Domain, Problem
from pdsketch.lang.load import parse_domain, parse_goal, parse_problem
from pdsketch.lang.printer import format_source
from pdsketch.lang.source import Source
from pdsketch.lang.validator import validate


def check_reference(case: Case) -> None:
    """State by state: the same steps, at the same cost, to the same states; goals and formulas alike."""
    sample, graph = case.sample, case.graph
    plain = Plain(sample.domain_text, sample.problem_text)
    formulas = [
        (text, expr, plain.goal if text == "the goal" else read(text)) for text, expr in case.formulas
    ]
    for i, facts in enumerate(graph.states[: graph.expanded]):
        own = {fact: value for fact, value in facts.items() if value is not False}
        place = f"in state {i}"
        steps = {step: (cost, key(after)) for step, cost, after in plain.successors(own)}
        for step, cost, j in graph.edges[i]:
            there = steps.pop(step, None)
            if there is None:
                raise DifferError("plain reading", f"{step} {place}", "it can be taken", "it cannot")
            if not near(there[0], cost):
                raise DifferError("plain reading", f"the cost of {step} {place}", cost, there[0])
            if there[1] != key(graph.states[j]):
                raise DifferError(
                    "plain reading",
                    f"{step} {place}",
                    key(graph.states[j]) - there[1],
                    there[1] - key(graph.states[j]),
                )
        if steps and graph.complete:
            raise DifferError("plain reading", f"{min(steps)} {place}", "it cannot be taken", "it can")
        for text, expr, written in formulas:
            wanted, found = bool(case.moments[i].value(expr, {})), plain.holds(own, written)
            if wanted != found:
                raise DifferError("plain reading", f"{text} {place}", wanted, found)
    _check_plans(case, plain)


def _check_plans(case: Case, plain: Plain) -> None:
    """The validator on walks through the states, and on plans that are a little wrong."""
    sample, graph, chance = case.sample, case.graph, case.chance
    for _ in range(4):
        plan, at = [], 0
        while graph.expanded > at and graph.edges[at] and chance.random() < 0.8 and len(plan) < 6:
            step, _, at = chance.choice(graph.edges[at])
            plan.append(step)
        if plan and chance.random() < 0.6:
            wrong = chance.choice(sample.steps)
            if len(wrong) > 1 and chance.random() < 0.5:
                wrong = (*wrong[:-1], chance.choice([*sample.problem.universe, "nobody"]))
            plan.insert(chance.randrange(len(plan) + 1), wrong)
        verdict = validate(sample.problem, plan)
        valid, cost = plain.valid(plan)
        if verdict.valid != valid or (valid and not near(cost, verdict.cost)):
            raise DifferError("plain reading", f"the plan {plan}", verdict, (valid, cost))


def check_printing(case: Case) -> None:
    """`fmt`, and other spellings of the same, mean the same."""
    sample = case.sample
    name = case.chance.choice(["fmt", "fmt of another spelling"])
    other = (lambda text: text) if name == "fmt" else (lambda text: respelled(text, case.chance))
    domain_text = formatted(other(sample.domain_text))
    domain = parse_domain(domain_text)
    problem = parse_problem(formatted(other(sample.problem_text)), domain)
    _same(name, "domain", meaning_of_domain(sample.domain), meaning_of_domain(domain))
    _same(name, "problem", meaning_of_problem(sample.problem), meaning_of_problem(problem))
    for text, expr in case.formulas[1:]:
        _same(name, text, {"formula": expr}, {"formula": parse_goal(formatted(other(text)), problem)})
    again = formatted(domain_text)
    if again != domain_text:
        raise DifferError(name, "formatting twice", domain_text, again)


def formatted(text: str) -> str:
    """A text as `fmt` writes it."""
    return format_source(Source("case.pddl", text))


def respelled(text: str, chance: Random) -> str:
    """The same in other words: upper case, white space and comments."""
    words = []
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        words.append(word.upper() if chance.random() < 0.2 else word)
        words.append(chance.choice([" ", " ", " ", "\n", "\t ", " ; said (here\n"]))
    return "".join(words)


def _same(engine: str, what: str, wanted: dict[str, Any], found: dict[str, Any]) -> None:
    for part, value in wanted.items():
        if value != found[part]:
            raise DifferError(engine, f"{what}, {part}", value, found[part])


def meaning_of_domain(domain: Domain) -> dict[str, Any]:
    """What a domain says, without its layout."""
    return {
        "name": domain.name,
        "requirements": domain.requirements,
        "types": dict(domain.hierarchy.parents),
        "value types": dict(domain.value_types),
        "constants": dict(domain.constants),
        "predicates": dict(domain.predicates),
        "actions": dict(domain.actions),
        "blanks": dict(domain.blanks),
        "order": domain.components,
    }


def meaning_of_problem(problem: Problem) -> dict[str, Any]:
    """What a problem says, without its layout."""
    return {
        "objects": dict(problem.objects),
        "universe": dict(problem.universe),
        "init": dict(problem.init),
        "goal": problem.goal,
        "metric": problem.metric,
    }

"""The abstraction of a model, a state and a goal as an ordinary problem, in names that any planner reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final, Literal, final

import torch

from pdsketch.abstract.andor.codebook import Codebook
from pdsketch.abstract.andor.compile import ModelAbstraction, abstraction_of
from pdsketch.abstract.andor.functions import NotAbstractableError, TooManyCombinationsError
from pdsketch.abstract.andor.symbolic import ENTITY, apart, code_name
from pdsketch.abstract.andor.templates import facts_of
from pdsketch.abstract.pddl.formulas import (
    NamedConditions,
    Renaming,
    by_object,
    requirements_of,
    written,
)
from pdsketch.abstract.pddl.plain import obstacle, plain_domain, renamed
from pdsketch.lang import (
    BOOL,
    FALSE,
    FLOAT,
    TRUE,
    Action,
    Data,
    Domain,
    Expr,
    Fact,
    Hierarchy,
    Names,
    Object,
    ObjectType,
    Predicate,
    Problem,
    Source,
    Value,
    action_reads,
    closure,
    domain_text,
    error,
    legal,
    names_in,
    parse_domain,
    parse_problem,
    problem_text,
    walk,
)
from pdsketch.tensor import Model, State, StateBatch

# What the codes of values are called in an exported task.

_MOST_NUMBERS: Final = 4
_LONGEST: Final = 20
"""A code of more numbers, or whose numbers are longer, is named by its own number. Set by hand."""


def number_word(number: float) -> str:
    """A number as a part of a name: ``3``, ``m1`` for -1, ``0_5`` for 0.5."""
    return f"{number:g}".replace("-", "m").replace(".", "_").replace("+", "")


def code_word(book: Codebook, code: int) -> str:
    """What a code would be called: ``pose-3-4`` for (3, 4), ``look-c12`` where the numbers are too many."""
    numbers = "-".join(map(number_word, book.values[code][: _MOST_NUMBERS + 1]))
    if len(book.radius) > _MOST_NUMBERS or len(numbers) > _LONGEST:
        numbers = f"c{code}"
    return f"{book.name}-{numbers}"


COST: Final = "total-cost"


@final
@dataclass(frozen=True, slots=True)
class Code:
    """What a code stands for: a value of a type, or (``code.0``) of one dimension of it."""

    type: str
    value: Any


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExportedTask:
    """A domain, and a problem where one was asked for, as text and checked; what their names stand for.

    ``codes`` are objects that stand for values; of a model of truths there are none. Static relations between
    codes are facts of a problem: without a goal, of one without objects of its own (``problem``).
    ``agreement`` says how often each function of the model agrees with its form over codes, where that
    is not exact; ``left_out`` which actions and derived predicates are not in it, and why.
    """

    domain_text: str
    domain: Domain
    problem_text: str | None
    problem: Problem | None
    objects: Mapping[str, str]
    codes: Mapping[str, Code]
    actions: Mapping[str, str]
    agreement: Mapping[str, float]
    left_out: Mapping[str, str]


def exported(
    model: Model, state: State | None = None, goal: str | Expr | None = None, *, costs: bool | None = None
) -> ExportedTask:
    """A ``model`` as PDDL, with a problem for a ``state`` and a ``goal`` as for `plan`, if these are given.

    A model of truths is written as it is, lifted; one with values over codes of these. An `Error` says what
    has no form. With ``costs`` (the default where the sketch has some) actions cost what the sketch says.
    """
    if not isinstance(model, Model):
        raise error("bad-model", f"a Model was wanted to export, and a {type(model).__name__} was given")
    if (state is None) != (goal is None):
        missing = "state" if state is None else "goal"
        raise error(
            "missing-argument", f"a problem is exported for a state and a goal, and no {missing} is given"
        )
    costs = model.domain.has_costs if costs is None else costs
    batch = None if state is None else model.encode(state, crisp=True).batch
    wanted = TRUE if batch is None or goal is None else model.formula(batch, goal)
    plain = plain_domain(model, costs=costs)
    if plain is not None:
        return _plain(model, *plain, batch, wanted)
    with torch.inference_mode():
        kept = abstraction_of(model)
        kept.extend_codes([] if batch is None else [batch.tensors], [wanted])
        symbolic = kept.symbolic
        try:
            formula = symbolic.translator.truth(wanted, {})
        except (NotAbstractableError, TooManyCombinationsError) as why:
            reason = str(why) or "it depends on too many combinations of codes"
            raise error("not-abstractable", f"the goal has no form over codes: {reason}") from None
        objects = dict(model.domain.constants) if batch is None else batch.universe(0).types
        own: Iterable[Fact] = ()
        if batch is not None:
            names = {name: name for name in objects}
            own = facts_of(kept.books, model.domain.state_predicates, batch, names)
        facts = dict.fromkeys((*own, *kept.candidates()), True)
    return _Export(model, kept, objects, costs).task(formula, facts)


def _plain(
    model: Model, domain: Domain, left_out: Mapping[str, str], batch: StateBatch | None, goal: Expr
) -> ExportedTask:
    """The export of a ``domain`` of truths, and of a problem for the state of a ``batch`` of one."""
    why = obstacle(goal, domain.predicates)
    if why is not None:
        raise error("not-abstractable", f"the goal has no form over truths: {why}", goal.span)
    objects = dict(domain.constants) if batch is None else batch.universe(0).types
    names, shared = Names().give_all(objects), Names()
    types = {"object": "object", **shared.give_all(n for n in domain.hierarchy.parents if n != "object")}
    renaming = Renaming(types, frozenset(), shared.give_all(domain.predicates) | {COST: COST}, names)
    actions = Names().give_all(domain.actions)
    text = domain_text(renamed(domain, renaming, actions))
    exact = parse_domain(text, "domain.pddl")
    problem, text_of_problem = None, None
    if batch is not None:
        init = dict(_values(domain, batch, renaming))
        own = {names[name]: renaming.type(type_) for name, type_ in objects.items()}
        wanted = written(renaming.formula(goal, {}))
        metric: Literal["cost", "unit"] = "cost" if COST in domain.predicates else "unit"
        source = Source("problem.pddl", "")
        text_of_problem = problem_text(Problem("problem", exact, source, {}, own, init, wanted, metric))
        problem = parse_problem(text_of_problem, exact, "problem.pddl")
    back = {names[name]: name for name in objects}
    kept = {actions[name]: name for name in domain.actions}
    return ExportedTask(text, exact, text_of_problem, problem, back, {}, kept, {}, left_out)


def _values(domain: Domain, batch: StateBatch, renaming: Renaming) -> Iterator[tuple[Fact, Data]]:
    """What is true in a state, and the numbers that costs read."""
    universe = batch.universe(0)
    if COST in domain.predicates:
        yield (COST,), 0
    for predicate in domain.state_predicates:
        members = [universe.members(p.type) for p in predicate.parameters if isinstance(p.type, ObjectType)]
        own = batch.tensors[predicate.name].reshape(-1).tolist()
        for row, value in zip(product(*members), own, strict=True):
            if value or not predicate.type.is_bool:
                fact = (renaming.predicates[predicate.name], *(renaming.objects[n] for n in row))
                yield fact, True if predicate.type.is_bool else value


@final
class _Export:
    """One export: the names that were given, and what is written with them."""

    def __init__(
        self, model: Model, kept: ModelAbstraction, objects: Mapping[str, ObjectType], costs: bool
    ) -> None:
        symbolic = kept.symbolic
        symbols = symbolic.translator.symbols
        self.model = model
        self.kept = kept
        self.costs = costs
        self.own = objects
        self.symbolic = symbolic.domain
        # A goal may have needed more than the domain has.
        self.predicates = {**symbolic.domain.predicates, **symbols.relations, **symbols.auxiliary}
        self.relations = {*symbols.relations, *symbols.auxiliary}
        self.facts = symbols.facts
        self.left_out = dict(symbolic.left_out)
        bodies = {p.name: p.body for p in self.predicates.values() if p.body is not None}
        self.reads = {name: names_in(body) for name, body in bodies.items()}
        for name in self.predicates:
            self._leave_out(name, self.reads.get(name, ()))
        self.codes = dict(self._codes())
        books = [book.name for book in kept.books.books()]
        shared, things = Names(), Names()
        types = shared.give_all([*model.domain.hierarchy.parents, ENTITY])
        named = shared.give_all(n for n in self.predicates if n not in self.relations)
        types |= shared.give_all(books, "code")
        named |= shared.give_all(n for n in self.predicates if n in self.relations)
        self.renaming = Renaming(
            types,
            frozenset(books),
            named,
            {
                **things.give_all(objects),
                **{name: things.give(word) for name, (word, _) in self.codes.items()},
            },
        )
        self.actions = Names().give_all(self.symbolic.actions)
        self.shared = shared
        self.conditions = NamedConditions(shared)

    def task(self, goal: Expr, facts: Mapping[Fact, bool]) -> ExportedTask:
        """All of it, written and read again: what is returned is what a planner will read."""
        self._check_goal(goal)
        kept = [a for a in self.symbolic.actions.values() if not self._leave_out(a.name, action_reads(a))]
        actions = {new.name: new for old in kept for new in self._action(old)}
        if not actions:
            raise error(
                "not-abstractable",
                "no action of the model has a form over codes",
                help="; ".join(f"`{name}`: {why}" for name, why in self.left_out.items()) or None,
            )
        used = self._used(goal, kept)
        renaming = self.renaming
        own, codes = renaming.objects, {renaming.objects[n]: code for n, (_, code) in self.codes.items()}
        sorts = {name: t for name, t in self.symbolic.constants.items() if name in self.codes}
        everything = {own[name]: renaming.type(apart(t)) for name, t in {**self.own, **sorts}.items()}
        hierarchy = self._hierarchy()
        wanted, parts = by_object(
            renaming.formula(goal, {}), lambda t: hierarchy.members(t, everything), self.shared
        )
        predicates = {p.name: p for p in map(self._predicate, used)} | self.conditions.predicates | parts
        domain = self._domain(hierarchy, predicates, actions)
        text = domain_text(domain)
        domain = parse_domain(text, "domain.pddl")
        relations = {fact: True for fact in self.facts if fact[0] in used}
        init: dict[Fact, Data] = {(COST,): 0} if self.costs else {}
        for name, *row in (*facts, *relations):
            init[renaming.predicates[name], *(own[n] for n in row)] = True
        problem = Problem(
            "problem",
            domain,
            Source("problem.pddl", ""),
            {},
            everything,
            init,
            written(wanted),
            "cost" if self.costs else "unit",
        )
        text_of_problem = problem_text(problem)
        return ExportedTask(
            text,
            domain,
            text_of_problem,
            parse_problem(text_of_problem, domain, "problem.pddl"),
            {own[name]: name for name in self.own},
            codes,
            {new: old for old, new in self.actions.items() if new in actions},
            {b.name: b.agreement for b in self.kept.symbolic.behaviours.values() if not b.exact},
            {name: why for name, why in self.left_out.items() if name not in self.relations},
        )

    def _codes(self) -> Iterable[tuple[str, tuple[str, Code]]]:
        """Every code with the name that it would have, and what it stands for."""
        arguments = self.kept.argument_values
        for book in self.kept.books.books():
            for code, row in enumerate(book.values.tolist()):
                numbers = [round(n) if book.whole else n for n in row]
                value = numbers[0] if len(numbers) == 1 else tuple(numbers)
                name = code_name(book, code)
                yield name, (code_word(book, code), Code(book.name, arguments.get(name, value)))

    def _leave_out(self, name: str, reads: Iterable[str]) -> bool:
        """Whether something is left out, because of what it reads if not by itself."""
        asked = closure(reads, self.reads)
        gone = [p for p in self.model.domain.predicates if p in asked and p in self.left_out]
        if gone and name not in self.left_out:
            self.left_out[name] = f"it asks for `{gone[0]}`: {self.left_out[gone[0]]}"
        return name in self.left_out

    def _used(self, goal: Expr, actions: Iterable[Action]) -> list[str]:
        """The predicates of the sketch, and what they, the actions and the goal ask for."""
        start = {*names_in(goal), *(n for n in self.predicates if n not in self.relations)}
        for action in actions:
            start |= action_reads(action)
        found = closure(start - self.left_out.keys(), self.reads)
        return [name for name in self.predicates if name in found]

    def _check_goal(self, goal: Expr) -> None:
        """Refuse a goal that asks for a predicate that has no form over codes."""
        for name in names_in(goal):
            if name in self.left_out:
                predicate = self.model.domain.predicates.get(name)
                raise error(
                    "not-abstractable",
                    f"the goal asks for `{name}`, which has no form over codes: {self.left_out[name]}",
                    None if predicate is None else predicate.span,
                )

    def _predicate(self, name: str) -> Predicate:
        """A predicate; one that never holds has no body, and no fact."""
        predicate, renaming = self.predicates[name], self.renaming
        parameters, scope = renaming.bind(predicate.parameters, {})
        body = FALSE if predicate.body is None else renaming.formula(predicate.body, scope)
        is_derived = body != FALSE
        return Predicate(
            renaming.predicates[name],
            parameters,
            BOOL,
            "derived" if is_derived else "observed",
            written(body) if is_derived else None,
        )

    def _action(self, action: Action) -> Iterable[Action]:
        """An action, unless it can never be taken."""
        wishes = [parameter.name for parameter in self.model.domain.actions[action.name].parameters]
        parameters, scope = self.renaming.bind(action.parameters, {}, wishes)
        precondition = self.renaming.formula(action.precondition, scope)
        if precondition == FALSE:
            self.left_out[action.name] = "its precondition never holds"
            return
        name = self.actions[action.name]
        updates = [u for update in action.effects for u in self.renaming.updates(update, scope)]
        effects = tuple(self.conditions.narrowed(update, name) for update in updates)
        cost = self._cost(action.name) if self.costs else None
        yield Action(name, parameters, written(precondition), effects, cost)

    def _cost(self, name: str) -> Expr | None:
        """What an action costs, if that is one number."""
        action = self.model.domain.actions[name]
        if action.cost is None or isinstance(action.cost, Value):
            return action.cost
        raise error(
            "not-abstractable",
            f"what `{name}` costs depends on the state or its arguments",
            action.cost.span,
            help="export it with every action at cost 1: costs=False",
        )

    def _hierarchy(self) -> Hierarchy:
        types = self.renaming.types
        parents = self.symbolic.hierarchy.parents
        return Hierarchy({types[n]: tuple(types.get(p, p) for p in above) for n, above in parents.items()})

    def _domain(
        self, hierarchy: Hierarchy, predicates: Mapping[str, Predicate], actions: Mapping[str, Action]
    ) -> Domain:
        renaming, own = self.renaming, self.model.domain
        everything = [p.body for p in predicates.values() if p.body is not None]
        everything += [e for a in actions.values() for u in a.effects for e in (u.target, u.condition)]
        everything += [a.precondition for a in actions.values()]
        constants = {renaming.objects[name]: renaming.type(apart(t)) for name, t in own.constants.items()}
        for expr in everything:
            constants.update((n.name, n.type) for n in walk(expr) if isinstance(n, Object))
        if self.costs:
            number = replace(FLOAT, alias="number")
            predicates = {**predicates, COST: Predicate(COST, (), number, "cost")}
        return Domain(
            name=legal(own.name),
            source=Source("domain.pddl", ""),
            requirements=requirements_of(predicates.values(), actions.values()),
            hierarchy=hierarchy,
            value_types={},
            constants=constants,
            predicates=predicates,
            actions=actions,
            blanks={},
            components=(),
            recursive=frozenset(),
        )

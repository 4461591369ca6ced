"""The abstraction of a model, a state and a goal as an ordinary problem, in names that any planner reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final, final

import torch

from pdsketch.abstract.andor.codebooks import Codebook
from pdsketch.abstract.andor.compile import ModelAbstraction, abstraction_of, facts_of
from pdsketch.abstract.andor.domain import arguments
from pdsketch.abstract.andor.functions import NotAbstractableError, TooManyCombinationsError
from pdsketch.abstract.andor.symbolic import (
    ENTITY,
    apart,
    candidate_name,
    code_name,
    conjoined,
    disjoined,
    negated,
)
from pdsketch.abstract.pddl.formulas import (
    Renaming,
    by_object,
    narrowed_effects,
    plain_effects,
    renamed,
    with_requirements,
    written,
)
from pdsketch.abstract.written import written_out
from pdsketch.lang import (
    BOOL,
    FALSE,
    FLOAT,
    TRUE,
    Apply,
    BlankCall,
    Data,
    Domain,
    Equal,
    Expr,
    Fact,
    Hierarchy,
    Logic,
    Names,
    Object,
    ObjectType,
    Predicate,
    Problem,
    Quantified,
    Source,
    Value,
    Variable,
    action_reads,
    closure,
    conjuncts,
    domain_text,
    effect_expressions,
    error,
    map_children,
    names_in,
    parse_domain,
    parse_problem,
    problem_text,
    walk,
)
from pdsketch.tensor import Model, State, StateBatch

# What the codes of values are called in an exported task.

_LONGEST: Final = 20
"""A code whose numbers are longer is named by its own number. Set by hand."""


def number_word(number: float) -> str:
    """A number as a part of a name: ``3``, ``m1`` for -1, ``0_5`` for 0.5."""
    return f"{number:g}".replace("-", "m").replace(".", "_").replace("+", "")


def code_word(book: Codebook, code: int) -> str:
    """What a code would be called: ``pose-3-4`` for (3, 4), ``look-c12`` where the numbers are too many."""
    numbers = "-".join(map(number_word, book.values[code]))
    if len(numbers) > _LONGEST:
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


@final
@dataclass(frozen=True, slots=True)
class _Source:
    """What is exported, in its own names: a ``domain`` of truths, and what a problem would have.

    - ``init``: facts of a problem; None: there is none.
    - ``codes``: objects that stand for values, with the words that they would have; None: of a model of
      truths there are none.
    - ``made``: predicates that no author has named.
    - ``parameters``: the names that the parameters of actions have in the sketch.
    """

    domain: Domain
    objects: Mapping[str, ObjectType]
    init: Mapping[Fact, Data] | None
    goal: Expr
    left_out: Mapping[str, str]
    codes: Mapping[str, tuple[str, Code]] | None = None
    made: Sequence[str] = ()
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    agreement: Mapping[str, float] = field(default_factory=dict)


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
        return _task(_of_truths(*plain, batch, wanted))
    with torch.inference_mode():
        return _task(_over_codes(model, batch, wanted, costs))


def _task(source: _Source) -> ExportedTask:
    """All of it in names that any planner reads, written and read again: it is what a planner will read."""
    domain, codes, left_out = source.domain, source.codes or {}, dict(source.left_out)
    names, shared = Names(), Names()
    sorts = dict.fromkeys(type_.names[0] for name, type_ in source.objects.items() if name in codes)
    own = [name for name in domain.hierarchy.parents if name not in sorts and name != "object"]
    types = {"object": "object", **shared.give_all(own)}
    predicates = shared.give_all(name for name in domain.predicates if name not in source.made)
    types |= shared.give_all(sorts, "code")
    predicates |= shared.give_all(name for name in source.made if name in domain.predicates)
    objects = names.give_all(name for name in source.objects if name not in codes)
    objects |= {name: names.give(word) for name, (word, _) in codes.items()}
    renaming = Renaming(types, frozenset(sorts), predicates | {COST: COST}, objects)
    actions = Names().give_all(domain.actions)
    found = renamed(domain, renaming, actions, source.parameters)
    goal = renaming.formula(source.goal, {})
    everything = {objects[name]: renaming.type(type_) for name, type_ in source.objects.items()}
    if source.codes is not None:
        for name in [n for n in domain.actions if found.actions[actions[n]].precondition == written(FALSE)]:
            left_out[name] = "its precondition never holds"
        kept = {actions[n]: found.actions[actions[n]] for n in domain.actions if n not in left_out}
        if not kept:
            raise error(
                "not-abstractable",
                "no action of the model has a form over codes",
                help="; ".join(f"`{name}`: {why}" for name, why in left_out.items()) or None,
            )
        goal = by_object(goal, lambda t: found.hierarchy.members(t, everything))
        found = narrowed_effects(replace(found, actions=kept), shared)
        found = replace(found, constants={**found.constants, **_named_objects(found)})
    text = domain_text(with_requirements(found))
    exact = parse_domain(text, "domain.pddl")
    problem, text_of_problem = None, None
    if source.init is not None:
        init: dict[Fact, Data] = {(COST,): 0} if COST in domain.predicates else {}
        for (name, *row), value in source.init.items():
            init[renaming.predicates[name], *(objects[n] for n in row)] = value
        metric = "cost" if COST in domain.predicates else "unit"
        place = Source("problem.pddl", "")
        made = Problem("problem", exact, place, {}, everything, init, written(goal), metric)  # type: ignore[arg-type]
        text_of_problem = problem_text(made)
        problem = parse_problem(text_of_problem, exact, "problem.pddl")
    return ExportedTask(
        text,
        exact,
        text_of_problem,
        problem,
        {objects[name]: name for name in source.objects if name not in codes},
        {objects[name]: code for name, (_, code) in codes.items()},
        {new: old for old, new in actions.items() if new in found.actions},
        source.agreement,
        left_out,
    )


def _of_truths(domain: Domain, left_out: Mapping[str, str], batch: StateBatch | None, goal: Expr) -> _Source:
    """A ``domain`` of truths, and a problem for the state of a ``batch`` of one."""
    why = obstacle(goal, domain.predicates)
    if why is not None:
        raise error("not-abstractable", f"the goal has no form over truths: {why}", goal.span)
    objects = dict(domain.constants) if batch is None else batch.universe(0).types
    return _Source(domain, objects, None if batch is None else dict(_values(domain, batch)), goal, left_out)


def _values(domain: Domain, batch: StateBatch) -> Iterator[tuple[Fact, Data]]:
    """What is true in a state, and the numbers that costs read."""
    universe = batch.universe(0)
    for predicate in domain.state_predicates:
        members = [universe.members(p.type) for p in predicate.parameters if isinstance(p.type, ObjectType)]
        own = batch.tensors[predicate.name].reshape(-1).tolist()
        for row, value in zip(product(*members), own, strict=True):
            if value or not predicate.type.is_bool:
                yield (predicate.name, *row), True if predicate.type.is_bool else value


# A model of truths is exported as it is.


def plain_domain(model: Model, *, costs: bool) -> tuple[Domain, dict[str, str]] | None:
    """The model as a domain of truths without blanks; which derived predicates are left out of it, and why.

    None: its actions have values, or networks that cannot be written down. ``costs``: actions cost what the
    sketch says.
    """
    own = _without_equal_truths(written_out(model))
    kept = {name: p for name, p in own.predicates.items() if p.type.is_bool and p.role != "external"}
    left_out: dict[str, str] = {}
    for _ in own.predicates:
        for name, predicate in [*kept.items()]:
            why = None if predicate.is_state or predicate.body is None else obstacle(predicate.body, kept)
            if why is not None:
                left_out[name] = why
                del kept[name]
    asked = [
        expr
        for action in own.actions.values()
        for expr in (
            action.precondition,
            *(u.target for u in action.effects),
            *effect_expressions(action.effects),
        )
    ]
    if any(obstacle(expr, kept) is not None for expr in asked):
        return None
    actions = {
        action.name: replace(
            action,
            effects=tuple(plain_effects(action)),
            cost=action.cost if costs else None,
        )
        for action in own.actions.values()
    }
    prices = {
        name for action in actions.values() if action.cost is not None for name in names_in(action.cost)
    }
    wanted = {
        **kept,
        **{n: p for n, p in own.predicates.items() if n in prices or (p.role == "cost" and costs)},
    }
    predicates = {n: _declared(p) for n, p in own.predicates.items() if n in wanted and p.role != "raw"}
    return replace(own, predicates=predicates, actions=actions, value_types={}, blanks={}), left_out


def _declared(predicate: Predicate) -> Predicate:
    """A predicate; what an encoder computes once is given with a state here."""
    return replace(predicate, role="observed", body=None) if predicate.role == "encoded" else predicate


def obstacle(expr: Expr, kept: Mapping[str, Predicate]) -> str | None:
    """Why a formula is not one over ``kept`` predicates of objects, in words; None: it is."""
    for node in walk(expr):
        match node:
            case BlankCall():
                return f"`{node.blank}` is a network that reads more than can be written down"
            case Apply() if node.predicate not in kept:
                return f"it asks for `{node.predicate}`"
            case Quantified() if not all(isinstance(v.type, ObjectType) for v in node.variables):
                return "it ranges over values"
            case Equal() if node.left.type != BOOL and not isinstance(node.left.type, ObjectType):
                return "it compares values"
            case Variable() | Object() | Apply() | Logic() | Quantified() | Equal():
                pass
            case _:
                if node not in (TRUE, FALSE):
                    return "it computes with values"
    return None


def _without_equal_truths(domain: Domain) -> Domain:
    """The domain where that two truths are equal is said by connectives, as in PDDL."""

    def rewritten(expr: Expr) -> Expr:
        expr = map_children(expr, rewritten)
        if not isinstance(expr, Equal) or expr.left.type != BOOL:
            return expr
        one, other = expr.left, expr.right
        return disjoined([conjoined([one, other]), conjoined([negated(one), negated(other)])])

    predicates = {
        name: p if p.body is None else replace(p, body=rewritten(p.body))
        for name, p in domain.predicates.items()
    }
    actions = {
        name: replace(
            action,
            precondition=rewritten(action.precondition),
            effects=tuple(
                replace(
                    u, condition=rewritten(u.condition), value=None if u.value is None else rewritten(u.value)
                )
                for u in action.effects
            ),
        )
        for name, action in domain.actions.items()
    }
    return replace(domain, predicates=predicates, actions=actions)


# One with values is exported over codes.


def _over_codes(model: Model, batch: StateBatch | None, goal: Expr, costs: bool) -> _Source:
    """A model's domain over codes, and a problem for the state of a ``batch`` of one."""
    kept = abstraction_of(model)
    kept.extend_codes([] if batch is None else [batch.tensors], [goal])
    symbolic, symbols, books = kept.symbolic, kept.symbolic.translator.symbols, kept.books
    try:
        formula = symbolic.translator.truth(goal, {})
    except (NotAbstractableError, TooManyCombinationsError) as why:
        reason = str(why) or "it depends on too many combinations of codes"
        raise error("not-abstractable", f"the goal has no form over codes: {reason}") from None
    objects = dict(model.domain.constants) if batch is None else batch.universe(0).types
    own: Iterable[Fact] = ()
    if batch is not None:
        own = facts_of(books, model.domain.state_predicates, batch, {name: name for name in objects})
    made = [*symbols.relations, *symbols.auxiliary]
    # A goal may have needed more than the domain has.
    every = {**symbolic.domain.predicates, **symbols.relations, **symbols.auxiliary}
    reads = {name: names_in(p.body) for name, p in every.items() if p.body is not None}
    left_out = dict(symbolic.left_out)
    for name in every:
        _leave_out(model, left_out, name, closure(reads.get(name, ()), reads))
    _check_goal(model, left_out, formula)
    # All codes may be arguments here.
    everywhere = (book for a in model.domain.actions.values() for _, book in arguments(books, a))
    candidates = {candidate_name(book) for book in everywhere}
    actions = {
        name: replace(
            action,
            precondition=conjoined(
                part
                for part in conjuncts(action.precondition)
                if not (isinstance(part, Apply) and part.predicate in candidates)
            ),
            effects=tuple(plain_effects(action)),
            cost=_cost(model, name) if costs else None,
        )
        for name, action in symbolic.domain.actions.items()
        if not _leave_out(model, left_out, name, closure(action_reads(action), reads))
    }
    start = {*names_in(formula), *(name for name in every if name not in made and name not in candidates)}
    start |= {name for action in actions.values() for name in action_reads(action)}
    used = closure(start - left_out.keys(), reads)
    predicates = {name: predicate for name, predicate in every.items() if name in used}
    if costs:
        predicates[COST] = Predicate(COST, (), replace(FLOAT, alias="number"), "cost")
    codes = dict(_codes(kept))
    sorts = {name: t for name, t in symbolic.domain.constants.items() if name in codes}
    facts = (*own, *(fact for fact in symbols.facts if fact[0] in used))
    found = {name: apart(type_) for name, type_ in objects.items()}
    constants = {name: apart(type_) for name, type_ in model.domain.constants.items()}
    domain = replace(
        symbolic.domain, name=model.domain.name, predicates=predicates, actions=actions, constants=constants
    )
    if ENTITY not in _types_of(domain, formula, found.values()):
        parents = {n: own for n, own in domain.hierarchy.parents.items() if n != ENTITY}
        parents = {n: tuple("object" if p == ENTITY else p for p in own) for n, own in parents.items()}
        domain = replace(domain, hierarchy=Hierarchy(parents))
    return _Source(
        domain,
        found | sorts,
        dict.fromkeys(facts, True),
        formula,
        {name: why for name, why in left_out.items() if name not in made},
        codes,
        made,
        {name: [p.name for p in model.domain.actions[name].parameters] for name in actions},
        {b.name: b.agreement for b in symbolic.behaviours.values() if not b.exact},
    )


def _types_of(domain: Domain, goal: Expr, objects: Iterable[ObjectType]) -> set[str]:
    """The types of objects, and of what formulas and effects of a domain, and a goal, range over."""
    predicates, actions = domain.predicates.values(), domain.actions.values()
    own = [v for predicate in predicates for v in predicate.parameters]
    own += [v for action in actions for v in action.parameters]
    own += [v for action in actions for update in action.effects for v in update.variables]
    formulas = [goal, *(p.body for p in predicates if p.body is not None)]
    formulas += [e for a in actions for e in (a.precondition, *effect_expressions(a.effects))]
    own += [v for e in formulas for n in walk(e) if isinstance(n, Quantified) for v in n.variables]
    types = [*objects, *(v.type for v in own if isinstance(v.type, ObjectType))]
    return {name for type_ in types for name in type_.names}


def _codes(kept: ModelAbstraction) -> Iterator[tuple[str, tuple[str, Code]]]:
    """Every code with the name that it would have, and what it stands for."""
    arguments = kept.argument_values
    for book in kept.books.books():
        for code, row in enumerate(book.values.tolist()):
            numbers = [round(n) if book.whole else n for n in row]
            value = numbers[0] if len(numbers) == 1 else tuple(numbers)
            name = code_name(book, code)
            yield name, (code_word(book, code), Code(book.name, arguments.get(name, value)))


def _leave_out(model: Model, left_out: dict[str, str], name: str, asked: Iterable[str]) -> bool:
    """Whether something is left out, because of what it asks for if not by itself."""
    wanted = {*asked}
    gone = [p for p in model.domain.predicates if p in wanted and p in left_out]
    if gone and name not in left_out:
        left_out[name] = f"it asks for `{gone[0]}`: {left_out[gone[0]]}"
    return name in left_out


def _check_goal(model: Model, left_out: Mapping[str, str], goal: Expr) -> None:
    """Refuse a goal that asks for a predicate that has no form over codes."""
    for name in names_in(goal):
        if name in left_out:
            predicate = model.domain.predicates.get(name)
            raise error(
                "not-abstractable",
                f"the goal asks for `{name}`, which has no form over codes: {left_out[name]}",
                None if predicate is None else predicate.span,
            )


def _cost(model: Model, name: str) -> Expr | None:
    """What an action costs, if that is one number."""
    action = model.domain.actions[name]
    if action.cost is None or isinstance(action.cost, Value):
        return action.cost
    raise error(
        "not-abstractable",
        f"what `{name}` costs depends on the state or its arguments",
        action.cost.span,
        help="export it with every action at cost 1: costs=False",
    )


def _named_objects(domain: Domain) -> dict[str, ObjectType]:
    """The objects that formulas name."""
    everything = [p.body for p in domain.predicates.values() if p.body is not None]
    for action in domain.actions.values():
        everything.append(action.precondition)
        everything += [e for u in action.effects for e in (u.target, u.condition)]
    return {node.name: node.type for expr in everything for node in walk(expr) if isinstance(node, Object)}

"""Values for the value parameters of actions: of state, goal, functions of users, relations and samplers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, final

import torch
from torch import Tensor

from pdsketch.lang import (
    Action,
    Apply,
    BlankCall,
    Domain,
    Each,
    Error,
    Expr,
    ObjectType,
    Value,
    ValueType,
    Variable,
    choices_of,
    effect_expressions,
    error,
    free_variables,
    unfold_all,
    walk,
)
from pdsketch.search.latent.instances import Candidates, as_data, value_types
from pdsketch.search.latent.limits import LIMITS, status_of
from pdsketch.search.options import Generator, PlanOptions, Sampler, generators_of, samplers_of
from pdsketch.tensor import Model, State, every_choice

# Functions of users, checked: they may fail in any way.


@contextmanager
def proposing(what: str) -> Iterator[None]:
    """Within, a failure is an `Error` that says whose it is; that of a limit stays what it is."""
    try:
        yield
    except Error:
        raise
    except Exception as why:
        if isinstance(why, LIMITS) and status_of(why) is not None:
            raise
        raise error(
            "bad-generator",
            f"{what} failed: {type(why).__name__}: {why!s:.200}",
            help="it returns values, [n, *shape], and none ([]) where it has nothing to propose",
        ) from why


def checked_values(returned: Any, type_: ValueType, what: str) -> Tensor:
    """What a function returned as values of a type, ``[n, *shape]``; it may have nothing to propose."""
    if returned is None:
        raise error(
            "bad-generator",
            f"{what} returned None, and no array of numbers",
            help="return an empty list where there is nothing to propose",
        )
    try:
        values = torch.as_tensor(returned)
    except (TypeError, ValueError, RuntimeError):
        found = type(returned).__name__
        raise error("bad-generator", f"{what} returned a {found}, and no array of numbers") from None
    wanted = type_.shape
    if wanted is not None and not values.numel():
        return values.new_zeros(0, *wanted)
    if wanted is not None and (values.dim() == 0 or tuple(values.shape[1:]) != wanted):
        raise error(
            "shape-mismatch",
            f"{what} returned {tuple(values.shape)}; {('n', *wanted)} was wanted",
            help="one row for each value, also where there is but one",
        )
    if values.is_floating_point() and not bool(torch.isfinite(values).all()):
        raise error("not-finite", f"{what} returned values that are not finite")
    return values.detach()


@final
class Proposals:
    """What ``samplers`` of parameters and ``generators`` of types propose in a domain."""

    def __init__(
        self, domain: Domain, samplers: Mapping[str, Sampler], generators: Mapping[str, Generator]
    ) -> None:
        self.samplers = samplers_of(domain, samplers)
        self.generators = generators_of(domain, generators)

    def generated(self, type_: ValueType, model: Model | None, state: State, number: int) -> Tensor | None:
        """What the generator of ``type_`` proposes in round ``number``; None: it has none.

        ``model`` and ``state`` are what it is given.
        """
        generator = None if type_.alias is None else self.generators.get(type_.alias)
        if generator is None:
            return None
        what = f"the generator of `{type_}`"
        with proposing(what):
            returned = generator(model, state, number)  # type: ignore[arg-type]
        return checked_values(returned, type_, what)

    def sampled(
        self, name: str, type_: ValueType, model: Model | None, state: State, objects: Sequence[str]
    ) -> Tensor:
        """What the sampler ``name``, ``ACTION.?PARAMETER``, proposes for the ``objects`` of the action.

        ``model`` and ``state`` are what it is given; values are of ``type_``.
        """
        what = f"the sampler of `{name}` for {', '.join(objects) or 'no objects'}"
        with proposing(what):
            returned = self.samplers[name](model, state, *objects)
        return checked_values(returned, type_, what)

    def knows(self, action: Action, parameter: Variable) -> bool:
        """Whether there are values for a parameter, without a model: choices, or what is proposed."""
        type_ = parameter.type
        return (
            not isinstance(type_, ValueType)
            or (type_.shape is not None and _is_listed(type_))
            or f"{action.name}.{parameter.name}" in self.samplers
            or type_.alias in self.generators
        )

    def of(self, action: Action, parameter: Variable, state: State, objects: Sequence[str]) -> Sequence[Any]:
        """Values for a ``parameter`` of an ``action`` with ``objects`` in a ``state``, as steps have them."""
        type_, name = parameter.type, f"{action.name}.{parameter.name}"
        assert isinstance(type_, ValueType)
        if name in self.samplers:
            return [as_data(value) for value in self.sampled(name, type_, None, state, objects)]
        if type_.shape is not None and _is_listed(type_):
            return choices_of(type_)
        generated = self.generated(type_, None, state, 0)
        return [] if generated is None else [as_data(value) for value in generated]


# Relations that propose values: calls of two arguments whose module can sample one of them, given the other.
#
# Such a module has ``sample(other, n, argument=…, generator=…)``, which returns ``[..., n, *shape]``; its
# ``arguments`` says which of the two it samples (without it, the first): `pdsketch.nets.Offset` is one.
# Values are proposed for what a goal or a precondition says of objects: those that stand in the relation to a
# value of the state, then to a value that was proposed, and so on: incremental sampling, as in PDDLStream
# (Garrett et al., 2020).

MOST_PROPOSED: Final = 256
"""Values that relations propose in a round, of all types; more are thinned out evenly. Set by hand."""

FIRST_LINKS: Final = 2
"""How long chains of any relations are, to which each round after the first adds a link: what is proposed to
values of the state, and what to those. Three in a row, and a tower of three, need two."""


@final
@dataclass(frozen=True, slots=True)
class Proposal:
    """Values ``[n, *shape]`` of a type."""

    type: ValueType
    values: Tensor


@final
@dataclass(frozen=True, slots=True)
class SamplingRelation:
    """A call that proposes values of ``type`` for one argument, its ``target``, given the ``other`` one.

    ``variables`` are those of the other argument that are bound around the call.
    """

    name: str
    module: Any
    argument: int
    type: ValueType
    target: Expr
    other: Expr
    other_type: ValueType
    variables: tuple[Variable, ...]

    def around(self, values: Tensor, n: int, generator: torch.Generator) -> Tensor:
        """``n`` values for the argument, or one of each of the module's modes if these are more.

        Given each of these ``values``, ``[m, *shape]``, as the other argument.
        """
        n = max(n, int(getattr(self.module, "modes", 1)))
        what = f"`sample` of the module of `{self.name}`"
        with proposing(what):
            found = self.module.sample(values, n, argument=self.argument, generator=generator)
        if not isinstance(found, Tensor) or found.dim() < 2 or tuple(found.shape[:2]) != (len(values), n):
            return checked_values(found, self.type, what)
        return checked_values(found.flatten(0, 1), self.type, what)


def can_sample(module: Any) -> bool:
    """Whether a module proposes values."""
    return callable(getattr(module, "sample", None))


def relations_in(model: Model, expressions: Iterable[Expr]) -> list[SamplingRelation]:
    """The relations in what expressions say, derived predicates written out, that can propose values."""
    found: dict[Any, SamplingRelation] = {}
    for call in pairs_in(model, expressions):
        module = model.blanks.calls.get(name_of(call))
        if not can_sample(module):
            continue
        types = input_types(model, call)
        for argument in getattr(module, "arguments", (0,)):
            other = call.args[1 - argument]
            bound = {n.name: n for n in walk(other) if isinstance(n, Variable)}
            variables = tuple(bound[name] for name in free_variables(other))
            if all(isinstance(v.type, ObjectType) for v in variables) and not isinstance(other, Each):
                one = SamplingRelation(
                    name_of(call),
                    module,
                    argument,
                    types[argument],
                    call.args[argument],
                    other,
                    types[1 - argument],
                    variables,
                )
                found.setdefault((one.name, argument, one.target, other), one)
    return [*found.values()]


def pairs_in(model: Model, expressions: Iterable[Expr]) -> list[BlankCall | Apply]:
    """The Boolean calls of blanks and external functions of two arguments, derived predicates written out."""
    found: dict[BlankCall | Apply, None] = {}
    for expr in expressions:
        for node in walk(unfold_all(expr, model.domain)):
            if isinstance(node, BlankCall | Apply) and len(node.args) == 2 and node.type.is_bool:
                external = (
                    isinstance(node, Apply) and model.domain.predicates[node.predicate].role == "external"
                )
                if external or isinstance(node, BlankCall):
                    found[node] = None
    return [*found]


def name_of(call: BlankCall | Apply) -> str:
    """The name of what is called, as modules are given."""
    return call.blank if isinstance(call, BlankCall) else call.predicate


def input_types(model: Model, call: BlankCall | Apply) -> list[ValueType]:
    """The types of what a blank, or an external function, is given."""
    if isinstance(call, BlankCall):
        return [i.type for i in model.domain.blanks[call.blank].inputs]
    own = model.domain.predicates[call.predicate].parameters
    return [p.type for p in own if isinstance(p.type, ValueType)]


def same_type(a: ValueType, b: ValueType) -> bool:
    """Whether values of one type may stand for those of another: named types must have one name."""
    return a == b and (a.alias is None or b.alias is None or a.alias == b.alias)


Pool = Sequence[tuple[ValueType, Tensor]]
"""Values that may be given to what actions write, ``[n, *shape]`` of each type."""


def propose(
    model: Model,
    state: State,
    relations: Sequence[SamplingRelation],
    pool: Pool,
    number: int,
    *,
    along: bool = False,
) -> list[Proposal]:
    """What relations propose in round ``number``: the surest values and, in later rounds, more around each.

    ``model`` fills the ``relations`` with modules that can sample. First to values of ``state`` and of the
    ``pool``, more of them the higher the ``number`` is, then in chains to what was proposed, as far as there
    is room. With ``along``, chains are those of a goal: where *c* shall be on *b* and *b* on *a*, places on
    those of *b* are proposed for *c*, and no others.
    """
    generator = torch.Generator().manual_seed(number)
    roots, chained, links = relations, relations, len(relations)
    if not along:
        roots = list({(r.name, r.argument, r.other): r for r in relations}.values())
        chained = list({(r.name, r.argument): r for r in relations}.values())
        links = FIRST_LINKS + number
    last = list(zip(roots, _to_state(model, state, roots, pool, number + 1, generator), strict=True))
    found: list[Proposal] = []
    room = MOST_PROPOSED
    for _ in range(links):
        last = [(r, thinned(values, max(1, room // (2 * len(last))))) for r, values in last]
        room -= sum(len(values) for _, values in last)
        found += [Proposal(r.type, values) for r, values in last]
        if room < len(chained):
            break
        last = [
            (r, r.around(torch.cat(own), 1, generator))
            for r in chained
            if (own := [values for before, values in last if _follows(r, before, along)])
        ]
    return found


def _follows(relation: SamplingRelation, before: SamplingRelation, along: bool) -> bool:
    """Whether what one relation proposes is a root for another: of the same thing, if ``along`` a goal."""
    same = relation.other == before.target and relation.target != before.other
    return same_type(relation.other_type, before.type) and (same or not along)


def _to_state(
    model: Model,
    state: State,
    relations: Sequence[SamplingRelation],
    pool: Pool,
    n: int,
    generator: torch.Generator,
) -> list[Tensor]:
    """What each relation proposes, ``n`` values to each that its other argument has, or may be given."""
    run, analysis, found = model.engine.open(state.batch), model.domain.analysis, []
    for r in relations:
        roots = [_rows(model.engine.table(run, r.other, r.variables), len(r.variables))]
        if analysis.reads(r.other) & analysis.written:
            roots += [values.to(roots[0]) for type_, values in pool if same_type(type_, r.other_type)]
        found.append(r.around(torch.cat(roots), n, generator))
    return found


def _rows(table: Tensor, variables: int) -> Tensor:
    """The values of all objects in one state, ``[n, *shape]``."""
    return table.flatten(0, variables).float()


def thinned(values: Tensor, most: int) -> Tensor:
    """At most so many values, evenly spread."""
    if len(values) <= most:
        return values
    return values[torch.linspace(0, len(values) - 1, most).long()]


# All of them together, round by round.


@final
class CandidateSource:
    """Where the candidate values of one problem come from, round by round.

    ``model``, ``state`` and ``goal`` are the problem, ``options`` say which generators, samplers and sources
    were given. The choices of a type that declares them; else the constants of the goal, what relations,
    generators and samplers propose, and, with ``candidates`` ``"all"``, every value of the type in the state.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        goal: Expr,
        options: PlanOptions,
    ) -> None:
        self._model = model
        self._state = state
        self._goal = goal
        self._proposals = Proposals(model.domain, options.samplers, options.generators)
        self._sources = options.candidates
        self._types = value_types(model.domain)
        self._relations: list[SamplingRelation] = []
        self._others: list[SamplingRelation] = []
        if self._types:
            self._relations = _proposing(relations_in(model, [goal]), self._types)
            self._others = _proposing(relations_in(model, _conditions(model)), self._types)
        self._places: dict[tuple[str, str], dict[tuple[str, ...], Tensor]] = {}
        self.pool: Candidates | None = None

    @property
    def goes_on(self) -> bool:
        """Whether another round may propose other values."""
        functions = self._proposals.generators or self._proposals.samplers
        return bool(self._types and (functions or self._relations or self._others))

    def advance(self, number: int, reached: Sequence[State] = ()) -> Candidates:
        """The candidates of round ``number``: those before, and what is proposed now.

        Samplers are asked about the initial state, and about those that the round before has ``reached``.
        """
        before = {} if self.pool is None else self.pool.values
        states = [self._state, *reached]
        made = {t: self._generated(t, number) for t in self._types}
        sampled = [one for s in states for name in self._proposals.samplers for one in self._sampled(name, s)]
        pool = [*made.items(), *((type_, values) for _, _, type_, values in sampled)]
        proposed: list[Proposal] = []
        if self._relations and number == 0:
            proposed = propose(self._model, self._state, self._relations, pool, 0, along=True)
        elif self._relations or self._others:
            pool += [(t, _given(self._model, self._state, t)) for t in self._types]
            relations = [*self._relations, *self._others]
            proposed = propose(self._model, self._state, relations, pool, number)
        found = {t: self._values(t, before.get(t), made[t], proposed) for t in self._types}
        for place, objects, type_, values in sampled:
            own = self._places.setdefault(place, {})
            found[type_], places = _with_new(found[type_], values.to(found[type_]))
            own[objects] = torch.cat([own[objects], places]) if objects in own else places
        self.pool = Candidates(found, self._places)
        return self.pool

    def _generated(self, type_: ValueType, number: int) -> Tensor:
        """The goal's constants, in the first round, and what the generator of a type proposes."""
        given = _given(self._model, self._state, type_)
        own = _with_constants(given[:0], self._goal, type_) if number == 0 else given[:0]
        returned = self._proposals.generated(type_, self._model, self._state, number)
        return own if returned is None else torch.cat([own, returned.to(given)])

    def _values(
        self, type_: ValueType, before: Tensor | None, made: Tensor, proposed: Sequence[Proposal]
    ) -> Tensor:
        """The candidates of a type: those before, what relations and generators propose, and the state's."""
        own = [made] if before is None else [before, made]
        own[-1:-1] = [one.values.to(made) for one in proposed if same_type(one.type, type_)]
        if before is None and (self._sources == "all" or _is_listed(type_)):
            own.append(_given(self._model, self._state, type_))
        return _distinct(torch.cat(own))

    def _sampled(
        self, name: str, state: State
    ) -> Iterator[tuple[tuple[str, str], tuple[str, ...], ValueType, Tensor]]:
        """What a sampler proposes: its action and parameter, objects of the action, and values for these."""
        action, parameter = parameter_of(self._model, name)
        (type_,) = (p.type for p in action.parameters if p.name == parameter)
        assert isinstance(type_, ValueType)
        universe = self._state.batch.universe(0)
        members = [universe.members(p.type) for p in action.parameters if isinstance(p.type, ObjectType)]
        for objects in product(*members):
            values = self._proposals.sampled(name, type_, self._model, state, objects)
            yield (action.name, parameter), objects, type_, values


def parameter_of(model: Model, name: str) -> tuple[Action, str]:
    """The action and the parameter that ``ACTION.?PARAMETER`` names, known to be there."""
    action, _, parameter = name.partition(".")
    return model.domain.actions[action], parameter


def _proposing(relations: Sequence[SamplingRelation], types: Sequence[ValueType]) -> list[SamplingRelation]:
    """The relations that propose values of these types."""
    return [r for r in relations if any(same_type(r.type, type_) for type_ in types)]


def _conditions(model: Model) -> list[Expr]:
    """What actions ask for, and when they do what."""
    found: list[Expr] = []
    for action in model.domain.actions.values():
        found += [action.precondition, *effect_expressions(action.effects)]
    return found


def _is_listed(type_: ValueType) -> bool:
    """Whether all values of a type can be listed."""
    return type_.choices is not None or type_.prim == "bool"


def _given(model: Model, state: State, type_: ValueType) -> Tensor:
    """Declared choices, else every value of this type in the state."""
    if _is_listed(type_):
        return every_choice(type_, state.device)
    same = [
        p
        for p in model.domain.state_predicates
        if p.type == type_ and (type_.alias is None or p.type.alias == type_.alias)
    ]
    shape = _shape(type_, state, [p.name for p in same])
    pools = [state[p.name].reshape(-1, *shape) for p in same]
    if not pools:
        dtype = torch.float32 if type_.prim == "float32" else torch.int64
        return torch.zeros(0, *shape, dtype=dtype, device=state.device)
    return torch.cat(pools)


def _with_constants(pool: Tensor, goal: Expr, type_: ValueType) -> Tensor:
    """The values and those that stand in the goal and could be of the type."""
    if _is_listed(type_):
        return pool
    kinds = ("int64",) if type_.prim == "int64" else ("int64", "float32")
    own = [
        torch.as_tensor(node.value).to(pool).reshape(pool.shape[1:])
        for node in walk(goal)
        if isinstance(node, Value) and node.type.prim in kinds and _size(node) == pool.shape[1:].numel()
    ]
    return torch.cat([pool, torch.stack(own)]) if own else pool


def _size(node: Value) -> int:
    return torch.as_tensor(node.value).numel()


def _shape(type_: ValueType, state: State, names: list[str]) -> tuple[int, ...]:
    if type_.shape is not None:
        return type_.shape
    predicates = state.domain.predicates
    for name in names:
        return tuple(state[name].shape[len(predicates[name].parameters) :])
    return (0,)


def _with_new(pool: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """A pool with values that it does not have yet, and where each of the values stands in it."""
    rows = {tuple(row): i for i, row in enumerate(_as_rows(pool))}
    places, new = [], []
    for i, row in enumerate(map(tuple, _as_rows(values))):
        if row not in rows:
            rows[row] = len(rows)
            new.append(i)
        places.append(rows[row])
    return torch.cat([pool, values[new]]), torch.tensor(sorted(set(places)), dtype=torch.int64)


def _as_rows(pool: Tensor) -> list[list[float]]:
    rows: list[list[float]] = pool.unsqueeze(-1).flatten(1).tolist()
    return rows


def _distinct(pool: Tensor) -> Tensor:
    """Each value once, in the order of first occurrence."""
    rows = {tuple(row): i for i, row in reversed(list(enumerate(_as_rows(pool))))}
    return pool[sorted(rows.values())]

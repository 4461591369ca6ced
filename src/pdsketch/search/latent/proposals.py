"""What proposes values for the parameters of actions: functions of users, and relations that can sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
    ValueType,
    Variable,
    choices_of,
    error,
    free_variables,
    unfold_all,
    walk,
)
from pdsketch.search.latent.instances import as_data
from pdsketch.search.latent.options import LIMITS, generators_of, samplers_of, status_of
from pdsketch.search.options import Generator, Sampler
from pdsketch.tensor import Model, State

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
            or _is_listed(type_)
            or f"{action.name}.{parameter.name}" in self.samplers
            or type_.alias in self.generators
        )

    def of(self, action: Action, parameter: Variable, state: State, objects: Sequence[str]) -> Sequence[Any]:
        """Values for a ``parameter`` of an ``action`` with ``objects`` in a ``state``, as steps have them."""
        type_, name = parameter.type, f"{action.name}.{parameter.name}"
        assert isinstance(type_, ValueType)
        if name in self.samplers:
            return [as_data(value) for value in self.sampled(name, type_, None, state, objects)]
        if _is_listed(type_):
            return choices_of(type_)
        generated = self.generated(type_, None, state, 0)
        return [] if generated is None else [as_data(value) for value in generated]


def _is_listed(type_: ValueType) -> bool:
    return type_.shape is not None and (type_.choices is not None or type_.prim == "bool")


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
        last = [(r, _thinned(values, max(1, room // (2 * len(last))))) for r, values in last]
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


def _thinned(values: Tensor, most: int) -> Tensor:
    """At most so many values, evenly spread."""
    if len(values) <= most:
        return values
    return values[torch.linspace(0, len(values) - 1, most).long()]

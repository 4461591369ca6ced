"""The reference meaning of a domain: crisp, on plain dictionaries.

A state maps ground atoms to values: ``("on", "a", "b"): True``. A Boolean atom
that is not there is false. Every other engine (the tensor program, the grounded
task, the engine) is tested against this module, and the validator judges plans
by it; so it is written to be read. What expressions mean stands in `evaluation`,
what steps do stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from operator import add, mul, sub, truediv
from typing import Any, Literal

from pdsketch.lang.data import elementwise, flat, near, show_atom, shown
from pdsketch.lang.diagnostics import error
from pdsketch.lang.domain import Data, Fact
from pdsketch.lang.evaluation import Bindings, EvaluationContext, State, StaticContext
from pdsketch.lang.rewrite import conjuncts
from pdsketch.lang.steps import Step
from pdsketch.lang.terms import Expr, Update, free_variables

TNorm = Literal["godel", "product", "lukasiewicz"]
"""What connectives mean on degrees of truth; on true and false all of them agree with this module."""


def evaluate(static: StaticContext, state: State, expr: Expr, bindings: Bindings | None = None) -> Any:
    """The value of an expression in a state: a Boolean, a number, a tuple of numbers.

    ``static`` holds what no action changes: the domain, the objects, external functions. ``state`` maps
    ground atoms to values; ``bindings`` are what the free variables of ``expr`` stand for.
    """
    return EvaluationContext(static, state).value(expr, bindings or {})


def holds(static: StaticContext, state: State, expr: Expr) -> bool:
    """Whether a closed formula is true in a state."""
    return bool(evaluate(static, state, expr))


def encode(static: StaticContext, state: State) -> dict[Fact, Data]:
    """The state with every encoded predicate that it does not hold yet."""
    return EvaluationContext(static, state).encoded()


def bind(static: StaticContext, step: Step) -> dict[str, Any]:
    """What the parameters of an action stand for in a step."""
    parameters = static.domain.actions[step[0]].parameters
    return {p.name: argument for p, argument in zip(parameters, step[1:], strict=True)}


def applicable(static: StaticContext, state: State, step: Step) -> bool:
    """Whether the precondition of a ground action holds."""
    return bool(evaluate(static, state, static.domain.actions[step[0]].precondition, bind(static, step)))


def applicable_steps(
    static: StaticContext, state: State, name: str, *, reading: Collection[str] | None = None
) -> Iterator[Step]:
    """The ground actions of a schema whose precondition holds in a state, in the order of the objects.

    ``static`` and ``state`` are as for `evaluate`; ``name`` is the schema's. With ``reading``, only those
    conjuncts are asked for that read nothing but these predicates, through derived ones too.
    """
    action = static.domain.actions[name]
    places = {parameter.name: at for at, parameter in enumerate(action.parameters)}
    parts = conjuncts(action.precondition)
    if reading is not None:
        parts = [part for part in parts if static.domain.analysis.reads(part) <= {*reading}]
    parts.sort(key=lambda part: max((places[name] for name in free_variables(part)), default=-1))
    for found in EvaluationContext(static, state).satisfying(action.parameters, parts, {}):
        yield (name, *(found[parameter] for parameter in places))


def apply(static: StaticContext, state: State, step: Step) -> dict[Fact, Data]:
    """The state after a ground action. Its precondition is not asked for.

    All effects happen at once: conditions and values are read from the old
    state. Deletes come first, then Boolean assigns, then adds. What only the
    encoder reads is absent afterwards.
    """
    return apply_at(EvaluationContext(static, state), step)


def apply_at(context: EvaluationContext, step: Step) -> dict[Fact, Data]:
    """`apply`, in a state from which something may have been derived already."""
    predicates = context.static.domain.predicates
    new = context.encoded()
    raw = context.static.of_role("raw")
    if raw:
        new = {fact: value for fact, value in new.items() if fact[0] not in raw}
    action = context.static.domain.actions[step[0]]
    fired = list(context.updates(action.effects, bind(context.static, step)))
    writers: dict[Fact, list[tuple[Update, Any]]] = {}
    for update, fact, value in fired:
        if update.op not in ("add", "delete"):
            writers.setdefault(fact, []).append((update, value))
    changes: dict[Fact, Any] = {fact: False for update, fact, _ in fired if update.op == "delete"}
    changes |= {fact: _written(fact, writes, context) for fact, writes in writers.items()}
    changes |= {fact: True for update, fact, _ in fired if update.op == "add"}
    for fact, value in changes.items():
        if value is False and predicates[fact[0]].role == "observed":
            new.pop(fact, None)
        else:
            new[fact] = value
    return new


def _written(fact: Fact, writes: list[tuple[Update, Any]], context: EvaluationContext) -> Any:
    """The value that several writers give one variable.

    Assigns must agree, but of truth values true wins, as adds do; increases and decreases
    add up, scalings multiply, and the three kinds do not mix, as in PDDL 2.1.
    """
    words = show_atom(fact)
    first, value = writes[0]
    if len({_KINDS[update.op] for update, _ in writes}) > 1:
        raise error("conflicting-effects", f"`{words}` is assigned and changed in one step", first.span)
    if first.op == "assign" and context.static.domain.predicates[fact[0]].type.is_bool:
        value = any(written for _, written in writes)
    elif first.op == "assign":
        for update, other in writes:
            if not near(value, other, 1e-6):
                raise error(
                    "conflicting-effects",
                    f"`{words}` is assigned {shown(value)} and {shown(other)} in one step",
                    update.span,
                )
    else:
        old = context.atom(fact, first.span)
        for update, change in writes:
            old = elementwise(_CHANGE[update.op], old, change)
        value = old
    return _within_choices(fact, value, first, context)


def _within_choices(fact: Fact, value: Any, update: Update, context: EvaluationContext) -> Any:
    choices = context.static.domain.predicates[fact[0]].type.choices
    if choices is not None and not all(0 <= v < choices for v in flat(value)):
        raise error(
            "value-out-of-range",
            f"`{show_atom(fact)}` is given {shown(value)}, and has the choices 0 to {choices - 1}",
            update.span,
        )
    return value


_KINDS = {"assign": "=", "increase": "+", "decrease": "+", "scale-up": "*", "scale-down": "*"}
_CHANGE: Mapping[str, Callable[[Any, Any], Any]] = {
    "increase": add,
    "decrease": sub,
    "scale-up": mul,
    "scale-down": truediv,
}

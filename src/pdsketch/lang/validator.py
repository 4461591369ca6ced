"""Does a plan do what it claims? Replayed step by step through the reference semantics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, final

from pdsketch.lang.data import show_atom, shown
from pdsketch.lang.diagnostics import Diagnostic, Error
from pdsketch.lang.domain import LARGEST_COST, Data, Fact, Problem
from pdsketch.lang.evaluation import Bindings, EvaluationContext, StaticContext
from pdsketch.lang.records import dataclass
from pdsketch.lang.semantics import apply_at, bind
from pdsketch.lang.steps import Step, is_step, resolve
from pdsketch.lang.terms import Expr, Logic, Quantified, free_variables


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a plan is valid, what it costs, and if not, why.

    ``step`` is the index of the first step that fails; None where every step
    can be taken but the goal is not reached. ``cost`` is that of the steps
    before it.
    """

    valid: bool
    cost: float
    step: int | None = None
    reason: Diagnostic | None = None


def validate(
    problem: Problem,
    plan: Sequence[Step],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Verdict:
    """Replay a plan from the initial state: each step must be applicable, and the goal hold at the end.

    ``functions`` are the external predicates and blanks of the domain, as
    `StaticContext` takes them.
    """
    static = StaticContext.of(problem, functions)
    state: Mapping[Fact, Data] = problem.init
    total = 0.0
    for index, written in enumerate(plan):
        try:
            outcome = _take(static, state, written, problem.metric)
        except Error as refused:
            outcome = refused.diagnostics[0]
        if isinstance(outcome, Diagnostic):
            return Verdict(False, _tidy(total), index, _at_step(outcome, index, written))
        state, paid = outcome
        total += paid
    try:
        failure = _first_false(EvaluationContext(static, state), problem.goal, {})
    except Error as refused:
        return Verdict(False, _tidy(total), None, refused.diagnostics[0])
    if failure is not None:
        return Verdict(False, _tidy(total), None, _explain("goal-not-reached", "the goal", failure))
    return Verdict(True, _tidy(total))


def _take(
    static: StaticContext, state: Mapping[Fact, Data], written: Step, metric: str
) -> tuple[dict[Fact, Data], float] | Diagnostic:
    """The next state and what the step cost, or why it cannot be taken."""
    step = _resolve(static, written)
    if isinstance(step, Diagnostic):
        return step
    action = static.domain.actions[step[0]]
    context = EvaluationContext(static, state)
    bindings = bind(static, step)
    failure = _first_false(context, action.precondition, bindings)
    if failure is not None:
        return _explain("not-applicable", f"the precondition of `{action.name}`", failure)
    paid = 1.0 if metric == "unit" else 0.0
    if metric == "cost" and action.cost is not None:
        paid = context.value(action.cost, bindings)
        if not paid <= LARGEST_COST:
            return Diagnostic("cost-too-large", f"a cost is at most {LARGEST_COST:g}", action.cost.span)
    return apply_at(context, step), paid


def _resolve(static: StaticContext, written: Step) -> Step | Diagnostic:
    """The step in the domain's own names, or what is wrong with it, which has its place in the plan."""
    try:
        return resolve(static.domain, static.universe, written)
    except Error as refused:
        return replace(refused.diagnostics[0], span=None)


def _first_false(context: EvaluationContext, expr: Expr, bindings: Bindings) -> tuple[Expr, Bindings] | None:
    """The first part of a conjunction that is false, with the bindings that make it so."""
    match expr:
        case Logic(op="and"):
            for part in expr.args:
                failure = _first_false(context, part, bindings)
                if failure is not None:
                    return failure
            return None
        case Quantified(op="forall"):
            names = [variable.name for variable in expr.variables]
            for instance in context.static.instances(expr.variables):
                inner = {**bindings, **dict(zip(names, instance, strict=True))}
                failure = _first_false(context, expr.body, inner)
                if failure is not None:
                    return failure
            return None
        case _:
            return None if context.value(expr, bindings) else (expr, bindings)


def _explain(code: str, whole: str, failure: tuple[Expr, Bindings]) -> Diagnostic:
    """Which conjunct is false, in the author's words, and for which objects."""
    expr, bindings = failure
    words = "a conjunct" if expr.span is None else f"`{' '.join(expr.span.text.split())}`"
    used = free_variables(expr)
    values = ", ".join(f"{n} = {shown(v)}" for n, v in bindings.items() if n in used)
    where = f" for {values}" if values else ""
    return Diagnostic(code, f"{whole} does not hold: {words} is false{where}", expr.span, "false here")


def _at_step(reason: Diagnostic, index: int, step: Any) -> Diagnostic:
    """The reason with the step that it is about, which need not be one: users hand in anything."""
    atom = (step,) if isinstance(step, str) else step
    words = show_atom(atom) if is_step(atom) else f"{step!r:.40}"
    return Diagnostic(
        reason.code,
        f"step {index + 1}, {words}: {reason.message}",
        reason.span,
        reason.label,
        reason.help,
        reason.notes,
    )


def _tidy(total: float) -> float:
    """A whole cost without its decimal point."""
    return int(total) if float(total).is_integer() else total

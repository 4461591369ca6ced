"""What classical planning covers: Boolean facts over objects, and numbers that never change.

`classify` decides for `plan`, the command line and grounding alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from pdsketch.lang import (
    Apply,
    BlankCall,
    Diagnostic,
    Domain,
    Each,
    Equal,
    Expr,
    ObjectType,
    Predicate,
    Problem,
    Update,
    ValueType,
    Variable,
    dataclass,
    in_order,
    walk,
)


@final
@dataclass(frozen=True, slots=True)
class Fragment:
    """How a problem is planned for: classically, or through a model for the reasons ``beyond``.

    The code of a reason is ``needs-model`` where a blank or an external function has to be
    filled in first, and ``not-yet`` where values other than Booleans change or are compared.
    """

    beyond: tuple[Diagnostic, ...]

    @property
    def classical(self) -> bool:
        """Whether the problem can be ground."""
        return not self.beyond


def classify(problem: Problem) -> Fragment:
    """How a problem is planned for.

    Numbers that no action changes (distances, costs) are left to grounding.
    """
    domain = problem.domain
    changed = domain.analysis.written
    found: list[Diagnostic] = []
    for action in domain.actions.values():
        for parameter in action.parameters:
            if not isinstance(parameter.type, ObjectType):
                found.append(_not_yet(f"the value parameter `{parameter.name}`", parameter, "over values"))
        for update in action.effects:
            found += _of_update(domain, update, changed)
        for expr in (action.precondition, *([] if action.cost is None else [action.cost])):
            found += _of_expr(domain, expr, changed)
    for component in domain.components:
        for name in component:
            found += _of_derived(domain, domain.predicates[name], changed)
    found += _of_expr(domain, problem.goal, changed)
    return Fragment(tuple(in_order(found or _unread(domain))))


def _unread(domain: Domain) -> Iterator[Diagnostic]:
    """What only a model has, though nothing reads it."""
    for predicate in domain.predicates.values():
        if predicate.role in ("external", "encoded", "raw"):
            yield Diagnostic(
                "needs-model",
                f"`{predicate.name}` belongs to a model",
                predicate.span,
                label="external" if predicate.role == "external" else "for networks to read or write",
                help="plan with `pds.plan(pds.Model(domain), state, goal)`",
            )


def _not_yet(what: str, node: Expr | Update | Predicate, why: str) -> Diagnostic:
    return Diagnostic(
        "not-yet",
        f"planning with {what} is not there yet",
        node.span,
        label=why,
        help="classical planning takes Boolean predicates, and numbers that no action changes",
    )


def _of_update(domain: Domain, update: Update, changed: frozenset[str]) -> Iterator[Diagnostic]:
    target = domain.predicates[update.target.predicate]
    if not target.type.is_bool:
        word = "numeric" if target.type.is_number else "value-typed"
        yield _not_yet(f"the {word} fluent `{target.name}`", update, "changes it")
    elif update.value is not None:
        yield from _of_expr(domain, update.value, changed)
    yield from _of_expr(domain, update.condition, changed)


def _of_derived(domain: Domain, derived: Predicate, changed: frozenset[str]) -> Iterator[Diagnostic]:
    if derived.body is None:
        return
    if not derived.type.is_bool:
        yield _not_yet(f"the value of `{derived.name}`", derived, f"holds {derived.type}")
    elif any(not isinstance(p.type, ObjectType) for p in derived.parameters):
        yield _not_yet(f"`{derived.name}`, which takes values,", derived, "takes values")
    yield from _of_expr(domain, derived.body, changed)


def _of_expr(domain: Domain, expr: Expr, changed: frozenset[str]) -> Iterator[Diagnostic]:
    for node in walk(expr):
        match node:
            case BlankCall() | Each():
                name = node.blank if isinstance(node, BlankCall) else "foreach"
                yield Diagnostic(
                    "needs-model",
                    f"the blank `{name}` must be filled in before planning",
                    node.span,
                    label="left for learning",
                    help="train a model and plan with `--model DIR`",
                )
            case Apply():
                yield from _of_apply(domain, node, changed)
            case Equal() if _is_vector(node.left):
                yield _not_yet("vectors", node, "compares vectors")
            case Variable() if isinstance(node.type, ValueType) and node.type.shape != ():
                yield _not_yet("vectors", node, "a vector")
            case _:
                pass


def _is_vector(expr: Expr) -> bool:
    return isinstance(expr.type, ValueType) and expr.type.shape != ()


def _of_apply(domain: Domain, node: Apply, changed: frozenset[str]) -> Iterator[Diagnostic]:
    predicate = domain.predicates[node.predicate]
    if predicate.role == "external":
        yield Diagnostic(
            "needs-model",
            f"`{predicate.name}` is a function that must be registered before planning",
            node.span,
            label="an external function",
            help=f'give it in `pds.Model(domain, modules={{"{predicate.name}": …}})`',
        )
    elif predicate.type.is_bool:
        if any(not isinstance(p.type, ObjectType) for p in predicate.parameters):
            yield _not_yet(f"`{predicate.name}`, which takes values,", node, "takes values")
    elif not predicate.type.is_number or predicate.role not in ("observed", "cost"):
        yield _not_yet(f"the value of `{predicate.name}`", node, f"holds {predicate.type}")
    elif predicate.name in changed:
        yield _not_yet(f"the numeric fluent `{predicate.name}`", node, "reads it")

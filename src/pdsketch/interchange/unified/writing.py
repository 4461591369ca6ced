"""A domain and a problem → a problem of unified-planning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from pdsketch.extras import missing_extra
from pdsketch.interchange.unified.formulas import unsupported
from pdsketch.lang import (
    OBJECT,
    TRUE,
    Action,
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Component,
    Data,
    Domain,
    Each,
    Equal,
    Expr,
    Hierarchy,
    Logic,
    Object,
    ObjectType,
    Predicate,
    Problem,
    Quantified,
    Type,
    Update,
    Value,
    ValueType,
    Variable,
    conjuncts,
    error,
    unfold_all,
    walk,
)


def to_unified_planning(domain: Domain, problem: Problem, environment: Any = None) -> Any:
    """A problem of unified-planning, in its global environment unless another is given.

    Derived predicates that are not recursive are replaced by their bodies. Blanks,
    vectors, values as parameters and external functions have no place there,
    and are errors that name them.
    """
    for given, wanted in ((domain, Domain), (problem, Problem)):
        if not isinstance(given, wanted):
            kind = type(given).__name__
            raise error("wrong-kind", f"a {wanted.__name__} was wanted, and a {kind} was given")
    if problem.domain is not domain:
        raise error(
            "wrong-kind",
            f"`{problem.name}` is a problem of `{problem.domain.name}`, checked against another Domain",
            help="pass the domain that the problem was loaded with: problem.domain",
        )
    try:
        import unified_planning.shortcuts as up
    except ModuleNotFoundError as absent:
        if absent.name != "unified_planning":
            raise
        raise missing_extra("unified-planning", "up") from None
    return _Writer(up, domain, problem, environment or up.get_environment()).problem()


_Scope = Mapping[str, Any]
"""What the variables of the language stand for there."""


@final
class _Writer:
    def __init__(self, up: Any, domain: Domain, problem: Problem, environment: Any) -> None:
        self._up = up
        self._domain = domain
        self._problem = problem
        self._environment = environment
        self._make = environment.expression_manager
        self._fluents: dict[str, Any] = {}

    def problem(self) -> Any:
        up, of = self._up, {"environment": self._environment}
        made = up.Problem(self._problem.name, self._environment)
        objects = {name: up.Object(name, self._type(t), **of) for name, t in self._problem.universe.items()}
        made.add_objects(objects.values())
        self._objects = objects
        for predicate in self._domain.predicates.values():
            if predicate.role not in ("cost", "derived"):
                self._declare(made, predicate)
        for (name, *arguments), value in self._problem.init.items():
            made.set_initial_value(self._fluents[name](*(objects[a] for a in arguments)), _plain(value))
        actions = {action.name: self._action(action) for action in self._domain.actions.values()}
        made.add_actions(actions.values())
        for part in conjuncts(self._unfolded(self._problem.goal)):
            made.add_goal(self._expr(part, {}))
        if self._problem.metric == "cost":
            made.add_quality_metric(
                up.MinimizeActionCosts(self._costs(actions), environment=self._environment)
            )
        return made

    def _declare(self, made: Any, predicate: Predicate) -> None:
        if predicate.role != "observed":
            raise _refused(f"`{predicate.name}`, which {_ROLES[predicate.role]},", predicate)
        wide = {p.name: OBJECT if _is_either(p, predicate) else p.type for p in predicate.parameters}
        parameters = {_bare(p): self._type(wide[p.name], predicate) for p in predicate.parameters}
        type_ = self._value_type(predicate.type, predicate)
        fluent = self._up.Fluent(predicate.name, type_, environment=self._environment, **parameters)
        self._fluents[predicate.name] = fluent
        made.add_fluent(fluent, default_initial_value=False if predicate.type.is_bool else None)

    def _action(self, action: Action) -> Any:
        parameters = {_bare(p): self._type(p.type, p) for p in action.parameters}
        made = self._up.InstantaneousAction(action.name, _env=self._environment, **parameters)
        scope = {p.name: self._make.ParameterExp(made.parameter(_bare(p))) for p in action.parameters}
        for part in conjuncts(self._unfolded(action.precondition)):
            if part != TRUE:
                made.add_precondition(self._expr(part, scope))
        for update in action.effects:
            self._effect(made, update, scope)
        return made

    def _effect(self, made: Any, update: Update, scope: _Scope) -> None:
        variables = {v.name: self._variable(v) for v in update.variables}
        inner = {**scope, **{name: self._make.VariableExp(v) for name, v in variables.items()}}
        target = self._expr(update.target, inner)
        value = None if update.value is None else self._expr(self._unfolded(update.value), inner)
        condition = self._expr(self._unfolded(update.condition), inner)
        bound = tuple(variables.values())
        match update.op:
            case "increase":
                made.add_increase_effect(target, value, condition, bound)
            case "decrease":
                made.add_decrease_effect(target, value, condition, bound)
            case "scale-up":
                made.add_effect(target, self._make.Times(target, value), condition, bound)
            case "scale-down":
                made.add_effect(target, self._make.Div(target, value), condition, bound)
            case "add" | "delete" | "assign":
                written = value if update.op == "assign" else self._make.Bool(update.op == "add")
                made.add_effect(target, written, condition, bound)

    def _costs(self, actions: Mapping[str, Any]) -> dict[Any, Any]:
        found = {}
        for action in self._domain.actions.values():
            made = actions[action.name]
            scope = {p.name: self._make.ParameterExp(made.parameter(_bare(p))) for p in action.parameters}
            cost = self._make.Int(0) if action.cost is None else self._expr(action.cost, scope)
            found[made] = cost
        return found

    def _unfolded(self, expr: Expr) -> Expr:
        return unfold_all(expr, self._domain)

    def _expr(self, expr: Expr, scope: _Scope) -> Any:
        make = self._make
        match expr:
            case Variable():
                return scope[expr.name]
            case Object():
                return make.ObjectExp(self._objects[expr.name])
            case Value():
                return make.auto_promote(_plain(expr.value))[0]
            case Apply():
                if expr.predicate not in self._fluents:
                    raise _refused(f"`{expr.predicate}`, which is recursive,", expr)
                return self._fluents[expr.predicate](*(self._expr(a, scope) for a in expr.args))
            case Logic():
                parts = [self._expr(part, scope) for part in expr.args]
                join = {"and": make.And, "or": make.Or, "not": make.Not, "implies": make.Implies}[expr.op]
                return join(*parts)
            case Quantified():
                variables = {v.name: self._variable(v) for v in expr.variables}
                inner = {**scope, **{name: make.VariableExp(v) for name, v in variables.items()}}
                quantify = make.Forall if expr.op == "forall" else make.Exists
                return quantify(self._expr(expr.body, inner), *variables.values())
            case Equal():
                both = self._expr(expr.left, scope), self._expr(expr.right, scope)
                return (make.Iff if both[0].type.is_bool_type() else make.Equals)(*both)
            case Compare():
                both = self._expr(expr.left, scope), self._expr(expr.right, scope)
                return {"<": make.LT, "<=": make.LE, ">": make.GT, ">=": make.GE}[expr.op](*both)
            case Arithmetic():
                numbers = [self._expr(part, scope) for part in expr.args]
                if expr.op == "-" and len(numbers) == 1:
                    return make.Minus(0, *numbers)
                return {"+": make.Plus, "-": make.Minus, "*": make.Times, "/": make.Div}[expr.op](*numbers)
            case BlankCall():
                raise _refused(f"the blank `{expr.blank}`", expr)
            case Each() | Component():
                raise _refused("a set of values, or an element of a vector,", expr)

    def _variable(self, variable: Variable) -> Any:
        return self._up.Variable(_bare(variable), self._type(variable.type, variable), self._environment)

    def _type(self, type_: Type, place: Any = None) -> Any:
        if not isinstance(type_, ObjectType):
            raise _refused(f"a parameter or variable over values ({type_})", place)
        if len(type_.names) > 1:
            raise _refused(f"`{type_}`", place)
        return self._types[type_.names[0]]

    @cached_property
    def _types(self) -> dict[str, Any]:
        """The object types; `object` itself only where something is of that type."""
        hierarchy, user_type = self._domain.hierarchy, self._environment.type_manager.UserType
        made = {"object": user_type("object")} if "object" in set(_used(self._problem)) else {}
        for name in _parents_first(hierarchy):
            parents = [p for p in hierarchy.parents[name] if p in made or p != "object"]
            if len(parents) > 1:
                raise _refused(f"type `{name}`, which has several parents,", None)
            made[name] = user_type(name, made[parents[0]] if parents else made.get("object"))
        return made

    def _value_type(self, type_: ValueType, place: Any) -> Any:
        manager = self._environment.type_manager
        if type_.is_bool:
            return manager.BoolType()
        if not type_.is_number:
            raise _refused(f"a value of type {type_}", place)
        if type_.prim == "float32":
            return manager.RealType()
        return manager.IntType(*((None, None) if type_.choices is None else (0, type_.choices - 1)))


_ROLES = {
    "external": "is a function of values",
    "encoded": "a network computes from what is observed",
    "raw": "only networks read",
}


def _refused(what: str, place: Any) -> Exception:
    span = getattr(place, "span", None)
    if span is None:
        return unsupported(what, "unified-planning")
    return error("unsupported-feature", f"{what} has no place in unified-planning", span)


def _bare(variable: Variable) -> str:
    return variable.name.lstrip("?").replace("$", "_").replace("@", "_")


def _plain(value: Data) -> Any:
    """A value as unified-planning takes it; floats as the decimal number that they show."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else Fraction(repr(value))
    return value


def _is_either(parameter: Variable, predicate: Predicate) -> bool:
    """Whether a predicate takes objects of several types: facts about others are false: any will do."""
    several = isinstance(parameter.type, ObjectType) and len(parameter.type.names) > 1
    return several and predicate.type.is_bool


def _used(problem: Problem) -> Iterator[str]:
    """The object types that parameters, variables and objects have."""
    domain = problem.domain
    for type_ in problem.universe.values():
        yield from type_.names
    bound: list[Variable] = []
    expressions: list[Expr] = [problem.goal]
    for predicate in domain.predicates.values():
        bound += [p for p in predicate.parameters if not _is_either(p, predicate)]
        yield from ("object" for p in predicate.parameters if _is_either(p, predicate))
        expressions += [] if predicate.body is None else [predicate.body]
    for action in domain.actions.values():
        bound += action.parameters
        expressions.append(action.precondition)
        for update in action.effects:
            bound += update.variables
            expressions += [update.condition, *([] if update.value is None else [update.value])]
    for expr in expressions:
        for node in walk(expr):
            bound += node.variables if isinstance(node, Quantified) else ()
    for variable in bound:
        yield from variable.type.names if isinstance(variable.type, ObjectType) else ()


def _parents_first(hierarchy: Hierarchy) -> Iterator[str]:
    done = {"object"}
    waiting = [name for name in hierarchy.names if name != "object"]
    while waiting:
        ready = [name for name in waiting if done.issuperset(hierarchy.parents.get(name, ()))]
        yield from ready
        done.update(ready)
        waiting = [name for name in waiting if name not in done]

"""Term → tensor function over named axes. Shared subterms become one node, computed once a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import reduce
from typing import Any, final

import torch
from torch import Tensor

from pdsketch.lang import (
    BOOL,
    TRUE,
    Apply,
    Arithmetic,
    BlankCall,
    Compare,
    Component,
    Domain,
    Each,
    Equal,
    Expr,
    Logic,
    Object,
    ObjectType,
    Predicate,
    Quantified,
    Update,
    Value,
    ValueType,
    Variable,
    error,
    free_variables,
)
from pdsketch.tensor.compile.blanks import Callee
from pdsketch.tensor.compile.calls import SetArgument, call, gate
from pdsketch.tensor.compile.compare import calculated, compare, element, equal
from pdsketch.tensor.compile.logic import FuzzyLogic, fixpoint, folded, over
from pdsketch.tensor.compile.node import Axes, Axis, Node, Run, aligned, union
from pdsketch.tensor.compile.read import (
    NOTHING,
    Along,
    Binding,
    Env,
    Place,
    axes_of,
    depth_of,
    identity_of,
    parameters,
    place,
    read,
)
from pdsketch.tensor.states.values import convert, harden, numbers, soften

# Which derived predicates read which: long chains are cut into pieces that fit Python's stack.

PIECE = 24
"""How many links of a chain are evaluated by recursion."""


@final
class Chains:
    """The derived predicates below each one, callees first.

    Encoded predicates end a chain, since a state may hold them; so do those
    over values, which have no table.
    """

    def __init__(self, domain: Domain) -> None:
        self._callees: dict[str, tuple[str, ...]] = {}
        self._rank: dict[str, int] = {}
        self._order: dict[str, int] = {}
        linked, read = frozenset(domain.analysis.tables), domain.analysis.bodies
        for component in domain.components:
            own = [name for name in component if name in linked]
            found: dict[str, None] = {}
            for name in own:
                found.update(dict.fromkeys(r for r in read[name] if r in linked and r not in component))
            rank = 1 + max((self._rank[r] for r in found), default=-1)
            for name in own:
                self._callees[name] = tuple(found)
                self._rank[name] = rank
                self._order[name] = len(self._order)

    def below(self, name: str) -> list[str]:
        """Everything that a predicate reads, directly or not, in the order of evaluation."""
        seen: set[str] = set()
        stack = list(self._callees.get(name, ()))
        while stack:
            one = stack.pop()
            if one not in seen:
                seen.add(one)
                stack += self._callees[one]
        return sorted(seen, key=self._order.__getitem__)

    def pieces(self, name: str) -> list[str]:
        """What to evaluate before a predicate at the end of a piece, in order; nothing for others."""
        rank = self._rank.get(name, 0)
        if rank == 0 or rank % PIECE:
            return []
        return [one for one in self.below(name) if self._rank[one] % PIECE == 0 and self._rank[one]]


MOST_NODES = 4_000
"""How many nodes are kept to be shared, each of a kilobyte; a program that asks for ever new formulas starts
again then. Set by hand."""


@final
class Lowering:
    """The nodes of one domain under one logic. Equal terms in equal scopes give the same node.

    ``gated`` are the blanks whose network decides itself whether it writes.
    """

    def __init__(self, domain: Domain, logic: FuzzyLogic, gated: Set[str] = frozenset()) -> None:
        self.domain = domain
        self.logic = logic
        self.gated = gated
        self._nodes: dict[Any, Node] = {}
        self._tables: dict[str, Node] = {}
        self._open: dict[str, Node] = {}
        self._callees: dict[str, Callee] = {}
        self._chains = Chains(domain)
        self._component = {name: c for c in domain.components for name in c if name in domain.recursive}

    def lower(self, expr: Expr, env: Env = NOTHING) -> Node:
        """The node of an expression; ``env`` says what its free variables stand for."""
        # Keyed by the variables that it has: an expression in two scopes that differ in others is one node.
        # Inside a fixpoint it is another one, for there it reads the values so far.
        scope = {name: env[name] for name in free_variables(expr)}
        key = (expr, tuple(sorted(scope.items(), key=lambda item: item[0])), tuple(self._open))
        node = self._nodes.get(key)
        if node is None:
            if len(self._nodes) >= MOST_NODES:
                self._nodes.clear()
            node = self._nodes[key] = self._node(expr, scope)
        return node

    def _node(self, expr: Expr, env: Env) -> Node:
        match expr:
            case Variable():
                bound = env[expr.name]
                assert isinstance(bound, Node)
                return bound
            case Value():
                return self._constant(expr)
            case Apply():
                return self._apply(expr, env)
            case BlankCall():
                return self._blank(expr, env)
            case Logic():
                return self._connective(expr, env)
            case Quantified():
                return self._quantified(expr, env)
            case Equal():
                return self._equal(expr, env)
            case Compare():
                sides = [self._side(e, env) for e in (expr.left, expr.right)]
                op = expr.op
                return self._over(sides, lambda a, b: compare(self.logic, op, a, b))
            case Arithmetic():
                return self._arithmetic(expr, env)
            case Component():
                return element(self.lower(expr.vector, env), expr)
            case Object() | Each():
                raise TypeError(f"{type(expr).__name__} is no value of its own")

    # -- values ---------------------------------------------------------------

    def _constant(self, expr: Value) -> Node:
        value = expr.value
        kinds = {"bool": self.logic.dtype, "int64": torch.int64, "float32": torch.float32}
        dtype = kinds[expr.type.prim]
        kept: dict[torch.device, Tensor] = {}

        def compute(run: Run) -> Tensor:
            device = run.batch.device
            if device not in kept:
                # A tensor made in inference mode could never take part in a gradient later on.
                with torch.inference_mode(False):
                    kept[device] = torch.tensor([value], dtype=dtype, device=device)
            return kept[device]

        return Node((), compute)

    def _apply(self, expr: Apply, env: Env) -> Node:
        predicate = self.domain.predicates[expr.predicate]
        if predicate.role == "external":
            types = [p.type for p in predicate.parameters if isinstance(p.type, ValueType)]
            arguments = [self.as_type(a, t, env) for a, t in zip(expr.args, types, strict=True)]
            return call(self._external(predicate), arguments, self.logic)
        if any(isinstance(p.type, ValueType) for p in predicate.parameters):
            return self._inlined(predicate, expr, env)
        objects = predicate.object_types
        return read(self.table(predicate), objects, [place(a, env) for a in expr.args])

    def _inlined(self, predicate: Predicate, expr: Apply, env: Env) -> Node:
        """A derived predicate over values: its body, with the arguments in place of the parameters."""
        assert predicate.body is not None
        if predicate.name in self._component:
            raise error(
                "not-yet",
                f"`{predicate.name}` is recursive and has a parameter that is a value: not yet in a Model",
                predicate.span,
            )
        inner: dict[str, Binding] = {}
        for parameter, argument in zip(predicate.parameters, expr.args, strict=True):
            if isinstance(parameter.type, ValueType):
                inner[parameter.name] = self.as_type(argument, parameter.type, env)
            else:
                inner[parameter.name] = place(argument, env)
        return self.as_type(predicate.body, predicate.type, inner)

    def table(self, predicate: Predicate) -> Node:
        """The values of a predicate for all objects, ``[state, *objects, *value]``."""
        name = predicate.name
        if name in self._open:
            return self._open[name]
        if name not in self._tables:
            for below in self._chains.below(name):
                self._make(below)
            self._make(name)
        return self._tables[name]

    def _make(self, name: str) -> None:
        if name in self._tables:
            return
        if name in self._component:
            self._tables.update(self._recursive(self._component[name]))
            return
        node = self._table(self.domain.predicates[name])
        # Long chains are evaluated piece by piece: Python's stack is not that deep.
        pieces = [self._tables[below] for below in self._chains.pieces(name)]
        if pieces:
            whole = node

            def compute(run: Run) -> Tensor:
                for piece in pieces:
                    piece(run)
                return whole(run)

            node = Node(whole.axes, compute)
        self._tables[name] = node

    def _table(self, predicate: Predicate) -> Node:
        axes, env = parameters(predicate)
        name, type_ = predicate.name, predicate.type
        form = harden if self.logic.crisp else soften

        def held(run: Run) -> Tensor:
            tensor = run.batch.tensor(name)
            if tensor.shape[0] > 1 and tensor.stride(0) == 0:
                tensor = tensor[:1]  # one value for all states: so is what follows from it
            return form(tensor, type_)

        if predicate.body is None:
            return Node(axes, held)
        body = self.as_type(predicate.body, type_, env)
        derive = aligned(body, axes)
        # A batch holds encoded predicates; a planner may also let it hold derived ones that it knows.
        return Node(axes, lambda run: held(run) if name in run.batch.tensors else derive(run), loop=body.loop)

    def _recursive(self, component: tuple[str, ...]) -> dict[str, Node]:
        """The least fixpoint of predicates that are defined by each other."""
        predicates = [self.domain.predicates[name] for name in component]
        outer, scopes = self._open, [parameters(p) for p in predicates]
        holders = {
            p.name: Node(axes, _unset, loop=True) for p, (axes, _) in zip(predicates, scopes, strict=True)
        }
        self._open = {**outer, **holders}
        try:
            bodies = []
            for predicate, (axes, env) in zip(predicates, scopes, strict=True):
                assert predicate.body is not None
                bodies.append((axes, aligned(self.lower(predicate.body, env), axes)))
        finally:
            self._open = outer
        return fixpoint(component, list(holders.values()), bodies, self.logic)

    def as_type(self, expr: Expr, type_: ValueType, env: Env) -> Node:
        """The node of an expression, as a value of a type that it may be assigned to."""
        node = self.lower(expr, env)
        given = expr.type
        assert isinstance(given, ValueType)
        if given.prim == type_.prim and (given.choices == type_.choices or type_.prim == "bool"):
            return node
        return Node(node.axes, lambda run: convert(node(run), given, type_), loop=node.loop)

    # -- functions ------------------------------------------------------------

    def _external(self, predicate: Predicate) -> Callee:
        if predicate.name not in self._callees:
            types = tuple(p.type for p in predicate.parameters if isinstance(p.type, ValueType))
            signature = f"{predicate.name}({', '.join(map(str, types))}) -> {predicate.type}"
            callee = Callee(
                predicate.name, signature, types, predicate.type, external=True, span=predicate.span
            )
            self._callees[predicate.name] = callee
        return self._callees[predicate.name]

    def _blank(self, expr: BlankCall, env: Env) -> Node:
        callee, arguments = self._called(expr, env)
        return call(callee, arguments, self.logic)

    def condition(self, update: Update, env: Env) -> Node | None:
        """When an update fires; None: always. A network that is assigned under no condition has its own."""
        value = update.value
        if update.condition != TRUE:
            return self.lower(update.condition, env)
        if isinstance(value, BlankCall) and value.blank in self.gated:
            return gate(*self._called(value, env), self.logic)
        return None

    def _called(self, expr: BlankCall, env: Env) -> tuple[Callee, list[Node | SetArgument]]:
        """A blank, and the nodes of what it is given."""
        callee = self.callee(expr.blank)
        depth = depth_of(env)
        arguments: list[Node | SetArgument] = []
        for argument, type_ in zip(expr.args, callee.inputs, strict=True):
            if isinstance(argument, Each):
                arguments.append(self._set(argument, type_, env, depth))
            else:
                arguments.append(self.as_type(argument, type_, env))
        return callee, arguments

    def callee(self, name: str) -> Callee:
        """A blank as its callers see it."""
        if name not in self._callees:
            blank = self.domain.blanks[name]
            types = tuple(i.type for i in blank.inputs)
            span = blank.spans[0] if blank.spans else None
            self._callees[name] = Callee(
                name, blank.signature, types, blank.returns, external=False, span=span
            )
        return self._callees[name]

    def _set(self, expr: Each, type_: ValueType, env: Env, depth: int) -> SetArgument:
        own, inner = self.bound(expr.variables, env, depth)
        weight = None if expr.condition == TRUE else self.lower(expr.condition, inner)
        return SetArgument(self.as_type(expr.body, type_, inner), weight, own)

    # -- formulas -------------------------------------------------------------

    def _connective(self, expr: Logic, env: Env) -> Node:
        parts = [self.lower(a, env) for a in expr.args]
        logic = self.logic
        if not parts:
            return self.lower(Value(expr.op == "and", BOOL))
        if expr.op == "not":
            return self._mapped(parts, logic.neg)
        if expr.op == "implies":
            return self._mapped(parts, logic.implies)
        # The parts over fewest objects first, so that little is expanded.
        groups: dict[Axes, list[Node]] = {}
        for part in sorted(parts, key=lambda node: len(node.axes)):
            groups.setdefault(part.axes, []).append(part)
        op, fold = (logic.conj, logic.every) if expr.op == "and" else (logic.disj, logic.some)
        return reduce(lambda a, b: self._mapped([a, b], op), [folded(g, op, fold) for g in groups.values()])

    def _mapped(self, parts: Sequence[Node], op: Callable[..., Tensor]) -> Node:
        """A function of truth values, element by element."""
        axes = union(parts)
        loop = any(p.loop for p in parts)
        gets = [aligned(p, axes) for p in parts]
        if len(gets) == 1:
            only = gets[0]
            return Node(axes, lambda run: op(only(run)), loop=loop)
        first, second = gets
        return Node(axes, lambda run: op(first(run), second(run)), loop=loop)

    def _quantified(self, expr: Quantified, env: Env) -> Node:
        own, inner = self.bound(expr.variables, env, depth_of(env))
        body = self.lower(expr.body, inner)
        return over(body, own, self.logic, every=expr.op == "forall")

    def bound(self, variables: Iterable[Variable], env: Env, depth: int) -> tuple[Axes, Env]:
        """New axes for variables, deeper than all in scope."""
        inner = dict(env)
        own: list[Axis] = []
        for variable in variables:
            axis = Axis(depth + len(own), variable.type)
            own.append(axis)
            inner[variable.name] = (
                Along(axis) if isinstance(variable.type, ObjectType) else self._choices(axis)
            )
        return tuple(own), inner

    def _choices(self, axis: Axis) -> Node:
        """The values that a variable over a value type ranges over."""
        key = ("choices", axis)
        if key not in self._nodes:
            type_ = axis.type
            assert isinstance(type_, ValueType)
            form = harden if self.logic.crisp else soften
            self._nodes[key] = Node((axis,), lambda run: form(run.choices(type_), type_).unsqueeze(0))
        return self._nodes[key]

    def _equal(self, expr: Equal, env: Env) -> Node:
        if isinstance(expr.left.type, ObjectType):
            return self._same_object(place(expr.left, env), place(expr.right, env))
        sides = [self._side(e, env) for e in (expr.left, expr.right)]
        tolerance = expr.tolerance
        leading = 1 + len(union(node for node, _ in sides))
        return self._over(sides, lambda a, b: equal(self.logic, a, b, tolerance, leading))

    def _same_object(self, left: Place, right: Place) -> Node:
        axes = axes_of([left, right])
        dtype = self.logic.dtype

        def compute(run: Run) -> Tensor:
            return (identity_of(run, left, axes) == identity_of(run, right, axes)).to(dtype)

        return Node(axes, compute)

    def _side(self, expr: Expr, env: Env) -> tuple[Node, ValueType]:
        assert isinstance(expr.type, ValueType)
        return self.lower(expr, env), expr.type

    def _over(self, sides: Sequence[tuple[Node, ValueType]], op: Callable[..., Tensor]) -> Node:
        """A function of two values, with the types by which to read them."""
        axes = union(node for node, _ in sides)
        (first, a), (second, b) = [(aligned(node, axes), type_) for node, type_ in sides]
        loop = any(node.loop for node, _ in sides)
        return Node(axes, lambda run: op((first(run), a), (second(run), b)), loop=loop)

    def _arithmetic(self, expr: Arithmetic, env: Env) -> Node:
        sides = [self._side(a, env) for a in expr.args]
        axes = union(node for node, _ in sides)
        gets = [(aligned(node, axes), type_) for node, type_ in sides]
        op, of_ints = expr.op, expr.type.prim == "int64"

        def compute(run: Run) -> Tensor:
            values = [numbers(get(run), type_) for get, type_ in gets]
            most = max(value.dim() for value in values)
            # A scalar beside a vector applies to each of its elements.
            alike = [v.reshape(*v.shape, *(1,) * (most - v.dim())) for v in values]
            return calculated(op, alike, of_ints=of_ints)

        return Node(axes, compute, loop=any(node.loop for node, _ in sides))


def _unset(run: Run) -> Tensor:
    raise AssertionError("a recursive predicate was read outside of its fixpoint")

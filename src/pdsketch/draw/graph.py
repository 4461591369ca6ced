"""A domain as a graph: of one predicate or action in full, or of the whole sketch in outline."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, final

from pdsketch.lang import (
    TRUE,
    Action,
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
    Predicate,
    Quantified,
    Update,
    Value,
    Variable,
    children,
    did_you_mean,
    error,
)

Kind = Literal[
    "observed",
    "raw",
    "external",
    "derived",
    "encoded",
    "cost",
    "blank",
    "operator",
    "set",
    "value",
    "action",
    "next",
]
"""What a node stands for: the role of a predicate, or one of

- ``blank``: a function left for learning;
- ``operator``: a connective, a quantifier, a comparison, arithmetic;
- ``set``: the values that a ``foreach`` or a ``when`` hands to a blank;
- ``value``: a literal or a value parameter;
- ``action``: an action, or its precondition;
- ``next``: a state variable after the step.
"""

LEGEND: Final[dict[Kind, str]] = {
    "observed": "observed",
    "raw": "read by the encoder alone",
    "external": "function given by the user",
    "encoded": "encoded state variable",
    "derived": "derived",
    "cost": "cost",
    "blank": "blank: to be learned",
    "set": "set of values",
    "action": "action",
    "next": "after the step",
}
"""What the kinds are called in a picture; the others speak for themselves."""


@final
@dataclass(frozen=True, slots=True)
class GraphNode:
    """A box of the picture. ``detail`` is a second, smaller line."""

    label: str
    kind: Kind
    detail: str = ""


@final
@dataclass(frozen=True, slots=True)
class Arrow:
    """Data flows from one node to another; ``label`` says in which role (``not``, ``when``)."""

    source: int
    target: int
    label: str = ""


@final
class Graph:
    """Nodes and arrows in the order in which they were added."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.nodes: list[GraphNode] = []
        self.arrows: dict[Arrow, None] = {}
        self._known: dict[Hashable, int] = {}

    def node(self, key: Hashable, node: GraphNode) -> int:
        """The number of the node with this key; equal keys are one node."""
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return self._known[key]

    def arrow(self, source: int, target: int, label: str = "") -> None:
        """An arrow; the same arrow twice is one."""
        self.arrows[Arrow(source, target, label)] = None


# Domain → graph: of one predicate or action in full, or of the whole sketch in outline.

MAX_NODES: Final = 2000
"""A larger picture helps nobody."""


def graph_of(domain: Domain, name: str | None = None) -> Graph:
    """The graph of a predicate or an action by its name, or of the whole sketch."""
    if name is None:
        graph = _outline(domain)
    elif name.lower() in domain.actions:
        graph = _action(domain, domain.actions[name.lower()])
    elif name.lower() in domain.predicates:
        graph = _predicate(domain, domain.predicates[name.lower()])
    else:
        known = [*domain.predicates, *domain.actions]
        raise error(
            "unknown-name",
            f"`{name}` is neither a predicate nor an action of `{domain.name}`",
            help=did_you_mean(name.lower(), known),
            file=domain.source.name,
        )
    if len(graph.nodes) > MAX_NODES:
        raise error(
            "graph-too-large",
            f"the graph has {len(graph.nodes):,} nodes; {MAX_NODES:,} is the most",
            help="draw one predicate or action: --of NAME",
            file=domain.source.name,
        )
    return graph


# One definition in full.


def _predicate(domain: Domain, predicate: Predicate) -> Graph:
    """What a predicate is computed from; for one without a body, who reads and writes it."""
    if predicate.body is None:
        return _around(_outline(domain), predicate.name)
    graph = Graph(f"{predicate.name} in {domain.name}")
    root = graph.node(("definition",), _box(predicate, predicate.parameters))
    _Terms(domain, graph).link(predicate.body, root)
    return graph


def _action(domain: Domain, action: Action) -> Graph:
    """What an action needs, and how each state variable that it writes is computed."""
    graph = Graph(f"{action.name} in {domain.name}")
    terms = _Terms(domain, graph)
    box = GraphNode(action.name, "action", _words(action.parameters))
    if action.precondition not in (TRUE, Logic("and", ())):
        terms.link(action.precondition, graph.node(("action",), box), "needs")
    for update in action.effects:
        target = graph.node(("next", update.target), _next_box(update))
        if update.value is not None:
            terms.link(update.value, target, "" if update.op == "assign" else update.op)
        if update.condition != TRUE:
            terms.link(update.condition, target, _gate(update))
        if update.value is None and update.condition == TRUE:
            graph.arrow(graph.node(("action",), box), target, "false" if update.op == "delete" else "true")
    if not graph.nodes:
        graph.node(("action",), box)
    return graph


def _gate(update: Update) -> str:
    """How a condition is marked on its way to what it gates."""
    match update.op:
        case "add":
            return "when: true"
        case "delete":
            return "when: false"
        case _:
            return "when"


def _next_box(update: Update) -> GraphNode:
    over = f"for all {_typed(update.variables)}" if update.variables else ""
    return GraphNode(_call(update.target.predicate + "′", update.target.args), "next", over)


@final
class _Terms:
    """Draws expressions into a graph; equal expressions become one node."""

    def __init__(self, domain: Domain, graph: Graph) -> None:
        self.domain = domain
        self.graph = graph

    def link(self, expr: Expr, target: int, label: str = "") -> None:
        """Draw an expression with an arrow to ``target``; a negation is written on the arrow."""
        words = [label] if label else []
        while isinstance(expr, Logic) and expr.op == "not":
            words.append("not")
            expr = expr.args[0]
        self.graph.arrow(self.node(expr), target, " ".join(words))

    def node(self, expr: Expr) -> int:
        """The number of an expression's node, with all that it is computed from."""
        number = self.graph.node(expr, self.box(expr))
        match expr:
            case Quantified():
                self.link(expr.body, number)
            case Each():
                self.link(expr.body, number)
                if expr.condition != TRUE:
                    self.link(expr.condition, number, "when")
            case Equal() | Compare():
                if not _is_plain_pair(expr):
                    self.link(expr.left, number)
                    self.link(expr.right, number)
            case Apply() | BlankCall() | Logic() | Arithmetic():
                for arg in expr.args:
                    if isinstance(expr, Logic | Arithmetic) or not _is_plain(arg):
                        self.link(arg, number)
            case Component():
                self.link(expr.vector, number)
            case Variable() | Object() | Value():
                pass
        return number

    def box(self, expr: Expr) -> GraphNode:
        """How an expression's node looks."""
        match expr:
            case Variable():
                return GraphNode(f"{expr.name} - {expr.type}", "value")
            case Object():
                return GraphNode(expr.name, "value")
            case Value():
                return GraphNode(_literal(expr), "value")
            case Apply():
                return _box(self.domain.predicates[expr.predicate], expr.args)
            case BlankCall():
                return GraphNode(_blank_label(expr.blank, expr.args), "blank", f"→ {expr.type}")
            case Logic():
                return GraphNode(expr.op if expr.args else str(expr.op == "and").lower(), "operator")
            case Quantified():
                return GraphNode(expr.op, "operator", _typed(expr.variables))
            case Each():
                return GraphNode("foreach" if expr.variables else "when", "set", _typed(expr.variables))
            case Equal():
                return GraphNode(_pair("=", expr), "operator")
            case Compare():
                return GraphNode(_pair(expr.op, expr), "operator")
            case Arithmetic():
                return GraphNode(expr.op, "operator")
            case Component():
                return GraphNode(f"component {expr.place}", "operator")


def _pair(op: str, expr: Equal | Compare) -> str:
    return f"{_word(expr.left)} {op} {_word(expr.right)}" if _is_plain_pair(expr) else op


def _is_plain_pair(expr: Equal | Compare) -> bool:
    return _is_plain(expr.left) and _is_plain(expr.right)


def _is_plain(expr: Expr) -> bool:
    """Whether an argument is written inside the box of what takes it."""
    return isinstance(expr, Variable | Object | Value)


def _box(predicate: Predicate, args: Iterable[Expr]) -> GraphNode:
    detail = "" if predicate.type.is_bool else f"→ {predicate.type}"
    return GraphNode(_call(predicate.name, args), predicate.role, detail)


def _call(name: str, args: Iterable[Expr]) -> str:
    words = _words(arg for arg in args if _is_plain(arg))
    return f"{name} {words}" if words else name


def _blank_label(full_name: str, args: Iterable[Expr]) -> str:
    return _call("??" + full_name.rsplit("::", 1)[-1], args)


def _words(args: Iterable[Expr]) -> str:
    return " ".join(_word(arg) for arg in args)


def _word(expr: Expr) -> str:
    return _literal(expr) if isinstance(expr, Value) else getattr(expr, "name", "…")


def _literal(value: Value) -> str:
    if isinstance(value.value, bool):
        return str(value.value).lower()
    if isinstance(value.value, tuple):
        return "[" + ", ".join(f"{x:g}" for x in value.value) + "]"
    return f"{value.value:g}"


def _typed(variables: Iterable[Variable]) -> str:
    return " ".join(f"{v.name} - {v.type}" for v in variables)


# The whole sketch in outline.


def _outline(domain: Domain) -> Graph:
    """Every predicate, blank and action; an arrow where one reads or writes another."""
    graph = Graph(domain.name)
    for predicate in domain.predicates.values():
        _outline_box(graph, predicate)
    for predicate in domain.predicates.values():
        if predicate.body is not None:
            _feed(domain, graph, predicate.body, _outline_box(graph, predicate))
    for action in domain.actions.values():
        box = graph.node(("action", action.name), GraphNode(action.name, "action", _words(action.parameters)))
        for expr in _read_by(action):
            _feed(domain, graph, expr, box)
        for update in action.effects:
            written = domain.predicates[update.target.predicate]
            graph.arrow(box, graph.node(("next", written.name), GraphNode(f"{written.name}′", "next")))
    return graph


def _outline_box(graph: Graph, predicate: Predicate) -> int:
    return graph.node(("predicate", predicate.name), _box(predicate, predicate.parameters))


def _read_by(action: Action) -> list[Expr]:
    parts = [action.precondition, *(update.condition for update in action.effects)]
    parts += [update.value for update in action.effects if update.value is not None]
    return parts if action.cost is None else [*parts, action.cost]


def _feed(domain: Domain, graph: Graph, expr: Expr, target: int) -> None:
    """Arrows to ``target`` from what an expression reads; what a blank takes leads to the blank."""
    if isinstance(expr, BlankCall):
        blank = graph.node(
            ("blank", expr.blank), GraphNode(_blank_label(expr.blank, ()), "blank", f"→ {expr.type}")
        )
        graph.arrow(blank, target)
        target = blank
    elif isinstance(expr, Apply):
        graph.arrow(_outline_box(graph, domain.predicates[expr.predicate]), target)
    for child in children(expr):
        _feed(domain, graph, child, target)


def _around(graph: Graph, name: str) -> Graph:
    """The part of an outline that touches one predicate."""
    centre = graph.node(("predicate", name), GraphNode(name, "observed"))
    writes = graph.node(("next", name), GraphNode(f"{name}′", "next"))
    part = Graph(f"{name} in {graph.title}")
    for arrow in graph.arrows:
        if {arrow.source, arrow.target} & {centre, writes}:
            ends = [part.node(n, graph.nodes[n]) for n in (arrow.source, arrow.target)]
            part.arrow(ends[0], ends[1], arrow.label)
    if not part.nodes:
        part.node(centre, graph.nodes[centre])
    return part

"""S-expressions → checked terms: names, logic, quantifiers, predicates.

`check_expr` is the one way in. It returns None where it has reported an error,
and a parent of None is None without another word, so that one slip gives one
diagnostic.
"""

from __future__ import annotations

from collections.abc import Callable

from pdsketch.lang.check.applications import application, check_apply, is_nothing
from pdsketch.lang.check.blanks import check_blank
from pdsketch.lang.check.context import Context, Scope
from pdsketch.lang.check.fit import fit, unify
from pdsketch.lang.check.numbers import number_of, prim_of, read_vector
from pdsketch.lang.check.numeric import check_arithmetic, check_compare, check_component, check_equal
from pdsketch.lang.check.tables import UNKNOWN
from pdsketch.lang.check.typenames import RESERVED
from pdsketch.lang.reader import Group, Node, Token
from pdsketch.lang.report import count, here
from pdsketch.lang.terms import Expr, Logic, Object, Quantified, Value, Variable
from pdsketch.lang.types import BOOL, FLOAT, INT, ObjectType, Type, ValueType

EFFECT_WORDS = frozenset(("assign", "increase", "decrease", "scale-up", "scale-down"))
SUGAR = ("assign", "cond-assign", "cond-select")


def check_expr(
    ctx: Context, node: Node, scope: Scope, want: Type | None, against: Expr | None = None
) -> Expr | None:
    """The checked expression of a node; ``want`` is the type its place asks for, if any.

    ``ctx`` is the definition that ``node`` stands in, and takes what is learned and reported; ``scope`` are
    the variables in reach. The result fits ``want``, and has the dimensions of ``against``, the expression
    that it is assigned to, compared with or passed as (for want of one, of ``want``).
    """
    if isinstance(node, Token):
        found = _atom(ctx, node, scope, want)
    elif node.bracket == "[":
        found = _vector(ctx, node)
    else:
        ctx.budget.tick()
        found = _list(ctx, node, scope, want)
    if found is None:
        return None
    ctx.report.typed(node, found.type)
    if want is None:
        return found
    fitted = fit(ctx, found, want, node)
    if fitted is None or isinstance(want, ObjectType) or (want.shape is None and against is None):
        return fitted
    return fitted if unify(ctx, against or Value(0, want), fitted, node) else None


def check_condition(ctx: Context, node: Node | None, scope: Scope) -> Expr | None:
    """A formula; nothing, or ``()``, is true."""
    if node is None or is_nothing(node):
        return Logic("and", ())
    return check_expr(ctx, node, scope, BOOL)


def _atom(ctx: Context, node: Token, scope: Scope, want: Type | None) -> Expr | None:
    text = node.text
    if text[0] == "?":
        return _variable(ctx, node, scope)
    # A name such as `7` is an object unless a value is wanted.
    if text in ctx.tables.objects and not isinstance(want, ValueType):
        return _object(ctx, node)
    if text in ("true", "false"):
        return Value(text == "true", BOOL, ctx.span(node))
    before = len(ctx.report.diagnostics)
    number = number_of(node, ctx.report)
    if number is not None:
        return Value(number, INT if isinstance(number, int) else FLOAT, ctx.span(node))
    if len(ctx.report.diagnostics) > before:
        return None
    if text in ctx.tables.objects:
        return _object(ctx, node)
    _unknown_word(ctx, node, scope, want)
    return None


def _object(ctx: Context, node: Token) -> Expr | None:
    type_ = ctx.tables.objects[node.text]
    ctx.report.refers(node.start, node.end, ("object", node.text))
    return None if type_ == UNKNOWN else Object(node.text, type_, ctx.span(node))


def _variable(ctx: Context, node: Token, scope: Scope) -> Expr | None:
    if node.text == "??":
        ctx.report.error(
            "misplaced-wildcard",
            "`??` stands for all objects of a type, in a predicate that a blank takes or an effect writes",
            node,
            help="for instance (??f (item-pose ??))",
        )
        return None
    variable = scope.get(node.text)
    if variable is None:
        ctx.report.error(
            "unbound-variable",
            f"`{node.text}` is not bound here",
            node,
            help=ctx.report.near(node.text, (name for name in scope if "$" not in name))
            or f"{'' if ctx.owner is None else 'make it a parameter, or '}quantify: (exists ({node.text}) …)",
        )
        return None
    assert variable.span is not None
    ctx.report.refers(node.start, node.end, ("variable", variable.span.start))
    return Variable(variable.name, variable.type, ctx.span(node))


def _unknown_word(ctx: Context, node: Token, scope: Scope, want: Type | None) -> None:
    text = node.text
    if text in ctx.tables.signatures:
        shown = f"({' '.join([text, *(p.name for p in ctx.tables.signatures[text].parameters)])})"
        ctx.report.error(
            "unknown-object", f"`{text}` is a predicate", node, help=f"write it in parentheses: {shown}"
        )
        return
    if text[0] == '"':
        ctx.report.error("type-mismatch", "a string stands only in settings", node)
        return
    if text[0] == ":":
        help_ = "close what stands before it with `)`"
        ctx.report.error("bad-expression", f"`{text}` stands inside a formula", node, help=help_)
        return
    if text in RESERVED:
        help_ = f"write it in parentheses: ({text} …)"
        ctx.report.error("bad-expression", f"`{text}` stands without parentheses", node, help=help_)
        return
    kind = "object" if ctx.owner is None else "constant"
    if want is not None and isinstance(want, ValueType):
        kind = "value"
    ctx.report.error(
        "unknown-object",
        f"there is no {kind} `{text}`",
        node,
        help=f"did you mean `?{text}`?"
        if f"?{text}" in scope
        else ctx.report.near(text, ctx.tables.objects, "objects" if ctx.owner is None else "constants"),
    )


def _vector(ctx: Context, node: Group) -> Expr | None:
    found = read_vector(node, ctx.report)
    if found is None:
        return None
    value, shape = found
    prim = prim_of(value)
    if prim not in ("bool", "int64", "float32"):
        ctx.report.error("bad-vector", "a vector holds numbers or Booleans, not both", node)
        return None
    return Value(value, ValueType(prim, shape), ctx.span(node))  # type: ignore[arg-type]


Rule = Callable[[Context, Group, Scope, "Type | None"], "Expr | None"]


def _list(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    if not node.items:
        ctx.report.error("empty-expression", "this list is empty", node, help="for true, write (and)")
        return None
    head = node.items[0]
    if isinstance(head, Group):
        ctx.report.error("bad-expression", "wanted a predicate or an operator first", head)
        return None
    text = head.text
    # First: PDDL knows no `equal` and no `eq`, so that a domain may declare them itself.
    if text in ctx.tables.signatures:
        return check_apply(ctx, application(node), scope)
    if text in RULES:
        return RULES[text](ctx, node, scope, want)
    if text.startswith("??"):
        return check_blank(ctx, node, scope, want)
    _not_an_expression(ctx, node, head)
    return None


def _not_an_expression(ctx: Context, node: Group, head: Token) -> None:
    """Report a head that gives no value."""
    text = head.text
    predicate, _, word = text.rpartition("::")
    is_sugar = predicate in ctx.tables.signatures
    if text in EFFECT_WORDS or (is_sugar and word in ("assign", "cond-assign")):
        ctx.report.error(
            "effect-in-condition",
            f"`{text}` changes the state; here a value is wanted",
            head,
            help="to compare, write (= …)",
        )
    elif text in ("when", "foreach") or (is_sugar and word == "cond-select"):
        ctx.report.error(
            "misplaced-set",
            f"`{text}` gives a set of values, which only a blank takes",
            head,
            help="in a formula, use `imply`, `forall` or `exists`",
        )
    else:
        unknown_predicate(ctx, head)


MEANT = {
    "total-cost": "declare it: (:functions (total-cost))",
    "if": "an effect under a condition is written (when CONDITION EFFECT)",
    "else": "write a second (when (not CONDITION) EFFECT)",
}
"""What names from elsewhere are meant to be."""


def unknown_predicate(ctx: Context, head: Token) -> None:
    """Report a head that names nothing."""
    text = head.text
    predicate, colons, word = text.rpartition("::")
    before, colon, after = text.rpartition(":")
    signatures = ctx.tables.signatures
    if colons and predicate in signatures:
        help_ = ctx.report.near(word, SUGAR)
        ctx.report.error(
            "unknown-sugar",
            f"there is no `::{word}`",
            head,
            help=help_ or "there are ::assign, ::cond-assign and ::cond-select",
        )
    elif not colons and colon and before in signatures and after in SUGAR:
        ctx.report.error("single-colon", f"`{text}` lacks a colon", head, help=f"write `{before}::{after}`")
    elif colons and word in SUGAR:
        ctx.report.error(
            "unknown-predicate",
            f"there is no predicate `{predicate}`",
            head,
            help=ctx.report.near(predicate, signatures),
        )
    elif text in ctx.tables.objects or text[0] == "?" or text[0] == ":":
        ctx.report.error(
            "bad-expression",
            f"wanted a predicate or an operator, found `{text}`",
            head,
            help=f"for a blank, write `?{text}`" if text[0] == "?" and text[1:2] != "?" else None,
        )
    else:
        ctx.report.error(
            "unknown-predicate",
            f"there is no predicate `{text}`",
            head,
            help=MEANT.get(text) or ctx.report.near(text, signatures, "predicates", RESERVED),
        )


def _junction(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    op = "implies" if node.head == "imply" else node.head
    parts = node.items[1:]
    wanted = {"not": 1, "implies": 2}.get(op)
    if wanted is not None and len(parts) != wanted:
        ctx.report.error(
            "arity-mismatch",
            f"`{node.head}` takes {count(wanted, 'formula')}, and {here(len(parts))}",
            node,
        )
        return None
    found = [check_expr(ctx, part, scope, BOOL) for part in parts]
    args = tuple(part for part in found if part is not None)
    return Logic(op, args, ctx.span(node)) if len(args) == len(found) else None  # type: ignore[arg-type]


def _quantifier(ctx: Context, node: Group, scope: Scope, want: Type | None) -> Expr | None:
    parts = ctx.quantified(node, scope)
    if parts is None:
        return None
    variables, inner, body = parts
    checked = check_expr(ctx, body, inner, BOOL)
    if checked is None:
        return None
    return Quantified(node.head, variables, checked, ctx.span(node))  # type: ignore[arg-type]


RULES: dict[str, Rule] = {
    **dict.fromkeys(("and", "or", "not", "implies", "imply"), _junction),
    **dict.fromkeys(("forall", "exists"), _quantifier),
    **dict.fromkeys(("=", "eq", "equal"), check_equal),
    **dict.fromkeys(("<", "<=", ">", ">="), check_compare),
    **dict.fromkeys(("+", "-", "*", "/"), check_arithmetic),
    "component": check_component,
}

"""Small changes of meaning that a text can suffer: comparisons, signs, constants, calls, arguments, branches.

Of Python by its tree, of C++ by its signs, where blanks around them tell an operator from a bracket.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
SIGNS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}


SYMMETRIC = ("min", "max", "minimum", "maximum", "logical_and", "logical_or", "isclose", "gcd")
"""Functions of two arguments that may change places: nobody could notice."""


UNNOTICED = ("strict", "device")
"""Arguments by name: of `zip`, an assertion; and where a tensor is, which without a GPU is one place."""


@dataclass(frozen=True)
class Change:
    """The text from ``start`` to ``end`` becomes ``new``."""

    kind: str
    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Definition:
    """A function or a method, what is defined within it included, and the changes that it can suffer."""

    name: str
    lines: int
    changes: tuple[Change, ...]


class _Python(ast.NodeVisitor):
    """Collects the changes of a function. Annotations, docstrings and assertions are left alone."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Change] = []
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = text.splitlines()

    def _place(self, line: int, column: int) -> int:
        before = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(before)

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first = self._place(node.lineno, node.col_offset)
        return first, self._place(node.end_lineno, node.end_col_offset)

    def _text(self, node: ast.expr | ast.keyword) -> str:
        start, end = self._span(node)
        return self.text[start:end]

    def _add(self, kind: str, node: ast.expr | ast.stmt, new: str) -> None:
        self.found.append(Change(kind, *self._span(node), new))

    def _between(self, kind: str, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        start, end = self._span(left)[1], self._span(right)[0]
        at = self.text.find(old, start, end)
        if at >= 0:
            self.found.append(Change(kind, at, at + len(old), new))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self.visit(default)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)

    def visit_Assert(self, node: ast.Assert) -> None: ...

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            self._between("comparison", left, right, *COMPARED[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = [side for side in (node.left, node.right) if isinstance(side, ast.Constant)]
        if type(node.op) in SIGNS and not any(isinstance(side.value, str) for side in texts):
            self._between("sign", node.left, node.right, *SIGNS[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._add("sign", node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in SIGNS:
            old, new = SIGNS[type(node.op)]
            self._between("sign", node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        joint = "and" if isinstance(node.op, ast.And) else "or"
        self._between("comparison", *node.values[:2], joint, "or" if joint == "and" else "and")
        self._add("branch", node, f"({self._text(node.values[0])})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool(value):
                self._add("constant", node, str(not value))
            case int(value):
                self._add("constant", node, str(value + 1))
            case float(value):
                self._add("constant", node, repr(2 * value + 1.0))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Slice):
            for bound in (node.slice.lower, node.slice.upper):
                if bound is not None:
                    self._add("off by one", bound, f"({self._text(bound)} + 1)")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._add("branch", node.test, "False")
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._add("branch", node.test, "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        for side in (node.body, node.orelse):
            self._add("branch", node, f"({self._text(side)})")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add("call", node, "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        plain = not any(isinstance(argument, ast.Starred | ast.GeneratorExp) for argument in node.args)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("cast", "isinstance", "error", "super"):
            return
        if node.args and plain and not node.keywords:
            self._add("call", node, f"({self._text(node.args[0])})")
        if name in ("len", "range"):
            self._add("off by one", node.args[-1] if name == "range" else node, self._one_less(node, name))
        if plain and len(node.args) > 1:
            (start, comma), (after, end) = map(self._span, node.args[:2])
            swapped = self.text[after:end] + self.text[comma:after] + self.text[start:comma]
            if len(node.args) > 2 or _last_name(node.func) not in SYMMETRIC:
                self.found.append(Change("swapped arguments", start, end, swapped))
            (_, start), (_, end) = map(self._span, node.args[-2:])
            self.found.append(Change("argument", start, end, ""))
        for keyword in node.keywords:
            if keyword.arg not in UNNOTICED:
                start, end = self._span(keyword)
                after = re.compile(r"\s*,\s*").match(self.text, end)
                self.found.append(Change("argument", start, after.end() if after else end, ""))
        for part in (node.func, *node.args, *(k for k in node.keywords if k.arg not in UNNOTICED)):
            self.visit(part)

    def _one_less(self, node: ast.Call, name: str) -> str:
        return f"({self._text(node.args[-1] if name == 'range' else node)} - 1)"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def of_python(text: str) -> Iterator[Definition]:
    """The functions and methods of a file of Python."""

    def inside(body: list[ast.stmt], prefix: str) -> Iterator[Definition]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from inside(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                visitor = _Python(text)
                visitor.visit(node)
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                kept = tuple(c for c in dict.fromkeys(visitor.found) if text[c.start : c.end] != c.new)
                yield Definition(f"{prefix}{node.name}", lines, kept)

    yield from inside(ast.parse(text).body, "")


SIGNS_OF_CPP = (
    *(("comparison", rf" {re.escape(a)} ", f" {b} ") for a, b in (("<", "<="), ("<=", "<"), (">", ">="))),
    *(("comparison", rf" {re.escape(a)} ", f" {b} ") for a, b in ((">=", ">"), ("==", "!="), ("!=", "=="))),
    *(("comparison", rf" {re.escape(a)} ", f" {b} ") for a, b in (("&&", "||"), ("||", "&&"))),
    *(("sign", rf" {re.escape(a)} ", f" {b} ") for a, b in (("+", "-"), ("-", "+"), ("+=", "-="))),
    ("sign", r"(?<=[ (])!(?=[a-z(])", ""),
    ("constant", r"\btrue\b", "false"),
    ("constant", r"\bfalse\b", "true"),
    ("constant", r"(?<![\w.\"'])0(?![\w.\"'])", "1"),
    ("constant", r"(?<![\w.\"'])1(?![\w.\"'])", "2"),
    ("off by one", r"\b[\w.>-]+\.size\(\)(?! *==)", None),
    ("branch", r"\bif \(", None),
    ("call", r"(?m)^ +[\w.>-]+\([^;{}]*\);$", None),
    ("swapped arguments", r"(?<=\w)\((\w+), (\w+)(?=[,)])", None),
    ("branch", r"\b(continue|break);", ";"),
)


def of_cpp(text: str) -> Iterator[Definition]:
    """The changes of a file of C++, as one definition; preprocessor and comments are left alone."""
    found = []
    for kind, pattern, new in SIGNS_OF_CPP:
        for match in re.finditer(pattern, text):
            line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            if line.lstrip().startswith("#") or "//" in line or line.lstrip().startswith("*"):
                continue
            if ".reserve(" in line + match[0]:  # room for what comes: it grows anyway
                continue
            found.append(Change(kind, *_cpp(text, match, kind, new)))
    yield Definition("", text.count("\n"), tuple(found))


def _cpp(text: str, match: re.Match[str], kind: str, new: str | None) -> tuple[int, int, str]:
    if new is not None:
        return match.start(), match.end(), new
    match kind:
        case "off by one":
            return match.start(), match.end(), f"({match[0]} - 1)"
        case "branch":
            return match.end() - 1, _closing(text, match.end() - 1), "(false)"
        case "swapped arguments":
            return match.start(), match.end(), f"({match[2]}, {match[1]}"
        case _:
            return match.start(), match.end(), ";"


def _closing(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place + 1
    return len(text)

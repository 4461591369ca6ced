"""S-expressions → syntax. Goes on after an error, and collects them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

from pdsketch.lang.diagnostics import Note, nearest
from pdsketch.lang.lists import is_name, is_settings, is_word, parse_settings, parse_typed, type_at
from pdsketch.lang.reader import PARTS, SECTIONS, Group, Node, Token
from pdsketch.lang.report import CheckReport, count
from pdsketch.lang.syntax import (
    ActionSyntax,
    DerivedSyntax,
    DomainSyntax,
    PredicateSyntax,
    ProblemSyntax,
    Setting,
    Typed,
    TypeSyntax,
)

# The declarations of predicates and functions, out of S-expressions.


def parse_predicate(node: Node, report: CheckReport, *, what: str) -> PredicateSyntax | None:
    """``(name [settings] ?x - type …)``; None if it is none, which is reported."""
    if not isinstance(node, Group) or node.bracket != "(" or not node.items:
        report.error("bad-predicate", f"wanted {what} such as (name ?x - type)", node)
        return None
    name = node.items[0]
    if not isinstance(name, Token) or not is_name(name):
        report.error("bad-name", f"wanted the name of {what}", name)
        return None
    before = len(report.diagnostics)
    rest = node.items[1:]
    settings: tuple[Setting, ...] = ()
    if rest and isinstance(rest[0], Group) and rest[0].bracket == "[":
        settings = parse_settings(rest[0].items, report)
        rest = rest[1:]
    parameters = tuple(parse_typed(rest, report, variables=True))
    return PredicateSyntax(node, name, settings, parameters, is_wrong=len(report.diagnostics) > before)


def parse_predicates(items: Sequence[Node], report: CheckReport) -> list[PredicateSyntax]:
    """What stands in ``:predicates``."""
    found: list[PredicateSyntax] = []
    at = 0
    while at < len(items):
        item = items[at]
        at += 1
        if isinstance(item, Token) and item.text == "-" and found:
            report.error(
                "bad-predicate",
                f"`{found[-1].name.text}` is a predicate, true or false, and a type of values follows it",
                item,
                help="what has other values is a function: (:functions (NAME ?x - type) - int64)",
            )
            type_, at = type_at(items, at, item, report)
            found[-1] = found[-1]._replace(is_function=True, returns=type_)  # no errors where it is used
            continue
        predicate = parse_predicate(item, report, what="a predicate")
        if predicate is not None:
            found.append(predicate)
    return found


def parse_functions(items: Sequence[Node], report: CheckReport) -> list[PredicateSyntax]:
    """``(f ?x) (g ?x) - number``: the type behind a dash holds for all functions before it."""
    found: list[PredicateSyntax] = []
    waiting: list[PredicateSyntax] = []
    at = 0

    def settle(type_: TypeSyntax | None) -> None:
        found.extend(function._replace(is_function=True, returns=type_) for function in waiting)
        waiting.clear()

    while at < len(items):
        item = items[at]
        if isinstance(item, Token) and item.text == "-":
            type_, at = type_at(items, at + 1, item, report)
            settle(type_)
            continue
        at += 1
        function = parse_predicate(item, report, what="a function")
        if function is not None:
            waiting.append(function)
    settle(None)
    return found


UNSUPPORTED_SECTIONS = {
    ":durative-action": "durative actions",
    ":process": "processes",
    ":event": "events",
    ":constraints": "constraints",
    ":modules": "modules",
    ":axiom": "axioms in the form of PDDL 1.2",
    ":safety": "safety constraints",
    ":method": "task networks",
    ":task": "task networks",
    ":htn": "task networks",
    ":observe": "sensing actions",
}


@final
class Definition:
    """The one ``(define …)`` of a file: its kind, its name and its sections."""

    __slots__ = ("kind", "name", "sections")

    def __init__(self, kind: str, name: Token, sections: list[Node]) -> None:
        self.kind = kind
        self.name = name
        self.sections = sections


def parse_definition(
    nodes: Sequence[Node], report: CheckReport, kind: str | None = None
) -> Definition | None:
    """The definition that a file holds; None (reported) if it holds none, or one of another kind."""
    if not nodes:
        report.error(
            "empty-file",
            f"this file holds no {kind or 'domain or problem'}",
            _Place(0, 0),
            help=f"begin with (define ({kind or 'domain'} NAME) …)",
        )
        return None
    for extra in nodes[1:]:
        report.error("trailing-text", "something stands behind the end of the definition", extra)
        break
    top = nodes[0]
    if not _is_list(top) or not isinstance(top, Group) or not is_word(top.items, 0, "define"):
        report.error(
            "not-a-definition",
            f"wanted (define ({kind or 'domain'} NAME) …)",
            top if isinstance(top, Token) else _Place(top.start, top.start + 1),
        )
        return None
    return _header(top, report, kind)


def _header(top: Group, report: CheckReport, kind: str | None) -> Definition | None:
    """Both ``(define (domain d) …)`` and the paper's ``(define domain (domain d) …)``."""
    at = 2 if is_word(top.items, 1, "domain") or is_word(top.items, 1, "problem") else 1
    header = top.items[at] if len(top.items) > at else top.items[0]
    words = header.items if isinstance(header, Group) and header.bracket == "(" else []
    found, name = words if len(words) == 2 else (header, header)
    if (
        isinstance(found, Token)
        and isinstance(name, Token)
        and is_name(name)
        and found is not name
        and found.text in SECTIONS
        and (at == 1 or is_word(top.items, 1, found.text))
    ):
        if kind is None or kind == found.text:
            return Definition(found.text, name, top.items[at + 1 :])
        report.error(
            "wrong-kind", f"wanted a {kind}, and this is a {found.text}", found, label=f"a {found.text}"
        )
        return None
    report.error("not-a-definition", f"wanted ({kind or 'domain'} NAME) behind `define`", header)
    return None


def parse_domain_syntax(definition: Definition, report: CheckReport) -> DomainSyntax:
    """The declarations of a domain."""
    requirements: list[Token] = []
    types: list[Typed] = []
    constants: list[Typed] = []
    predicates: list[PredicateSyntax] = []
    derived: list[DerivedSyntax] = []
    actions: list[ActionSyntax] = []
    for keyword, section in _sections(definition, report):
        items = section.items[1:]
        match keyword:
            case ":requirements":
                requirements += _atoms(items, report)
            case ":types":
                types += parse_typed(items, report)
            case ":constants":
                constants += parse_typed(items, report)
            case ":predicates":
                predicates += parse_predicates(items, report)
            case ":functions":
                predicates += parse_functions(items, report)
            case ":derived":
                derived += _derived(section, report)
            case _:
                actions += _action(section, report)
    return DomainSyntax(
        definition.name,
        tuple(requirements),
        tuple(types),
        tuple(constants),
        tuple(predicates),
        tuple(derived),
        tuple(actions),
    )


def parse_problem_syntax(definition: Definition, report: CheckReport) -> ProblemSyntax:
    """The declarations of a problem."""
    first: dict[str, Group] = {}
    requirements: list[Token] = []
    objects: list[Group] = []
    init: list[Group] = []
    for keyword, section in _sections(definition, report):
        match keyword:
            case ":requirements":
                requirements += _atoms(section.items[1:], report)
            case ":objects":
                objects.append(section)
            case ":init":
                init.append(section)
            case _ if keyword in first:
                report.error(
                    "duplicate-section",
                    f"`{keyword}` stands twice",
                    section.items[0],
                    notes=[Note(report.span(first[keyword].items[0]), "first here")],
                )
            case _:
                first[keyword] = section
    return ProblemSyntax(
        definition.name,
        _domain_of(first.get(":domain"), report),
        tuple(requirements),
        tuple(objects),
        tuple(init),
        _goal_of(first.get(":goal"), report),
        first.get(":metric"),
    )


def _domain_of(section: Group | None, report: CheckReport) -> Token | None:
    if section is None:
        return None
    if len(section.items) == 2 and isinstance(section.items[1], Token):
        return section.items[1]
    report.error("bad-section", "wanted (:domain NAME)", section)
    return Token("", section.start)


def _goal_of(section: Group | None, report: CheckReport) -> Node | None:
    if section is None:
        return None
    if len(section.items) != 2:
        found = "nothing" if len(section.items) == 1 else f"{len(section.items) - 1} formulas"
        report.error(
            "bad-section",
            f"a goal is one formula, and here are {found}" if found != "nothing" else "this goal is empty",
            section,
            help="join several with `and`: (:goal (and …))",
        )
        return Group("(", section.start) if len(section.items) == 1 else None
    return section.items[1]


def _sections(definition: Definition, report: CheckReport) -> Iterable[tuple[str, Group]]:
    """The sections with a known keyword; the others are reported."""
    known = SECTIONS[definition.kind]
    for section in definition.sections:
        if not isinstance(section, Group) or section.bracket != "(" or not section.items:
            report.error("bad-section", f"wanted a section such as ({known[1]} …)", section, help=None)
            continue
        head = section.items[0]
        if not isinstance(head, Token):
            report.error("bad-section", f"wanted a keyword such as `{known[1]}`", head)
        elif head.text in known:
            yield head.text, section
        elif head.text == ":length" and definition.kind == "problem":
            report.warning("ignored-section", "`:length` is ignored: plans may have any length", head)
        elif head.text in UNSUPPORTED_SECTIONS:
            report.error(
                "unsupported-section",
                f"{UNSUPPORTED_SECTIONS[head.text]} (`{head.text}`) are not supported",
                head,
            )
        else:
            meant = _unknown_section(head, definition.kind, report)
            if meant is not None:
                yield meant, section


def _unknown_section(head: Token, kind: str, report: CheckReport) -> str | None:
    """Report a section that there is not; the one that was probably meant, so that checking goes on."""
    other = "problem" if kind == "domain" else "domain"
    meant = nearest(head.text, SECTIONS[kind])
    if head.text in SECTIONS[other]:
        help_ = f"`{head.text}` belongs in a {other}"
        meant = None
    else:
        help_ = f"did you mean `{meant}`?" if meant else f"a {kind} holds {', '.join(SECTIONS[kind])}"
    report.error("unknown-section", f"a {kind} has no section `{head.text}`", head, help=help_)
    return meant


def _derived(section: Group, report: CheckReport) -> list[DerivedSyntax]:
    items = section.items
    if len(items) != 3:
        report.error(
            "bad-section",
            "a derived predicate is (:derived (NAME PARAMETERS) BODY)",
            items[0],
            label=f"{count(len(items) - 1, 'part')} behind this, wanted 2",
        )
        return []
    head = parse_predicate(items[1], report, what="a derived predicate")
    return [] if head is None else [DerivedSyntax(head, items[2], section)]


def _action(section: Group, report: CheckReport) -> list[ActionSyntax]:
    items = section.items
    name = items[1] if len(items) > 1 else None
    if not isinstance(name, Token) or not is_name(name):
        report.error("bad-name", "wanted the name of an action", name or items[0])
        return []
    at = 3 if len(items) > 2 and is_settings(items[2]) else 2
    parts: dict[str, tuple[Token, Node]] = {}
    while at < len(items):
        key = items[at]
        at += 1
        if not isinstance(key, Token) or key.text not in PARTS:
            _not_a_keyword(key, name, report)
            if isinstance(key, Token) and key.text.startswith(":"):
                at += 1
            continue
        if at >= len(items) or (isinstance(value := items[at], Token) and value.text in PARTS):
            report.error("bad-section", f"nothing stands behind `{key.text}`", key)
            continue
        at += 1
        text = ":parameters" if key.text == ":parameter" else key.text
        if text in parts:
            report.error(
                "duplicate-section",
                f"`{text}` stands twice in action `{name.text}`",
                key,
                notes=[Note(report.span(parts[text][0]), "first here")],
            )
        else:
            parts[text] = (key, value)
    return [
        ActionSyntax(
            name,
            _parameters(parts.get(":parameters"), report),
            parts[":precondition"][1] if ":precondition" in parts else None,
            parts[":effect"][1] if ":effect" in parts else None,
            section,
        )
    ]


def _not_a_keyword(key: Node, name: Token, report: CheckReport) -> None:
    if isinstance(key, Token) and key.text.startswith(":"):
        help_ = report.near(key.text, PARTS)
        report.error("unknown-section", f"an action has no part `{key.text}`", key, help=help_)
    else:
        report.error(
            "bad-section",
            f"wanted `:parameters`, `:precondition` or `:effect` in action `{name.text}`",
            key,
            help="join several formulas with `and`",
        )


def _parameters(part: tuple[Token, Node] | None, report: CheckReport) -> tuple[Typed, ...]:
    if part is None:
        return ()
    key, value = part
    if not isinstance(value, Group) or value.bracket != "(":
        report.error("bad-section", f"wanted a list in parentheses behind `{key.text}`", value)
        return ()
    return tuple(parse_typed(value.items, report, variables=True))


def _atoms(items: Sequence[Node], report: CheckReport) -> list[Token]:
    found = []
    for item in items:
        if isinstance(item, Token):
            found.append(item)
        else:
            report.error("bad-section", "wanted a keyword such as `:typing`", item)
    return found


def _is_list(node: Node) -> bool:
    return isinstance(node, Group) and node.bracket == "("


@final
class _Place:
    """A place without a node."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

"""Texts that do not check: brackets that do not match, and names told by words and scopes alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, final

from pdsketch.editor.declarations import Collector
from pdsketch.lang import (
    MAX_DEPTH,
    MAX_TOKEN,
    PARTS,
    SECTION_WORDS,
    SECTIONS,
    TOKEN,
    CheckReport,
    Definition,
    DomainSyntax,
    Group,
    Key,
    Node,
    ProblemSyntax,
    Source,
    Token,
    TypeName,
    TypeSyntax,
    lowered,
    parse_typed,
)

# The nodes of a text whose brackets do not match, as its author probably meant them.
#
# Sections and the parts of actions begin with words that stand nowhere else. So a list that is left
# open ends where the next section begins, and one bracket too many does not end the definition.

_HEAD = re.compile(r"""\s*(:[^\s()\[\],;"]+)""")
_OPENS = {")": "(", "]": "["}


def recover(source: Source) -> list[Node]:
    """The nodes of a text, whatever it holds. Never fails, and nests no deeper than a reader allows."""
    top = Group("(", 0)
    stack = [top]
    skipped = 0
    text = lowered(source.text)
    for match in TOKEN.finditer(text):
        token, at = match[0], match.start()
        first = token[0]
        if first == ";" or (len(token) > MAX_TOKEN and any(len(word) > MAX_TOKEN for word in token.split())):
            continue
        if first in "([":
            head = _HEAD.match(text, at + 1)
            if first == "(" and head is not None and head[1] in SECTION_WORDS:
                _begin_section(stack, at)
                skipped = 0
            if len(stack) >= MAX_DEPTH:
                skipped += len(token) == 1
                continue
            group = Group(first, at, token if len(token) > 1 else None)
            stack[-1].items.append(group)
            if len(token) == 1:
                stack.append(group)
        elif first in ")]":
            if skipped:
                skipped -= 1
            elif any(group.bracket == _OPENS[first] for group in stack[1:]):
                while stack[-1].bracket != _OPENS[first]:
                    stack.pop().end = at
                stack.pop().end = match.end()
        else:
            if token in PARTS:
                _begin_part(stack, at)
            stack[-1].items.append(Token(token, at))
    for group in stack[1:]:
        group.end = len(text)
    return top.items


def _begin_section(stack: list[Group], at: int) -> None:
    """Close all but the definition; open it again if it was closed."""
    while len(stack) > 2:
        stack.pop().end = at
    if len(stack) == 1:
        opened = [node for node in stack[0].items if isinstance(node, Group) and node.head == "define"]
        stack += opened[-1:]


def _begin_part(stack: list[Group], at: int) -> None:
    """Close what stands open inside the action that has this part."""
    actions = [depth for depth, group in enumerate(stack) if depth and group.head == ":action"]
    while actions and len(stack) > actions[-1] + 1:
        stack.pop().end = at


def guess_definition(nodes: Sequence[Node]) -> Definition:
    """The sections of a text without a whole ``(define (domain NAME) …)``, as those of its probable kind."""
    groups = [node for node in nodes if isinstance(node, Group)]
    inside = [item for node in groups if node.head == "define" for item in node.items]
    around = [node for node in [*groups, *inside] if isinstance(node, Group)]
    sections: list[Node] = [node for node in around if node.head in SECTION_WORDS]
    heads = {node.head for node in around}
    of_problem = frozenset(SECTIONS["problem"]) - frozenset(SECTIONS["domain"])
    kind = "problem" if "problem" in heads or heads & of_problem else "domain"
    return Definition(kind, Token("", 0), sections)


QUANTIFIERS = frozenset(("forall", "exists", "foreach"))


@final
class Region(NamedTuple):
    """A part of a text and the variables in reach there, each with the offset of its declaration."""

    start: int
    end: int
    owner: str
    scope: Mapping[str, int]


@final
class Lexical:
    """The names of one source; ``knows`` says whether a name is declared, here or in the domain."""

    def __init__(self, collector: Collector, knows: Callable[[Key], bool]) -> None:
        self.collector = collector
        self.references = collector.occurrences.references
        self.types = collector.occurrences.types
        self.knows = knows
        self.regions: list[Region] = []
        self._silent = CheckReport(collector.source)
        self._owner = ""

    def domain(self, syntax: DomainSyntax) -> None:
        """The bodies and the actions of a domain."""
        for derived in syntax.derived:
            head = derived.head
            scope = {p.name.text: p.name.start for p in reversed(head.parameters)}
            self._enter(derived.form, f"derived::{head.name.text}", scope)
            self._formula(derived.body, scope)
        for action in syntax.actions:
            scope = {p.name.text: p.name.start for p in reversed(action.parameters)}
            self._enter(action.form, f"action::{action.name.text}", scope)
            for item in action.form.items[2:]:
                if isinstance(item, Group):
                    self._formula(item, scope)

    def problem(self, syntax: ProblemSyntax) -> None:
        """The initial state and the goal of a problem."""
        for section in syntax.init:
            for node in section.items[1:]:
                self._formula(node, {})
        if syntax.goal is not None:
            self._formula(syntax.goal, {})
        if syntax.metric is not None:
            self._formula(syntax.metric, {})

    def _enter(self, form: Group, owner: str, scope: Mapping[str, int]) -> None:
        self._owner = owner
        self.regions.append(Region(form.start, form.end, owner, scope))

    def _formula(self, node: Node, scope: Mapping[str, int]) -> None:
        if isinstance(node, Token):
            self._word(node, scope)
            return
        items: Sequence[Node] = node.items
        if node.bracket == "[" or not items:
            return
        head = items[0]
        if isinstance(head, Token):
            if head.text in QUANTIFIERS and len(items) > 1:
                listed = items[1].items if isinstance(items[1], Group) else items[1:-1]
                items = items[2:] if isinstance(items[1], Group) else items[-1:]
                scope = {**scope, **self._bind(listed)}
                self.regions.append(Region(node.start, node.end, self._owner, scope))
            else:
                items = items[1:] if self._head(head) else items
        for item in items:
            self._formula(item, scope)

    def _head(self, head: Token) -> bool:
        """Resolve the head of a list as a predicate or a blank; whether it is one."""
        text = head.text
        if text.startswith("??"):
            if len(text) > 2 and self._owner:
                self._refer(head.start, head.end, ("blank", f"{self._owner}::{text[2:]}"))
            return True
        predicate = text.partition("::")[0]
        key: Key = ("predicate", predicate)
        if not self.knows(key):
            return False
        self._refer(head.start, head.start + len(predicate), key)
        return True

    def _word(self, atom: Token, scope: Mapping[str, int]) -> None:
        text = atom.text
        if text[0] == "?":
            if text in scope:
                self._refer(atom.start, atom.end, ("variable", scope[text]))
        elif (atom.start, atom.end) not in self.types and self.knows(("object", text)):
            self._refer(atom.start, atom.end, ("object", text))

    def _bind(self, items: Sequence[Node]) -> dict[str, int]:
        entries = parse_typed(items, self._silent, variables=True)
        for entry in entries:
            if entry.type is not None:
                self._type(entry.type)
        return self.collector.variables(entries, "variable", self._owner)

    def _type(self, syntax: TypeSyntax) -> None:
        for member in (syntax,) if isinstance(syntax, TypeName) else syntax.members:
            self._refer(member.name.start, member.name.end, ("type", member.name.text))

    def _refer(self, start: int, end: int, key: Key) -> None:
        self.references.setdefault(start, (end, key))

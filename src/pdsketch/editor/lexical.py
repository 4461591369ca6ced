"""Names by their words and scopes alone: bound variables, and what the passes did not reach.

A pass gives up on a form in which something is wrong, and `:init` is checked word by word. What
stands there is looked up here, so that half-typed forms lead to their declarations too. Where a
pass has resolved a name, that stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, final

from pdsketch.editor.declarations import Collector
from pdsketch.lang import (
    CheckReport,
    DomainSyntax,
    Group,
    Key,
    Node,
    ProblemSyntax,
    Token,
    TypeName,
    TypeSyntax,
    parse_typed,
)

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

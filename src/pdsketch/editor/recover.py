"""The nodes of a text whose brackets do not match, as its author probably meant them.

Sections and the parts of actions begin with words that stand nowhere else. So a list that is left
open ends where the next section begins, and one bracket too many does not end the definition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdsketch.lang import (
    MAX_DEPTH,
    MAX_TOKEN,
    PARTS,
    SECTIONS,
    TOKEN,
    Definition,
    Group,
    Node,
    Source,
    Token,
    lowered,
)

_HEADS = frozenset(SECTIONS["domain"]) | frozenset(SECTIONS["problem"])
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
            if first == "(" and head is not None and head[1] in _HEADS:
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
        opened = [node for node in stack[0].items if isinstance(node, Group) and _is_definition(node)]
        stack += opened[-1:]


def _begin_part(stack: list[Group], at: int) -> None:
    """Close what stands open inside the action that has this part."""
    actions = [depth for depth, group in enumerate(stack) if depth and head_of(group) == ":action"]
    while actions and len(stack) > actions[-1] + 1:
        stack.pop().end = at


def _is_definition(group: Group) -> bool:
    return head_of(group) == "define"


def head_of(group: Group) -> str:
    """The word that a list begins with; nothing, if it begins with none."""
    first = group.items[0] if group.items else None
    return first.text if isinstance(first, Token) else ""


def guess_definition(nodes: Sequence[Node]) -> Definition:
    """The sections of a text without a whole ``(define (domain NAME) …)``, as those of its probable kind."""
    groups = [node for node in nodes if isinstance(node, Group)]
    inside = [item for node in groups if head_of(node) == "define" for item in node.items]
    around = [node for node in [*groups, *inside] if isinstance(node, Group)]
    sections: list[Node] = [node for node in around if head_of(node) in _HEADS]
    heads = {head_of(node) for node in around}
    of_problem = frozenset(SECTIONS["problem"]) - frozenset(SECTIONS["domain"])
    kind = "problem" if "problem" in heads or heads & of_problem else "domain"
    return Definition(kind, Token("", 0), sections)

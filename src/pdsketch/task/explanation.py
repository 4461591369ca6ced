"""Why a goal is out of reach even when nothing ever stops holding, in the author's words.

From each part of the goal that can never hold, the first conditions that stand
in the way are followed back through the actions that would help, a few levels
deep. Where each part can hold, some part may be the negation of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import final

from pdsketch.budget import current
from pdsketch.lang import (
    Action,
    Apply,
    Arithmetic,
    Compare,
    Diagnostic,
    Equal,
    Expr,
    Logic,
    Note,
    Object,
    ObjectType,
    Quantified,
    Span,
    Update,
    Value,
    Variable,
    show_atom,
)
from pdsketch.task.grounding import Grounding
from pdsketch.task.possible import Bindings, Possibilities

DEPTH = 4
"""How many actions back an explanation goes."""

BREADTH = 3
"""How many actions, or conditions, are named at each place."""

MOST_TRIES = 1000
"""How many combinations of objects are tried to find the nearest miss."""

_UNBOUND = re.compile(r"\?[^\s()]+")

MOST_PARTS = 5
"""How many parts of the goal are explained."""


def explain(grounding: Grounding) -> tuple[str, ...]:
    """The explanation in lines of text, each with its place; empty if the relaxed goal is within reach."""
    lines = []
    for diagnostic in explain_unreachable(grounding):
        lines.append(_placed(diagnostic.message, diagnostic.span))
        lines += [f"  {_placed(note.label, note.span)}" for note in diagnostic.notes]
        lines += [f"  {diagnostic.help}"] if diagnostic.help else []
    return tuple(lines)


def explain_unreachable(grounding: Grounding) -> list[Diagnostic]:
    """A diagnostic for each part of the goal that can never hold; its notes follow the reasons back."""
    goal = grounding.problem.goal
    explainer = _Explainer(grounding)
    found = []
    for part, bindings in explainer.parts(goal, {}):
        current().check()
        if not explainer.possibilities.can(part, bindings):
            found.append((part, bindings))
    diagnostics = [explainer.diagnostic(part, bindings) for part, bindings in found[:MOST_PARTS]]
    if not found:
        return explainer.contradictions()
    if len(found) > MOST_PARTS:
        more = len(found) - MOST_PARTS
        diagnostics.append(
            Diagnostic("unreachable-goal", f"{more} more parts of the goal can never hold", goal.span)
        )
    return diagnostics


@final
class _Explainer:
    def __init__(self, grounding: Grounding) -> None:
        self._g = grounding
        self._domain = grounding.problem.domain
        self.possibilities = Possibilities(grounding)
        self._seen: set[str] = set()
        self._notes: list[Note] = []
        self._loose: list[str] = []

    def diagnostic(self, part: Expr, bindings: Bindings) -> Diagnostic:
        """Why a part of the goal can never hold."""
        words = self._words(part, bindings)
        self._notes, self._loose, self._seen = [], [], {_UNBOUND.sub("?", words)}
        self._why(part, bindings, DEPTH)
        return Diagnostic(
            "unreachable-goal",
            f"the goal needs `{words}`, which can never hold",
            part.span,
            label="out of reach",
            help="; ".join(self._loose) or None,
            notes=tuple(self._notes),
        )

    def contradictions(self) -> list[Diagnostic]:
        """The atoms that the goal asks for together with their negations."""
        wanted = self._g.draft.goal
        both = [literal >> 1 for literal in wanted if not literal & 1 and literal | 1 in wanted]
        named = [fact for fact in self._g.name(both) if fact[0] in self._domain.predicates]
        return [
            Diagnostic(
                "unreachable-goal",
                f"the goal needs `{show_atom(fact)}` and its negation, which never hold together",
                self._g.problem.goal.span,
                label="contradicts itself",
            )
            for fact in named[:MOST_PARTS]
        ]

    def parts(self, expr: Expr, bindings: Bindings) -> Iterator[tuple[Expr, Bindings]]:
        """The conjuncts of an expression, with the bindings of the quantifiers around them."""
        match expr:
            case Logic(op="and"):
                for arg in expr.args:
                    yield from self.parts(arg, bindings)
            case Quantified(op="forall"):
                for inner in self.possibilities.instances(expr, bindings):
                    yield from self.parts(expr.body, inner)
            case Quantified(op="exists"):
                inside = {name for name in bindings if name in {v.name for v in expr.variables}}
                yield from self.parts(expr.body, {k: v for k, v in bindings.items() if k not in inside})
            case _:
                yield expr, bindings

    def _why(self, expr: Expr, bindings: Bindings, depth: int, wanted: bool = True) -> None:
        """Add notes on why an expression can never be ``wanted``."""
        match expr:
            case Logic(op="not"):
                self._why(expr.args[0], bindings, depth, not wanted)
            case Logic(op="implies") if wanted:
                self._why(expr.args[1], bindings, depth)
            case Logic():
                blocked = [part for part in expr.args if not self.possibilities.can(part, bindings, wanted)]
                for part in blocked[:BREADTH]:
                    self._why(part, bindings, depth, wanted)
            case Apply():
                self._why_atom(expr, bindings, depth, wanted)
            case _:
                pass

    def _why_atom(self, atom: Apply, bindings: Bindings, depth: int, wanted: bool) -> None:
        """Add notes on the actions that would make an atom true (or false), and on what they lack."""
        predicate, words = self._domain.predicates[atom.predicate], self._words(atom, bindings)
        if predicate.body is not None:
            if wanted:
                inner = self._scope(predicate.parameters, atom, bindings)
                self._blocked(f"`{words}` is derived, and", predicate.body, inner, depth)
            else:
                self._note(predicate.span, f"`{words}` is derived, and always holds")
            return
        truth, start = ("true", "does not hold") if wanted else ("false", "holds")
        ops = ("add" if wanted else "delete", "assign")
        helpers = [
            (action, update)
            for action in self._domain.actions.values()
            for update in action.effects
            if update.op in ops and update.target.predicate == atom.predicate
        ]
        if not helpers:
            self._note(predicate.span, f"`{words}` {start} at the start, and no action makes it {truth}")
        able = [(a, u, scope) for a, u in helpers if (scope := self._match(u, atom, bindings)) is not None]
        if helpers and not able:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(a.name for a, _ in helpers))
            self._note(predicate.span, f"{names} cannot make `{words}` {truth} for these objects")
        for action, update, scope in able[:BREADTH]:
            condition = Logic("and", (action.precondition, update.condition))
            opening = f"`{action.name}` would make `{words}` {truth}, but"
            made = _UNBOUND.sub("?", words) if wanted else ""
            self._blocked(opening, condition, scope, depth, action, made)

    def _blocked(
        self,
        opening: str,
        condition: Expr,
        scope: Bindings,
        depth: int,
        action: Action | None = None,
        made: str = "",
    ) -> None:
        """Note the conditions that can never hold, and go on behind them; ``made`` is what they are for."""
        blocked = [
            (part, inner)
            for part, inner in self.parts(condition, scope)
            if not self.possibilities.can(part, inner)
        ]
        if not blocked:
            blocked = self._nearest(list(self.parts(condition, scope)))
        if not blocked:
            span = action.span if action is not None else condition.span
            self._note(span, f"{opening} {self._lack(action, scope)}")
        for part, inner in blocked[:BREADTH]:
            words = self._words(part, inner)
            kind = _UNBOUND.sub("?", words)  # the same under other names of variables explains nothing more
            lack = "which can never hold" if kind != made else "and none such holds at the start"
            self._note(part.span, f"{opening} it needs `{words}`, {lack}")
            if depth > 1 and kind not in self._seen:
                self._seen.add(kind)
                self._why(part, inner, depth - 1)

    def _lack(self, action: Action | None, scope: Bindings) -> str:
        """What an action lacks whose conditions can each hold."""
        for parameter in action.parameters if action is not None else ():
            if isinstance(parameter.type, ObjectType) and not self._g.words.members(parameter.type):
                return f"there is no {parameter.type} for its `{parameter.name}`"
        if action is not None and action.cost is not None and self._g.problem.metric == "cost":
            cost = self._words(action.cost, scope)
            return f"its conditions can never all hold at once where `{cost}`, its cost, has a value"
        return "its conditions can never all hold at once"

    def _nearest(self, parts: list[tuple[Expr, Bindings]]) -> list[tuple[Expr, Bindings]]:
        """The condition that fails last when the others are satisfied one after another.

        Conditions that never change go first: they say which objects are meant.
        """
        parts = sorted(parts, key=lambda part: self._rank(part[0]))
        blocked: list[tuple[Expr, Bindings]] = []
        best, tries = -1, MOST_TRIES
        stack: list[tuple[int, Bindings]] = [(0, {})]
        while stack and tries:
            tries -= 1
            depth, found = stack.pop()
            if depth == len(parts):
                return []
            part, own = parts[depth]
            scope = {**own, **found}
            if isinstance(part, Apply):
                stack += [
                    (depth + 1, more) for more in islice(self.possibilities.matches(part, scope), MOST_TRIES)
                ]
                fails = not stack or stack[-1][0] <= depth
            else:
                fails = not self.possibilities.can(part, scope)
                stack += [] if fails else [(depth + 1, scope)]
            if fails and depth > best:
                best, blocked = depth, [(part, scope)]
        return blocked

    def _rank(self, part: Expr) -> int:
        if not isinstance(part, Apply):
            return 2
        changed = any(
            u.target.predicate == part.predicate for a in self._domain.actions.values() for u in a.effects
        )
        return int(changed or self._domain.predicates[part.predicate].body is not None)

    def _match(self, update: Update, atom: Apply, bindings: Bindings) -> dict[str, int] | None:
        """What an effect's variables must stand for so that it makes the atom true; None if it cannot."""
        scope: dict[str, int] = {}
        for written, wanted in zip(update.target.args, atom.args, strict=True):
            object_ = self.possibilities.object(wanted, bindings)
            if object_ is None:
                if self._apart(written, wanted):
                    return None
                continue
            if isinstance(written, Variable):
                type_ = written.type
                fits = isinstance(type_, ObjectType) and object_ in self._g.words.members(type_)
                if not fits or scope.setdefault(written.name, object_) != object_:
                    return None
            elif self.possibilities.object(written, {}) != object_:
                return None
        return scope

    def _apart(self, written: Expr, wanted: Expr) -> bool:
        """Whether two variables have no object in common."""
        if not isinstance(written, Variable) or not isinstance(wanted, Variable):
            return False
        if not isinstance(written.type, ObjectType) or not isinstance(wanted.type, ObjectType):
            return False
        members = self._g.words.members
        return set(members(written.type)).isdisjoint(members(wanted.type))

    def _scope(self, parameters: Sequence[Variable], atom: Apply, bindings: Bindings) -> dict[str, int]:
        objects = [self.possibilities.object(a, bindings) for a in atom.args]
        return {p.name: o for p, o in zip(parameters, objects, strict=True) if o is not None}

    def _note(self, span: Span | None, text: str) -> None:
        if span is None:
            self._loose.append(text)
        elif all(note.label != text for note in self._notes):
            self._notes.append(Note(span, text))

    def _words(self, expr: Expr, bindings: Bindings) -> str:
        """The expression as the author would write it, with the objects that are known."""

        def joined(*parts: Expr) -> str:
            return " ".join(self._words(part, bindings) for part in parts)

        match expr:
            case Variable():
                known = bindings.get(expr.name)
                return expr.name if known is None else self._g.words.names[known]
            case Object():
                return expr.name
            case Value():
                return str(expr.value).lower()
            case Apply():
                return f"({' '.join([expr.predicate, *(self._words(a, bindings) for a in expr.args)])})"
            case Logic() | Arithmetic():
                op = "imply" if expr.op == "implies" else expr.op
                return f"({op} {joined(*expr.args)})"
            case Quantified():
                own = {v.name for v in expr.variables}
                outer = {name: o for name, o in bindings.items() if name not in own}
                variables = " ".join(f"{v.name} - {v.type}" for v in expr.variables)
                return f"({expr.op} ({variables}) {self._words(expr.body, outer)})"
            case Equal():
                return f"(= {joined(expr.left, expr.right)})"
            case Compare():
                return f"({expr.op} {joined(expr.left, expr.right)})"
            case _:
                return "…"


def _placed(text: str, span: Span | None) -> str:
    if span is None:
        return text
    return f"{span.where}: {text}"

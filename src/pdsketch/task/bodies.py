"""What the joins match for each rule; a wide conjunction is matched in parts.

Each condition of a rule can be the one whose fact arrives last, so that a body of
n conditions takes n joins over n conditions each. Other planners' ground actions have
hundreds. Of a body with more than `WIDEST`, the conditions over the same variables are
therefore derived in parts of `PART` each: one auxiliary relation over these variables
for a part, and for parts of parts, which makes the joins linear in n. What was matched in
parts is looked up where the facts of an instance are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from pdsketch.lang import dataclass
from pdsketch.task.formula import Atom, variables_of
from pdsketch.task.rules import Rule

WIDEST = 12
"""A body with more conditions that may change is matched in parts."""

PART = 6
"""How many conditions, or parts, are a part."""


@final
@dataclass(frozen=True, slots=True)
class Body:
    """The positive atoms of a rule.

    The facts that ``noted`` atoms match stand in the rows of instances. ``parts`` are matched, too, but not
    noted: auxiliary atoms, which stand for the ``covered`` ones.
    """

    noted: tuple[Atom, ...]
    parts: tuple[Atom, ...] = ()
    covered: tuple[Atom, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Bodies:
    """Rules, those of the parts added, with their bodies, and the variables of each part's relation."""

    rules: list[Rule]
    bodies: list[Body]
    relations: dict[str, tuple[str, ...]]


def bodies_of(rules: Sequence[Rule], static: Mapping[str, bool]) -> Bodies:
    """The body of each rule, and the rules of parts behind them; ``static`` relations never change."""
    found = Bodies(list(rules), [], {})
    more: list[tuple[Rule, Body]] = []
    for rule in rules:
        atoms = [item for item in rule.items if isinstance(item, Atom) and item.positive]
        fluent = [atom for atom in atoms if not static[atom.predicate]]
        if len(fluent) <= WIDEST:
            found.bodies.append(Body(tuple(atoms)))
            continue
        groups: dict[tuple[str, ...], list[Atom]] = {}
        # The first condition of an effect is the mark of its action, which its instances are told apart by.
        for atom in fluent[1:] if rule.kind == "effect" else fluent:
            groups.setdefault(tuple(sorted(variables_of(atom))), []).append(atom)
        covered: list[Atom] = []
        parts: list[Atom] = []
        for variables, group in groups.items():
            if len(group) > 1:
                covered += group
                parts += _tree(rule, variables, group, found, more)
        out = set(map(id, covered))
        noted = tuple(atom for atom in atoms if id(atom) not in out)
        found.bodies.append(Body(noted, tuple(parts), tuple(covered)))
    for rule, body in more:
        found.rules.append(rule)
        found.bodies.append(body)
    return found


def _tree(
    rule: Rule, variables: tuple[str, ...], atoms: list[Atom], found: Bodies, more: list[tuple[Rule, Body]]
) -> list[Atom]:
    """Auxiliary atoms, one or a few, that hold together where all the atoms do."""
    while len(atoms) > 1:
        above: list[Atom] = []
        for first in range(0, len(atoms), PART):
            some = tuple(atoms[first : first + PART])
            name = f"part#{len(found.relations)}"
            found.relations[name] = variables
            head = Atom(name, variables)
            part = Rule("part", rule.name, variables, len(variables), some, (head,))
            more.append((part, Body((), some)))
            above.append(head)
        atoms = above
    return atoms

"""Rules become a program for the engine: a join for each condition whose fact may arrive last, and drafts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import final

from pdsketch.budget import Budget
from pdsketch.core import Program
from pdsketch.lang import Problem, components, dataclass
from pdsketch.task.bodies import Bodies
from pdsketch.task.formula import Atom, Every, Formula, Same, parts_of
from pdsketch.task.normal import Vocabulary
from pdsketch.task.numeric import CONSTANT, compile_number
from pdsketch.task.program import Compiler, JoinRelation
from pdsketch.task.residue import Residues
from pdsketch.task.rules import Rule, mark
from pdsketch.task.variant import Joined, Variant

_RELATION_WORDS = 8
_KINDS = ("action", "effect", "axiom")
"""Kinds of rules that are drafted, by number."""


@final
@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, and the names of what its facts are about: relations, then disjunctions."""

    program: Program
    names: tuple[str, ...]


def compile_rules(
    problem: Problem,
    words: Vocabulary,
    relations: Mapping[str, JoinRelation],
    bodies: Bodies,
    goal: Formula,
    budget: Budget,
) -> Compiled:
    """The program of the rules of a ``problem`` and of its ``goal``.

    ``words`` gives objects and types their numbers, ``relations`` are the predicates by name, with their
    estimates. The joins of the rules in ``bodies`` are ordered within what ``budget`` allows.
    """
    rules = bodies.rules
    noted = [_fluent(relations, body.noted) for body in bodies.bodies]
    compiler = Compiler(
        words,
        relations,
        {},
        n_args=max((r.arity for r in relations.values()), default=0),
        n_variables=max([_bound_in([goal]), *(len(r.variables) + _bound_in(r.items) for r in rules)]),
        n_matched=max((n + len(body.parts) for n, body in zip(noted, bodies.bodies, strict=True)), default=0),
    )
    # A relation's address must be known before the rules that mention it: its words are filled in at the end.
    compiler.addresses.update({name: compiler.listed([0] * _RELATION_WORDS) for name in relations})
    untriggered = compiler.listed([0] * _RELATION_WORDS)
    variants: dict[int, list[int]] = {}
    heads = []
    for number, (rule, body) in enumerate(zip(rules, bodies.bodies, strict=True)):
        heads.append(compiler.listed(_rule_words(number, rule, noted[number], compiler.addresses)))
        joined = Joined(compiler, _slots(rule), [*body.noted, *body.parts], rule.items)
        for trigger in joined.triggers:
            budget.tick()
            atom = None if trigger is None else joined.atoms[trigger]
            relation = untriggered if atom is None else compiler.addresses[atom.predicate]
            first, pattern, slot = Variant(compiler, joined, trigger).compile()
            variants.setdefault(relation, []).extend([heads[number], first, pattern, relation, slot])
    residues = Residues(compiler, budget)
    drafts = _drafts(problem, bodies, heads, residues)
    goal_at = residues.compile(goal, {})
    layers = _layers(rules, residues.parents)
    for name, address in residues.addresses.items():
        compiler.code[address] = layers[name]
    for number, (name, address) in enumerate([*compiler.addresses.items(), ("", untriggered)]):
        budget.tick()
        own = variants.get(address, [])
        first = compiler.listed(own)
        arity, indexes = 0, [0]
        if name:
            arity = relations[name].arity
            compiler.index(name, tuple(range(arity)))
            indexes = list(compiler.indexes[name].values())
        listed = compiler.listed(indexes)
        layer = layers.get(name, -1)
        words_of = [arity, first, first + len(own), len(indexes), indexes[0], listed, layer, number]
        compiler.code[address : address + _RELATION_WORDS] = words_of
    program = Program(
        code=array("i", compiler.code),
        constants=array("d", compiler.constants),
        drafts=array("i", drafts),
        goal=goal_at,
        named=max((rule.n_named for rule in rules if rule.kind == "action"), default=0),
        relations=compiler.addresses,
        untriggered=untriggered,
        widths=tuple((len(r.variables), n, len(r.heads)) for r, n in zip(rules, noted, strict=True)),
        n_args=compiler.n_args,
        n_indexes=max((len(own) for own in compiler.indexes.values()), default=1),
        n_variables=compiler.n_variables,
        n_matched=compiler.n_matched,
        n_pointers=compiler.n_pointers,
    )
    return Compiled(program, (*relations, *residues.names))


def _fluent(relations: Mapping[str, JoinRelation], atoms: Sequence[Atom]) -> int:
    return sum(not relations[a.predicate].static for a in atoms)


def _bound_in(formulas: Sequence[Formula]) -> int:
    """How many variables are bound within some formulas."""
    parts = (part for formula in formulas for part in parts_of(formula))
    return sum(len(part.variables) for part in parts if isinstance(part, Every))


def _slots(rule: Rule) -> dict[str, int]:
    return {v: i for i, v in enumerate(rule.variables)}


def _rule_words(number: int, rule: Rule, n_fluent: int, addresses: Mapping[str, int]) -> list[int]:
    slots = _slots(rule)
    words = [number, len(rule.variables), n_fluent, len(rule.heads)]
    for head in rule.heads:
        words.append(addresses[head.predicate])
        words += [slots[t] if isinstance(t, str) else -1 - t for t in head.args]
    return words


def _drafts(problem: Problem, bodies: Bodies, heads: Sequence[int], residues: Residues) -> list[int]:
    """The addresses of the rules as they are drafted; ``heads`` are those of the rules."""
    c, found = residues.compiler, []
    shared = Counter(rule.name for rule in bodies.rules if rule.kind == "action")
    names = {rule.name: number for number, rule in enumerate(bodies.rules)}
    for rule, body, head in zip(bodies.rules, bodies.bodies, heads, strict=True):
        if rule.kind == "part":
            continue
        slots = _slots(rule)
        left = [*(item for item in rule.items if _is_left(c, item)), *body.covered]
        conditions = [residues.compile(item, slots) for item in left]
        deletes = [
            c.listed(
                [c.addresses[a.predicate], *(slots[t] if isinstance(t, str) else -1 - t for t in a.args)]
            )
            for a in rule.deletes
        ]
        marked = rule.kind == "action" and bool(rule.heads) and rule.heads[-1].predicate == mark(rule.name)
        split = rule.kind == "action" and (shared[rule.name] > 1 or len(rule.variables) > rule.n_named)
        cost = _cost(c, problem, rule) if rule.kind == "action" else 0
        words = [_KINDS.index(rule.kind), head, int(marked), int(split), rule.n_named, names[rule.name], cost]
        found.append(c.listed([*words, len(conditions), *conditions, len(deletes), *deletes]))
    return found


def _is_left(c: Compiler, item: object) -> bool:
    """Whether the joins did not see to a condition already."""
    if isinstance(item, Atom):
        return not item.positive and not c.relations[item.predicate].static
    return not isinstance(item, Same)


def _cost(c: Compiler, problem: Problem, rule: Rule) -> int:
    """The address of what an action costs."""
    action = problem.domain.actions[rule.name]
    if problem.metric == "unit" or action.cost is None:
        return c.listed([CONSTANT, c.constant(1.0 if problem.metric == "unit" else 0.0)])
    scope = {p.name: v for p, v in zip(action.parameters, rule.variables, strict=False)}
    return compile_number(c, action.cost, scope, _slots(rule))


def _layers(rules: Sequence[Rule], parents: Mapping[str, Formula]) -> dict[str, int]:
    """A layer for each derived relation: above those that it reads, but for those that read it in turn.

    ``parents`` are the disjunctions that became relations, by name.
    """
    bodies: dict[str, list[Formula]] = {name: [formula] for name, formula in parents.items()}
    for rule in rules:
        if rule.kind == "axiom":
            bodies.setdefault(rule.name, []).extend(rule.items)
    names: dict[Formula, list[str]] = {}
    for name, formula in parents.items():
        names.setdefault(formula, []).append(name)
    reads: dict[str, set[str]] = {name: set() for name in bodies}
    for name, formulas in bodies.items():
        for part in (part for formula in formulas for part in parts_of(formula)):
            found = [part.predicate] if isinstance(part, Atom) else names.get(part, ())
            reads[name].update(found)
    derived = {name: sorted(found & bodies.keys()) for name, found in reads.items()}
    return {name: layer for layer, own in enumerate(components(derived)) for name in own}

"""Rules become a program for the joins: one join for each condition whose fact may arrive last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pdsketch.budget import Budget
from pdsketch.core import Program
from pdsketch.task.bodies import Body
from pdsketch.task.normal import Vocabulary
from pdsketch.task.program import Compiler, JoinRelation
from pdsketch.task.rules import Rule
from pdsketch.task.variant import Joined, Variant


def compile_rules(
    words: Vocabulary,
    relations: Mapping[str, JoinRelation],
    rules: Sequence[Rule],
    bodies: Sequence[Body],
    budget: Budget,
) -> Program:
    """The program of the joins for all rules.

    ``words`` gives objects and types their numbers, ``relations`` are the predicates by name, with their
    estimates. Each of the ``rules`` comes with one of the ``bodies``, whose joins are ordered within what
    ``budget`` allows.
    """

    def fluent(body: Body) -> int:
        return sum(not relations[a.predicate].static for a in body.noted)

    compiler = Compiler(
        words,
        relations,
        n_args=max((r.arity for r in relations.values()), default=0),
        n_variables=max((len(rule.variables) for rule in rules), default=0),
        n_matched=max((fluent(body) + len(body.parts) for body in bodies), default=0),
    )
    # A relation's address must be known before the rules that mention it: its words are filled in at the end.
    addresses = {name: compiler.listed([0] * 6) for name in relations}
    untriggered = compiler.listed([0] * 6)
    variants: dict[int, list[int]] = {}
    widths = []
    for number, (rule, body) in enumerate(zip(rules, bodies, strict=True)):
        noted = fluent(body)
        at = compiler.listed(_rule_words(number, rule, noted, addresses))
        joined = Joined(compiler, rule, body)
        for trigger in joined.triggers:
            budget.tick()
            relation = untriggered if trigger is None else addresses[joined.atoms[trigger].predicate]
            first, pattern, slot = Variant(compiler, joined, trigger).compile()
            variants.setdefault(relation, []).extend([at, first, pattern, relation, slot])
        widths.append((len(rule.variables), noted, len(rule.heads)))
    for name, address in [*addresses.items(), ("", untriggered)]:
        budget.tick()
        own = variants.get(address, [])
        first = compiler.listed(own)
        arity, indexes = 0, [0]
        if name:
            arity = relations[name].arity
            compiler.index(name, tuple(range(arity)))
            indexes = list(compiler.indexes[name].values())
        listed = compiler.listed(indexes)
        words_of = [arity, first, first + len(own), len(indexes), indexes[0], listed]
        compiler.code[address : address + 6] = words_of
    return Program(
        code=np.array(compiler.code, np.int32),
        relations=addresses,
        untriggered=untriggered,
        widths=tuple(widths),
        n_args=compiler.n_args,
        n_indexes=max((len(own) for own in compiler.indexes.values()), default=1),
        n_variables=compiler.n_variables,
        n_matched=compiler.n_matched,
        n_pointers=compiler.n_pointers,
    )


def _rule_words(number: int, rule: Rule, n_fluent: int, addresses: Mapping[str, int]) -> list[int]:
    slots = {v: i for i, v in enumerate(rule.variables)}
    words = [number, len(rule.variables), n_fluent, len(rule.heads)]
    for head in rule.heads:
        words.append(addresses[head.predicate])
        words += [slots[t] if isinstance(t, str) else -1 - t for t in head.args]
    return words

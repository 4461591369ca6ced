"""What is left of a draft, said with sets, rule by rule: what the engine is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Left:
    """Rows of literals of the draft by operator, effect and axiom; those that are out are missing."""

    possible: set
    certain: set
    operators: dict
    conditions: dict
    heads: dict
    axioms: dict
    relevant: set


def narrowed(draft, facts, axioms=()):
    """The task that `core/narrow.hpp` promises, a list for each field of `Narrowed` and its task.

    ``axioms`` are further ones, of a goal; ``facts`` describe all facts.
    """
    rules = [*zip(draft.axiom_heads.tolist(), map(list, draft.axiom_bodies), strict=True), *axioms]
    pre, conditions, heads = (
        [*map(list, rows)] for rows in (draft.preconditions, draft.conditions, draft.heads)
    )
    owners, goal = draft.owners.tolist(), draft.goal.tolist()
    possible, certain = _reached(pre, conditions, heads, owners, rules, facts)
    left = _tidied(pre, conditions, heads, owners, rules, possible, certain)
    _leave_out_dominated(left, draft.groups, owners)
    fine = draft.possible and not any(x ^ 1 in goal for x in goal) and possible.issuperset(goal)
    wanted = [x for x in goal if (x not in certain if fine else x not in possible)]
    chosen, effects, kept_rules = _helpful(left, owners, rules, wanted) if fine else ([], [], [])
    kept_rules.sort(key=lambda rule: facts.layer[rules[rule][0]])
    heads_of = {e: [x for x in left.heads[e] if x >> 1 in _matter(left)] for e in effects}
    used = [
        wanted,
        *(left.operators[o] for o in chosen),
        *(left.conditions[e] for e in effects),
        *heads_of.values(),
        *([2 * rules[rule][0], *left.axioms[rule]] for rule in kept_rules),
    ]
    seen = sorted({x >> 1 for row in used for x in row}, key=lambda fact: (facts.derived[fact], fact))
    number = {fact: i for i, fact in enumerate(seen)}

    def renumbered(row):
        return [2 * number[x >> 1] + (x & 1) for x in row]

    return {
        "solvable": fine,
        "kept": seen,
        "n_basic": sum(not facts.derived[fact] for fact in seen),
        "init": [bool(facts.init[fact]) for fact in seen],
        "goal": renumbered(wanted),
        "chosen": chosen,
        "costs": [draft.costs[o] for o in chosen],
        "preconditions": [renumbered(left.operators[o]) for o in chosen],
        "effects": [[i for i, e in enumerate(effects) if owners[e] == o] for o in chosen],
        "conditions": [renumbered(left.conditions[e]) for e in effects],
        "heads": [renumbered(heads_of[e]) for e in effects],
        "axiom_heads": [number[rules[rule][0]] for rule in kept_rules],
        "axiom_bodies": [renumbered(left.axioms[rule]) for rule in kept_rules],
        "axiom_layers": [facts.layer[rules[rule][0]] for rule in kept_rules],
        "possible": [x in possible for x in range(2 * len(facts.init))],
    }


def _reached(pre, conditions, heads, owners, rules, facts):
    """What can hold where nothing is made false, and what always holds."""
    every = range(2 * len(facts.init))
    certain: set = set()
    while True:
        possible = {2 * f for f in np.flatnonzero(facts.init).tolist()}
        possible |= {
            2 * f + 1 for f in np.flatnonzero(~facts.init | facts.free).tolist() if 2 * f not in certain
        }
        before = None
        while before != len(possible):
            before = len(possible)
            for effect, owner in enumerate(owners):
                if possible.issuperset(pre[owner]) and possible.issuperset(conditions[effect]):
                    possible.update(heads[effect])
            possible.update(2 * head for head, body in rules if possible.issuperset(body))
        known = {x for x in every if x ^ 1 not in possible} | certain
        certain, before = set(known), None
        while before != len(certain):
            before = len(certain)
            certain.update(2 * head for head, body in rules if certain.issuperset(body))
        if certain == known:
            return possible, certain


def _tidy(row, certain, beside=()):
    """What must be said of a row; None if it can never hold."""
    if any(x ^ 1 in row or x ^ 1 in beside for x in row):
        return None
    return [*dict.fromkeys(x for x in row if x not in certain and x not in beside)]


def _tidied(pre, conditions, heads, owners, rules, possible, certain):
    left = Left(possible, certain, {}, {}, {}, {}, set())
    for operator, row in enumerate(pre):
        if possible.issuperset(row) and (tidy := _tidy(row, certain)) is not None:
            left.operators[operator] = tidy
    joined = {effect: list(row) for effect, row in enumerate(heads)}
    for effect, owner in enumerate(owners):
        if owner in left.operators and possible.issuperset(conditions[effect]):
            tidy = _tidy(conditions[effect], certain, left.operators[owner])
            if tidy == [] and effect >= len(pre):
                joined[owner] += heads[effect]
            elif tidy is not None:
                left.conditions[effect] = tidy
    for operator, given in left.operators.items():
        own = [effect for effect in left.conditions if owners[effect] == operator]
        left.heads.update(_tidy_heads({e: joined[e] for e in own}, left.conditions, given, certain))
    for rule, (head, body) in enumerate(rules):
        if (
            possible.issuperset(body)
            and 2 * head not in certain
            and (tidy := _tidy(body, certain)) is not None
        ):
            left.axioms[rule] = tidy
    return left


def _tidy_heads(own, conditions, given, certain):
    """Heads that change something: adding wins over deleting, and what holds need not be made true."""
    added = {x for e, row in own.items() if not conditions[e] for x in row if not x & 1}
    idle = {e: certain | set(given) | set(conditions[e]) for e in own}
    deletes = {
        e: {x for x in row if x & 1 and x not in idle[e] and x ^ 1 not in {*added, *row}}
        for e, row in own.items()
    }
    deleted = set().union(*deletes.values())
    found = {}
    for e, row in own.items():
        adds = {
            x
            for x in row
            if not x & 1 and x not in certain and (not conditions[e] or x not in added)
            if x not in idle[e] or x ^ 1 in deleted
        }
        found[e] = [*dict.fromkeys(x for x in row if x in deletes[e] or x in adds)]
    return found


def _leave_out_dominated(left, groups, owners):
    for group in groups:
        kept: list = []
        for o in sorted(
            (o for o in group.tolist() if o in left.operators), key=lambda o: len(left.operators[o])
        ):
            needs = set(left.operators[o])
            if any(fewer <= needs for fewer in kept):
                del left.operators[o]
            else:
                kept.append(needs)
    left.conditions = {e: row for e, row in left.conditions.items() if owners[e] in left.operators}


def _helpful(left, owners, rules, wanted):
    """Operators, effects and axioms that help to make literals true."""
    relevant = left.relevant
    relevant.update(wanted)
    chosen: set = set()
    before = None
    while before != len(relevant) + len(chosen):
        before = len(relevant) + len(chosen)
        for effect, conditions in left.conditions.items():
            owner = owners[effect]
            if relevant.intersection(left.heads[effect]):
                chosen.add(owner)
                relevant.update(conditions, left.operators[owner])
            if owner in chosen and any(x ^ 1 in relevant for x in left.heads[effect]):
                relevant.update(x ^ 1 for x in conditions)
        for rule, body in left.axioms.items():
            for sign in (0, 1):
                if 2 * rules[rule][0] + sign in relevant:
                    relevant.update(x ^ sign for x in body)
    matter = _matter(left)
    effects = [
        e for e in left.conditions if owners[e] in chosen and any(x >> 1 in matter for x in left.heads[e])
    ]
    return sorted(chosen), effects, [rule for rule in left.axioms if rules[rule][0] in matter]


def _matter(left):
    return {x >> 1 for x in left.relevant}

"""Kernels that make a ground task smaller: what can hold, what must hold, what matters.

Those that spread marks make one pass, and are called until one finds nothing new, so
that time limits are kept outside. Each works on literals (``2 * fact`` and its negation
``2 * fact + 1``) and flat rows (a start for each row, and the items).
"""

from __future__ import annotations

from pdsketch.kernels import Bools, Ints, kernel


@kernel
def _all(marked: Bools, starts: Ints, items: Ints, row: int) -> bool:
    """Whether every item of a row is marked."""
    for i in range(starts[row], starts[row + 1]):  # noqa: SIM110 - a kernel
        if not marked[items[i]]:
            return False
    return True


@kernel
def _any(marked: Bools, starts: Ints, items: Ints, row: int) -> bool:
    """Whether some item of a row is marked."""
    for i in range(starts[row], starts[row + 1]):  # noqa: SIM110 - a kernel
        if marked[items[i]]:
            return True
    return False


@kernel
def spread_possible(
    possible: Bools,
    operators: tuple[Bools, Ints, Ints],
    effects: tuple[Bools, Ints, Ints, Ints, Ints, Ints],
    axioms: tuple[Bools, Ints, Ints, Ints],
) -> bool:
    """Mark literals that effects and axioms may make true, and those as reached; whether there are new ones.

    Positive and negative literals are made true independently of each other.
    """
    op_reached, pre_starts, pre = operators
    reached, owners, cond_starts, conds, head_starts, heads = effects
    ax_reached, ax_heads, body_starts, bodies = axioms
    changed = False
    for op in range(op_reached.shape[0]):
        if not op_reached[op] and _all(possible, pre_starts, pre, op):
            op_reached[op] = True
            changed = True
    for effect in range(owners.shape[0]):
        if reached[effect] or not op_reached[owners[effect]]:
            continue
        if _all(possible, cond_starts, conds, effect):
            reached[effect] = True
            for i in range(head_starts[effect], head_starts[effect + 1]):
                if not possible[heads[i]]:
                    possible[heads[i]] = True
                    changed = True
    for axiom in range(ax_heads.shape[0]):
        if not ax_reached[axiom] and _all(possible, body_starts, bodies, axiom):
            ax_reached[axiom] = True
            possible[2 * ax_heads[axiom]] = True
            changed = True
    return changed


@kernel
def derive_certain(certain: Bools, ax_heads: Ints, body_starts: Ints, bodies: Ints) -> bool:
    """Mark derived facts that some axiom derives in all states; whether there is a new one."""
    changed = False
    for axiom in range(ax_heads.shape[0]):
        head = 2 * ax_heads[axiom]
        if not certain[head] and _all(certain, body_starts, bodies, axiom):
            certain[head] = changed = True
    return changed


@kernel
def _harms(relevant: Bools, starts: Ints, items: Ints, row: int) -> bool:
    """Whether the negation of some item of a row is marked."""
    for i in range(starts[row], starts[row + 1]):  # noqa: SIM110 - a kernel
        if relevant[items[i] ^ 1]:
            return True
    return False


@kernel
def spread_relevant(
    relevant: Bools,
    operators: tuple[Bools, Ints, Ints],
    effects: tuple[Bools, Ints, Ints, Ints, Ints, Ints],
    axioms: tuple[Ints, Ints, Ints],
    averted: Bools,
) -> bool:
    """Mark literals that may help the marked ones to come true, and effects; whether there are new ones.

    An operator that helps may also harm, under a condition: then it helps to make
    that condition false first, and the effect is marked as ``averted``.
    """
    helpful, pre_starts, pre = operators
    useful, owners, cond_starts, conds, head_starts, heads = effects
    ax_heads, body_starts, bodies = axioms
    changed = False
    for effect in range(owners.shape[0] - 1, -1, -1):
        owner = owners[effect]
        if not useful[effect] and _any(relevant, head_starts, heads, effect):
            useful[effect] = helpful[owner] = changed = True
            for i in range(cond_starts[effect], cond_starts[effect + 1]):
                relevant[conds[i]] = True
            for i in range(pre_starts[owner], pre_starts[owner + 1]):
                relevant[pre[i]] = True
        if helpful[owner] and not averted[effect] and _harms(relevant, head_starts, heads, effect):
            averted[effect] = changed = True
            for i in range(cond_starts[effect], cond_starts[effect + 1]):
                relevant[conds[i] ^ 1] = True
    for axiom in range(ax_heads.shape[0] - 1, -1, -1):
        for sign in range(2):
            if relevant[2 * ax_heads[axiom] + sign]:
                for i in range(body_starts[axiom], body_starts[axiom + 1]):
                    if not relevant[bodies[i] ^ sign]:
                        relevant[bodies[i] ^ sign] = True
                        changed = True
    return changed


@kernel
def tidy_conditions(
    drop: Bools,
    outer: tuple[Ints, Ints, Ints],
    starts: Ints,
    items: Ints,
    stamp: Ints,
    fine: Bools,
    keep: Bools,
) -> None:
    """Mark the literals to keep: those not dropped, repeated, or among those of the row's owner.

    ``outer`` gives each row an owner, and the owners their literals. Rows that
    can never hold (a literal with its negation) are not ``fine``.
    """
    owners, outer_starts, outer_items = outer
    for row in range(starts.shape[0] - 1):
        if owners.shape[0] > 0:
            for i in range(outer_starts[owners[row]], outer_starts[owners[row] + 1]):
                stamp[outer_items[i]] = row
        for i in range(starts[row], starts[row + 1]):
            literal = items[i]
            if stamp[literal ^ 1] == row:
                fine[row] = False
            if not drop[literal] and stamp[literal] != row:
                stamp[literal] = row
                keep[i] = True


@kernel
def tidy_heads(
    drop: Bools,
    operators: tuple[Ints, Ints],
    op_effects: tuple[Ints, Ints],
    effects: tuple[Ints, Ints, Ints, Ints],
    stamps: tuple[Ints, Ints, Ints, Ints, Ints, Ints],
    keep: Bools,
) -> None:
    """Mark the heads of each effect to keep: those that change something.

    Adding wins over deleting, so a delete goes where the operator adds
    anyway; an add goes where the fact is true before and nothing deletes it. The
    unconditional effect of each operator comes first among its effects. The
    stamps say of which operator or effect a literal or fact was last seen as what.
    """
    pre_starts, pre = operators
    own_starts, own = op_effects
    cond_starts, conds, head_starts, heads = effects
    before, added, deleted, asked, headed, kept = stamps
    for op in range(own_starts.shape[0] - 1):
        for i in range(pre_starts[op], pre_starts[op + 1]):
            before[pre[i]] = op
        for k in range(own_starts[op], own_starts[op + 1]):
            effect = own[k]
            always = cond_starts[effect] == cond_starts[effect + 1]
            for i in range(head_starts[effect], head_starts[effect + 1]):
                if always and heads[i] & 1 == 0:
                    added[heads[i] >> 1] = op
        for k in range(own_starts[op], own_starts[op + 1]):
            effect = own[k]
            for i in range(cond_starts[effect], cond_starts[effect + 1]):
                asked[conds[i]] = effect
            for i in range(head_starts[effect], head_starts[effect + 1]):
                headed[heads[i]] = effect
            for i in range(head_starts[effect], head_starts[effect + 1]):
                literal = heads[i]
                if literal & 1 == 0 or drop[literal] or added[literal >> 1] == op or before[literal] == op:
                    continue
                if asked[literal] != effect and headed[literal ^ 1] != effect and kept[literal] != effect:
                    keep[i] = True
                    kept[literal] = effect
                    deleted[literal >> 1] = op
        for k in range(own_starts[op], own_starts[op + 1]):
            effect = own[k]
            always = cond_starts[effect] == cond_starts[effect + 1]
            for i in range(cond_starts[effect], cond_starts[effect + 1]):
                asked[conds[i]] = effect
            for i in range(head_starts[effect], head_starts[effect + 1]):
                literal = heads[i]
                if literal & 1 == 0 and not drop[literal] and (always or added[literal >> 1] != op):
                    held = before[literal] == op or asked[literal] == effect
                    if (not held or deleted[literal >> 1] == op) and kept[literal] != effect:
                        keep[i] = True
                        kept[literal] = effect

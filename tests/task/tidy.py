"""What grounding promises of a task's arrays, beside their meaning."""

from __future__ import annotations

from pdsketch.core import Task


def untidy(task: Task) -> str | None:
    """What is wrong with a task; None if it is tidy."""
    tables = {
        "a precondition": task.preconditions,
        "a condition": task.conditions,
        "an effect": task.heads,
        "an axiom": task.axiom_bodies,
    }
    rows = [(name, table[i].tolist()) for name, table in tables.items() for i in range(len(table))]
    for name, row in [*rows, ("the goal", task.goal.tolist())]:
        facts = [literal >> 1 for literal in row]
        if len(set(facts)) != len(facts):
            return f"{name} repeats or contradicts itself: {row}"
        if not all(0 <= fact < task.n_facts for fact in facts):
            return f"{name} names a fact that is not there: {row}"
    if task.init[task.n_basic :].any():
        return "a derived fact is true before the axioms are evaluated"
    if not (task.costs >= 0).all():
        return "a cost is negative"
    for operator, name in enumerate(task.operators):
        own = task.effects[operator].tolist()
        if not own:
            return f"{name} has no effect"
        if sum(len(task.conditions[e]) == 0 for e in own) > 1:
            return f"{name} has several unconditional effects"
    if sorted(task.effects.items.tolist()) != list(range(len(task.heads))):
        return "an effect belongs to no operator, or to several"
    if len(task.heads) != len(task.conditions) or any(
        len(task.heads[e]) == 0 for e in range(len(task.heads))
    ):
        return "an effect makes nothing true"
    return unstratified(task)


def unstratified(task: Task) -> str | None:
    """How axioms read what is not yet derived; None if they do not."""
    layers = task.axiom_layers.tolist()
    if layers != sorted(layers):
        return "the axioms are not in the order of their layers"
    layer_of = dict(zip(task.axiom_heads.tolist(), layers, strict=True))
    for axiom, head in enumerate(task.axiom_heads.tolist()):
        if head < task.n_basic:
            return "an axiom derives a basic fact"
        for literal in task.axiom_bodies[axiom].tolist():
            below = layer_of.get(literal >> 1, -1)
            if below > layers[axiom] or (literal & 1 and below == layers[axiom]):
                return "an axiom reads what is not yet derived"
    return None

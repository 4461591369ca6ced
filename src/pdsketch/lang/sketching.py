"""From the types, predicates and headers of a domain to the sketch in which nothing else is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from pdsketch.lang.analysis import action_reads, names_in
from pdsketch.lang.domain import Action, Domain, Predicate
from pdsketch.lang.load import parse_domain
from pdsketch.lang.printer import format_source
from pdsketch.lang.source import Source
from pdsketch.lang.terms import Variable
from pdsketch.lang.types import ObjectType
from pdsketch.lang.unparse import Names, domain_text


def sketch_of(domain: Domain) -> Domain:
    """The sketch of a domain: each precondition and each effect is a blank over all atoms of the parameters.

    Types, constants, predicates, derived ones with their bodies, and the headers of actions stay. The
    precondition of an action is one blank, which reads every atom over its parameters and the constants; as
    its effect, each of these atoms that is no derived one gets the value of a blank which reads the atom
    itself. Costs and what only they read are left out. ``sketch.source.text`` is the text, to be edited.
    """
    costs = _of_costs(domain)
    predicates = {name: p for name, p in domain.predicates.items() if name not in costs}
    bare = replace(domain, actions={}, predicates=predicates)
    actions = " ".join(map(_action, domain.actions.values(), [bare] * len(domain.actions)))
    text = f"{domain_text(bare).rstrip()[:-1]} {actions})"
    return parse_domain(format_source(Source("<sketch>", text)), f"<sketch of {domain.name}>")


def _of_costs(domain: Domain) -> set[str]:
    """What costs read and nothing else does: published problems do not give all its values."""
    costs = {name for name, p in domain.predicates.items() if p.role == "cost"}
    costs.update(*(names_in(a.cost) for a in domain.actions.values() if a.cost is not None))
    free = (action_reads(replace(a, cost=None)) for a in domain.actions.values())
    return costs - domain.analysis.written - frozenset().union(*domain.analysis.bodies.values(), *free)


def _action(action: Action, domain: Domain) -> str:
    atoms = [(p, words) for p in domain.predicates.values() for words in _arguments(p, action, domain)]
    names = Names()
    blanks = [names.give("-".join([p.name, *(word.lstrip("?") for word in words)])) for p, words in atoms]
    written = [f"({' '.join((p.name, *words))})" for p, words in atoms]
    effects = [
        f"({' '.join((f'{p.name}::assign', *words))} (??{blank} {atom}))"
        for (p, words), blank, atom in zip(atoms, blanks, written, strict=True)
        if p.is_state
    ]
    parameters = " ".join(f"{v.name} - {v.type}" for v in action.parameters)
    return (
        f"(:action {action.name} :parameters ({parameters}) :precondition (??possible {' '.join(written)})"
        f" :effect (and {' '.join(effects)}))"
    )


def _arguments(predicate: Predicate, action: Action, domain: Domain) -> Iterator[tuple[str, ...]]:
    """The parameters and constants that a predicate may be said of, none of them twice."""
    if predicate.role not in ("observed", "encoded", "derived"):
        return
    named = [*action.parameters, *(Variable(name, type_) for name, type_ in domain.constants.items())]
    fitting = [[v.name for v in named if _fits(v, wanted, domain)] for wanted in predicate.parameters]
    yield from (words for words in product(*fitting) if len({*words}) == len(words))


def _fits(own: Variable, wanted: Variable, domain: Domain) -> bool:
    a, b = own.type, wanted.type
    return isinstance(a, ObjectType) and isinstance(b, ObjectType) and domain.hierarchy.is_subtype(a, b)

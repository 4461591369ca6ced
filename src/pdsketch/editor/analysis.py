"""Text → everything that an editor asks about it, also where the text is broken.

The passes of `load` run with a recorder of what they resolve (`Occurrences`); nothing is checked
twice. A text with unbalanced brackets is mended first (`recover`): `check` says no more than
that of it, but its declarations, references and types are found.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import NamedTuple, final

from pdsketch.editor.declarations import Collector, Declaration
from pdsketch.editor.lexical import Lexical, Region, guess_definition, recover
from pdsketch.lang import (
    BOM,
    UNKNOWN,
    CheckReport,
    Definition,
    Diagnostic,
    Domain,
    Key,
    Node,
    ObjectType,
    Occurrences,
    Problem,
    Role,
    Source,
    Span,
    Tables,
    Type,
    check_domain,
    check_problem,
    in_order,
    parse_definition,
    parse_domain_syntax,
    parse_problem_syntax,
    read,
)


@final
class Reference(NamedTuple):
    """A name at ``start:end``, and the declaration that it leads to, here or in the domain."""

    start: int
    end: int
    declaration: Declaration


@final
@dataclass(frozen=True, slots=True, eq=False)
class TextAnalysis:
    """What a text says, as far as it can be made out.

    ``diagnostics`` are those of `check`. ``references`` are in order, declarations not among
    them. ``types`` maps the places ``(start, end)`` of expressions and declared variables to
    their types. ``domain`` or ``problem`` is the checked text, where nothing is wrong with it.
    ``of`` is the analysis of a problem's domain. ``nodes``, ``regions``, ``tables`` and ``roles`` are
    for completions: the lists, the variables in reach, the names and the roles of predicates.
    """

    source: Source
    kind: str
    diagnostics: tuple[Diagnostic, ...]
    declarations: tuple[Declaration, ...]
    references: tuple[Reference, ...]
    types: Mapping[tuple[int, int], Type]
    domain: Domain | None = None
    problem: Problem | None = None
    of: TextAnalysis | None = None
    nodes: tuple[Node, ...] = field(default=(), repr=False)
    regions: tuple[Region, ...] = field(default=(), repr=False)
    tables: Tables | None = field(default=None, repr=False)
    roles: Mapping[str, Role] = field(default_factory=dict, repr=False)


def analyse(text: str, name: str = "<text>", domain: TextAnalysis | None = None) -> TextAnalysis:
    """Analyse a domain, or a problem beside the analysis of its domain. Takes any text.

    Offsets count from behind a byte-order mark. A problem is checked against its domain if nothing
    is wrong with that; its names are looked up in any case.
    """
    with _without_collections():
        return _analysed(Source(name, text.removeprefix(BOM)), domain)


_frozen = Event()
"""Whether the program has frozen objects of its own, which stay so; counting them each time takes long."""


@contextmanager
def _without_collections() -> Iterator[None]:
    """Garbage is not collected inside: of the many small nodes none is garbage, and looking takes a third.

    Nor is it right afterwards, for the nodes are old by then: freezing and unfreezing moves all objects into
    the oldest generation without looking at them. Analyses have no cycles, so that nothing is kept by this.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not _frozen.is_set() and gc.get_freeze_count():
                _frozen.set()
            if not _frozen.is_set():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _analysed(source: Source, domain: TextAnalysis | None) -> TextAnalysis:
    occurrences = Occurrences()
    report = CheckReport(source, occurrences)
    reading = read(source)
    report.diagnostics += reading.diagnostics
    rest, nodes = report, reading.nodes
    if report.has_errors:
        # What follows from a broken bracket is not told, as `check` does not tell it.
        rest, nodes = CheckReport(source, occurrences), recover(source)
    definition = parse_definition(nodes, rest)
    if definition is None:
        rest, definition = CheckReport(source, occurrences), guess_definition(nodes)
    analysis = _of_definition(definition, source, rest, domain)
    if report.has_errors:
        # What was mended may be whole, but the text is not.
        analysis = replace(analysis, domain=None, problem=None)
    return replace(analysis, diagnostics=tuple(in_order(report.diagnostics)), nodes=tuple(nodes))


def _of_definition(
    definition: Definition, source: Source, report: CheckReport, beside: TextAnalysis | None
) -> TextAnalysis:
    occurrences = report.occurrences
    assert occurrences is not None
    collector = Collector(source, occurrences)
    form = Span(source, 0, len(source.text))
    domain: Domain | None = None
    problem: Problem | None = None
    if definition.kind == "domain":
        beside = None
        syntax = parse_domain_syntax(definition, report)
        domain = check_domain(syntax, source, report)
        collector.domain(syntax, form)
        lexical = Lexical(collector, collector.found.__contains__)
        lexical.domain(syntax)
    else:
        above = {} if beside is None else {d.key: d for d in beside.declarations}
        problem_syntax = parse_problem_syntax(definition, report)
        if beside is not None and beside.domain is not None:
            problem = check_problem(problem_syntax, beside.domain, source, report)
        collector.problem(problem_syntax, form)
        lexical = Lexical(collector, lambda key: key in collector.found or key in above)
        lexical.problem(problem_syntax)
        occurrences.tables = _with_objects(beside, collector.objects)
    collector.blanks()
    return TextAnalysis(
        source,
        definition.kind,
        (),
        tuple(sorted(collector.found.values(), key=lambda d: (d.span.start, d.kind != "domain"))),
        _references(collector, beside),
        {place: type_ for place, type_ in occurrences.types.items() if type_ != UNKNOWN},
        domain,
        problem,
        beside,
        regions=tuple(lexical.regions),
        tables=occurrences.tables,
        roles=occurrences.roles if beside is None else beside.roles,
    )


def _with_objects(beside: TextAnalysis | None, objects: Mapping[str, ObjectType]) -> Tables | None:
    """The names that a problem may use: its domain's, and its objects."""
    tables = None if beside is None else beside.tables
    if tables is None:
        return None
    return Tables(tables.hierarchy, tables.value_types, tables.signatures, {**tables.objects, **objects})


def _references(collector: Collector, beside: TextAnalysis | None) -> tuple[Reference, ...]:
    """The resolved names whose declarations are known, but for those in declarations."""
    known: dict[Key, Declaration] = {}
    if beside is not None:
        known = {d.key: d for d in beside.declarations if d.key[0] != "variable"}
    known.update(collector.found)
    declared = {d.span.start for d in collector.found.values()}
    return tuple(
        Reference(start, end, known[key])
        for start, (end, key) in sorted(collector.occurrences.references.items())
        if key in known and start not in declared
    )

"""Text or files → checked domains, problems and goals: the passes in one page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike, fspath, fstat
from os.path import dirname, isfile, join
from stat import S_ISFIFO

from pdsketch.budget import current
from pdsketch.lang.check.domain import check_domain
from pdsketch.lang.check.problem import check_goal, check_problem
from pdsketch.lang.diagnostics import Diagnostic, Error, did_you_mean, error, in_order
from pdsketch.lang.domain import Domain, Problem
from pdsketch.lang.parser import Definition, parse_definition, parse_domain_syntax, parse_problem_syntax
from pdsketch.lang.reader import read
from pdsketch.lang.report import CheckReport
from pdsketch.lang.source import Source, Span
from pdsketch.lang.syntax import ProblemSyntax
from pdsketch.lang.terms import Expr
from pdsketch.lang.types import ObjectType

MAX_BYTES = 256 * 1024 * 1024
"""The largest file that is read."""

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""The byte-order mark, as text."""

Path = str | PathLike[str]


def load_domain(path: Path) -> Domain:
    """Load and check a domain file. Raises `Error` with everything that is wrong with it."""
    return _domain(read_source(path))


def parse_domain(text: str, name: str = "<domain>") -> Domain:
    """Check a domain given as text; ``name`` stands in its diagnostics."""
    return _domain(Source(name, text.removeprefix(BOM)))


def load_problem(path: Path, domain: Domain) -> Problem:
    """Load a problem file and check it against its domain."""
    return _problem(read_source(path), domain)


def parse_problem(text: str, domain: Domain, name: str = "<problem>") -> Problem:
    """Check a problem given as text against its domain."""
    return _problem(Source(name, text.removeprefix(BOM)), domain)


def parse_goal(
    text: str,
    domain: Domain | Problem,
    objects: Mapping[str, ObjectType | str] | None = None,
    name: str = "<goal>",
) -> Expr:
    """Check a formula over a domain and objects with their types, or over a problem and its objects.

    ``text`` is the one formula. ``domain`` may be a `Problem`, whose objects are known; beside a `Domain`,
    ``objects`` maps names to types, which are given by name, too: ``{"r": "robot"}``. CheckReport call the
    text ``name``.
    """
    source = Source(name, text)
    report = CheckReport(source)
    reading = read(source)
    report.diagnostics += reading.diagnostics
    if len(reading.nodes) != 1:
        report.diagnostics.append(_not_one_formula(source, len(reading.nodes)))
    if not report.has_errors:
        universe = domain.universe if isinstance(domain, Problem) else _typed(objects or {}, domain)
        of = domain.domain if isinstance(domain, Problem) else domain
        goal = check_goal(reading.nodes[0], of, universe, report)
        if goal is not None and not report.has_errors:
            return goal
    raise Error(in_order(report.diagnostics))


def _typed(objects: Mapping[str, ObjectType | str], domain: Domain) -> dict[str, ObjectType]:
    """Objects with their types, those given by name looked up."""
    found = {}
    for name, type_ in objects.items():
        if isinstance(type_, ObjectType):
            found[name] = type_
        elif type_ in domain.hierarchy.names:
            found[name] = ObjectType((type_,))
        else:
            hint = did_you_mean(str(type_), domain.hierarchy.names)
            raise error("unknown-type", f"`{name}` cannot be of type {type_!r}", help=hint)
    return found


def _not_one_formula(source: Source, number: int) -> Diagnostic:
    found = "nothing" if number == 0 else f"{number} formulas"
    return Diagnostic(
        "bad-goal",
        f"a goal is one formula, and here is {found}"
        if number == 0
        else f"a goal is one formula, not {number}",
        file=source.name,
        help="join several with `and`" if number else "for a goal that always holds, write (and)",
    )


def load_file(path: Path) -> Domain | Problem:
    """Load whichever a file holds, a problem with the ``domain.pddl`` beside it."""
    source = read_source(path)
    definition = _definition(source, CheckReport(source), None)
    if definition is None or definition.kind == "domain":
        return _domain(source)
    beside = _beside(path)
    if not isfile(beside):
        message = f"this is a problem, and its domain is not beside it: there is no `{beside}`"
        raise error("no-such-file", message, file=source.name, help="name the domain: --domain FILE")
    return _problem(source, load_domain(beside))


def check_files(paths: Iterable[Path]) -> list[Diagnostic]:
    """Everything that is wrong with some files, in their order.

    A problem is checked against the domain of its name among them (of several,
    the one in its own folder), else against the ``domain.pddl`` beside it, else by
    itself. Never raises for bad input.
    """
    found: list[Diagnostic] = []
    domains: _Domains = {}
    problems: list[tuple[int, Source, ProblemSyntax]] = []
    by_file: list[list[Diagnostic]] = []
    for path in dict.fromkeys(fspath(path) for path in paths):
        by_file.append([])
        try:
            source = read_source(path)
        except Error as problem:
            by_file[-1] += problem.diagnostics
            continue
        report = CheckReport(source)
        definition = _definition(source, report, None)
        if definition is not None and definition.kind == "problem":
            problems.append((len(by_file) - 1, source, parse_problem_syntax(definition, report)))
        elif definition is not None:
            domain = check_domain(parse_domain_syntax(definition, report), source, report)
            domains.setdefault(definition.name.text, {}).setdefault(dirname(path), domain)
        by_file[-1] += report.diagnostics
    for at, source, syntax in problems:
        by_file[at] += _check_with_domain(source, syntax, domains)
    for diagnostics in by_file:
        found += in_order(diagnostics)
    return found


_Domains = dict[str, dict[str, Domain | None]]
"""The domains among some files by name, then by folder; None for one that is wrong."""


def _check_with_domain(source: Source, syntax: ProblemSyntax, domains: _Domains) -> list[Diagnostic]:
    """What is wrong with a problem in the eyes of its domain, and with that domain if it was not given."""
    name = syntax.domain.text if syntax.domain is not None else ""
    beside = _beside(source.name)
    given = domains.get(name)
    if given:
        domain = given.get(dirname(source.name), next(iter(given.values())))
    elif isfile(beside):
        try:
            domain = load_domain(beside)
        except Error as problem:
            return list(problem.diagnostics)
    else:
        domain = None
    report = CheckReport(source)
    if domain is not None:
        check_problem(syntax, domain, source, report)
    return report.diagnostics


def _beside(path: Path) -> str:
    return join(dirname(fspath(path)), "domain.pddl")


def _domain(source: Source) -> Domain:
    report = CheckReport(source)
    definition = _definition(source, report, "domain")
    if definition is not None:
        syntax = parse_domain_syntax(definition, report)
        domain = check_domain(syntax, source, report)
        if domain is not None and not report.has_errors:
            return replace(domain, warnings=tuple(in_order(report.diagnostics)))
    raise Error(in_order(report.diagnostics))


def _problem(source: Source, domain: Domain) -> Problem:
    if not isinstance(domain, Domain):
        kind = type(domain).__name__
        raise error("wrong-kind", f"a problem is checked against a Domain, not a {kind}", file=source.name)
    report = CheckReport(source)
    definition = _definition(source, report, "problem")
    if definition is not None:
        syntax = parse_problem_syntax(definition, report)
        problem = check_problem(syntax, domain, source, report)
        if problem is not None and not report.has_errors:
            return replace(problem, warnings=tuple(in_order(report.diagnostics)))
    raise Error(in_order(report.diagnostics))


def _definition(source: Source, report: CheckReport, kind: str | None) -> Definition | None:
    """Read a text; nothing behind a broken bracket can be trusted, so nothing else is reported then."""
    current().check()
    reading = read(source)
    report.diagnostics += reading.diagnostics
    return None if report.has_errors else parse_definition(reading.nodes, report, kind)


def read_source(path: Path) -> Source:
    """The text of a file. Raises `Error` for what is not a text file."""
    name = fspath(path)
    try:
        with open(path, "rb", opener=_at_once) as file:
            found = fstat(file.fileno())
            if found.st_size > MAX_BYTES:
                raise error("file-too-large", f"this file is larger than {MAX_BYTES >> 20} MB", file=name)
            data = file.read(MAX_BYTES)
            if not data and S_ISFIFO(found.st_mode):
                raise error("cannot-read", "this is a pipe into which nobody writes", file=name)
    except IsADirectoryError:
        raise error("is-a-directory", "this is a directory, not a file", file=name) from None
    except FileNotFoundError:
        raise error("no-such-file", "there is no such file", file=name) from None
    except Error:
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error("cannot-read", f"this file cannot be read: {reason}", file=name) from None
    return decode_source(name, data)


def _at_once(path: str, flags: int) -> int:
    """Open a file, without waiting for somebody who writes into it where it is a pipe."""
    file = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(file, True)
    return file


def decode_source(name: str, data: bytes) -> Source:
    """The text of bytes, a byte-order mark left out. Raises `Error` where it is no text."""
    try:
        source = Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        # Without a byte-order mark, if there was one. What stands before the place is right.
        data = problem.object
        at = len(data[: problem.start].decode())
        raise error(
            "not-utf8",
            f"byte 0x{data[problem.start]:02x} is not UTF-8",
            Span(Source(name, data.decode(errors="replace")), at, at + 1),
            help="save the file as UTF-8",
        ) from None
    if "\0" in source.text:
        raise Error(read(source).diagnostics)
    return source

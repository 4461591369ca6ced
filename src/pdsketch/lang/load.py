"""Text or files → checked domains, problems and goals: the passes in one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from pdsketch.lang.check.domain import check_domain
from pdsketch.lang.check.problem import check_goal, check_problem
from pdsketch.lang.diagnostics import Diagnostic, Error, error, in_order
from pdsketch.lang.domain import Domain, Problem
from pdsketch.lang.parser import Definition, parse_definition, parse_domain_syntax, parse_problem_syntax
from pdsketch.lang.reader import read
from pdsketch.lang.report import Report
from pdsketch.lang.source import Source
from pdsketch.lang.terms import Expr
from pdsketch.lang.types import ObjectType

MAX_BYTES = 256 * 1024 * 1024
"""The largest file that is read."""

Path = str | PathLike[str]


def load_domain(path: Path) -> Domain:
    """Load and check a domain file. Raises `Error` with everything that is wrong with it."""
    return _domain(load_source(path))


def parse_domain(text: str, name: str = "<domain>") -> Domain:
    """Check a domain given as text; ``name`` stands in its diagnostics."""
    return _domain(Source(name, text))


def load_problem(path: Path, domain: Domain) -> Problem:
    """Load a problem file and check it against its domain."""
    return _problem(load_source(path), domain)


def parse_problem(text: str, domain: Domain, name: str = "<problem>") -> Problem:
    """Check a problem given as text against its domain."""
    return _problem(Source(name, text), domain)


def parse_goal(text: str, domain: Domain, objects: Any, name: str = "<goal>") -> Expr:
    """Check a formula. ``objects`` maps names to types, or has such a ``universe`` (a problem, a state)."""
    source = Source(name, text)
    report = Report(source)
    reading = read(source)
    report.diagnostics += reading.diagnostics
    if not report.has_errors:
        if len(reading.nodes) == 1:
            universe: Mapping[str, ObjectType] = getattr(objects, "universe", objects)
            goal = check_goal(reading.nodes[0], domain, universe, report)
            if goal is not None and not report.has_errors:
                return goal
        else:
            report.diagnostics.append(_not_one_formula(source, len(reading.nodes)))
    raise Error(in_order(report.diagnostics))


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


def _domain(source: Source) -> Domain:
    report = Report(source)
    definition = _definition(source, report, "domain")
    if definition is not None:
        syntax = parse_domain_syntax(definition, report)
        domain = check_domain(syntax, source, report)
        if domain is not None and not report.has_errors:
            return replace(domain, warnings=tuple(in_order(report.diagnostics)))
    raise Error(in_order(report.diagnostics))


def _problem(source: Source, domain: Domain) -> Problem:
    report = Report(source)
    definition = _definition(source, report, "problem")
    if definition is not None:
        syntax = parse_problem_syntax(definition, report)
        problem = check_problem(syntax, domain, source, report)
        if problem is not None and not report.has_errors:
            return problem
    raise Error(in_order(report.diagnostics))


def _definition(source: Source, report: Report, kind: str | None) -> Definition | None:
    """Read a text; nothing behind a broken bracket can be trusted, so nothing else is reported then."""
    reading = read(source)
    report.diagnostics += reading.diagnostics
    return None if report.has_errors else parse_definition(reading.nodes, report, kind)


def load_source(path: Path) -> Source:
    """The text of a file. Raises `Error` for what is not a text file."""
    name = str(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise error("is-a-directory", "this is a directory, not a file", file=name) from None
    except FileNotFoundError:
        raise error("no-such-file", "there is no such file", file=name) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error("cannot-read", f"this file cannot be read: {reason}", file=name) from None
    if len(data) > MAX_BYTES:
        raise error("file-too-large", f"this file is larger than {MAX_BYTES >> 20} MB", file=name)
    return _decode(data, name)


def _decode(data: bytes, name: str) -> Source:
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise error("binary-file", f"this is not a text file: line {line} holds a NUL byte", file=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(
            "not-utf8",
            f"line {line} holds byte 0x{data[problem.start]:02x}, which is not UTF-8",
            file=name,
            help="save the file as UTF-8",
        ) from None
    return Source(name, text)

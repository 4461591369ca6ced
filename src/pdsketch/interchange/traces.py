"""Traces as episodes: files of states and actions, and plans replayed from their problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from pdsketch.lang import (
    TRUE,
    Data,
    Domain,
    Error,
    Fact,
    ObjectType,
    Problem,
    Source,
    StaticContext,
    applicable,
    apply,
    encode,
    error,
    formula_text,
    holds,
    load_problem,
    read_plan,
    read_source,
    read_trace,
    resolve,
)
from pdsketch.tensor import State
from pdsketch.training import Episode

_Path = str | PathLike[str]


def read_traces(
    domain: Domain, files: _Path | Iterable[_Path | tuple[_Path | Problem, _Path | Sequence[Any]]]
) -> list[Episode]:
    """Traces as episodes of ``domain``, which may be a sketch.

    Each of ``files`` is a trace, ``(:trajectory (:state ATOM …) (:action (NAME OBJECT …)) (:state …) …)``, as
    AMLGym, SAM and FAMA write them, or a pair of a problem and a plan, which is replayed. There, a problem
    that was loaded brings a domain of its own, which says what happens: ``domain`` need not.
    """
    given = [files] if isinstance(files, str | PathLike) else files
    return [
        _of_file(domain, one) if isinstance(one, str | PathLike) else _replayed(domain, *one) for one in given
    ]


def _of_file(domain: Domain, path: _Path) -> Episode:
    trace = read_trace(read_source(path), domain)
    states = [state_of_facts(domain, trace.universe, facts) for facts in trace.states]
    executable = None if all(trace.executed) else trace.executed
    return Episode(
        states, trace.steps, None if trace.goal is None else formula_text(trace.goal), executable=executable
    )


def _replayed(domain: Domain, given: _Path | Problem, plan: _Path | Sequence[Any]) -> Episode:
    """What a plan does in its problem; a step that cannot be taken there is a refusal."""
    problem = given if isinstance(given, Problem) else load_problem(given, domain)
    if problem.domain.blanks:
        raise error(
            "needs-model",
            f"a plan is replayed by what its actions do, and `{problem.domain.name}` leaves that blank",
            help="load the problem with the whole domain: (pds.load_problem(PATH, whole), PLAN)",
        )
    static = StaticContext.of(problem)
    steps = read_plan(read_source(plan), static.universe) if isinstance(plan, str | PathLike) else [*plan]
    facts, executed = [encode(static, problem.init)], []
    for at, written in enumerate(steps):
        try:
            step = resolve(problem.domain, problem.universe, written)
        except Error as wrong:
            raise error("bad-plan", f"step {at + 1}: {wrong.diagnostics[0].message}") from None
        executed.append(applicable(static, facts[-1], step))
        facts.append(apply(static, facts[-1], step) if executed[-1] else facts[-1])
    states = [state_of_facts(domain, problem.universe, one) for one in facts]
    success = [float(holds(static, one, problem.goal)) for one in facts]
    executable = None if all(executed) else executed
    return Episode(states, steps, formula_text(problem.goal), success, executable)


def state_of_facts(domain: Domain, universe: Mapping[str, ObjectType], facts: Mapping[Fact, Data]) -> State:
    """The state in which these facts hold, of what the domain has predicates for."""
    objects: dict[str, list[str]] = {}
    for name, type_ in universe.items():
        if name not in domain.constants:
            objects.setdefault(str(type_), []).append(name)
    own = {fact: value for fact, value in facts.items() if fact[0] in domain.predicates}
    listed = {type_: tuple(names) for type_, names in objects.items()}
    return State.of_problem(Problem("state", domain, Source("<state>", ""), listed, universe, own, TRUE))

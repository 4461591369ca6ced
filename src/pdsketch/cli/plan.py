"""``pdsketch plan DOMAIN PROBLEM``: a plan on stdout, reasons on stderr, the outcome in the exit code."""

from __future__ import annotations

import argparse
import gc
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pdsketch.budget import Budget, LimitError, apart
from pdsketch.cli import output
from pdsketch.cli.imports import ctrl_c_ends, import_large
from pdsketch.cli.modules import (
    add_module_argument,
    add_proposal_arguments,
    domain_of,
    given_functions,
    loaded_model,
    without_domain,
)
from pdsketch.files import check_output, write_output
from pdsketch.lang import UNPLACED, Diagnostic, Error, Problem, load_problem, write_plan
from pdsketch.options import add_options, read_options
from pdsketch.search import PlanOptions, Result, UntrainedWarning, heuristics_help, model_searches_help

if TYPE_CHECKING:
    from pdsketch.serve import SearchDebugger

EXAMPLE = """pdsketch plan examples/blocks/domain.pddl examples/blocks/p01.pddl
pdsketch plan examples/lights/domain.pddl examples/lights/p01.pddl --search astar --heuristic max -o plan"""

_OPTIONS = ("weight", "time_limit", "memory_limit", "max_expansions")
_OF_MODELS = ("k", "snap", "resolution", "confidence", "margin", "candidates")
"""Options that are for models alone, beside functions that propose values."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, the search and its limits."""
    parser.add_argument("domain", metavar="DOMAIN", help="a domain or a sketch; not needed with --model")
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help="a problem of that domain")
    parser.add_argument("--model", metavar="DIR", help="plan with a trained model")
    add_module_argument(parser)
    parser.add_argument(
        "--search",
        metavar="NAME",
        help=f"astar, wastar, gbfs or lazy-gbfs, the default; with a model: {model_searches_help()}",
    )
    parser.add_argument("--heuristic", metavar="NAME", help=heuristics_help())
    add_options(parser, PlanOptions, (*_OPTIONS, *_OF_MODELS))
    add_proposal_arguments(parser)
    parser.add_argument(
        "--search-debugger",
        "--search-tree-dump",
        metavar="PORT",
        help="post the states of the search to the search debugger of VS Code's PDDL extension: its port,"
        " or its URL",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="say which stages a search in a model went through"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the plan there, not to stdout")


def run(args: argparse.Namespace) -> int:
    """Exit codes are Fast Downward's: 0, 11, 12, 22, 23; 31 for bad input."""
    gc.disable()  # imports make many objects that live to the end
    try:
        return _run(args)
    finally:
        if not output.is_process():  # which ends now
            gc.enable()


def _run(args: argparse.Namespace) -> int:
    started = time.monotonic()
    if args.output is not None:
        check_output(args.output)
    found: tuple[Diagnostic, ...] = ()
    without_domain(args, "problem")
    debugger = _debugger(args)
    with Budget(args.time_limit, args.memory_limit).running():
        try:
            problem = load_problem(args.problem, domain_of(args))
        except LimitError as limit:
            parsed = time.monotonic() - started
            what = limit.status.removeprefix("out-of-")
            result = Result(
                limit.status, reasons=(f"the {what} limit was reached while the files were read",)
            )
        else:
            parsed = time.monotonic() - started
            found = (*problem.domain.warnings, *problem.warnings)
            with ctrl_c_ends(), debugger or nullcontext():
                result = _chosen(args, problem, debugger)
            found += () if debugger is None else debugger.warnings
    seconds = {
        "parse": parsed,
        "ground": result.phases.get("ground", 0.0),
        "search": result.phases.get("search", result.seconds),
        "total": time.monotonic() - started,
    }
    text = write_plan(result.plan or (), result.cost or 0) if result.solved else ""
    unwritten: tuple[Diagnostic, ...] = ()
    if result.solved and args.output is not None:
        try:
            write_output(args.output, text)
            text = ""
        except Error as why:  # the plan itself must not be lost: it goes to stdout
            unwritten = why.diagnostics
    for stage in result.stages if args.verbose else ():
        output.say(f"pdsketch: {stage}")
    if result.plan == []:
        output.say("pdsketch: the goal holds in the initial state: there is nothing to do")
    for warning in result.warnings:
        output.say(f"pdsketch: warning: {warning}")
    for reason in result.reasons:
        if reason not in result.warnings:
            output.say(f"pdsketch: {reason}")
    payload = {
        "status": result.status,
        "plan": result.plan,
        "cost": int(cost) if (cost := result.cost) is not None and cost == int(cost) else cost,
        "expanded": result.expanded,
        "evaluated": result.evaluated,
        "generated": result.generated,
        "seconds": seconds,
        "reasons": result.reasons,
        "warnings": result.warnings,
        "best_h": result.best_h,
        "refinements": result.refinements,
        "phases": result.phases,
        "stages": [asdict(stage) for stage in result.stages],
    }
    code = output.BAD_INPUT if unwritten else output.EXIT_OF_STATUS[result.status]
    found = (*found, *unwritten)
    return output.finish(code, payload, json=args.json, diagnostics=found, text=text.rstrip("\n"))


def _debugger(args: argparse.Namespace) -> SearchDebugger | None:
    if args.search_debugger is None:
        return None
    from pdsketch.serve import SearchDebugger, address_of

    url = address_of(args.search_debugger)
    if url is None:
        raise output.UsageError(
            f"--search-debugger wants a port, 1 to 65535, or http://HOST:PORT, found {args.search_debugger}"
        )
    return SearchDebugger(url)


def _chosen(args: argparse.Namespace, problem: Problem, debugger: SearchDebugger | None) -> Result:
    """Plan; a search or a heuristic that is not there is the command line's fault, all else the problem's."""
    try:
        result = _plan(args, problem, {} if debugger is None else {"trace": debugger})
        if debugger is not None and result.plan is not None:
            debugger.found(result.plan)
        return result
    except Error as refused:
        first = refused.diagnostics[0]
        if first.code in ("unknown-search", "unknown-heuristic", "bad-option", "bad-limit"):
            raise output.UsageError(f"{first.message}{f'; {first.help}' if first.help else ''}") from None
        raise Error([_at_problem(d, args.problem) for d in refused.diagnostics]) from None


def _at_problem(diagnostic: Diagnostic, file: str) -> Diagnostic:
    if diagnostic.span is None and diagnostic.file == UNPLACED:
        return replace(diagnostic, file=file)
    return diagnostic


def _plan(args: argparse.Namespace, problem: Problem, options: dict[str, Any]) -> Result:
    from pdsketch.search import plan
    from pdsketch.task import classify

    if classical := args.model is None and classify(problem).classical:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else threads that nobody uses: 10 % of a start
    else:
        with apart():
            import_large("torch")
    options |= read_options(args, ("search", "heuristic", *_OPTIONS))
    of_models = read_options(args, _OF_MODELS)
    proposing = [kind for kind in ("generator", "sampler") if getattr(args, kind)]
    if classical and (of_models or proposing):
        raise output.UsageError(f"--{[*of_models, *proposing][0]} is for models, and this problem needs none")
    options |= of_models | {f"{kind}s": given_functions(getattr(args, kind)) for kind in proposing}
    if args.model is not None:
        options["costs"] = problem.metric == "cost"
        model = loaded_model(args)
        with _quietly():
            return plan(model, problem.state, problem.goal, **options)
    if args.module:
        raise output.UsageError("--module goes with --model: it gives the functions of a trained model")
    if not classical:
        with _quietly():
            return plan(problem, **options)
    return plan(problem, **options)


@contextmanager
def _quietly() -> Iterator[None]:
    """Within, planning through a model warns of nothing: it is in the result, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        yield

"""``pdsketch reproduce TABLE``: run an experiment of the paper and write its table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.worlds import add_world_option, check_options, given_options

if TYPE_CHECKING:
    from pdsketch_paper.experiments.reproduce import Request
    from pdsketch_paper.experiments.tables import ResultTable

PURPOSE = "run an experiment of the paper"
EXAMPLE = """
pdsketch reproduce babyai-main --jobs 2
pdsketch reproduce babyai-data --quick
pdsketch reproduce babyai-data --finished
pdsketch reproduce babyai-data --seeds 5,17,23
pdsketch reproduce --all --quick --jobs 2
pdsketch reproduce babyai-data --cluster ray://head:10001 --jobs 30
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which table and how."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        nargs="?",
        help="babyai-main, babyai-data, babyai-gap, painting-main, ao-rules …: an unknown one lists them",
    )
    parser.add_argument("--all", action="store_true", help="every table; what is finished is not made again")
    parser.add_argument(
        "--quick", action="store_true", help="a smoke run: little data, few problems, one seed"
    )
    parser.add_argument(
        "--seeds",
        type=_seeds,
        metavar="SEEDS",
        help="how many (3), which (5,17,23), or from which to which (100-109); else each row has its own",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the runs (1)")
    parser.add_argument(
        "--cluster",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="share them over a Ray cluster, of which --jobs workers at a time (the extra `cluster`)",
    )
    parser.add_argument(
        "--finished", action="store_true", help="make no runs: the table of those that are finished"
    )
    parser.add_argument("-o", "--output", default="results", metavar="DIR", help="where to write (results)")
    add_world_option(parser)
    parser.add_argument("--page", metavar="FILE", help="also put all tables of DIR on one Markdown page")


MOST_SEEDS = 1000


def _seeds(text: str) -> tuple[int, ...]:
    """``3``, ``5,17,23`` or ``100-109``."""
    first, dash, last = text.partition("-")
    parts = [first, last] if dash else text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise argparse.ArgumentTypeError(f"wanted a number, a list 5,17,23 or a range 100-109, found {text}")
    numbers = tuple(map(int, parts))
    found = (
        range(numbers[0], numbers[-1] + 1) if dash else range(numbers[0]) if len(numbers) == 1 else numbers
    )
    if not 0 < len(found) <= MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"wanted 1 to {MOST_SEEDS} seeds, found {text}")
    return tuple(dict.fromkeys(found))


def run(args: argparse.Namespace) -> int:
    """Run, print the table."""
    if args.all != (args.table is None):
        raise output.UsageError("name a table, or say --all")
    import_large("torch", "pdsketch.training.fitting")
    from pdsketch_paper.experiments.reproduce import EXPERIMENTS, experiment_of, write_results

    options = given_options(args)
    if args.all and options:
        raise output.UsageError("--world-option is for one table: they have not all the same world")
    requests = [_request(name, args, options) for name in (EXPERIMENTS if args.all else [args.table])]
    for request in requests:
        check_options(options, experiment_of(request.table).options, "the world of the demonstrations")
    made = [_made(request, named=args.all) for request in requests]
    if args.page:
        write_results(requests[0].place, Path(args.page))
    text = "\n".join(table.markdown() for table in made)
    found = {"tables": [table.as_json() for table in made]} if args.all else made[0].as_json()
    return output.finish(output.OK, {"ok": True, **found}, json=args.json, text=text)


def _request(table: str, args: argparse.Namespace, options: dict[str, Any]) -> Request:
    from pdsketch_paper.experiments.reproduce import Request

    folder, jobs = Path(args.output), max(1, args.jobs)
    return Request(table, folder, args.seeds, args.quick, jobs, options, args.cluster, args.finished)


def _made(request: Request, *, named: bool) -> ResultTable:
    from pdsketch_paper.experiments.reproduce import reproduce

    output.when_interrupted(lambda _: _kept(request))
    if named:
        output.say(f"{request.table}:")
    return reproduce(request, output.say)


def _kept(request: Request) -> output.Kept:
    """What an interruption leaves, and how to go on."""
    from pdsketch_paper.experiments.reproduce import finished

    done, all_ = finished(request)
    return f"{done} of {all_} runs are kept in {request.runs}", "the same command makes the others"

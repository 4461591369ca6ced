"""``pdsketch reproduce TABLE``: run an experiment of the paper and write its table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.worlds import add_world_option, check_options, given_options

if TYPE_CHECKING:
    from pdsketch_paper.experiments.reproduce import Request

PURPOSE = "run an experiment of the paper"
EXAMPLE = """
pdsketch reproduce babyai-main --jobs 2
pdsketch reproduce babyai-data --quick
pdsketch reproduce babyai-data --finished
pdsketch reproduce painting-main --quick
pdsketch reproduce babyai-data --cluster ray://head:10001 --jobs 30
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which table and how."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="babyai-main, babyai-data, babyai-nodes, babyai-curves, babyai-unseen, babyai-stock, "
        "babyai-transitions, babyai-factors, babyai-onpolicy, painting-main or painting-unseen",
    )
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
    import_large("torch", "pdsketch.training.fitting")
    from pdsketch_paper.experiments.reproduce import Request, experiment_of, reproduce, write_results

    options = given_options(args)
    check_options(options, experiment_of(args.table).options, "the world of the demonstrations")
    request = Request(
        args.table,
        Path(args.output),
        args.seeds,
        args.quick,
        max(1, args.jobs),
        options,
        args.cluster,
        args.finished,
    )
    output.when_interrupted(lambda _: _kept(request))
    table = reproduce(request, output.say)
    if args.page:
        write_results(request.place, Path(args.page))
    return output.finish(output.OK, {"ok": True, **table.as_json()}, json=args.json, text=table.markdown())


def _kept(request: Request) -> output.Kept:
    """What an interruption leaves, and how to go on."""
    from pdsketch_paper.experiments.reproduce import finished

    done, all_ = finished(request)
    return f"{done} of {all_} runs are kept in {request.runs}", "the same command makes the others"

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
    parser.add_argument("--seeds", type=int, default=None, metavar="N", help="how many seeds (3; quick: 1)")
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


def run(args: argparse.Namespace) -> int:
    """Run, print the table."""
    import_large("torch", "pdsketch.training.fitting")
    from pdsketch_paper.experiments.reproduce import Request, experiment_of, reproduce, write_results
    from pdsketch_paper.experiments.workers import Cluster

    seeds = args.seeds if args.seeds is not None else (1 if args.quick else 3)
    options = given_options(args)
    check_options(options, experiment_of(args.table).options, "the world of the demonstrations")
    cluster = None if args.cluster is None else Cluster(args.cluster or None)
    request = Request(
        args.table,
        Path(args.output),
        max(1, seeds),
        args.quick,
        max(1, args.jobs),
        options,
        cluster,
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

"""``pdsketch mcp``: a server for agents, by the Model Context Protocol over stdin and stdout."""

from __future__ import annotations

import argparse

from pdsketch.cli import output
from pdsketch.interchange import CallLimits, mcp_server

EXAMPLE = "pdsketch mcp --model lamps-model --time-limit 10"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A model, and what a call may take."""
    limits = CallLimits()
    parser.add_argument("--model", metavar="DIR", help="a trained model, for problems without a domain")
    parser.add_argument(
        "--time-limit", type=float, default=limits.seconds, metavar="S", help="seconds that a call may take"
    )
    parser.add_argument(
        "--memory-limit", type=float, default=limits.megabytes, metavar="MB", help="and megabytes"
    )
    parser.add_argument(
        "--size-limit", type=int, default=limits.characters, metavar="N", help="and characters of text"
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 0 when the agent has closed the pipe."""
    given = {
        "--time-limit": args.time_limit,
        "--memory-limit": args.memory_limit,
        "--size-limit": args.size_limit,
    }
    for name, value in given.items():
        if not 0 < value < 1e9:
            raise output.UsageError(f"{name} wants a positive number, found {value:g}")
    mcp_server(args.model, CallLimits(args.time_limit, args.memory_limit, args.size_limit)).run("stdio")
    return output.OK

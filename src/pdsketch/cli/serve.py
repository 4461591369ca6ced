"""``pdsketch serve DOMAIN PROBLEM``: a local page with the sketch, states, goals, plans, search trees."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.modules import add_module_argument, given_modules
from pdsketch.cli.worlds import add_world_option, check_world, world_maker
from pdsketch.lang import load_domain, load_problem

if TYPE_CHECKING:
    from pdsketch.serve import Exploration
    from pdsketch.training import Findings

ENDLESS = True
EXAMPLE = """pdsketch serve examples/blocks/domain.pddl examples/blocks/p01.pddl
pdsketch serve MODEL problem.pddl --data EPISODES
pdsketch serve MODEL --world babyai --world-option objects=4 --seed 7"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to show, and where."""
    parser.add_argument(
        "subject", metavar="MODEL|DOMAIN", help="the folder of a model, or a domain or sketch"
    )
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help="a problem of that domain")
    parser.add_argument(
        "--world", metavar="NAME", help="in place of a problem: a world, whose plans are tried"
    )
    add_world_option(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the world's episode (default 0)")
    parser.add_argument("--data", metavar="DIR", help="with a model: episodes to report on")
    add_module_argument(parser)
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="default: one that is free")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; exit code 0."""
    exploration = _exploration(args)
    from pdsketch.serve import PageServer

    try:
        made = PageServer(exploration, args.port)
    except OSError as why:
        raise output.UsageError(f"--port {args.port}: {(why.strerror or str(why)).lower()}") from None
    with made as server, TemporaryDirectory(prefix="pdsketch-") as folder:
        output.emit(output.to_json({"ok": True, "url": server.url}) if args.json else server.url)
        if not args.no_browser:
            import webbrowser

            webbrowser.open(_doorway(server.url, Path(folder)))
        output.say("pdsketch: the page is there until Ctrl-C")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            sys.stderr.write("\n")
    return output.OK


def _doorway(url: str, folder: Path) -> str:
    """A page that leads on to another, for a browser to open.

    Every user of the machine can read what a browser is called with, and the token stands in the ``url``;
    only its owner can read the ``folder``.
    """
    page = folder / "pdsketch.html"
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={url}">\n', encoding="utf-8")
    return page.as_uri()


def _exploration(args: argparse.Namespace) -> Exploration:
    from pdsketch.serve import Exploration, ModelSubject, subject_of

    is_model = os.path.isdir(args.subject)
    if (args.problem is None) == (args.world is None):
        raise output.UsageError("one of PROBLEM and --world NAME is needed, and not both")
    if not is_model and (args.data or args.module):
        raise output.UsageError("--data and --module go with the folder of a model")
    if is_model or args.world is not None:
        import_large("torch")
    model = None
    if is_model:
        from pdsketch.tensor import load_model

        model = load_model(args.subject, given_modules(args))
    report = _report(args) if args.data else None
    if args.world is None:
        domain = model.domain if model is not None else load_domain(args.subject)
        problem = load_problem(args.problem, domain)
        goal = problem.goal.span.text if problem.goal.span is not None else "(and)"
        return Exploration(subject_of(problem, model), goal, report=report)
    from pdsketch.tensor import Model

    name = check_world(args.world)
    model = model if model is not None else Model(load_domain(args.subject), seed=0)
    world = world_maker(args, name, model.domain)()
    state = world.reset(args.seed)
    return Exploration(ModelSubject(model, state), world.goal, world=world, seed=args.seed, report=report)


def _report(args: argparse.Namespace) -> Findings:
    from pdsketch.tensor import load_model
    from pdsketch.training import evaluate

    return evaluate(load_model(args.subject, given_modules(args)), args.data)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"wanted a port, 0 to 65535, found {text}")
    return int(text)

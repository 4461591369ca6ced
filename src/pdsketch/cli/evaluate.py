"""``pdsketch eval DIR DATA``: what a trained model gets right on episodes, in problems, or in a world."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdsketch.cli import output
from pdsketch.cli.imports import ctrl_c_ends, import_large
from pdsketch.cli.modules import add_module_argument, loaded_model
from pdsketch.cli.worlds import add_world_option, world_maker
from pdsketch.extras import AGENTS, missing, not_installed, offered
from pdsketch.files import check_output, write_output
from pdsketch.search import model_heuristics_help, model_searches_help

if TYPE_CHECKING:
    from pdsketch.act import Agent
    from pdsketch.lang import Domain
    from pdsketch.tensor import Model

EXAMPLE = """pdsketch eval MODEL DATA --html report.html
pdsketch eval MODEL problems/*.pddl --max-expansions 500
pdsketch eval MODEL babyai --world-option objects=8 --world-option doors=6 --heuristic blind
pdsketch eval AGENT babyai --world-option objects=8 --world-option doors=6"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model and the data."""
    parser.add_argument("model", metavar="DIR", help="the folder of a trained model, or of an agent")
    parser.add_argument(
        "data", metavar="DATA", nargs="+", help="a folder of episodes, problem files to plan for, or a world"
    )
    parser.add_argument("--html", metavar="FILE", help="for episodes: also write the report as a page")
    add_module_argument(parser)
    parser.add_argument("--device", default="cpu", help="cpu, cuda, … (default: cpu)")
    parser.add_argument("--search", metavar="NAME", help=f"for problems and worlds: {model_searches_help()}")
    parser.add_argument(
        "--heuristic",
        metavar="NAME",
        help=f"of these: {model_heuristics_help()}",
    )
    parser.add_argument(
        "--max-expansions", type=int, default=500, metavar="N", help="of one plan (default 500)"
    )
    add_world_option(parser)
    parser.add_argument("--episodes", type=int, default=100, metavar="N", help="for a world (default 100)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for a world: the first seed (0)")
    parser.add_argument("--max-steps", type=int, default=64, metavar="N", help="of one episode (default 64)")
    parser.add_argument("--loop", choices=["closed", "open"], default="closed", help="replan, or act blindly")


def run(args: argparse.Namespace) -> int:
    """Exit code 0 whatever the accuracy."""
    import_large("torch", "pdsketch.training.fitting")
    load_agent = _loader(Path(args.model))
    if load_agent is not None:
        if not _names_world(args.data):
            raise output.UsageError("an agent acts, and can be measured in a world alone")
        agent = load_agent(args.model)
        return _acting(agent.to(args.device), agent.domain, args.data[0], args)
    model = loaded_model(args)
    if _names_world(args.data):
        return _in_world(model, args.data[0], args)
    if args.world_option:
        raise output.UsageError("--world-option is for a world, and none is named")
    if len(args.data) > 1 or Path(args.data[0]).is_file():
        if args.html is not None:
            raise output.UsageError("--html is the report on episodes, and problem files were given")
        return _on_problems(model, args.data, args)
    return _on_episodes(model, args.data[0], args)


def _loader(folder: Path) -> Any:
    """What loads the agent of a folder, if it holds one of another package: a file ``NAME.json`` says so."""
    for name in (*offered(AGENTS), *missing(AGENTS)):
        if (folder / f"{name}.json").is_file():
            if name not in offered(AGENTS):
                raise not_installed(f"what loads a `{name}`")
            return offered(AGENTS)[name].load()
    return None


def _names_world(data: Sequence[str]) -> bool:
    """Whether the data are a world's name; a file or folder of that name goes first."""
    from pdsketch.act import world_names

    return len(data) == 1 and data[0] in world_names() and not Path(data[0]).exists()


def _in_world(model: Model, name: str, args: argparse.Namespace) -> int:
    """How often acting on the model's plans succeeds."""
    from pdsketch.act import Policy

    policy = Policy(
        model.to(args.device),
        search=args.search,
        heuristic=args.heuristic,
        options={"max_expansions": args.max_expansions, "time_limit": None},
        loop=args.loop,
    )
    return _acting(policy, model.domain, name, args)


def _acting(agent: Agent, domain: Domain, name: str, args: argparse.Namespace) -> int:
    """How often an agent succeeds, by the world's own word; the world is seen as the agent sees it."""
    from pdsketch.act import rollout

    seeds = range(args.seed, args.seed + args.episodes)
    with ctrl_c_ends():
        done = rollout(agent, world_maker(args, name, domain), seeds, args.max_steps)
    return output.finish(
        output.OK, {"ok": True, "world": name, **done.summary}, json=args.json, text=str(done)
    )


def _on_problems(model: Model, files: Sequence[str], args: argparse.Namespace) -> int:
    """How many problems are solved within the expansions allowed."""
    from pdsketch.lang import load_problem
    from pdsketch.search import plan_many

    problems = [load_problem(file, model.domain) for file in files]
    results = plan_many(
        model.to(args.device),
        [problem.state for problem in problems],
        [problem.goal for problem in problems],
        search=args.search,
        heuristic=args.heuristic,
        max_expansions=args.max_expansions,
        time_limit=None,
    )
    rows = [
        {"file": file, "status": r.status, "plan": r.plan, "cost": r.cost, "expanded": r.expanded}
        for file, r in zip(files, results, strict=True)
    ]
    solved = sum(result.solved for result in results)
    lines = [f"{file}: {r.status}, {r.expanded} expansions" for file, r in zip(files, results, strict=True)]
    lines.append(f"{solved} of {len(files)} problems solved")
    payload = {"ok": True, "problems": rows, "solved": solved / len(files)}
    return output.finish(output.OK, payload, json=args.json, text="\n".join(lines))


def _on_episodes(model: Model, data: str, args: argparse.Namespace) -> int:
    """What the model gets right and wrong, what is known of each blank, and what to beware of."""
    from pdsketch.training import evaluate, page

    if args.html is not None:
        check_output(args.html)
    found = evaluate(model, data, device=args.device)
    if args.html is not None:
        write_output(args.html, page(found, model))
        output.say(f"wrote {args.html}")
    return output.finish(output.OK, {"ok": True, **found.as_json()}, json=args.json, text=str(found))

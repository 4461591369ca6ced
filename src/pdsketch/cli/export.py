"""``pdsketch export MODEL [PROBLEM] -o DIR``: a model as PDDL, and other planners' plans back."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from pdsketch.cli import output
from pdsketch.cli.imports import ctrl_c_ends, import_large
from pdsketch.cli.modules import add_module_argument, loaded_model
from pdsketch.cli.worlds import add_world_option, check_world, world_maker
from pdsketch.lang import Diagnostic, Step, count, load_problem, write_plan
from pdsketch.search import validate

if TYPE_CHECKING:
    from pdsketch.lang import Expr
    from pdsketch.tensor import Model, State

EXAMPLE = """pdsketch export MODEL -o domain.pddl
pdsketch export MODEL problem.pddl -o exported
pdsketch export MODEL --world babyai --seed 7 -o exported
pdsketch export MODEL --world babyai --seed 7 -o exported --plan sas_plan"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, a problem if there is one, and where to."""
    parser.add_argument("model", metavar="MODEL", help="the folder of a trained model")
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help="also this problem of its sketch")
    parser.add_argument("--world", metavar="NAME", help="also the first state and goal of a world")
    add_world_option(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the world (default: 0)")
    parser.add_argument("--goal", metavar="FORMULA", help="another goal than the problem's or the world's")
    add_module_argument(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="a folder, or FILE.pddl for a domain alone"
    )
    parser.add_argument("--force", action="store_true", help="write over what is in the folder")
    parser.add_argument(
        "--plan",
        metavar="FILE",
        help="write nothing, but read a plan for the export in DIR and replay it through the model",
    )


def run(args: argparse.Namespace) -> int:
    """Write the export, or replay a plan: exit code 0 if the model accepts it, 1 if it does not."""
    if args.problem is not None and args.world is not None:
        raise output.UsageError("give a PROBLEM or --world NAME, not both")
    if args.problem is None and args.world is None and (args.goal is not None or args.plan is not None):
        raise output.UsageError("a goal or a plan is one for a problem: give a PROBLEM or --world NAME")
    if args.world_option and args.world is None:
        raise output.UsageError("--world-option is for a world, and none is named")
    if args.world is not None:
        check_world(args.world)
    import_large("torch")
    from pdsketch.abstract import check_folder, export, is_file, read_abstract_plan

    if args.plan is None:
        check_folder(args.output, force=args.force)
    model = loaded_model(args)
    state, goal, costs = _problem(args, model)
    if args.plan is not None:
        assert state is not None
        assert goal is not None
        return _replayed(args, model, state, goal, read_abstract_plan(args.output, args.plan))
    with ctrl_c_ends():
        task = export(model, state, goal, args.output, costs=costs, force=args.force)
    left_out = [
        Diagnostic(
            "not-abstractable",
            f"`{name}` is left out: {why}",
            severity="warning",
            file=args.model,
        )
        for name, why in task.left_out.items()
    ]
    counts = {
        "actions": len(task.actions),
        "objects": len(task.objects),
        "codes": len(task.codes),
        "facts": 0 if task.problem is None else len(task.problem.init),
    }
    payload = {
        "ok": True,
        "folder": args.output,
        **counts,
        "agreement": task.agreement,
        "left_out": task.left_out,
    }
    files = ["domain.pddl", *([] if task.problem is None else ["problem.pddl"]), "mapping.json"]
    said = ", ".join(count(n, what.removesuffix("s")) for what, n in counts.items() if n or what == "actions")
    text = (
        f"{args.output} ({said})" if is_file(args.output) else f"{args.output}: {', '.join(files)} ({said})"
    )
    return output.finish(output.OK, payload, json=args.json, diagnostics=left_out, text=text)


def _problem(args: argparse.Namespace, model: Model) -> tuple[State | None, str | Expr | None, bool | None]:
    """The state and the goal that the command line names, and whether actions cost what the sketch says."""
    if args.problem is None and args.world is None:
        return None, None, None
    if args.problem is not None:
        problem = load_problem(args.problem, model.domain)
        return problem.state, args.goal or problem.goal, problem.metric == "cost"
    world = world_maker(args, args.world, model.domain)()
    state = world.reset(args.seed)
    return state, args.goal or world.goal, None


def _replayed(
    args: argparse.Namespace, model: Model, state: State, goal: str | Expr, steps: list[Step]
) -> int:
    verdict = validate(model, steps, state, goal)
    payload = {"valid": verdict.valid, "plan": steps, "steps": len(steps), "failed_step": verdict.step}
    if verdict.reason is None:
        text = write_plan(steps, len(steps)).rstrip("\n")
        return output.finish(output.OK, payload, json=args.json, text=text)
    wrong = [replace(verdict.reason, file=args.plan, span=None)]
    return output.finish(output.DIFFERENT, payload, json=args.json, diagnostics=wrong, text="invalid")

"""``pdsketch show FILE``: what a sketch, a domain or a problem holds; and its picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from pdsketch.cli import output
from pdsketch.cli.describe import describe_domain, describe_problem, in_words
from pdsketch.files import write_output
from pdsketch.lang import Domain, Problem, load_domain, load_file, load_problem

EXAMPLE = """\
pdsketch show examples/kitchen/domain.pdsketch
pdsketch show examples/kitchen/domain.pdsketch --graph wait.svg --of wait"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and the picture."""
    parser.add_argument(
        "file", metavar="FILE", help="a sketch, a domain, or a problem with its domain.pddl beside it"
    )
    parser.add_argument(
        "--domain", metavar="FILE", help="the domain of a problem, if not domain.pddl beside it"
    )
    parser.add_argument("--graph", metavar="OUT", help="draw the computation graph into OUT (.svg or .dot)")
    parser.add_argument("--of", metavar="NAME", help="the predicate or action to draw; else the whole sketch")


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or 31 if the file is not right."""
    if args.graph and Path(args.graph).suffix.lower() not in (".svg", ".dot"):
        raise output.UsageError(f"--graph {args.graph}: a picture's name ends in .svg or .dot")
    if args.of and not args.graph:
        raise output.UsageError("--of says what to draw; add where to: --graph OUT.svg")
    loaded = load_problem(args.file, load_domain(args.domain)) if args.domain else load_file(args.file)
    if isinstance(loaded, Problem):
        domain, summary = loaded.domain, describe_problem(loaded)
    else:
        domain, summary = loaded, describe_domain(loaded)
    text = in_words(summary)
    if args.graph:
        _draw(domain, args.of, Path(args.graph))
        summary["graph"] = args.graph
    return output.finish(
        output.OK, {"ok": True, **summary}, json=args.json, diagnostics=loaded.warnings, text=text
    )


def _draw(domain: Domain, name: str | None, path: Path) -> None:
    from pdsketch.draw import graph_of, to_dot, to_svg

    graph = graph_of(domain, name)
    text = to_dot(graph) if path.suffix.lower() == ".dot" else to_svg(graph)
    write_output(path, text)
    output.say(f"{path}: {len(graph.nodes)} nodes, {len(graph.arrows)} arrows")

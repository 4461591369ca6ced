"""``pdsketch show FILE``: what a sketch, a domain or a problem holds; and its picture."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pdsketch.cli import output
from pdsketch.files import write_output
from pdsketch.lang import (
    Action,
    Blank,
    Domain,
    Predicate,
    Problem,
    Variable,
    load_domain,
    load_file,
    load_problem,
)

# What a loaded file holds: as plain values for JSON, and as lines for people.

Summary = dict[str, Any]


def describe_domain(domain: Domain) -> Summary:
    """Types, predicates with their roles, actions and blanks."""
    return {
        "kind": "domain",
        "name": domain.name,
        "file": domain.source.name,
        "requirements": list(domain.requirements),
        "types": {name: list(parents) for name, parents in domain.hierarchy.parents.items()},
        "value_types": {name: str(replace(type_, alias=None)) for name, type_ in domain.value_types.items()},
        "constants": {name: str(type_) for name, type_ in domain.constants.items()},
        "predicates": [_predicate(predicate) for predicate in domain.predicates.values()],
        "actions": [_action(action) for action in domain.actions.values()],
        "blanks": [_blank(blank) for blank in domain.blanks.values()],
    }


def describe_problem(problem: Problem) -> Summary:
    """Objects by type, how much is known at the start, and the goal in the author's words."""
    goal = problem.goal.span
    return {
        "kind": "problem",
        "name": problem.name,
        "file": problem.source.name,
        "domain": problem.domain.name,
        "objects": {type_: list(names) for type_, names in problem.objects.items() if names},
        "constants": {name: str(type_) for name, type_ in problem.domain.constants.items()},
        "init": len(problem.init),
        "goal": " ".join(goal.text.split()) if goal is not None else None,
        "metric": problem.metric,
    }


def _parameters(variables: Iterable[Variable]) -> list[dict[str, str]]:
    return [{"name": v.name, "type": str(v.type)} for v in variables]


def _predicate(predicate: Predicate) -> Summary:
    return {
        "name": predicate.name,
        "parameters": _parameters(predicate.parameters),
        "type": str(predicate.type),
        "role": predicate.role,
    }


def _action(action: Action) -> Summary:
    return {
        "name": action.name,
        "parameters": _parameters(action.parameters),
        "writes": list(dict.fromkeys(update.target.predicate for update in action.effects)),
        "has_cost": action.cost is not None,
    }


def _blank(blank: Blank) -> Summary:
    return {
        "name": blank.name,
        "signature": blank.signature,
        "inputs": [str(taken) for taken in blank.inputs],
        "returns": str(blank.returns),
    }


def in_words(summary: Mapping[str, Any]) -> str:
    """A summary for people."""
    lines = _problem_lines(summary) if summary["kind"] == "problem" else _domain_lines(summary)
    return "\n".join(lines)


_ROLES = {
    "predicates": {
        "observed": "",
        "raw": "read by the encoder alone",
        "external": "function, to be registered",
        "cost": "cost",
    },
    "encoded state variables": {"encoded": ""},
    "derived predicates": {"derived": ""},
}
"""The headings, and what is said of each role under them."""


def _domain_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    yield f"domain {summary['name']}"
    yield from _section("types", _type_lines(summary))
    yield from _section("constants", [f"{name} - {type_}" for name, type_ in summary["constants"].items()])
    for heading, roles in _ROLES.items():
        found = [p for p in summary["predicates"] if p["role"] in roles]
        yield from _section(heading, _columns([(_signature(p), roles[p["role"]]) for p in found]))
    actions = [
        (_call(a), "writes " + ", ".join(a["writes"]) if a["writes"] else "") for a in summary["actions"]
    ]
    yield from _section("actions", _columns(actions))
    yield from _section("blanks", [blank["signature"] for blank in summary["blanks"]])


def _type_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    children: dict[str, list[str]] = {}
    for name, parents in summary["types"].items():
        if name != "object":
            above = (
                parents[0] if len(parents) == 1 else f"(either {' '.join(parents)})" if parents else "object"
            )
            children.setdefault(above, []).append(name)
    yield from (f"{' '.join(names)} - {parent}" for parent, names in children.items())
    yield from (f"{name} - {type_}" for name, type_ in summary["value_types"].items())


def _problem_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    yield f"problem {summary['name']} of domain {summary['domain']}"
    objects = [f"{' '.join(_some(names))} - {type_}" for type_, names in summary["objects"].items()]
    yield from _section("objects", objects)
    yield from _section("init", [f"{summary['init']:,} facts and values"])
    goal = summary["goal"] or "none"
    yield from _section("goal", [goal if len(goal) <= 1000 else goal[:1000] + " …"])
    if summary["metric"] == "cost":
        yield from _section("metric", ["minimise total-cost"])


def _some(names: list[str], most: int = 50) -> list[str]:
    """The names, or the first of them and how many there are more."""
    return names if len(names) <= most else [*names[:most], f"… ({len(names) - most:,} more)"]


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield ""
        yield heading
        yield from ("  " + line for line in found)


def _call(item: Mapping[str, Any]) -> str:
    return " ".join([item["name"], *(f"{p['name']} - {p['type']}" for p in item["parameters"])])


def _signature(predicate: Mapping[str, Any]) -> str:
    returns = "" if predicate["type"] == "bool" else f" -> {predicate['type']}"
    return _call(predicate) + returns


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    """Remarks stand below each other, unless a long line would push them away."""
    wide = max((len(left) for left, right in rows if right and len(left) <= 60), default=0)
    return [f"{left:{wide}}  {right}".rstrip() if right else left for left, right in rows]


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

"""The server for agents, through the SDK's own client over stdio."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.session import ClientSession
from mcp.client.stdio import stdio_client
from tests.interchange.test_pddl_environment import EXAMPLES

import pdsketch as pds
from pdsketch.cli.main import main
from pdsketch.interchange import CallLimits

DOMAIN = (EXAMPLES / "blocks/domain.pddl").read_text(encoding="utf-8")
PROBLEM = (EXAMPLES / "blocks/p01.pddl").read_text(encoding="utf-8")


PATIENT = "--time-limit=600"
"""On a busy machine, Python alone takes long to start."""


def answers(calls: list[tuple[str, dict[str, Any]]], *options: str) -> list[Any]:
    """What a server says to some calls; first the names of its tools."""

    async def talk() -> list[Any]:
        words = ["-m", "pdsketch", "mcp", PATIENT, *options]
        # Else it gets little of the environment, and imports whatever is installed.
        server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert not any("  " in (tool.description or "  ") for tool in tools)
            found: list[Any] = [[tool.name for tool in tools]]
            for name, arguments in calls:
                found.append(await session.call_tool(name, arguments))
            return found

    return asyncio.run(talk())


def content(answer: Any) -> dict[str, Any]:
    assert not answer.is_error
    structured = answer.structured_content
    assert json.loads(answer.content[0].text) == structured  # for clients that read text alone
    return structured


def test_agents_check_format_plan_validate_and_ask_why(tmp_path):
    both = {"domain": DOMAIN, "problem": PROBLEM}
    tools, *found = answers(
        [
            ("check", {"domain": DOMAIN.replace("(clear ?b)", "(claer ?b)"), "problem": PROBLEM}),
            ("format", {"text": DOMAIN.replace("\n  ", "\n ")}),
            ("plan", {**both, "search": "astar", "heuristic": "lmcut"}),
            ("validate", {**both, "plan": "(pick-up b)\n(stack b a)\n(stack a b)"}),
            ("explain", {**both, "goal": "(forall (?b - block) (on-table ?b))"}),
            ("explain", both),
        ]
    )
    assert tools == ["check", "format", "plan", "validate", "explain"]
    checked, formatted, planned, validated, explained, why = map(content, found)
    assert not checked["ok"]
    first = checked["diagnostics"][0]
    assert (first["code"], first["file"]) == ("unknown-predicate", "domain.pddl")
    assert first["line"] > 1
    assert "clear" in first["help"]
    assert formatted["ok"]
    assert formatted["text"].count("\n") > 20
    assert (planned["status"], planned["cost"], len(planned["plan"])) == ("solved", 4, 4)
    assert (validated["valid"], validated["failed_step"]) == (False, 2)
    assert validated["diagnostics"][0]["file"] == "domain.pddl"
    assert explained["truth"] == 1.0
    assert [part["truth"] for part in why["parts"]] == [0.0, 0.0]


def test_each_call_keeps_to_its_limits():
    hard = "(define (problem p) (:domain blocks) (:objects " + " ".join(f"b{i}" for i in range(40))
    hard += " - block) (:init (hand-empty)" + "".join(f"(on-table b{i})(clear b{i})" for i in range(40))
    hard += ") (:goal (and" + "".join(f"(on b{i} b{i + 1})" for i in range(39)) + ")))"
    both = {"domain": DOMAIN, "problem": hard}
    _, *found = answers(
        [
            ("plan", {**both, "search": "astar", "heuristic": "blind", "time_limit": 1}),
            ("check", {"domain": DOMAIN + " " * 20_000}),
            ("plan", {"domain": DOMAIN, "problem": PROBLEM}),
        ],
        "--memory-limit=300",
        "--size-limit=20000",
    )
    late, large, fine = map(content, found)
    # By its own clock, or ended from outside if it has hardly started by then.
    status = late["status"] if "status" in late else late["diagnostics"][0]["code"]
    assert status in ("out-of-time", "out-of-memory")
    assert large["diagnostics"][0]["message"] == "a call takes at most 20,000 characters"
    assert fine["status"] == "solved"


def test_with_a_model_problems_need_no_domain(tmp_path):  # nor blanks that are filled
    sketch = pds.parse_domain(
        "(define (domain d) (:types lamp) (:predicates (on ?l - lamp))"
        " (:action press :parameters (?l - lamp) :effect (on::assign ?l (??f (on ?l)))))"
    )
    pds.Model(sketch).save(tmp_path / "m")
    problem = "(define (problem p) (:domain d) (:objects a - lamp) (:goal (on a)))"
    _, explained = answers([("explain", {"problem": problem})], "--model", str(tmp_path / "m"))
    assert 0.0 <= content(explained)["truth"] <= 0.5


@pytest.mark.parametrize("option", ["--time-limit=0", "--memory-limit=-1", "--size-limit=0"])
def test_limits_that_are_none_are_usage_errors(option, capsys):
    assert main(["mcp", option]) == 2
    assert "wants a positive number" in capsys.readouterr().err


def test_the_defaults_are_those_of_the_help(capsys):
    assert main(["mcp", "--help"]) == 0
    assert CallLimits().seconds == 30.0


def test_explain_on_the_command_line(capsys):
    assert main(["explain", str(EXAMPLES / "blocks/domain.pddl"), str(EXAMPLES / "blocks/p01.pddl")]) == 0
    assert capsys.readouterr().out == "0  (and (on a b) (on b c))\n  0  (on a b)\n  0  (on b c)\n"
    assert Path(EXAMPLES).is_dir()

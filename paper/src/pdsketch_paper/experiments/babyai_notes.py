"""What the tables of BabyAI have in common: the names of models, and how a note says what was run."""

from __future__ import annotations

from pdsketch_paper.babyai.modules import SketchName
from pdsketch_paper.experiments.tables import Records, made_by

SKETCHES: dict[SketchName, str] = {"base": "PDS-Base", "abs": "PDS-Abs", "rob": "PDS-Rob"}
SIZES = (100, 1000, 10000)
"""Numbers of demonstrations."""

LOOPS = ("open", "closed")


def note_on(records: Records, more: str = "") -> str:
    """Seeds, problems, and where the runs come from."""
    seeds = sorted({record["config"]["train"]["seed"] for record in records})
    problems = records[0]["config"]["problems"]
    held_out_note = f"{problems} held-out problems a seed. " if problems else ""
    return f"Seeds {', '.join(map(str, seeds))}; {held_out_note}{more}{made_by(records)}"


def limit_of(records: Records) -> str:
    """How plans were searched for, as the runs have it."""
    search = records[0]["config"]["search"]
    kind = f"{search['search']}, heuristic {search['heuristic']}"
    kind = "Blind A*" if kind == "astar, heuristic blind" else kind
    return f"{kind}, at most {search['max_expansions']} expansions a plan. "


def trained_from(records: Records) -> str:
    """What was learned from how much, as the runs have it."""
    train = records[0]["config"]["train"]
    return f"{SKETCHES[train['sketch']]} from {train['episodes']:,} demonstrations"

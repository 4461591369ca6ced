"""BabyAI: success of models and agents, in rooms as in training and in fuller ones, and by demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, pstdev

from pdsketch_paper.experiments.babyai_baselines import (
    AGENTS,
    PAPER_ROOMS as BASELINE_ROOMS,
    PAPER_SIZES as BASELINE_SIZES,
    of_baselines,
    of_models,
    success_of,
)
from pdsketch_paper.experiments.babyai_dreamer import PRACTICE
from pdsketch_paper.experiments.babyai_notes import LOOPS, SKETCHES, limit_of, note_on
from pdsketch_paper.experiments.tables import Records, ResultTable, made_by, plot_bars, plot_lines, spread

ALL_AGENTS = {**AGENTS, "dreamer-online": f"Dreamer, {PRACTICE:,} steps of practice"}

PAPER_ROOMS: dict[str, tuple[str, str]] = {
    "base": ("0.82", "0.62"),
    "abs": ("0.99", "0.98"),
    "rob": ("1.00", "1.00"),
}
"""What the paper reports for rooms as in training and for fuller ones."""

PAPER_SIZES: dict[str, dict[int, str]] = {
    "base": {100: "0.04", 1000: "0.11", 10000: "0.80"},
    "abs": {100: "0.04", 1000: "0.98", 10000: "0.99"},
    "rob": {100: "0.72", 1000: "0.99", 10000: "0.99"},
}
"""What the paper reports by number of demonstrations."""


def _values(records: Records, sketch: str, size: int | None, room: str, loop: str) -> list[float]:
    return [
        record["result"][room][loop]["success"]
        for record in records
        if record["config"]["train"]["sketch"] == sketch
        and size in (None, record["config"]["train"]["episodes"])
    ]


def main_table(records: Records) -> ResultTable:
    """Success in rooms as in training and in fuller ones, acting blindly and with replanning."""
    models = of_models(records)
    rows = [
        (title, *_without_plan(records, kind), " / ".join(BASELINE_ROOMS[kind]))
        for kind, title in ALL_AGENTS.items()
    ]
    rows += [
        (
            title,
            *(spread(_values(models, sketch, None, room, loop)) for room in ("4+4", "8+6") for loop in LOOPS),
            " / ".join(PAPER_ROOMS[sketch]),
        )
        for sketch, title in SKETCHES.items()
    ]
    head = (
        "model",
        "4+4 open loop",
        "4+4 closed loop",
        "8+6 open loop",
        "8+6 closed loop",
        "paper: 4+4 / 8+6",
    )
    (episodes,) = _sizes(records)
    trained = f"{episodes} demonstrations in rooms of 4 objects and 4 doors. "
    return ResultTable("BabyAI: planning success", _success_note(records, trained), head, tuple(rows))


def _without_plan(records: Records, kind: str) -> tuple[str, ...]:
    """The cells of an agent that has no plan to carry out blindly."""
    return tuple(
        cell for room in ("4+4", "8+6") for cell in ("", spread(success_of(records, kind, None, room)))
    )


def _success_note(records: Records, trained: str = "") -> str:
    """The note of a table of models and agents, of which some may not be there."""
    models, agents = of_models(records), of_baselines(records)
    made = f"Agents: {made_by(agents)}" if agents else ""
    return note_on(models, f"{trained}{limit_of(models)}{made and made + ' Models: '}") if models else made


def _sizes(records: Records) -> list[int]:
    """All numbers of demonstrations."""
    configs = [record["config"] for record in records]
    return sorted({config.get("train", config)["episodes"] for config in configs})


def main_plot(records: Records, path: Path) -> None:
    """Bars of the open-loop success."""
    rooms = ("4+4", "8+6")
    found = {
        title: {room: success_of(records, kind, None, room) for room in rooms}
        for kind, title in ALL_AGENTS.items()
    }
    found |= {
        title: {room: _values(of_models(records), sketch, None, room, "open") for room in rooms}
        for sketch, title in SKETCHES.items()
    }
    groups = {
        title: {room: _centre(values) for room, values in by_room.items()}
        for title, by_room in found.items()
        if all(by_room.values())
    }
    plot_bars(groups, path, title="BabyAI: success (models: open loop)", y="success")


def data_table(records: Records) -> ResultTable:
    """Success by number of demonstrations."""
    models, sizes = of_models(records), _sizes(records)
    rows = []
    for kind, title in AGENTS.items():
        rows.append((title, "", *(spread(success_of(records, kind, size, "4+4")) for size in sizes)))
        if kind in BASELINE_SIZES:
            rows.append((title, "paper", *(BASELINE_SIZES[kind].get(size, "") for size in sizes)))
    for sketch, title in SKETCHES.items():
        for loop in LOOPS:
            found = (spread(_values(models, sketch, size, "4+4", loop)) for size in sizes)
            rows.append((title, loop + " loop", *found))
        rows.append((title, "paper", *(PAPER_SIZES[sketch].get(size, "") for size in sizes)))
    head = ("model", "acting", *(f"{size} episodes" for size in sizes))
    return ResultTable(
        "BabyAI: success by number of demonstrations", _success_note(records), head, tuple(rows)
    )


def data_plot(records: Records, path: Path) -> None:
    """Lines of the open-loop success over the number of demonstrations."""
    models, sizes = of_models(records), _sizes(records)
    found = {
        title: {size: success_of(records, kind, size, "4+4") for size in sizes}
        for kind, title in AGENTS.items()
    }
    found |= {
        title: {size: _values(models, sketch, size, "4+4", "open") for size in sizes}
        for sketch, title in SKETCHES.items()
    }
    series = {
        title: [(size, *_centre(values)) for size, values in by_size.items() if values]
        for title, by_size in found.items()
    }
    plot_lines(series, path, title="BabyAI: success (models: open loop)", x="demonstrations", y="success")


def _centre(values: Sequence[float]) -> tuple[float, float]:
    return mean(values), pstdev(values)

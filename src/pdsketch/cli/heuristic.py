"""``--heuristic``: a name, or ``gnn:DIR`` for one that was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pdsketch.cli import output

if TYPE_CHECKING:
    from pdsketch.search import HeuristicSource

LEARNED: Final = "gnn:"
"""What stands before the folder of a learned heuristic."""

HELP: Final = "or gnn:DIR, with a model: one that was learned (train --baseline gnn)"


def given_heuristic(word: str | None, device: str = "cpu") -> str | HeuristicSource | None:
    """What was named; a learned heuristic is read from its folder."""
    if word is None or not word.startswith(LEARNED):
        return word
    from pdsketch.search import HeuristicSource
    from pdsketch_paper.baselines.store import load_baseline

    baseline = load_baseline(word.removeprefix(LEARNED)).to(device)
    if not isinstance(baseline, HeuristicSource):
        raise output.UsageError(f"the baseline `{baseline.KIND}` in {word[4:]} estimates no costs")
    return baseline

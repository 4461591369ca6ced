"""What is to be said of a table beside its numbers: where the paper differs, or contradicts itself."""

from __future__ import annotations

from typing import Final

REMARKS: Final[dict[str, str]] = {
    "babyai-main": """\
Agents that act without a model (BC, DT, Dreamer) are described, with their networks, settings and training,
on the page about [baselines](baselines.md). They choose each action by what they see, so that their
figures, where a table has them, stand with the closed loop.""",
    "babyai-data": """\
**Where the paper contradicts itself.** Its main table has 0.93 for BC and 0.91 for DT (S); its table by
numbers of demonstrations has 0.39 and 0.30 for them at 10,000, its largest number (in brackets above:
the main table). The models agree in both tables (Base 0.82 and 0.80, Abs 0.99, Rob 1.00 and 0.99). How
many demonstrations the main table is from is not said; more than 10,000 would explain the agents, and
nothing else in the paper does. For 100 and for 1,000 demonstrations it has 0.24 and 0.23 for the agents,
which is little more than chance: an agent that draws each of its six actions with the same probability
succeeds in 0.196 of the 500 problems of seed 0 within 64 steps (8+6: 0.262).""",
    "babyai-nodes": """\
The paper shows these curves without numbers, and says that at a success of 0.8 its heuristic needs a
fifth of the expansions of the learned one. A heuristic that is learned from shortest paths has never
seen a state beside them, and is too low there.""",
}
"""By table, in Markdown."""

"""The public door of the reproduction; worlds, commands and heuristics come in through entry points."""

from pdsketch_paper.babyai.adapter import BabyAIWorld as BabyAIWorld
from pdsketch_paper.baselines.training import (
    load_agent as load_agent,
    load_baseline as load_baseline,
    load_heuristic as load_heuristic,
    save_baseline as save_baseline,
    train_baseline as train_baseline,
)
from pdsketch_paper.painting.adapter import PaintingWorld as PaintingWorld

"""The table of rules: a row for each model and kind of codes, and rules as the paper prints them."""

from __future__ import annotations

from dataclasses import asdict

import pdsketch as pds
from pdsketch_paper.babyai.adapter import BabyAIWorld
from pdsketch_paper.experiments.ao_rules import TITLES, rules_runs, rules_table
from pdsketch_paper.experiments.runs import sources

ORIGIN = {"commit": "c", "sources": sources(), "date": "d", "versions": {}}
READ = {
    "codes": {"feature": 14},
    "agreement": [1.0, 0.875],
    "how": {"exact": 3, "held-out samples": 1},
    "left_out": ["toggle"],
    "text": "is-red:\n  (is-red ?o) = (item-feature@3 ?o)",
    "seconds": 0.5,
    "codes_agree": 0.75,
}


def test_each_model_has_a_row_for_each_kind_of_codes():
    runs = rules_runs(range(1), False)
    records = [
        {"config": asdict(run.config), "result": {"k-means": READ, "vq": READ}, "origin": ORIGIN}
        for run in runs
    ]
    table = rules_table(records)
    assert [row[0] for row in table.rows] == [title for title in TITLES.values() for _ in range(2)]
    assert table.rows[0][2:] == ("14", "0.750", "3 exact, 1 held-out samples", "0.875", "1", "0.5")
    assert "(item-feature@3 ?o)" in table.markdown().split("```")[1]


def test_a_world_shows_what_the_sketch_with_latents_encodes():
    world = BabyAIWorld(1, 1, "latent")
    model = pds.Model(world.domain)
    state = model.encode(world.reset(seed=0))
    assert state["item-feature"].shape[-1] == 16

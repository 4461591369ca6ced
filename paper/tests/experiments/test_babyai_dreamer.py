"""The table of Dreamer, small."""

from __future__ import annotations

from pdsketch_paper.experiments.babyai_baselines import DREAMER_ROWS
from pdsketch_paper.experiments.reproduce import Request, reproduce


def test_a_quick_table(tmp_path):
    request = Request("babyai-dreamer", tmp_path, seeds=range(1), quick=True)
    table = reproduce(request)
    assert [row[:4] for row in table.rows] == [
        ("objects", "10", "20", "10"),
        ("objects", "12", "20", "10"),
        ("objects", "12", "0", "0"),
        ("64×64 pixels", "10", "20", "0"),
    ]
    assert (tmp_path / "quick" / "babyai-dreamer.md").read_text() == table.markdown()
    assert reproduce(request).rows == table.rows  # kept, not run again
    assert len({config.name for config in DREAMER_ROWS}) == len(DREAMER_ROWS)

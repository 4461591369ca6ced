"""The table of Dreamer, small."""

from __future__ import annotations

from pdsketch_paper.experiments.babyai_dreamer import SETTINGS, main


def test_a_quick_table(tmp_path):
    table = main(["--quick", "--seeds", "1", "-o", str(tmp_path)])
    assert [row[:4] for row in table.rows] == [
        ("objects", "10", "20", "10"),
        ("objects", "12", "20", "10"),
        ("objects", "12", "0", "0"),
        ("picture", "12", "0", "10"),
    ]
    assert (tmp_path / "quick" / "babyai-dreamer.md").read_text() == table.markdown()
    assert main(["--quick", "--seeds", "1", "-o", str(tmp_path)]).rows == table.rows  # kept, not run again
    assert len({config.name for config in SETTINGS}) == len(SETTINGS)

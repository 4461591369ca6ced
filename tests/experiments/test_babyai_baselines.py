"""The table of baselines, small."""

from __future__ import annotations

from pdsketch.experiments.babyai_baselines import main


def test_the_quick_table_has_a_row_and_is_made_once(tmp_path, capsys):
    words = ["-o", str(tmp_path), "--seeds", "1", "--quick"]
    table = main(words)
    (row,) = table.rows
    assert row[0] == "BC"
    assert all(0.0 <= float(cell) <= 1.0 for cell in row[1:3])
    files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "babyai-baselines").glob("*.json")}
    assert len(files) == 1
    assert main(words) == table  # from the file of the run
    assert files == {p.name: p.stat().st_mtime_ns for p in (tmp_path / "babyai-baselines").glob("*.json")}
    assert "| BC |" in capsys.readouterr().out

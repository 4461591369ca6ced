"""What killed writers left is removed, and what is being written stays."""

from __future__ import annotations

import fcntl

from pdsketch.files.writing import PART, PREFIX, sweep


def test_drafts_of_the_dead_go_and_those_of_the_living_stay(tmp_path):
    dead, living, other = (tmp_path / f"{PREFIX}{name}{PART}" for name in ("dead", "living", "more"))
    mine = tmp_path / "mine.part"
    for path in (dead, living, other, mine):
        path.write_text("half")
    with living.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        sweep(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([living.name, mine.name])

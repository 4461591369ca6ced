"""Recording: what is kept as it comes, and what an interruption leaves."""

from __future__ import annotations

from typing import Any

import pytest

import pdsketch as pds
from pdsketch.training import load_episodes

LINE = pds.parse_domain("""
(define (domain line)
  (:types robot - object)
  (:predicates (at [return_type=int64] ?r - robot))
  (:action right :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 1)))
  (:action left :parameters (?r - robot) :effect (assign (at ?r) (- (at ?r) 1))))
""")
GOAL = "(= (at r) 3)"


class Line:
    """A robot on a line; somebody presses Ctrl-C in the step of that number."""

    domain, goal, executed = LINE, GOAL, True
    stop_at: int | None = None
    taken = 0

    def reset(self, seed: int | None = None) -> pds.State:
        self.seed, self.x = seed, 0
        return self.see()

    def step(self, action: Any) -> pds.State:
        Line.taken += 1
        if Line.taken == self.stop_at:
            raise KeyboardInterrupt
        self.x += 1 if action[0] == "right" else -1
        return self.see()

    def see(self) -> pds.State:
        self.success = self.x == 3
        return pds.State(LINE, {"robot": ["r"]}, {"at": [self.x]})


@pytest.fixture(autouse=True)
def fresh() -> None:
    Line.taken, Line.stop_at = 0, None


OPTIONS: dict[str, Any] = {
    "episodes": 8,
    "max_steps": 5,
    "goals": {"(= (at r) 1)": lambda world: world.x == 1},
}


def contents(done: pds.Rollouts) -> list[Any]:
    said = [(e.actions, {g: [*(v or ())] for g, v in e.goals.items()}) for e in done]
    return [said, done.seeds, done.success]


@pytest.mark.parametrize("worlds", [Line, lambda: [Line(), Line(), Line()]])
def test_what_was_interrupted_goes_on_where_it_was(worlds: Any, tmp_path: Any) -> None:
    made = worlds if isinstance(worlds, type) else worlds()
    whole = pds.record(made, **OPTIONS)
    Line.taken, Line.stop_at = 0, 17
    with pytest.raises(pds.Interrupted, match="of 8 episodes") as stopped:
        pds.record(made, folder=tmp_path / "walks", **OPTIONS)
    kept = stopped.value.rollouts
    assert 3 <= len(kept) < 8
    assert len(load_episodes(tmp_path / "walks", LINE)) == len(kept)
    Line.stop_at, Line.taken = None, 0
    done = pds.record(made, folder=tmp_path / "walks", **OPTIONS)
    assert contents(done) == contents(whole)
    assert Line.taken == sum(whole.steps) - sum(kept.steps)


def test_a_folder_is_extended_and_not_mixed(tmp_path: Any) -> None:
    for episodes in (3, 5):
        done = pds.record(Line(), folder=tmp_path / "walks", **{**OPTIONS, "episodes": episodes})
        assert done.seeds == tuple(range(episodes))
    Line.taken = 0
    assert len(pds.record(Line(), folder=tmp_path / "walks", **{**OPTIONS, "episodes": 5})) == 5
    assert Line.taken == 0
    with pytest.raises(pds.Error, match="recorded otherwise"):
        pds.record(Line(), folder=tmp_path / "walks", **{**OPTIONS, "max_steps": 6})


def test_it_is_told_how_many_episodes_are_done(monkeypatch: Any) -> None:
    said: list[str] = []

    class Told:
        def __enter__(self) -> Any:
            return said.append

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr("pdsketch.act.recording.Ticker", lambda *_, **__: Told())
    pds.record(Line(), episodes=2, max_steps=2, progress=True)
    assert [line.split(",")[0][:17] for line in said] == ["1 of 2 episodes", "2 of 2 episodes"]


def test_a_walk_depends_on_its_seed_alone() -> None:
    alone = pds.record(Line(), episodes=1, max_steps=5, seed=2)
    among = pds.record([Line(), Line()], episodes=4, max_steps=5)
    assert alone[0].actions == pds.record(Line, episodes=1, max_steps=5, seed=2)[0].actions
    assert len({e.actions for e in among}) > 1


def test_an_agent_that_is_interrupted_leaves_the_episodes_that_have_ended() -> None:
    class Right:
        def reset(self) -> None:
            pass

        def act(self, state: pds.State, goal: str) -> Any:
            return ("right", "r")

    Line.stop_at = 8
    with pytest.raises(pds.Interrupted, match="after 2 of 5 episodes") as stopped:
        pds.rollout(Right(), Line(), seeds=range(5))
    assert stopped.value.rollouts.success == (True, True)
    assert isinstance(stopped.value, KeyboardInterrupt)

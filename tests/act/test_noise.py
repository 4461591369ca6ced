"""Acting under noise: blocks are put down beside where they should be, and grips are lost."""

from __future__ import annotations

import pytest
from tests.tabletop import Tabletop, learned

import pdsketch as pds

ROW = "(and (left-of b0 b1) (left-of b1 b2))"


def success(loop: str, *, noise: float, lost: float, episodes: int = 8) -> pds.Rollouts:
    worlds = [Tabletop(4, ROW, noise, lost) for _ in range(episodes)]
    options = {"candidates": "generators", "time_limit": 60.0}
    policy = pds.Policy(learned(), loop=loop, options=options)  # type: ignore[arg-type]
    return pds.rollout(policy, worlds, seeds=range(episodes), max_steps=15)


def test_closed_loop_recovers_from_lost_grips_and_misplaced_blocks() -> None:
    watched, blind = (success(loop, noise=0.02, lost=0.3) for loop in ("closed", "open"))
    told = [float(bool(s)) for s in watched.success]
    assert sum(told) / len(told) == 1.0
    assert sum(bool(s) for s in blind.success) <= len(told) // 2
    assert watched.summary["replans"] > 0  # type: ignore[operator]


def test_tolerances_say_what_is_planned_for_again() -> None:
    """Half a centimetre beside is no reason to plan again where a centimetre and more is tolerated."""
    model, replans = learned(), []
    for tolerance in (0.001, {"at": 0.02}):
        world = Tabletop(3, ROW, noise=0.004)
        policy = pds.Policy(model, tolerance=tolerance, options={"candidates": "generators"})
        pds.rollout(policy, world, seeds=[3], max_steps=8)
        replans.append(policy.account(0)["replans"])
    assert replans[0] > replans[1] == 0


def test_a_controller_that_says_nothing_is_told_what_to_return() -> None:
    world = Tabletop(3, "(left-of b0 b1)")
    world.reset(0)

    def moves(env: Tabletop, block: str, pose: object) -> None:
        env.step(("move-to", block, pose))

    policy = pds.Policy(learned(), controllers={"move-to": moves})
    with pytest.raises(pds.Error, match="returned None") as failure:
        policy.run(world, "(left-of b0 b1)", observe=Tabletop.observe)
    assert "return True" in str(failure.value)

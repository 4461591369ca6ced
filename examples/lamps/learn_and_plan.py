"""Learn the lamps' world from 150 walks, then plan for goals that no walk was judged by."""

from __future__ import annotations

from pathlib import Path

from world import Lamps, demonstration

import pdsketch as pds

GOALS = [
    "(forall (?l - lamp) (lit ?l))",
    "(forall (?l - lamp) (not (lit ?l)))",
    "(forall (?l - lamp) (implies (red ?l) (lit ?l)))",
    "(and (lit lamp#0) (in-reach rob lamp#3) (not (lit lamp#3)))",
]


def main() -> None:
    domain = pds.load_domain(Path(__file__).parent / "lamps.pdsketch")
    model = pds.Model(domain, seed=0)
    pds.fit(model, [demonstration(domain, seed) for seed in range(150)], steps=300, seed=0)
    policy = pds.Policy(model, options={"k": 64, "max_expansions": 20_000, "time_limit": None})
    for goal in GOALS:
        reached = 0
        for seed in range(1000, 1005):
            world = Lamps(domain, lamps=5, seed=seed)
            policy.run(world, goal, observe=Lamps.observe)
            reached += world.satisfies(goal)
        print(f"{reached}/5 worlds with five lamps: {goal}")


if __name__ == "__main__":
    main()

"""Taxi (Gymnasium): random rides teach where moves lead, what walls block and when a passenger gets in.

``pip install "pdsketch-planning[gym]"``, then ``python examples/cookbook/taxi.py``. Known are places, walls
and who is where; blank is what a move does, which walls are in its way, and when picking up works.
"""

from __future__ import annotations

from typing import Any

import gymnasium

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain taxi)
  (:types taxi passenger stand wall - object  place - vector[int64, 2, choices=5])
  (:constants cab - taxi rider - passenger)
  (:predicates
    (at [return_type=place] ?t - taxi)
    (waits ?p - passenger ?s - stand)
    (riding ?p - passenger)
    (stands [return_type=place] ?s - stand)
    (wanted ?s - stand)
    (left-of [return_type=place] ?w - wall))

  (:derived (blocks-east ?t - taxi ?w - wall) (??f (at ?t) (left-of ?w)))
  (:derived (blocks-west ?t - taxi ?w - wall) (??f (at ?t) (left-of ?w)))
  (:derived (delivered ?p - passenger)
    (exists (?s - stand) (and (wanted ?s) (waits ?p ?s))))

  (:action south :parameters (?t - taxi) :effect (at::assign ?t (??f (at ?t))))
  (:action north :parameters (?t - taxi) :effect (at::assign ?t (??f (at ?t))))
  (:action east :parameters (?t - taxi)
    :effect (at::cond-assign ?t (not (exists (?w - wall) (blocks-east ?t ?w))) (??f (at ?t))))
  (:action west :parameters (?t - taxi)
    :effect (at::cond-assign ?t (not (exists (?w - wall) (blocks-west ?t ?w))) (??f (at ?t))))
  (:action pickup :parameters (?t - taxi ?p - passenger)
    :effect (forall (?s - stand)
      (when (and (waits ?p ?s) (??here (at ?t) (stands ?s))) (and (riding ?p) (not (waits ?p ?s))))))
  (:action dropoff :parameters (?t - taxi ?p - passenger)
    :effect (forall (?s - stand)
      (when (and (riding ?p) (= (at ?t) (stands ?s))) (and (waits ?p ?s) (not (riding ?p)))))))
""")

STANDS = {"red": (0, 0), "green": (0, 4), "yellow": (4, 0), "blue": (4, 3)}


def observe(observation: int, env: gymnasium.Env[Any, Any]) -> pds.State:
    """Taxi's number as a state; walls are read off its map. Who rides waits nowhere."""
    row, column, waits, wanted = env.unwrapped.decode(int(observation))
    drawn = env.unwrapped.desc.astype(str)
    walls = [(y, x) for y in range(5) for x in range(4) if drawn[y + 1][2 * x + 2] == "|"]
    return pds.State(
        DOMAIN,
        objects={"stand": list(STANDS), "wall": [f"w{y}{x}" for y, x in walls]},
        values={
            "at": [(row, column)],
            "waits": [[at == waits for at in range(len(STANDS))]],
            "riding": [waits == len(STANDS)],
            "stands": list(STANDS.values()),
            "wanted": [at == wanted for at in range(len(STANDS))],
            "left-of": walls,
        },
    )


def world() -> pds.GymWorld:
    """A taxi: the environment ends an episode where the passenger is delivered."""
    actions = {name: at for at, name in enumerate(("south", "north", "east", "west", "pickup", "dropoff"))}
    name = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"  # as Gymnasium's version has it
    return pds.GymWorld(
        gymnasium.make(name, max_episode_steps=60),
        DOMAIN,
        observe=observe,
        act=actions,
        goal="(delivered rider)",
        success="termination",
    )


def main(seed: int = 0) -> float:
    """Learn from random rides; the part of 20 new passengers that are delivered."""
    rides = pds.record([world() for _ in range(4)], episodes=80, seed=seed, max_steps=40)
    model = pds.Model(DOMAIN, seed=seed)
    print(pds.fit(model, rides, steps=500, seed=seed))
    tried = pds.rollout(pds.Policy(model), [world() for _ in range(4)], seeds=range(1000, 1020), max_steps=60)
    print(tried)
    return float(tried.summary["success"])


if __name__ == "__main__":
    main()

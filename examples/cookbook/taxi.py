"""Taxi (Gymnasium): random rides teach where moves lead, walls included, and when a passenger gets in.

``pip install "pdsketch-planning[gym]"``, then ``python examples/cookbook/taxi.py``. Known are who is where,
and what getting in and out does; each move is a blank over the taxi's place.
"""

from __future__ import annotations

from typing import Any

import gymnasium

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain taxi)
  (:types taxi passenger stand - object  place - vector[int64, 2, choices=5])
  (:constants cab - taxi rider - passenger)
  (:predicates
    (at [return_type=place] ?t - taxi)
    (waits ?p - passenger ?s - stand)
    (riding ?p - passenger)
    (stands [return_type=place] ?s - stand)
    (wanted ?s - stand))

  (:derived (delivered ?p - passenger)
    (exists (?s - stand) (and (wanted ?s) (waits ?p ?s))))

  (:action south :parameters (?t - taxi) :effect (at::assign ?t (??f (at ?t))))
  (:action north :parameters (?t - taxi) :effect (at::assign ?t (??f (at ?t))))
  (:action east :parameters (?t - taxi) :effect (at::assign ?t (??f (at ?t))))
  (:action west :parameters (?t - taxi) :effect (at::assign ?t (??f (at ?t))))
  (:action pickup :parameters (?t - taxi ?p - passenger)
    :effect (forall (?s - stand)
      (when (and (waits ?p ?s) (??here (at ?t) (stands ?s))) (and (riding ?p) (not (waits ?p ?s))))))
  (:action dropoff :parameters (?t - taxi ?p - passenger)
    :effect (forall (?s - stand)
      (when (and (riding ?p) (= (at ?t) (stands ?s))) (and (waits ?p ?s) (not (riding ?p)))))))
""")

STANDS = {"red": (0, 0), "green": (0, 4), "yellow": (4, 0), "blue": (4, 3)}


def observe(observation: int, env: gymnasium.Env[Any, Any]) -> pds.State:
    """Taxi's number as a state. Who rides waits nowhere."""
    row, column, waits, wanted = env.unwrapped.decode(int(observation))
    return pds.State(
        DOMAIN,
        objects={"stand": list(STANDS)},
        values={
            "at": [(row, column)],
            "waits": [[at == waits for at in range(len(STANDS))]],
            "riding": [waits == len(STANDS)],
            "stands": list(STANDS.values()),
            "wanted": [at == wanted for at in range(len(STANDS))],
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

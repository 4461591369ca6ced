"""Minigrid's DoorKey: random walks in small rooms teach what is ahead, what opens, and what can be carried.

``pip install minigrid``, then ``python examples/cookbook/doorkey.py``. Known are which things can be in the
way and which variables an action may change; where a step leads, what is faced and what a door needs are
blank. The agent then acts in rooms that are larger than those of the walks.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import minigrid  # noqa: F401 (registers its environments)

import pdsketch as pds

DOMAIN = pds.parse_domain("""
(define (domain doorkey)
  (:types robot thing - object
          wall door key goal - thing
          place - vector[float32, 2, tolerance=0.3]
          heading - int64[choices=4])
  (:constants me - robot)
  (:predicates
    (at [return_type=place] ?r - robot)
    (looks [return_type=heading] ?r - robot)
    (where [return_type=place] ?x - thing)
    (open ?d - door)
    (carried ?k - key))

  (:derived (faces ?r - robot ?x - thing) (??f (at ?r) (looks ?r) (where ?x)))
  (:derived (blocked ?r - robot)
    (or (exists (?w - wall) (faces ?r ?w))
        (exists (?d - door) (and (faces ?r ?d) (not (open ?d))))
        (exists (?k - key) (and (faces ?r ?k) (not (carried ?k))))))
  (:derived (home ?r - robot) (exists (?g - goal) (= (at ?r) (where ?g))))

  (:action left :parameters (?r - robot) :effect (looks::assign ?r (??f (looks ?r))))
  (:action right :parameters (?r - robot) :effect (looks::assign ?r (??f (looks ?r))))
  (:action forward :parameters (?r - robot)
    :effect (at::cond-assign ?r (not (blocked ?r)) (??next (at ?r) (looks ?r))))
  (:action pickup :parameters (?r - robot)
    :effect (forall (?k - key) (when (faces ?r ?k) (and (carried ?k) (where::assign ?k [-1, -1])))))
  (:action toggle :parameters (?r - robot)
    :effect (forall (?d - door)
      (open::cond-assign ?d (faces ?r ?d) (??turned (open ?d) (exists (?k - key) (carried ?k)))))))
""")
ACTIONS = {"left": 0, "right": 1, "forward": 2, "pickup": 3, "toggle": 5}


def observe(observation: Any, env: Any) -> pds.State:
    """What lies where. A key that is carried is nowhere: its place is that of no tile."""
    inside = env.unwrapped
    found: dict[str, list[Any]] = {"wall": [], "door": [], "key": [], "goal": []}
    for column in range(inside.width):
        for row in range(inside.height):
            thing = inside.grid.get(column, row)
            if thing is not None:
                found[thing.type].append(((column, row), getattr(thing, "is_open", False)))
    carries = inside.carrying is not None
    places = {kind: [place for place, _ in things] for kind, things in found.items()}
    places["key"] = [(-1, -1)] if carries else places["key"]
    return pds.State(
        DOMAIN,
        objects={kind: [f"{kind}{i}" for i in range(len(all_))] for kind, all_ in places.items()},
        values={
            "at": [inside.agent_pos],
            "looks": [inside.agent_dir],
            "where": [place for kind in places for place in places[kind]],
            "open": [is_open for _, is_open in found["door"]],
            "carried": [carries],
        },
    )


def world(size: int) -> pds.GymWorld:
    """A room of so many tiles, with a wall, a locked door, its key and a goal."""
    name = {5: "MiniGrid-DoorKey-5x5-v0", 6: "MiniGrid-DoorKey-6x6-v0", 8: "MiniGrid-DoorKey-8x8-v0"}[size]
    return pds.GymWorld(
        gymnasium.make(name), DOMAIN, observe=observe, act=ACTIONS, goal="(home me)", success="reward"
    )


def main(seed: int = 0) -> float:
    """Learn from random walks; the part of 20 larger rooms in which the agent comes to the goal."""
    walks = pds.record([world(5), world(6)], episodes=100, max_steps=100, seed=seed)
    print(walks)
    model = pds.Model(DOMAIN, seed=seed)
    print(pds.fit(model, walks, seed=seed))
    for name, form in model.forms.items():
        print(name, "=", form)
    reached = pds.rollout(pds.Policy(model), world(8), seeds=range(1000, 1020), max_steps=100)
    print(reached)
    return float(reached.summary["success"])


if __name__ == "__main__":
    main()

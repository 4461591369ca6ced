"""Overcooked: one cook, low-level moves. Learned in small kitchens, tried in larger ones.

``pip install --no-deps overcooked-ai && pip install gym "pdsketch-planning[gym]"``, then
``python examples/cookbook/overcooked.py``. Known are who stands where and that things stand in the way; blank
are where a step leads, what the cook faces, and what a touch does to the hand and to what is touched.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from overcooked_ai_py.mdp.actions import Action
from overcooked_ai_py.mdp.overcooked_mdp import ObjectState, OvercookedGridworld, SoupState

import pdsketch as pds

STEPS = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
SKETCH = """
(define (domain overcooked)
  (:types cook station - object
          counter pot onions dishes hatch - station
          place - vector[float32, 2, tolerance=0.3]
          way - int64[choices=4]
          thing - int64[choices=5]
          filling - int64[choices=6]
          minutes - int64[choices=6])
  (:constants me - cook)
  (:predicates
    (at [return_type=place] ?c - cook)
    (facing [return_type=way] ?c - cook)
    (hand [return_type=thing] ?c - cook)
    (stands [return_type=place] ?s - station)
    (lies [return_type=thing] ?k - counter)
    (holds [return_type=filling] ?p - pot)
    (left [return_type=minutes] ?p - pot)
    (served))
  (:derived (faced ?c - cook ?s - station) (??f (at ?c) (facing ?c) (stands ?s)))
  (:derived (later [return_type=minutes] ?p - pot) (??f (left ?p)))
STEPS
  (:action touch :parameters (?c - cook)
    :effect (and
      (forall (?k - counter) (when (faced ?c ?k) (and
        (hand::assign ?c (??taken (hand ?c) (lies ?k)))
        (lies::assign ?k (??put (hand ?c) (lies ?k))))))
      (forall (?p - pot) (and
        (left::assign ?p (later ?p))
        (when (faced ?c ?p) (and
          (hand::assign ?c (??ladled (hand ?c) (holds ?p) (left ?p)))
          (holds::assign ?p (??filled (hand ?c) (holds ?p) (left ?p)))
          (left::assign ?p (??lit (hand ?c) (holds ?p) (left ?p)))))))
      (forall (?o - onions) (when (faced ?c ?o) (hand::assign ?c (??onion (hand ?c)))))
      (forall (?d - dishes) (when (faced ?c ?d) (hand::assign ?c (??dish (hand ?c)))))
      (forall (?h - hatch) (when (faced ?c ?h) (and
        (when (??right (hand ?c)) (served))
        (hand::assign ?c (??given (hand ?c)))))))))
"""
STEP = """
  (:derived (blocked-{name} ?c - cook) (exists (?s - station) (??f (at ?c) (stands ?s))))
  (:action {name} :parameters (?c - cook)
    :effect (and
      (forall (?p - pot) (left::assign ?p (later ?p)))
      (facing::assign ?c (??turned (facing ?c)))
      (when (not (blocked-{name} ?c)) (at::assign ?c (??next (at ?c))))))
"""
DOMAIN = pds.parse_domain(SKETCH.replace("STEPS", "".join(STEP.format(name=name) for name in STEPS)))
KINDS = {"X": "counter", "P": "pot", "O": "onions", "D": "dishes", "S": "hatch"}
HANDS = {None: 0, "onion": 1, "dish": 2}
RANDOM = np.random.default_rng(0)
MINUTES = 4
"""How long a soup cooks; twenty in the original, where plans are the longer."""


class Kitchen:
    """A kitchen of random size and layout with one cook, as an environment of Gymnasium is used.

    ``sizes`` are those of the floor; in a kitchen that is ``messy``, something is already held and cooking.
    """

    def __init__(self, sizes: range, *, messy: bool) -> None:
        self.sizes, self.messy = sizes, messy
        self.random = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Another kitchen."""
        self.served = False
        self.random = np.random.default_rng(seed)
        width, height = (int(n) + 2 for n in self.random.choice(self.sizes, 2))
        grid = [["X"] * width, *(["X", *" " * (width - 2), "X"] for _ in range(height - 2)), ["X"] * width]
        walls = [(x, y) for x in range(1, width - 1) for y in (0, height - 1)]
        walls += [(x, y) for y in range(1, height - 1) for x in (0, width - 1)]
        for kind, (x, y) in zip("PODS", self.random.permutation(walls), strict=False):
            grid[y][x] = kind
        floor = [(x, y) for x in range(1, width - 1) for y in range(1, height - 1)]
        (x, y), (i, j) = self.random.permutation(floor)[0], self.random.integers(2, (width - 2, height - 2))
        grid[j][i] = "X"  # an island, with ways around it
        grid[y][x] = "1"
        order = {"ingredients": ["onion"] * 3}
        self.rules = OvercookedGridworld.from_grid(grid, {"start_all_orders": [order], "cook_time": MINUTES})
        self.state = self.rules.get_standard_start_state()
        if self.messy:
            self._make_a_mess()
        return self.state, {}

    def _make_a_mess(self) -> None:
        """Something in the hand and in the pot, as random touches would leave it some day."""
        cook, (pot,) = self.state.players[0], self.rules.get_pot_locations()
        stands, way = self.random.permutation(self._places_to_work())[0]
        cook.update_pos_and_or(tuple(map(int, stands)), tuple(map(int, way)))
        onions = int(self.random.integers(0, 4))
        if onions:
            cooked = int(self.random.integers(0, MINUTES + 1)) if self.random.random() < 0.5 else -1
            self.state.objects[pot] = SoupState.get_soup(pot, num_onions=onions, cooking_tick=cooked)
        held = ("nothing", "onion", "dish", "soup")[self.random.integers(4)]
        if held == "soup":
            number = int(self.random.integers(2, 4))
            cook.set_object(SoupState.get_soup(cook.position, num_onions=number, finished=True))
        elif held != "nothing":
            cook.set_object(ObjectState(held, cook.position))

    def _places_to_work(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Where the cook may stand before something that is no counter, and the way to it."""
        terrain, ways = self.rules.terrain_mtx, STEPS.values()
        tiles = [(x, y) for y, row in enumerate(terrain) for x, kind in enumerate(row) if kind in "PODS"]
        nearby = [((x - i, y - j), (i, j)) for x, y in tiles for i, j in ways]
        return [one for one in nearby if one[0] in self.rules.get_valid_player_positions()]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One action of the cook; the order ends with the right soup."""
        self.state, info = self.rules.get_state_transition(self.state, (action,))
        reward = float(sum(info["sparse_reward_by_agent"]))
        self.served |= reward > 0
        return self.state, reward, reward > 0, False, {}


def observe(state: Any, env: Kitchen) -> pds.State:
    """What stands where, what is in it, and what the cook holds."""
    cook, terrain = state.players[0], env.rules.terrain_mtx
    width, height = len(terrain[0]), len(terrain)
    found: dict[str, list[tuple[int, int]]] = {kind: [] for kind in KINDS.values()}
    for x, y in np.ndindex(width, height):
        if terrain[y][x] in KINDS and not (x in (0, width - 1) and y in (0, height - 1)):  # corners are far
            found[KINDS[terrain[y][x]]].append((x, y))
    pots = [state.objects.get(place) for place in found["pot"]]
    return pds.State(
        DOMAIN,
        objects={kind: [f"{kind}-{x}-{y}" for x, y in places] for kind, places in found.items()},
        values={
            "at": [cook.position],
            "facing": [list(STEPS.values()).index(cook.orientation)],
            "hand": [in_hand(cook.held_object)],
            "stands": [place for places in found.values() for place in places],
            "lies": [in_hand(state.objects.get(place)) for place in found["counter"]],
            "holds": [filling(pot) for pot in pots],
            "left": [pot.cook_time_remaining if pot is not None and pot.is_cooking else 0 for pot in pots],
            "served": env.served,
        },
    )


def in_hand(held: Any) -> int:
    """Nothing, an onion, a dish, a soup as ordered, another soup."""
    if held is not None and held.name == "soup":
        return 3 if len(held.ingredients) == 3 else 4
    return HANDS[held and held.name]


def filling(soup: Any) -> int:
    """How many onions are in a pot; or that the soup as ordered is on, or another."""
    if soup is None or soup.is_idle:
        return 0 if soup is None else len(soup.ingredients)
    return 4 if len(soup.ingredients) == 3 else 5


def world(sizes: range, *, messy: bool = False) -> pds.GymWorld:
    """A kitchen whose order is one soup of three onions."""
    actions = {**STEPS, "touch": Action.INTERACT}
    return pds.GymWorld(
        Kitchen(sizes, messy=messy),
        DOMAIN,
        observe=observe,
        act=actions,
        goal="(served)",
        success="termination",
    )


def often_touching(state: pds.State, goal: str) -> tuple[str, str]:
    """For walks: random steps, and as many touches."""
    return (str(RANDOM.choice([*STEPS, *["touch"] * len(STEPS)])), "me")


def main() -> None:
    """Record random walks in small kitchens, learn, and cook in large ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--walks", type=int, default=400)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--scenes", type=int, default=20)
    args = parser.parse_args()
    walks = pds.record(
        world(range(3, 5), messy=True), often_touching, episodes=args.walks, max_steps=8, seed=args.seed
    )
    print(walks)
    model = pds.Model(DOMAIN, seed=args.seed)
    print(pds.fit(model, walks, steps=args.steps, seed=args.seed))
    for name, form in model.forms.items():
        print(name, "=", form)
    seeds = range(1000, 1000 + args.scenes)
    print(pds.rollout(pds.Policy(model), world(range(5, 8)), seeds, max_steps=120))


if __name__ == "__main__":
    main()

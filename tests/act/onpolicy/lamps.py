"""A world that is learned within seconds: lamps of two colours, buttons that have to be found out."""

from __future__ import annotations

import random

import pdsketch as pds

SKETCH = """
(define (domain lamps)
  (:types lamp - object)
  (:predicates
    (colour [return_type=int64[choices=3]] ?l - lamp)
    (level [return_type=int64[choices=3]] ?l - lamp))
  (:derived (is-red ?l - lamp) (??f (colour ?l)))
  (:derived (is-blue ?l - lamp) (??f (colour ?l)))
  (:derived (is-lit ?l - lamp) (??f (level ?l)))
  (:action press :parameters (?l - lamp) :effect (level::assign ?l (??f (level ?l))))
  (:action shake :parameters (?l - lamp) :effect (level::assign ?l (??f (level ?l)))))
"""


class Lamps:
    """Three lamps. Two presses light a lamp, a third puts it out; shaking puts it out at once."""

    def __init__(self, domain: pds.Domain) -> None:
        self.domain = domain
        self.goal = ""
        self.executed = True
        self._colours = [0, 0, 0]
        self._levels = [0, 0, 0]
        self._wanted = 0
        self.steps = 0

    @property
    def success(self) -> bool:
        lit = zip(self._colours, self._levels, strict=True)
        return any(colour == self._wanted and level == 2 for colour, level in lit)

    def reset(self, seed: int | None = None) -> pds.State:
        rng = random.Random(seed)
        self._wanted = rng.randrange(2)
        self._colours = [self._wanted, *(rng.randrange(3) for _ in range(2))]
        rng.shuffle(self._colours)
        self._levels = [rng.randrange(2) for _ in range(3)]
        self.goal = f"(exists (?l - lamp) (and (is-lit ?l) (is-{['red', 'blue'][self._wanted]} ?l)))"
        return self._seen()

    def step(self, action: tuple[str, ...]) -> pds.State:
        self.steps += 1
        at = "abc".index(action[1])
        self._levels[at] = (self._levels[at] + 1) % 3 if action[0] == "press" else 0
        return self._seen()

    def render(self):
        raise NotImplementedError

    def _seen(self) -> pds.State:
        values = {"colour": self._colours, "level": self._levels}
        return pds.State(self.domain, objects={"lamp": ["a", "b", "c"]}, values=values)

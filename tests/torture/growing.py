"""Problems of any size: each kind is hard in another phase of planning."""

from __future__ import annotations

import random
from collections.abc import Callable

Texts = tuple[str, str]
"""A domain and a problem."""


def gripper(n: int) -> Texts:
    """Balls between two rooms: easy to ground, with too many states to search blindly."""
    domain = """(define (domain gripper) (:types room ball hand)
      (:predicates (at ?r - room) (in ?b - ball ?r - room) (free ?h - hand) (holds ?h - hand ?b - ball))
      (:action go :parameters (?a ?b - room) :precondition (at ?a) :effect (and (at ?b) (not (at ?a))))
      (:action take :parameters (?b - ball ?r - room ?h - hand)
        :precondition (and (at ?r) (in ?b ?r) (free ?h))
        :effect (and (holds ?h ?b) (not (in ?b ?r)) (not (free ?h))))
      (:action drop :parameters (?b - ball ?r - room ?h - hand) :precondition (and (at ?r) (holds ?h ?b))
        :effect (and (in ?b ?r) (free ?h) (not (holds ?h ?b)))))"""
    balls = [f"b{i}" for i in range(n)]
    problem = f"""(define (problem p) (:domain gripper)
      (:objects r1 r2 - room {" ".join(balls)} - ball h1 h2 - hand)
      (:init (at r1) (free h1) (free h2) {" ".join(f"(in {b} r1)" for b in balls)})
      (:goal (and {" ".join(f"(in {b} r2)" for b in balls)})))"""
    return domain, problem


def conjuncts(n: int) -> Texts:
    """One action with a long ground precondition, as other planners write grounded tasks."""
    facts = [f"(p{i})" for i in range(n)]
    domain = f"""(define (domain ground) (:predicates {" ".join(facts)} (done))
      (:action all :parameters () :precondition (and {" ".join(facts)}) :effect (done)))"""
    problem = f"(define (problem p) (:domain ground) (:init {' '.join(facts)}) (:goal (done)))"
    return domain, problem


def nullary(n: int) -> Texts:
    """Many actions without parameters."""
    actions = "\n".join(
        f"(:action a{i} :parameters () :precondition (p{i}) :effect (p{i + 1}))" for i in range(n)
    )
    domain = f"(define (domain line) (:predicates {' '.join(f'(p{i})' for i in range(n + 1))}) {actions})"
    return domain, f"(define (problem p) (:domain line) (:init (p0)) (:goal (p{n})))"


def chain(n: int) -> Texts:
    """Derived predicates, each of the one before it."""
    derived = "\n".join(f"(:derived (d{i + 1}) (d{i}))" for i in range(n))
    predicates = " ".join(f"(d{i + 1})" for i in range(n))
    domain = f"""(define (domain chain) (:predicates (d0) (x) {predicates}) {derived}
      (:action a :parameters () :effect (d0)))"""
    return domain, f"(define (problem p) (:domain chain) (:init) (:goal (d{n})))"


def quantified(n: int) -> Texts:
    """A conditional effect over four variables: quick to search, slow to replay."""
    domain = """(define (domain ce) (:types t) (:predicates (p ?a ?b - t) (q ?a ?b ?c ?d - t) (done))
      (:action a :parameters () :effect (and (done)
        (forall (?a ?b ?c ?d - t) (when (and (p ?a ?b) (p ?c ?d)) (q ?a ?b ?c ?d))))))"""
    things = " ".join(f"o{i}" for i in range(n))
    problem = f"(define (problem p) (:domain ce) (:objects {things} - t) (:init (p o0 o1)) (:goal (done)))"
    return domain, problem


def schemas(n: int) -> Texts:
    """An action with many parameters that nothing restricts: too much to ground."""
    domain = """(define (domain wide) (:types t) (:predicates (p ?a - t) (r ?a ?b ?c ?d - t) (done))
      (:action a :parameters (?a ?b ?c ?d - t)
        :precondition (and (p ?a) (p ?b) (p ?c) (p ?d)) :effect (r ?a ?b ?c ?d))
      (:action b :parameters (?a - t) :precondition (r ?a ?a ?a ?a) :effect (done)))"""
    things = [f"o{i}" for i in range(n)]
    facts = " ".join(f"(p {o})" for o in things)
    problem = f"""(define (problem p) (:domain wide) (:objects {" ".join(things)} - t) (:init {facts})
      (:goal (done)))"""
    return domain, problem


def latent(n: int) -> Texts:
    """Things with numbers, and a goal over pairs of them: searched in tensors, by the optimistic task."""
    domain = """(define (domain things) (:types thing)
      (:predicates (at [return_type=vector[float32, 2]] ?t - thing))
      (:derived (near ?a ?b - thing) (= (at ?a) (at ?b)))
      (:action shift :parameters (?a ?b - thing) :precondition (not (= ?a ?b))
        :effect (assign (at ?a) (+ (at ?b) [1, 0]))))"""
    things = [f"o{i}" for i in range(n)]
    places = " ".join(f"(= (at {o}) [{3 * i}, {i % 5}])" for i, o in enumerate(things))
    problem = f"""(define (problem p) (:domain things) (:objects {" ".join(things)} - thing) (:init {places})
      (:goal (exists (?a ?b - thing) (and (not (= ?a ?b)) (near ?a ?b) (not (near ?a o0))))))"""
    return domain, problem


MIX = "(:action mix :parameters (?a ?b ?c - item) :effect (mixed ?a ?b ?c))"


def ternary(n: int) -> Texts:
    """A predicate of three arguments, and an action for every three items."""
    domain = f"""(define (domain mixing) (:types item)
      (:predicates (mixed ?a ?b ?c - item) (hot ?i - item)) {MIX}
      (:action heat :parameters (?a ?b - item) :precondition (and (mixed ?a ?b ?b) (mixed ?b ?a ?a))
        :effect (hot ?a)))"""
    items = " ".join(f"i{i}" for i in range(n))
    problem = f"(define (problem p) (:domain mixing) (:objects {items} - item) (:init) (:goal (hot i0)))"
    return domain, problem


def latent_ternary(n: int) -> Texts:
    """The same where items have amounts, which are poured together: searched through a model."""
    domain = f"""(define (domain pouring) (:types item)
      (:predicates (mixed ?a ?b ?c - item) (amount [return_type=int64] ?i - item)) {MIX}
      (:action pour :parameters (?a ?b ?c - item) :precondition (mixed ?a ?b ?c)
        :effect (amount::assign ?a (+ (amount ?b) (amount ?c)))))"""
    items = [f"i{i}" for i in range(n)]
    amounts = " ".join(f"(= (amount {item}) 1)" for item in items)
    problem = f"""(define (problem p) (:domain pouring) (:objects {" ".join(items)} - item) (:init {amounts})
      (:goal (exists (?i - item) (> (amount ?i) 4))))"""
    return domain, problem


KINDS: dict[str, tuple[Callable[[int], Texts], tuple[int, int]]] = {
    "gripper": (gripper, (4, 60)),
    "conjuncts": (conjuncts, (50, 1000)),
    "nullary": (nullary, (100, 20_000)),
    "chain": (chain, (100, 5_000)),
    "quantified": (quantified, (5, 60)),
    "schemas": (schemas, (5, 60)),
    "ternary": (ternary, (5, 100)),
    "latent": (latent, (5, 100)),
    "latent-ternary": (latent_ternary, (3, 100)),
}
"""Each kind with its smallest and largest size."""


SEARCHES = [
    ["--search", search, "--heuristic", heuristic]
    for search, heuristic in (("lazy-gbfs", "ff"), ("astar", "blind"), ("gbfs", "add"), ("astar", "max"))
]


def some(rng: random.Random, kind: str) -> tuple[int, Texts]:
    """A problem of some size, small ones and large ones alike."""
    make, (low, high) = KINDS[kind]
    size = round(low * (high / low) ** rng.random())
    return size, make(size)

"""The kinds of cases: how each is drawn, how it is checked, and its share of all cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.agree import checks_search, checks_task, checks_tensor, checks_text
from tests.agree.case import Case
from tests.agree.draw import OPEN, draw
from tests.strategies.choices import Choices
from tests.strategies.classical import classical_from
from tests.strategies.sample import Sample
from tests.strategies.sketches import sketch_from


@dataclass(frozen=True)
class Kind:
    """A question that several engines are asked.

    ``sources`` are where samples come from, in turn; ``limit`` is how many states of each are expanded.
    So many ``goals`` are asked of each state; every one is a case.
    """

    name: str
    claim: str
    check: Callable[[Case], None]
    sources: tuple[str, ...]
    limit: int
    share: int
    goals: int = 1

    def case(self, seed: int) -> Case:
        """The case of a seed."""
        source = self.sources[seed // self.goals % len(self.sources)]
        return draw(self.name, SOURCES[source], seed, self.limit, self.goals)


def _classical(chance: Choices) -> Sample:
    return classical_from(chance, goal=OPEN, formulas=4)


def _wide(chance: Choices) -> Sample:
    """As before, with many facts that must stay true beside the others: packed states of several words."""
    sample = classical_from(chance, goal=OPEN, formulas=4)
    more = " ".join(f"(a{i})" for i in range(chance.number(58, 70)))
    fail = f"(:action fail :parameters () :effect (and {more.replace('(', '(not (').replace(')', '))')}))"
    domain = sample.domain_text.replace("(:predicates", f"(:predicates {more}").removesuffix(")") + f"{fail})"
    problem = sample.problem_text.replace("(:init", f"(:init {more}")
    problem = problem.replace(f"(:goal {OPEN})", f"(:goal (and {more} {OPEN}))")
    return replace(sample, domain_text=domain, problem_text=problem)


def _blank_free(chance: Choices) -> Sample:
    return sketch_from(chance, goal=OPEN, formulas=4, blanks=False, costs=True)


def _sketch(chance: Choices) -> Sample:
    return sketch_from(chance, goal=OPEN, formulas=4)


SOURCES: dict[str, Callable[[Choices], Sample]] = {
    "classical": _classical,
    "wide": _wide,
    "blank-free": _blank_free,
    "sketch": _sketch,
}

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "reference",
            "the reference semantics against a plain reading of the text",
            checks_text.check_reference,
            ("classical", "blank-free"),
            14,
            11,
        ),
        Kind("fmt", "printed and read back", checks_text.check_printing, ("classical", "sketch"), 6, 8),
        Kind(
            "formula",
            "formulas over tensors: crisp, Gödel, product, Łukasiewicz; batches",
            checks_tensor.check_formula,
            ("classical", "sketch", "blank-free"),
            12,
            15,
        ),
        Kind(
            "step",
            "actions over tensors: all instances at once, and one by one",
            checks_tensor.check_step,
            ("classical", "sketch", "blank-free"),
            12,
            14,
        ),
        Kind(
            "ground", "grounded tasks: steps, distances", checks_task.check_ground, ("classical",), 50, 18, 2
        ),
        Kind(
            "packed",
            "the engine: axioms, successors",
            checks_task.check_packed,
            ("classical",) * 9 + ("wide",),
            40,
            12,
            goals=2,
        ),
        Kind(
            "relaxed",
            "heuristics and OPT: admissible, no false dead ends",
            checks_task.check_relaxed,
            ("classical", "classical", "blank-free", "sketch"),
            30,
            8,
            goals=2,
        ),
        Kind(
            "search",
            "packed searches against Dijkstra and brute force",
            checks_search.check_search,
            ("classical",) * 9 + ("wide",),
            80,
            10,
            goals=2,
        ),
        Kind(
            "latent",
            "latent searches against Dijkstra",
            checks_search.check_latent,
            ("classical", "blank-free"),
            20,
            48,
            goals=2,
        ),
        Kind(
            "abstract",
            "searches by the rules of a model against Dijkstra",
            checks_search.check_abstract,
            ("classical", "blank-free"),
            20,
            32,
            goals=2,
        ),
        Kind(
            "noisy",
            "plans by rules, and in models, whose networks mean nothing",
            checks_search.check_noisy,
            ("sketch",),
            8,
            16,
            goals=2,
        ),
    )
}

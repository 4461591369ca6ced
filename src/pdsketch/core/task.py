"""What the engine reads: the program of the joins, the draft that they lead to, and what is left of it.

A *literal* is ``2 * fact`` for a fact and ``2 * fact + 1`` for its negation. A
state is a Boolean per fact. Basic facts come first and are changed by
operators; derived facts follow and are computed from them by the axioms.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, final

from pdsketch.lang import Fact, dataclass

if TYPE_CHECKING:
    from pdsketch.core.rows import CSR, Bools, Floats, Ints


@final
@dataclass(frozen=True, slots=True)
class Program:
    """What the engine runs (`core/join.cpp`, `core/drafting.cpp`), and how its arrays must be shaped.

    ``code`` holds, each at its address:

    - a step of a join (eight words): kind, then for `MATCH` index, keys, bindings and
      their number, where in the frame to note the fact or -1, 1 if the fact must
      be older than the current one, where to keep the place; for `ENUMERATE` variable,
      objects and their number; for `OF_TYPE` operand and a word for each object; for
      `EQUAL` and `DIFFERENT` two operands; for `ABSENT` index and keys;
    - a variant (five words): rule, first step, trigger (a mode and an operand for each
      argument), its relation, where in the frame to note the fact;
    - a relation (eight words): arity, the addresses of its first and after its last
      variant, the number of its indexes, the address of the one over all
      arguments, and that of a list of all, this one first; the layer of its
      facts in the axioms or -1, and its number;
    - an index: its column in the facts, the number of keys and their columns;
    - a rule: number, numbers of variables, of noted conditions and of heads; the
      heads, each a relation and its operands.

    - a rule as it is drafted: kind, the rule, 1 if its last head is the mark of its
      action, 1 if operators may share a name, how many variables are named, the
      number of the name, the address of the cost; a list of conditions; a list of
      deletes;
    - a condition: for `ATOM` 1 if it is positive, 1 if it is static, relation and operands;
      for `SAME` 1 if it is positive and two operands; for `TEST` 1 if it is positive, the
      comparison, two numbers and the place of a tolerance; for `ALL` a list of
      conditions; for `EVERY` a list of the operands that it depends on, the first
      step of a join, and a condition; for `EITHER` the operands that it depends on,
      the number and the layer of a new fact, and a list of conditions;
    - a number: a kind, with the place of a constant, a relation and operands, or numbers.

    An operand is the number of a variable, or ``-1 - object``; a list comes with its
    length. ``constants`` are numbers by place. ``drafts`` are the addresses of rules as
    they are drafted, ``goal`` that of a condition, ``named`` of how many variables the
    names of operators are made at most.
    """

    code: array[int]
    constants: array[float]
    drafts: array[int]
    goal: int
    named: int
    relations: Mapping[str, int]
    untriggered: int
    widths: tuple[tuple[int, int, int], ...]
    n_args: int
    n_indexes: int
    n_variables: int
    n_matched: int
    n_pointers: int


@final
@dataclass(frozen=True, slots=True)
class Draft:
    """A ground task whose facts are numbered as the database numbers them, then the new disjunctions.

    Effect ``i`` is the unconditional effect of operator ``i``; conditional ones
    follow, and ``owners`` are the operators of all. ``groups`` are operators of one
    name: they are one ground action, split where its precondition has several ways to
    hold.
    """

    costs: Floats
    preconditions: CSR
    owners: Ints
    conditions: CSR
    heads: CSR
    axiom_heads: Ints
    axiom_bodies: CSR
    goal: Ints
    possible: bool
    groups: CSR


@final
@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A grounded task.

    - ``facts``: names, basic facts first, then derived ones (also those that
      grounding invented for quantified or disjunctive conditions).
    - ``init``: the initial truth of every basic fact; derived facts are False
      there until the axioms are evaluated.
    - ``goal``: literals, all of which must hold.
    - ``operators``: ``(action, *objects)`` each; several may share a name where a
      disjunctive precondition was split. ``costs`` are not negative.
    - ``preconditions``: literals of each operator.
    - ``effects``: the ids of each operator's effects. Effect ``e`` fires when all
      ``conditions[e]`` hold in the old state, and makes all ``heads[e]`` true;
      where one literal and its negation are both made true, the fact is true.
    - ``axioms``: rule ``a`` makes the fact ``axiom_heads[a]`` true when all
      ``axiom_bodies[a]`` hold. Rules are sorted by ``axiom_layers[a]``; a layer is
      evaluated to its least fixpoint before the next begins, and a negated
      derived literal refers to a lower layer only.

    What `ground` returns is also tidy: every fact matters for the goal and is
    neither always true nor always false; no condition repeats or contradicts
    itself; every operator has an effect, and at most one unconditional one. A goal
    that contradicts itself, or is out of reach even in the relaxed task, leaves one fact,
    ``unreachable-goal``, and no operators.
    """

    facts: tuple[Fact, ...]
    n_basic: int
    init: Bools
    goal: Ints
    operators: tuple[tuple[str, ...], ...]
    costs: Floats
    preconditions: CSR
    effects: CSR
    conditions: CSR
    heads: CSR
    axiom_heads: Ints
    axiom_bodies: CSR
    axiom_layers: Ints

    @property
    def n_facts(self) -> int:
        """How many facts there are, derived ones included."""
        return len(self.facts)

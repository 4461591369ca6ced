"""The sketch and its networks as one differentiable program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final, TypeVar, cast, final

import numpy as np
import torch
from torch import Tensor, nn

from pdsketch.lang import (
    BOOL,
    Action,
    Domain,
    Expr,
    GoalPart,
    ObjectType,
    Step,
    TNorm,
    ValueType,
    Variable,
    action_of,
    argument_words,
    check_value,
    error,
    formula_text,
    html_table,
    is_step,
    object_of,
    parse_goal,
    parts_of,
    unfold_all,
)
from pdsketch.nets import BlankForm
from pdsketch.tensor.compile.blanks import FORM_KEYS, Functions, argument_names, formed
from pdsketch.tensor.compile.engine import Engine
from pdsketch.tensor.compile.logic import CRISP, FuzzyLogic, logic_of
from pdsketch.tensor.compile.node import Run
from pdsketch.tensor.experience import Watch
from pdsketch.tensor.notes import TRAINED, VERDICTS
from pdsketch.tensor.states import saturating
from pdsketch.tensor.states.state import State, StateBatch, concat, difference, same_domain
from pdsketch.tensor.states.universe import Universe

SURE: Final = 0.9
"""An answer is sure at this probability; a truth also at one minus it. Set by hand."""

States = TypeVar("States", State, StateBatch)
Formula = str | Expr


class Model(nn.Module):
    """A domain whose blanks are filled with modules: encode, evaluate a formula, apply an action.

    ``modules`` gives a module or a function for a blank of ``domain`` by its full name
    (``derived::is-red::f``) or for an external predicate by its name. A blank that is not named gets a
    default network made from its signature, in whose place `fit` may put a simpler form (`forms`): never
    for those given as ``"mlp"``, always for those given as ``"form"``. ``tnorm`` is the logic of soft
    evaluation: ``godel`` (which defines the meaning), ``product`` or ``lukasiewicz``. ``seed`` determines the
    default networks' weights; without one they follow torch's own seed. ``notes`` are plain data kept with
    the model (`save` writes them as JSON).
    """

    def __init__(
        self,
        domain: Domain,
        modules: Mapping[str, Callable[..., Any]] | None = None,
        *,
        tnorm: TNorm = "godel",
        seed: int | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(domain, Domain):
            found = type(domain).__name__
            raise error("bad-domain", f"a Model takes a Domain, and a {found} was given")
        self.domain = domain
        self.logic = logic_of(tnorm)
        self.seed = int(torch.randint(2**31, ()).item()) if seed is None else _whole(seed)
        self.blanks = Functions(domain, modules or {}, self.seed)
        self.engine = Engine(domain, self.blanks)
        self.notes: dict[str, Any] = {}
        self.bound: dict[str, tuple[int, ...]] = {}
        self._open = [p.name for p in domain.predicates.values() if p.type.shape is None and p.body is None]
        self.register_buffer("_anchor", torch.zeros(0), persistent=False)

    def __repr__(self) -> str:
        """Its domain, and how much was learned; the modules are those of ``model.blanks``."""
        trained = len(self.notes.get(TRAINED, ()))
        count = sum(parameter.numel() for parameter in self.parameters())
        blanks = len(self.domain.blanks)
        held = f"{blanks} blank{'s' * (blanks != 1)}, {trained} trained, {count:,} parameters"
        return f"Model({self.domain.name}: {held})"

    def _repr_html_(self) -> str:
        """Its blanks and what training said of each, for notebooks."""
        verdicts = self.notes.get(VERDICTS, {})
        rows = [(b.signature, verdicts.get(name, "")) for name, b in self.domain.blanks.items()]
        return html_table(repr(self), rows)

    @property
    def device(self) -> torch.device:
        """Where the model is; states move there."""
        return cast(Tensor, self._anchor).device

    # -- the pinned interface -----------------------------------------------------

    def encode(self, state: States, *, crisp: bool = False) -> States:
        """A new state with every encoded variable, computed from the observation unless it has it already."""
        batch = self.ready(state)
        return _like(state, self.engine.encode(self.engine.open(batch), self._logic(crisp, None)))

    def holds(
        self,
        state: State | StateBatch,
        formula: Formula | Sequence[Formula],
        crisp: bool = False,
        *,
        tnorm: TNorm | None = None,
    ) -> Tensor:
        """The truth of a formula, in [0, 1]: a number for a State, ``[n]`` with gradients for a batch.

        ``formula`` is text or a checked formula over the objects of ``state``; a batch may also be given a
        list of formulas, one a state. ``crisp`` decides as the search does, so that each truth is 0 or 1;
        else ``tnorm`` is the logic of the connectives, the model's own unless given.
        """
        batch = self.ready(state)
        logic = self._logic(crisp, tnorm)
        if isinstance(formula, list | tuple):
            truth = self._each_holds(batch, formula, logic)
        else:
            run = self.engine.open(batch)
            truth = self.engine.truth(run, self.formula(batch, cast(Formula, formula)), logic)
        truth = truth.to(torch.float32)
        if not crisp and bool(torch.isnan(truth).any()):
            raise error(
                "not-a-number", "the formula's truth is NaN", help="a value that it reads is not a number"
            )
        return truth[0].detach() if isinstance(state, State) else truth

    def step(
        self,
        state: States,
        action: Step | Sequence[Step],
        crisp: bool = False,
        *,
        tnorm: TNorm | None = None,
    ) -> States:
        """The predicted next state. Preconditions are not asked for.

        ``action`` is its name and arguments, ``("move", "rob", "a")``; a batch takes one action for all of
        its states, or a list with one a state. With ``crisp``, gates of effects are open or closed and the
        new ``state`` holds plain values; else effects are blended by how open they are, with the logic
        ``tnorm`` (the model's own unless given), and everything is differentiable.
        """
        batch = self.encode(self.ready(state), crisp=crisp)
        logic = self._logic(crisp, tnorm)
        parts, places = [], []
        for schema, rows, run in self.grouped(batch, action):
            parts.append(self.engine.successors(run, schema.name, logic))
            places.append(rows)
        after = concat(parts)
        if len(parts) > 1:
            after = after.select(torch.cat([p for p in places if p is not None]).argsort())
        self.check_numbers(after)
        return _like(state, after)

    def applicable(
        self,
        state: State | StateBatch,
        action: Step | Sequence[Step],
        crisp: bool = False,
        *,
        safe: bool = False,
        tnorm: TNorm | None = None,
    ) -> Tensor:
        """The truth of the precondition: a number for a State, ``[n]`` with gradients for a batch.

        ``state``, ``action``, ``crisp`` and ``tnorm`` are those of `step`. With ``safe``, it is 1 where all
        explanations of the data say that the action can be taken (the safe end), and 0 elsewhere.
        """
        batch = self.ready(state)
        logic = self._logic(False, "godel") if safe else self._logic(crisp, tnorm)
        parts, places = [], []
        for schema, rows, run in self.grouped(batch, action):
            parts.append(self.engine.precondition(run, schema.name, logic)[:, 0])
            places.append(rows)
        truth = torch.cat(parts).to(torch.float32)
        if len(parts) > 1:
            truth = truth[torch.cat([p for p in places if p is not None]).argsort()]
        if safe:
            truth = (truth > SURE).to(torch.float32)
        return truth[0].detach() if isinstance(state, State) else truth

    @torch.no_grad()
    def outside(self, state: State | StateBatch, question: Formula | Step) -> tuple[str, ...]:
        """What the answer rests on that is not known, one sentence a blank: where forms that explain the data
        as well disagree, and where a network is asked something unlike all that it was trained on.

        ``question`` is a formula, or an action: its precondition and its effects. A
        model that was not trained, or whose functions are all given, says nothing.
        """
        batch = self.ready(state)
        watch = Watch(self, [0] * batch.size)
        with self.blanks.watched(watch):
            batch = self.encode(batch, crisp=True)
            if is_step(question) and not (isinstance(question, str) and "(" in question):
                for schema, _, run in self.grouped(batch, cast(Step, question)):
                    self.ask(run, schema)
            else:
                formula = self.formula(batch, cast(Formula, question))
                self.engine.truth(self.engine.open(batch), unfold_all(formula, self.domain))
        return watch.sentences(0)

    @property
    def forms(self) -> dict[str, BlankForm]:
        """The simple functions that answer for networks, by blank (``NAME#gate``: of its gate).

        Each prints itself, in the words of the sketch.
        """
        return {name: forms[0] for name, forms in self._each_form() if forms}

    @property
    def rivals(self) -> dict[str, list[BlankForm]]:
        """By blank: other forms that explain the episodes as well as that of `forms`, and answer differently
        on some input that is possible; of truths those that are true least and most often are among them.
        """
        return {name: forms[1:] for name, forms in self._each_form() if forms[1:]}

    def _each_form(self) -> Iterator[tuple[str, list[BlankForm]]]:
        names = argument_names(self.domain)
        for blank in self.domain.blanks:
            for key, part in formed(self.blanks.network(blank)).items():
                found = [] if part.form is None else [part.form, *part.rivals]
                for form in found:
                    form.names = names.get(blank, ())
                yield blank if key == FORM_KEYS[0] else f"{blank}#gate", found

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """A model with weights of its own, of the same domain."""
        copied = self.__class__.__new__(self.__class__)
        memo[id(self)] = copied
        memo[id(self.domain)] = self.domain
        copied.__dict__ = deepcopy(self.__dict__, memo)
        return copied

    def forward(self, state: State | StateBatch, formula: Formula | Sequence[Formula]) -> Tensor:
        """`holds`."""
        return self.holds(state, formula)

    def save(self, folder: str) -> None:
        """Write the sketch, the architecture and the weights into a folder."""
        from pdsketch.tensor.store import save_model

        save_model(self, folder)

    # -- for the trainer and the planners -------------------------------------------

    def bind(self, state: State | StateBatch) -> None:
        """Let a state say the dimensions that the sketch leaves out; make the networks that waited."""
        self.ready(state)

    def ready(self, state: State | StateBatch) -> StateBatch:
        """The batch of a state, checked, and on the model's device."""
        if isinstance(state, State):
            batch = state.batch
        elif isinstance(state, StateBatch):
            batch = state
        else:
            found = type(state).__name__
            raise error("bad-state", f"a State or a StateBatch was wanted, and a {found} was given")
        if batch.domain is not self.domain and not same_domain(batch.domain, self.domain):
            raise error(
                "other-domain",
                f"this is a state of `{batch.domain.name}`, and the model is of `{self.domain.name}`",
                help=difference(batch.domain, self.domain),
            )
        if batch.layout.device != self.device:
            batch = batch.to(self.device)
        if self._open:
            self._check_dimensions(batch)
        return batch

    def ask(self, run: Run, action: Action) -> None:
        """Evaluate an action for whoever watches the blanks: they are asked about its arguments alone."""
        program = self.engine.plain_program(action.name)
        program.precondition(run)
        program.written(run)

    def formula(self, batch: StateBatch, formula: Formula) -> Expr:
        """The checked form of a formula over the objects of a batch."""
        if isinstance(formula, str):
            return batch.universe(0).formula(formula)
        if getattr(formula, "type", None) != BOOL:
            found = type(formula).__name__
            raise error(
                "bad-goal", f"a formula is text or a checked Boolean expression, and this is a {found}"
            )
        return formula

    def _logic(self, crisp: bool, tnorm: TNorm | None) -> FuzzyLogic:
        return CRISP if crisp else self.logic if tnorm is None else logic_of(tnorm)

    def _each_holds(self, batch: StateBatch, formulas: Sequence[Formula], logic: FuzzyLogic) -> Tensor:
        """One formula a state: each different one is evaluated on the states that ask for it."""
        if len(formulas) != batch.size:
            raise error("bad-batch", f"{len(formulas)} formulas were given for {batch.size} states")
        groups: dict[Any, list[int]] = {}
        for i, formula in enumerate(formulas):
            groups.setdefault(formula, []).append(i)
        truth: list[Tensor] = []
        for formula, rows in groups.items():
            part = batch if len(groups) == 1 else batch.select(torch.tensor(rows, device=batch.device))
            expr = part.universe(0).formula(formula) if isinstance(formula, str) else formula
            truth.append(self.engine.truth(self.engine.open(part), self.formula(part, expr), logic))
        order = torch.tensor([i for rows in groups.values() for i in rows], device=batch.device)
        return torch.cat(truth)[order.argsort()]

    def grouped(
        self, batch: StateBatch, action: Step | Sequence[Step]
    ) -> Iterable[tuple[Action, Tensor | None, Run]]:
        """The states by the action they take, each with its arguments bound."""
        steps: list[Any] = [action] * batch.size if is_step(action) else _listed(action)
        groups: dict[str, list[int]] = {}
        for i, step in enumerate(steps):
            groups.setdefault(action_of(self.domain, step).name, []).append(i)
        if len(steps) != batch.size:
            raise error("bad-batch", f"{len(steps)} actions were given for {batch.size} states")
        for name, rows in groups.items():
            schema = self.domain.actions[name]
            index = None if len(groups) == 1 else torch.tensor(rows, device=batch.device)
            part = batch if index is None else batch.select(index)
            run = self.engine.open(part)
            yield schema, index, run.ground(bind(part, schema, [steps[i] for i in rows]), 1)

    def _check_dimensions(self, batch: StateBatch) -> None:
        """Bind open dimensions at the first state, and hold later ones to them."""
        unbound = self.blanks.unbound
        for name in self._open:
            tensor = batch.tensors.get(name)
            if tensor is None or tensor.numel() == 0:
                continue
            axes = len(self.domain.predicates[name].object_types)
            own = tuple(tensor.shape[1 + axes :])
            if self.bound.setdefault(name, own) != own:
                raise error(
                    "shape-mismatch",
                    f"`{name}` has values of shape {own}; the first state had {self.bound[name]}",
                    self.domain.predicates[name].span,
                )
        if unbound and all(name in batch.tensors for name in self._open):
            self._touch(batch)

    def _touch(self, batch: StateBatch) -> None:
        """Evaluate everything once, so that every network is made."""
        with torch.no_grad():
            one = batch.select(torch.zeros(1, dtype=torch.int64, device=batch.device))
            run = self.engine.open(self.engine.encode(self.engine.open(one), self.logic))
            for predicate in self.domain.predicates.values():
                plain = all(isinstance(p.type, ObjectType) for p in predicate.parameters)
                if predicate.role == "derived" and plain:
                    self.engine.predicate(run, predicate.name, self.logic)
            for action in self.domain.actions.values():
                grounding = self.engine.ground(one, action.name)
                places = grounding.of(one)
                for p in action.parameters:
                    if not isinstance(p.type, ObjectType):
                        shape = (1, grounding.count, *(p.type.shape or ()))
                        dtype = torch.int64 if p.type.prim == "int64" else torch.float32
                        places[p.name] = torch.zeros(shape, dtype=dtype, device=one.device)
                ground = run.ground(places, grounding.count)
                self.engine.precondition(ground, action.name, self.logic)
                self.engine.successors(ground, action.name, self.logic)

    def check_numbers(self, batch: StateBatch) -> None:
        """Refuse states after a step that hold NaN, or ints of more than 64 bits."""
        for name, tensor in batch.tensors.items():
            if tensor.is_floating_point() and tensor.numel() and bool(torch.isnan(tensor.detach().sum())):
                raise error(
                    "not-a-number", f"`{name}` is NaN after the step", self.domain.predicates[name].span
                )
            beyond = saturating.has_left(tensor, self.domain.predicates[name].type)
            if beyond is not None and bool(beyond.any()):
                raise error(
                    "int-overflow",
                    f"`{name}` is beyond the ints of 64 bits after the step",
                    self.domain.predicates[name].span,
                    help="let a precondition bound it, or declare it as float32",
                )


def _whole(seed: Any) -> int:
    if not isinstance(seed, Integral):
        raise error("bad-option", f"`seed` is a whole number, and {seed!r:.40} was given")
    return int(seed)


def _like(state: States, batch: StateBatch) -> States:
    """A batch as whatever was given: a State, or a batch."""
    if isinstance(state, State):
        return State._of(batch)
    return batch


def _listed(actions: Any) -> list[Any]:
    """A list of steps; anything else is taken for one bad step."""
    return list(actions) if isinstance(actions, list | tuple) and actions else [actions]


# Steps such as ``("move-to", "b#1", (0.1, 0.2))`` as tensors.

_DTYPES: Final = {"bool": torch.bool, "int64": torch.int64, "float32": torch.float32}


def _as_tuple(step: Any) -> Step:
    return (step,) if isinstance(step, str) else tuple(step)


def bind(batch: StateBatch, action: Action, steps: Sequence[Step]) -> dict[str, Tensor]:
    """The arguments of one step a state: ``[state, 1]`` places of objects, ``[state, 1, *value]`` values."""
    steps = [_as_tuple(step) for step in steps]
    bound = {}
    for i, parameter in enumerate(action.parameters, start=1):
        if isinstance(parameter.type, ObjectType):
            places = _places(batch, [step[i] for step in steps], parameter, action)
            bound[parameter.name] = torch.tensor(places, device=batch.device).unsqueeze(1)
        else:
            values = [value_of(step[i], parameter.type, argument_words(action, parameter)) for step in steps]
            if any(v.shape != values[0].shape for v in values):
                raise error("shape-mismatch", f"the values for `{parameter.name}` differ in shape")
            bound[parameter.name] = torch.stack(values).unsqueeze(1).to(batch.device)
    return bound


def _places(batch: StateBatch, names: list[Any], parameter: Variable, action: Action) -> list[int]:
    found: dict[tuple[int, str], int] = {}
    rows = [0] * batch.size if batch.rows is None else batch.rows.tolist()
    places = []
    for row, name in zip(rows, names, strict=True):
        key = (row, name)
        if key not in found:
            found[key] = _place(batch.layout.universes[row], name, parameter, action)
        places.append(found[key])
    return places


def _place(universe: Universe, name: Any, parameter: Variable, action: Action) -> int:
    assert isinstance(parameter.type, ObjectType)
    at = universe.find(name.lower(), parameter.type) if isinstance(name, str) else -1
    if at < 0:
        found = object_of(universe.domain, universe.types, action, parameter, name)
        raise AssertionError(f"{found} fits, and is on no axis")
    return at


def value_of(value: Any, type_: ValueType, what: str) -> Tensor:
    """A value argument: a number, or a tuple of numbers, as a tensor of its type."""
    try:
        listed = value.detach().tolist() if isinstance(value, Tensor) else np.asarray(value).tolist()
    except (TypeError, ValueError, RuntimeError) as why:
        raise error("bad-value", f"{what} is a {type_}, and {value!r:.60} is no value") from why
    return torch.tensor(check_value(what, type_, listed), dtype=_DTYPES[type_.prim])


# `pdsketch.explain`: why a goal is as true as a model says.


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """How true a goal is, part by part, and what the answer rests on that no blank was trained near."""

    goal: str
    truth: float
    parts: tuple[GoalPart, ...]
    outside: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.truth:.3f}  {self.goal}"]
        for part in self.parts:
            lines.append(f"  {part.truth:.3f}  {part.text}")
            lines += [f"    {truth:.3f}  {' '.join(objects)}" for objects, truth in part.instances]
        return "\n".join([*lines, *self.outside])


@torch.no_grad()
def explain(model: Model, state: State, goal: str | Expr) -> Explanation:
    """How true a goal is in a state: the whole, its conjuncts, and for ``forall`` and ``exists`` each object.

    >>> print(pds.explain(model, state, "(forall (?l - lamp) (lit ?l))"))
    0.020  (forall (?l - lamp) (lit ?l))
      0.020  (forall (?l - lamp) (lit ?l))
        0.991  lamp0
        0.020  lamp1
    """
    if not isinstance(model, Model):
        raise error("bad-model", f"a Model is explained; a {type(model).__name__} was given")
    if not isinstance(state, State):
        raise error("bad-state", f"a State was wanted, and a {type(state).__name__} was given")
    known = dict(state.universe)
    checked = parse_goal(goal, model.domain, known) if isinstance(goal, str) else goal

    def truth(formula: Expr) -> float:
        return float(model.holds(state, formula))

    text = " ".join(goal.split()) if isinstance(goal, str) else formula_text(goal)
    parts = parts_of(checked, model.domain, known, truth)
    return Explanation(text, truth(checked), parts, model.outside(state, checked))

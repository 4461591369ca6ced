"""From a fitted flexible model to forms: blank by blank the cheapest that leaves the whole model as good."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, final

import numpy as np
import torch
from torch import nn

from pdsketch.lang import Blank, BlankCall, effect_expressions, error, walk
from pdsketch.nets import (
    Argument,
    BlankForm,
    BooleanNet,
    Condition,
    Constant,
    InputReading,
    Network,
    Spec,
    TableForm,
    TreeForm,
    always,
    can_read,
    plain,
)
from pdsketch.tensor import FORM, MLP, Functions, argument_names, formed
from pdsketch.training.data.device_dataset import evenly
from pdsketch.training.data.episode_arrays import Array
from pdsketch.training.forms.answers import Slot, answers, asked
from pdsketch.training.forms.errors import Errors, Kind, errors
from pdsketch.training.forms.preconditions import VersionSpace, conjunctions, tries_of
from pdsketch.training.forms.propose import SAMPLED, Answers, Known, all_of, propose, rows_of
from pdsketch.training.forms.rivals import MOST_RIVALS, alternatives, error_of, once_more, possible, support
from pdsketch.training.losses import Losses

PASSES: Final = 5
"""Blanks are gone through so often, every second time with what would have been right; set by hand."""

NETWORK_COST: Final = 60.0
"""What a network costs, in tests of a tree; set by hand."""

TRUE_COST: Final = 4.0
"""What it costs to be true of everything that is ever asked: a closed world. One test that is true of half
costs less than none, and a second one that halves this again is not worth it.
"""

NAME_COST: Final = 0.5
"""What it costs to say that a blank is as another one; set by hand."""

ERROR_COST: Final = 0.5
"""What one wrong example costs; set by hand."""

FARTHEST: Final = 0.25
"""Forms that get more of the weight of the answers wrong are not tried; set by hand."""

MOST_DEARER: Final = 0.5
"""A form that costs more than so much more is no rival: what it adds, nothing in the data asks for. Half a
test is two bits: four times less likely.
"""

FIRST_JUDGED: Final = 256
"""Forms that fail on so many examples are not judged by the others."""

MOST_PAIRS: Final = 24
"""So many forms that make more errors are tried, to see what others make of them."""


@final
@dataclass(slots=True)
class Judgement:
    """The errors of a model on training examples and on those held out."""

    train: Errors
    held_out: Errors

    @property
    def total(self) -> float:
        """All of them."""
        return self.train.total + self.held_out.total

    def within(self, other: Judgement) -> bool:
        """Whether no kind is worse than there."""
        return self.train.within(other.train) and self.held_out.within(other.held_out)


@final
@dataclass(slots=True, eq=False)
class Simplified:
    """What simplification found: forms by name (`NAME#gate` for gates), their rivals, the errors before and
    after, and how many networks are left although enough of their answers mattered. What is ``settled`` was
    read off the data, without training. ``evidence``: how many answers each case of a truth rests on.
    """

    forms: dict[str, BlankForm] = field(default_factory=dict)
    rivals: dict[str, tuple[BlankForm, ...]] = field(default_factory=dict)
    before: float = 0.0
    after: float = 0.0
    cost: float = 0.0
    networks: int = 0
    settled: frozenset[str] = frozenset()
    evidence: dict[str, int] = field(default_factory=dict)

    def place(self, functions: Functions) -> None:
        """Let the forms speak for their networks."""
        for name, form in self.forms.items():
            owner, _, gate = name.partition("#")
            part = formed(functions.network(owner))["gate-form" if gate else "form"]
            part.form, part.rivals = form, self.rivals.get(name, ())


@final
class Simplifier:
    """Puts forms in the places of a model's networks, and judges each by the whole model."""

    def __init__(self, losses: Losses, train: Array, held_out: Array) -> None:
        self.losses = losses
        training = losses.training
        kinds = training.dataset.kinds
        self.train = _some(train, kinds, SAMPLED)
        self.held_out = _some(held_out, kinds, SAMPLED)
        self.first = _some(self.train, kinds, FIRST_JUDGED)
        self.slots: dict[str, Slot] = {}
        self._seen: dict[str, list[Argument]] = {}
        self._nearly: dict[str, list[tuple[BlankForm, Judgement]]] = {}
        self._settled = frozenset[str]()
        self._told: set[str] = set()

    def run(self) -> Simplified:
        """Forms in the places of networks, left there as their ``form``."""
        functions = self.losses.training.model.blanks
        with _eval(self.losses.training.model), self._opened(functions):
            found = self._chosen()
        found.place(functions)
        return found

    def closed(self) -> Simplified | None:
        """The same at once, from what would have been right, before anything was trained: where all there is
        are truths of truths, and forms make no error; None elsewhere.
        """
        training = self.losses.training
        functions = training.model.blanks
        learned = training.domain.blanks.keys() - functions.given.keys()
        if not learned or learned - {*candidates(self.losses)}:
            return None
        if not all(is_boolean(training.domain.blanks[name]) for name in learned):
            return None
        with _eval(training.model), self._opened(functions):
            found = self._closed()
        if found is not None:
            found.place(functions)
        return found

    def _closed(self) -> Simplified | None:
        spaces = self._spaces()
        said = answers(self.losses, self.slots, self.train, mended=True, dropping=False)
        left = [name for name in said if name not in spaces]
        for name in left:
            self._seen[name] = _sampled(said[name].args)
            best = self._kept.get(name)
            if best is None or error_of(best, said[name]):
                known, proposed = self._known(name), propose(self.slots[name].signature, said[name])
                price = [(one.error, self._price(name, one.form, known), one.form) for one in proposed]
                best = min(price, key=lambda one: one[:2], default=(0.0, 0.0, None))[2]
            if best is None:
                return None
            self.slots[name].inner = best
        now = self.judge()
        if now.total:
            return None
        rivals = {name: self._rivals(name, said[name], None) for name in left}
        self._told |= {*left}
        return self._simplified(now, now, rivals, spaces)

    @contextmanager
    def _opened(self, functions: Functions) -> Iterator[None]:
        """Within, slots stand in the places of the networks that may become forms."""
        own = {name: _slot(functions, name) for name in candidates(self.losses)}
        for name, slot in own.items():
            functions.calls[name] = slot
            self.slots[name] = slot
            if slot.gate is not None:
                self.slots[f"{name}#gate"] = slot.gate
        try:
            yield
        finally:
            for name, slot in own.items():
                functions.calls[name] = slot.network

    def judge(self) -> Judgement:
        """The errors of the model as it is."""
        return Judgement(errors(self.losses, self.train), errors(self.losses, self.held_out))

    def _chosen(self) -> Simplified:
        if not self.slots:
            return Simplified()
        inputs = asked(self.losses, self.slots, self.first)
        self._seen = {name: _sampled(args) for name, args in inputs.items()}
        spaces = self._spaces()
        first = now = self.judge()
        now = self._gone_through(first, now)
        paired = self._in_pairs(now)
        if paired is not now:
            now = self._gone_through(paired, paired)
        now = self._asked_for(now)
        for name in [name for name in self.slots if name not in self._settled]:
            now = self._reduced(name, now)
        said = answers(self.losses, self.slots, self.train, mended=False)
        rivals = {name: self._rivals(name, given, now) for name, given in said.items() if name not in spaces}
        found = self._simplified(first, now, rivals, spaces)
        found.evidence = self._evidence(said)
        return found

    def _simplified(
        self,
        first: Judgement,
        now: Judgement,
        rivals: dict[str, tuple[BlankForm, ...]],
        spaces: dict[str, VersionSpace],
    ) -> Simplified:
        return Simplified(
            {name: slot.inner for name, slot in self.slots.items() if isinstance(slot.inner, BlankForm)},
            rivals | {name: space.rivals for name, space in spaces.items()},
            first.total,
            now.total,
            sum(self._cost(name) for name in self.slots),
            sum(
                name in self._nearly and not isinstance(slot.inner, BlankForm)
                for name, slot in self.slots.items()
            ),
            frozenset(self._told),
        )

    def _evidence(self, said: Mapping[str, Answers]) -> dict[str, int]:
        """How many answers mattered for each case that the form of a blank tells apart, the fewest of them.

        A truth that others make up for counts where it is needed once some of them are dropped, as in what
        was ``said``. What like blanks read alike is borne out by all of them. What becomes of a value that
        was made is a case, too, of all that is asked the same in that action.
        """
        alone = answers(self.losses, self.slots, self.train, mended=False, dropping=False)
        own: dict[str, int] = {}
        again: dict[tuple[str, tuple[str, ...]], int] = {}
        for name in said.keys() - self._settled:
            slot = self.slots[name]
            if slot.signature.inputs:
                form = slot.inner if isinstance(slot.inner, BlankForm) else None
                if form is not None and (seen := once_more(form, alone[name])) is not None:
                    again[name.rpartition("::")[0], self._asks[name]] = seen
                least, every = (support(form, part) for part in (alone[name], said[name]))
                own[name] = int(np.maximum(least, every - least).min())
        found: dict[str, int] = {}
        for name in own:
            inner, blank = self.slots[name].inner, name.partition("#")[0]
            alike = [name]
            if isinstance(inner, BlankForm):
                kin, read = self._kin(name), inner.reads
                same = [one for one, form in kin.items() if form.signature == inner.signature]
                alike += [one for one in same if one in own and kin[one].reads == read]
            most = again.get((name.rpartition("::")[0], self._asks[name]), len(self.train))
            found[blank] = min(sum(own[one] for one in alike), found.get(blank, most), most)
        return found

    def _spaces(self) -> dict[str, VersionSpace]:
        """What tries say of truths in preconditions, which are settled by that; their shortest forms."""
        found = {}
        for name, tries in tries_of(self.losses, self.slots, self.train).items():
            space = conjunctions(self.slots[name].signature, tries)
            if space is not None:
                found[name], self.slots[name].inner = space, space.form
                self._seen.setdefault(name, tries.args)
                self._told |= {name} if tries.told else set()
        self._settled = frozenset(found)
        return found

    def _gone_through(self, first: Judgement, now: Judgement) -> Judgement:
        """Blanks in turns, simplified or made to fit what would have been right, until nothing changes."""
        still = 0
        for turn in range(PASSES):
            mended, changed = turn % 2 == 1, False
            if mended and not now.total:
                continue
            bar = first if first.total <= now.total else now
            said = answers(self.losses, self.slots, self.train, mended=mended)
            for name in self.slots:
                if name in self._settled or not said.get(name) or (mended and not said[name].blamed):
                    continue
                tried = self._tried(name, said[name])
                new = self._mend(name, tried, now) if mended else self._simplify(name, tried, bar, now)
                if new is not None:
                    now, changed = new, True
            still = 0 if changed else still + 1
            if still == 2 or (turn and not changed and not now.total):
                break
        return now

    # -- one blank ------------------------------------------------------------------------

    def _tried(self, name: str, given: Answers, most: float = FARTHEST) -> list[tuple[float, BlankForm]]:
        """Forms that might do, cheapest first, of those that answer alike only the cheapest; none that gets
        ``most`` of the answers wrong.
        """
        signature = self.slots[name].signature
        listed = [one.form for one in propose(signature, given, self._known(name)) if one.error <= most]
        alike = [] if signature.output.prim == "bool" else map(copy, self._alike(name))
        still, known = [self._kept[name]] if name in self._kept else [], self._known(name)
        found = [(self._price(name, form, known), form) for form in (*still, *alike, *listed)]
        found.sort(key=lambda one: one[0])
        seen: set[bytes] = set()
        kept = []
        for cost, form in found:
            answer = self._fingerprint(name, form, given)
            if answer not in seen:
                seen.add(answer)
                kept.append((cost, form))
        return kept

    def _alike(self, name: str) -> list[BlankForm]:
        """The forms of like blanks that return the same, too."""
        own = self.slots[name].signature
        return [form for form in self._kin(name).values() if form.signature == own]

    def _known(self, name: str) -> Known:
        """What the forms of other blanks read, but for those that leave things as they are."""
        others = [(other, slot.inner) for other, slot in self.slots.items() if other != name]
        forms = [form for other, form in others if form is not self._kept.get(other)]
        read = [dict.fromkeys(p.reads for p in form.parts) for form in forms if isinstance(form, BlankForm)]
        return Counter(one for own in read for one in own if one)

    @cached_property
    def _kept(self) -> dict[str, BlankForm]:
        """Of each truth that effects write and that is read there: the form that leaves it as it is."""
        found: dict[str, BlankForm] = {}
        for action in self.losses.training.domain.actions.values():
            for one in action.effects:
                call = one.value
                if isinstance(call, BlankCall) and call.blank in self.slots and one.target in call.args:
                    signature = self.slots[call.blank].signature
                    if signature.output == Spec("bool"):
                        own = InputReading("code", call.args.index(one.target))
                        found[call.blank] = all_of(signature, [Condition(own, 1.0)])
        return found

    def _price(self, name: str, form: BlankForm, known: Known | None = None) -> float:
        """What a form costs in this sketch, and of a truth also what it is true of. Functions are used again;
        two truths seldom mean the same, and share nothing then. That nothing changes costs nothing.

        ``known``: what the forms of others read, where that was asked for before.
        """
        if form is self._kept.get(name):
            return 0.0
        shared = form.price(self._known(name) if known is None else known)
        seen = self._seen.get(name)
        if form.signature.output.prim != "bool":
            return NAME_COST if form.reads and str(form) in map(str, self._alike(name)) else shared
        if not seen:
            return shared
        true = form(*seen) > 0.5
        taken = any(torch.equal(true, one(*seen) > 0.5) for one in self._alike(name))
        return (form.cost if taken else shared) + TRUE_COST * float(true.float().mean())

    def _fingerprint(self, name: str, form: BlankForm, given: Answers) -> bytes:
        parts = [form(*given.args)] + ([form(*self._seen[name])] if name in self._seen else [])
        spec = form.signature.output
        codes = [part.argmax(-1) if spec.is_categorical else part for part in parts]
        return b"".join(bytes(np.ascontiguousarray(part.cpu().numpy())) for part in codes)

    def _cost(self, name: str) -> float:
        inner = self.slots[name].inner
        return self._price(name, inner) if isinstance(inner, BlankForm) else NETWORK_COST

    def _simplify(
        self, name: str, tried: list[tuple[float, BlankForm]], bar: Judgement, now: Judgement
    ) -> Judgement | None:
        """The cheapest form with which no kind of error is worse than by the bar, or than now."""
        slot, own = self.slots[name], self._cost(name)
        kept = slot.inner
        easy = not errors(self.losses, self.first).total
        nearly: list[tuple[float, BlankForm, Judgement]] = []
        for cost, form in tried:
            if cost >= own:
                break
            slot.inner = form
            if easy and errors(self.losses, self.first).total:
                continue
            new = self.judge()
            if new.within(bar) or new.within(now):
                return new
            nearly.append((cost, form, new))
        self._nearly[name] = []
        right = min(nearly, key=lambda one: one[2].total, default=None)
        short = min(nearly, key=lambda one: one[0] + ERROR_COST * one[2].total, default=None)
        for one in (right, short) if right is not short else (right,):
            if one is None:
                break
            slot.inner = one[1]
            refined = self._reduced(name, one[2])
            if refined.within(bar) or refined.within(now):
                return refined
            self._nearly[name].append((slot.inner, refined))
        slot.inner = kept
        return None

    def _reduced(self, name: str, now: Judgement) -> Judgement:
        """Tests or rows left out as long as fewer examples are wrong, or none more and it costs less."""
        slot = self.slots[name]
        while isinstance(slot.inner, TreeForm | TableForm):
            kept, own = slot.inner, self._cost(name)
            for smaller in kept.smaller():
                cheaper = self._price(name, smaller) < own
                slot.inner = smaller
                new = self.judge() if cheaper or now.total else now
                if new.total < now.total or (cheaper and new.within(now)):
                    now = new
                    break
            else:
                slot.inner = kept
                break
        return now

    def _mend(self, name: str, tried: list[tuple[float, BlankForm]], now: Judgement) -> Judgement | None:
        """The form that is the best trade of cost for errors."""
        slot, own = self.slots[name], self._cost(name)
        kept, best = slot.inner, now
        for cost, form in tried:
            if cost > own + ERROR_COST * best.total:
                break
            slot.inner = form
            new = self.judge()
            better = new.total <= best.total and new.held_out.within(best.held_out)
            if better and _is_better(cost, new, own, best):
                kept, best, own = form, new, cost
        slot.inner = kept
        return best if best is not now else None

    def _in_pairs(self, now: Judgement) -> Judgement:
        """Forms of one blank that make more errors, where others can then explain more.

        A refusal that a wall explains is also explained by where one may go; two truths of which one would
        have to be true for the other to matter are both false.
        """
        tried = 0
        for name in [name for name in self.slots if now.total and name in self._at_fault(now)]:
            slot = self.slots[name]
            for form in self._others(name):
                if tried == MOST_PAIRS or not now.total:
                    return now
                tried += 1
                before = {other: one.inner for other, one in self.slots.items()}
                least = sum(map(self._cost, self.slots))
                slot.inner = form
                new = self._mended(name, now.total + FARTHEST * len(self.train))
                better = new.total <= now.total and new.held_out.within(now.held_out)
                if better and _is_better(sum(map(self._cost, self.slots)), new, least, now):
                    now = new
                    break
                for other, inner in before.items():
                    self.slots[other].inner = inner
        return now

    def _mended(self, name: str, most: float) -> Judgement:
        """The other blanks made to fit a form, unless too much is wrong with it."""
        now = self.judge()
        related = self._contexts[name]
        for _ in range(2 if now.total <= most else 0):
            given = answers(self.losses, self.slots, self.train, mended=True, dropping=False)
            before = now.total
            for other in sorted(related & given.keys(), key=lambda one: -given[one].blamed):
                if given[other].blamed and other not in self._settled:
                    now = self._mend(other, self._tried(other, given[other]), now) or now
            if now.total >= before or not now.total:
                break
        return now

    def _others(self, name: str) -> list[BlankForm]:
        """Other forms than that of a blank: those that make few errors, and of truths the constants."""
        signature, own = self.slots[name].signature, self.slots[name].inner
        nearly = sorted(
            self._nearly.get(name, ()), key=lambda one: self._price(name, one[0]) + ERROR_COST * one[1].total
        )
        found = [form for form, _ in nearly]
        if signature.output == Spec("bool"):
            found += [always(signature, truth) for truth in (True, False)]
        said = own.extra_repr() if isinstance(own, BlankForm) else ""
        return [form for form in found if form.extra_repr() != said]

    def _at_fault(self, now: Judgement) -> set[str]:
        """The blanks that stand in what is wrong."""
        found: set[str] = set()
        for part in (now.train, now.held_out):
            for kind, wrong in part.wrong.items():
                found |= self._blanks_of(kind) if wrong else set()
        return {slot for slot in self.slots if slot.partition("#")[0] in found}

    def _blanks_of(self, kind: Kind) -> set[str]:
        """The blanks on which a kind of error depends."""
        training, (what, which) = self.losses.training, kind[0]
        if what == "goal":
            read = [training.goals[at] for at in training.kinds[which]]
        elif what == "executed":
            read = [training.actions[which].precondition]
        else:
            effects = training.actions[what].effects
            read = effect_expressions([one for one in effects if one.target.predicate == which])
        return {blank for one in read for blank in training.reads.blanks(one)}

    @cached_property
    def _contexts(self) -> dict[str, set[str]]:
        """The blanks that stand in the same goals, preconditions or effects as each."""
        groups = [self._blanks_of(kind) for kind in self.judge().train.wrong]
        return {
            name: {
                other
                for other in self.slots
                if other != name
                and any({name.partition("#")[0], other.partition("#")[0]} <= group for group in groups)
            }
            for name in self.slots
        }

    def _asked_for(self, now: Judgement) -> Judgement:
        """Where the user wants a form and none was as good as the network: that with the fewest errors."""
        for name, wanted in self.losses.training.model.blanks.pinned.items():
            slot = self.slots.get(name)
            if wanted != FORM or slot is None or isinstance(slot.inner, BlankForm):
                continue
            given = answers(self.losses, self.slots, self.train, mended=False).get(name)
            tried = []
            for cost, form in self._tried(name, given, most=1.0) if given else ():
                slot.inner = form
                tried.append((cost + ERROR_COST * self.judge().total, form))
            slot.inner = min(tried, key=lambda one: one[0])[1] if tried else slot.network
            now = self.judge()
        return now

    def _rivals(self, name: str, given: Answers, now: Judgement | None) -> tuple[BlankForm, ...]:
        """Other forms that make no more errors of any kind, and answer differently somewhere. If one of them
        is cheaper, it takes the place.

        ``now``: the errors of the model; None: it has none, and each answer is right or wrong by itself.
        """
        slot = self.slots[name]
        kept = slot.inner
        if not isinstance(kept, BlankForm) or not kept.signature.inputs or name not in self._seen:
            return ()
        asked_, known = possible(kept.signature, self._seen[name]), self._known(name)
        own = self._price(name, kept, known)
        free = kept is self._kept.get(name)  # leaving things as they are costs nothing, and may be wrong
        most = (kept.price(known) if free else own) + MOST_DEARER
        forms = alternatives(kept, given, asked_, known, self._alike(name))
        priced = sorted(
            [(price, form) for form in forms if (price := self._price(name, form, known)) <= most],
            key=lambda one: one[0],
        )
        if kept.signature.output == Spec("bool"):  # both ends first: what is true most seldom, and most often
            priced.sort(key=lambda one: float((one[1](*asked_) > 0.5).float().mean()))
            priced = [*priced[:1], *priced[:0:-1]]
        found = [(own, kept)]
        for price, form in priced[: 2 * MOST_RIVALS]:
            slot.inner = form
            if len(found) <= MOST_RIVALS and (now is None or self.judge().within(now)):
                found.append((price, form))
        least, slot.inner = min(found, key=lambda one: one[0])
        most = most if slot.inner is kept else least + MOST_DEARER
        return tuple(form for price, form in found if form is not slot.inner and price <= most)

    def _kin(self, name: str) -> dict[str, BlankForm]:
        """The forms of like blanks: those that are asked the same."""
        own = self.slots[name].signature.inputs, self._asks[name]
        return {
            other: slot.inner
            for other, slot in self.slots.items()
            if other != name
            and (slot.signature.inputs, self._asks[other]) == own
            and isinstance(slot.inner, BlankForm)
        }

    @cached_property
    def _asks(self) -> dict[str, tuple[str, ...]]:
        """What the arguments of each function are, whatever their variables are called."""
        names = argument_names(self.losses.training.domain)
        every = {name: names.get(name.partition("#")[0], ()) for name in self.slots}
        return {name: tuple(re.sub(r"\?[^\s()]+", "?", one) for one in asks) for name, asks in every.items()}


def _is_better(cost: float, new: Judgement, before: float, old: Judgement) -> bool:
    """Whether a model is simpler, or right more often, by more than the other is worse."""
    return cost + ERROR_COST * new.total < before + ERROR_COST * old.total


def is_boolean(blank: Blank) -> bool:
    """Whether it is a truth of truths, none of them of a set."""
    return blank.returns.is_bool and all(one.type.is_bool and one.over is None for one in blank.inputs)


def candidates(losses: Losses) -> list[str]:
    """The blanks whose networks may become forms: default ones of values that can be read, no encoders."""
    training = losses.training
    encoders = set()
    for predicate in training.domain.predicates.values():
        if predicate.role == "encoded" and predicate.body is not None:
            encoders |= {node.blank for node in walk(predicate.body) if isinstance(node, BlankCall)}
    found, pinned = [], training.model.blanks.pinned
    for name in training.domain.blanks:
        network = training.model.blanks.network(name)
        if pinned.get(name) == MLP or not isinstance(network, Network | BooleanNet | Constant):
            continue
        if name not in encoders and can_read(network.signature) and not network.signature.bounded:
            found.append(name)
        elif name in pinned:
            raise error(
                "bad-module",
                f"no form can answer for `{name}`: it encodes observations, or reads pictures",
                help="leave it out of `modules`",
            )
    return found


def _slot(functions: Functions, name: str) -> Slot:
    network = functions.network(name)
    assert isinstance(network, Network | BooleanNet | Constant)
    return Slot(network, plain(network.signature))


@contextmanager
def _eval(model: nn.Module) -> Iterator[None]:
    """Within, the model is in evaluation mode."""
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)


def _some(states: Array, kinds: Array, most: int) -> Array:
    """At most so many examples: of every kind as many, and of rare ones all."""
    if len(states) <= most:
        return states
    found: list[Array] = []
    listed = sorted((states[kinds[states] == kind] for kind in np.unique(kinds[states])), key=len)
    for at, members in enumerate(listed):
        own = min(len(members), most // (len(listed) - at))
        found.append(evenly(members, own))
        most -= own
    return np.sort(np.concatenate(found))


def _sampled(args: list[Argument]) -> list[Argument]:
    """At most `SAMPLED` of many inputs."""
    size = 0 if not args else len(args[0][0] if isinstance(args[0], tuple) else args[0])
    return args if size <= SAMPLED else rows_of(args, np.random.default_rng(0).permutation(size)[:SAMPLED])


def forget(functions: Functions) -> None:
    """Let networks speak for themselves again."""
    for module in functions.networks.modules():
        if isinstance(module, Network | BooleanNet | Constant):
            module.form, module.rivals = None, ()

"""Blank → module: what the user gave by name, else a default network made from the signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, final
from zlib import crc32

import torch
from torch import Tensor, nn

from pdsketch.lang import (
    TRUE,
    Blank,
    BlankCall,
    BlankInput,
    Diagnostic,
    Domain,
    Error,
    Span,
    ValueType,
    did_you_mean,
    effect_expressions,
    error,
    formula_text,
    walk,
)
from pdsketch.nets import BooleanNet, Constant, Input, Network, Prim, Signature, Spec, make

# Functions that a program calls, as callers and watchers see them: what they take, and how they fail.

Given = Tensor | tuple[Tensor, Tensor]
"""An argument of a call: a value, or the values of a set with their weights."""


@final
@dataclass(frozen=True, slots=True)
class Callee:
    """A blank or an external function as its callers see it."""

    name: str
    signature: str
    inputs: tuple[ValueType, ...]
    returns: ValueType
    external: bool
    span: Span | None = None

    @property
    def words(self) -> str:
        """What it is called in messages."""
        return f"external function `{self.name}`" if self.external else f"blank `{self.name}`"

    def fail(self, code: str, message: str) -> Error:
        """An error about this function."""
        return error(code, f"{self.words} {message}", self.span, help=f"its signature is {self.signature}")


Watcher = Callable[[Callee, Sequence[Given], torch.Size, Tensor], None]
"""Sees the arguments of a blank, over which leading axes, and what it returned."""


def out_of_memory(failure: BaseException) -> bool:
    """Whether an error says that there was no memory left; torch has no class for that on a CPU."""
    if isinstance(failure, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(failure, RuntimeError) and "DefaultCPUAllocator" in str(failure)


DEFAULT_DIMENSION = 64
"""The size of a vector that a blank returns, where nothing says it; set by hand."""

MLP, FORM = "mlp", "form"
"""In the place of a module: the default network, for which no form is to answer, or one has to."""

_PRIMS: Mapping[str, Prim] = {"bool": "bool", "int64": "int", "float32": "float"}


@final
class Functions(nn.Module):
    """The function of each blank, by its full name, and of each external predicate, by its name.

    Modules are registered, so that their parameters are the model's; the same
    module under two names is shared. A blank without one gets a default
    network: at once where its signature says all dimensions, else when it is
    first called. ``given`` names what the user gave, ``gated`` the blanks whose default network
    decides itself whether it writes; ``weights`` are the bytes that a row of a call takes, as
    far as that was measured.
    """

    def __init__(self, domain: Domain, modules: Mapping[str, Any], seed: int) -> None:
        super().__init__()
        self.domain = domain
        self.seed = seed
        if not isinstance(modules, Mapping):
            found = type(modules).__name__
            raise error("bad-module", f"`modules` maps names of blanks to functions, and is a {found}")
        every = by_full_name(domain, modules)
        self.pinned = {n: m for n, m in every.items() if isinstance(m, str) and m in (MLP, FORM)}
        self.given = {name: module for name, module in every.items() if name not in self.pinned}
        self.gated = _unconditional(domain) - set(self.given)
        self.calls: dict[str, Callable[..., Any]] = {}
        self.weights: dict[Any, float] = {}
        self.networks = nn.ModuleDict()
        self.watcher: Watcher | None = None
        problems = [*_misnamed(domain, every), *_unlearnable(domain, self.given)]
        if problems:
            raise Error(problems)
        for name, module in self.given.items():
            self.put(name, module)
        for name, blank in domain.blanks.items():
            signature = signature_of(blank, [i.type.shape for i in blank.inputs])
            if name not in self.calls and signature is not None:
                self.put(name, self.default(name, signature))

    @contextmanager
    def watched(self, watcher: Watcher) -> Iterator[None]:
        """Within, every call of a blank is shown to a function, after the fact."""
        before, self.watcher = self.watcher, watcher
        try:
            yield
        finally:
            self.watcher = before

    @property
    def unbound(self) -> tuple[str, ...]:
        """The blanks whose network waits for the first state to tell its dimensions."""
        return tuple(name for name in self.domain.blanks if name not in self.calls)

    def guesses(self, names: Iterable[str]) -> bool:
        """Whether forms of some blanks have rivals, so that some of their answers are guesses."""
        return any(part.rivals for name in names for part in formed(self.network(name)).values())

    def put(self, name: str, module: Callable[..., Any]) -> None:
        """Let a blank or an external predicate be this function."""
        self.calls[name] = module
        self.weights.clear()
        if isinstance(module, nn.Module):
            self.networks[key_of(name)] = module

    def network(self, name: str) -> nn.Module | None:
        """The module of a blank or an external predicate, if it is one."""
        found = self.calls.get(name)
        return found if isinstance(found, nn.Module) else None

    def default(self, name: str, signature: Signature) -> nn.Module:
        """A fresh network for a blank; its weights depend on the seed and the name alone."""
        signature = by_use(signature, name, self.domain, self.given)
        generator = torch.Generator().manual_seed((self.seed * 0x9E3779B1 + crc32(name.encode())) % 2**63)
        return make(signature, generator)

    def get(self, callee: Callee, given: Sequence[Given]) -> Callable[..., Any]:
        """The function to call, made now if these arguments are the first."""
        function = self.calls.get(callee.name)
        if function is not None:
            return function
        if callee.external:
            raise callee.fail(
                "no-function",
                f"is not given: register it with Model(domain, modules={{'{callee.name}': fn}})",
            )
        blank = self.domain.blanks[callee.name]
        shapes = [_own_shape(g, i) for g, i in zip(given, blank.inputs, strict=True)]
        signature = signature_of(blank, shapes)
        assert signature is not None
        device = next((t.device for g in given for t in (g if isinstance(g, tuple) else (g,))), None)
        with torch.inference_mode(False):
            self.put(callee.name, self.default(callee.name, signature).to(device).train(self.training))
        return self.calls[callee.name]


FORM_KEYS = ("form", "gate-form")
"""What the forms of a network and of its gate are called where they are saved."""


def formed(network: nn.Module | None) -> dict[str, Network | BooleanNet | Constant]:
    """The parts of a default network for which forms may answer: itself, and its gate."""
    parts = [network, getattr(network, "gate", None)]
    return {
        key: part
        for key, part in zip(FORM_KEYS, parts, strict=True)
        if isinstance(part, Network | BooleanNet | Constant)
    }


def argument_names(domain: Domain) -> dict[str, tuple[str, ...]]:
    """What the arguments of each blank are called where it is called first."""
    actions = [
        one
        for action in domain.actions.values()
        for one in (action.precondition, *effect_expressions(action.effects))
    ]
    bodies = [predicate.body for predicate in domain.predicates.values() if predicate.body is not None]
    found: dict[str, tuple[str, ...]] = {}
    for node in (node for expr in (*bodies, *actions) for node in walk(expr)):
        if isinstance(node, BlankCall):
            found.setdefault(node.blank, tuple(map(formula_text, node.args)))
    return found


def by_use(signature: Signature, name: str, domain: Domain, given: Mapping[str, Any]) -> Signature:
    """The signature of a default network, with what the blank's use asks of it.

    ``signature`` follows from the types of the blank ``name`` in ``domain``. What encodes a latent vector,
    and what predicts one, stays within bounds. What is assigned under no condition decides itself whether it
    is, unless the blank is filled by one of the user's modules (``given``, by name).
    """
    return replace(
        signature, bounded=name in _latent(domain, given), gated=name in _unconditional(domain) - set(given)
    )


def _latent(domain: Domain, given: Mapping[str, Any]) -> set[str]:
    """The blanks that return values of an encoded float variable, if none of its encoders is the user's."""
    found: set[str] = set()
    for predicate in domain.predicates.values():
        if predicate.role != "encoded" or predicate.type.prim != "float32" or predicate.body is None:
            continue
        makers = {
            update.value.blank
            for action in domain.actions.values()
            for update in action.effects
            if update.target.predicate == predicate.name and isinstance(update.value, BlankCall)
        }
        if isinstance(predicate.body, BlankCall):
            makers.add(predicate.body.blank)
            found |= makers if makers.isdisjoint(given) else set()
    return found


def _unconditional(domain: Domain) -> frozenset[str]:
    """The blanks that are only ever assigned to float variables, under no condition."""
    updates = [update for action in domain.actions.values() for update in action.effects]
    found: dict[str, bool] = {}
    for update in updates:
        if isinstance(update.value, BlankCall):
            name = update.value.blank
            is_float = domain.predicates[update.target.predicate].type.prim == "float32"
            free = update.op == "assign" and update.condition == TRUE and is_float
            found[name] = found.get(name, True) and free
    return frozenset(name for name, free in found.items() if free)


def key_of(name: str) -> str:
    """The name under which a module is registered: torch allows no dots, and some names are taken."""
    return (name if "::" in name else f"external::{name}").replace(".", "%2E")


def _own_shape(given: Given, input_: BlankInput) -> tuple[int, ...]:
    """The value's own axes in what a blank was given."""
    if input_.type.shape is not None:
        return input_.type.shape
    if isinstance(given, tuple):
        return tuple(given[0].shape[given[1].dim() :])
    return tuple(given.shape[-1:])


def signature_of(blank: Blank, shapes: Sequence[tuple[int, ...] | None]) -> Signature | None:
    """What a default network for the blank takes and returns; None while a shape is not known."""
    if any(shape is None for shape in shapes):
        return None
    inputs = [
        Input(_spec(i.type, shape or ()), i.over is not None, _type_id(i.type, shape or ()))
        for i, shape in zip(blank.inputs, shapes, strict=True)
    ]
    around = None if blank.residual is None else inputs[blank.residual]
    size = blank.settings.get("dim", DEFAULT_DIMENSION)
    shape = blank.returns.shape
    if shape is None:
        shape = around.spec.shape if around is not None else (int(size),)
    output = _spec(blank.returns, shape)
    fits = around is not None and not around.is_set and around.spec == output
    return Signature(tuple(inputs), output, blank.residual if fits else None)


def _spec(type_: ValueType, shape: tuple[int, ...]) -> Spec:
    return Spec(_PRIMS[type_.prim], shape, type_.choices if type_.prim == "int64" else None)


def _type_id(type_: ValueType, shape: tuple[int, ...]) -> str | None:
    """The identity of a type: inputs of one type may be compared with each other."""
    return None if type_.prim == "bool" else f"{type_.alias or type_}{list(shape)}"


def by_full_name(domain: Domain, modules: Mapping[str, Any]) -> dict[str, Any]:
    """Modules by the names of what they fill; that of a predicate or an action stands for its only blank."""
    found: dict[str, Any] = {}
    for given, module in modules.items():
        name = str(given).lower()
        own = [] if name in domain.blanks else _blanks_of(domain, name)
        full = own[0] if len(own) == 1 else name
        if full in found:
            raise error("bad-module", f"`{full}` is given twice", help="give each blank one function")
        found[full] = module
    return found


def _blanks_of(domain: Domain, name: str) -> list[str]:
    """The blanks that stand in the definition of a predicate or an action."""
    return [blank for blank in domain.blanks if blank.split("::")[1:2] == [name]]


def _misnamed(domain: Domain, given: Mapping[str, Any]) -> list[Diagnostic]:
    known = [*domain.blanks, *(p.name for p in domain.predicates.values() if p.role == "external")]
    problems = []
    for name, module in given.items():
        if name not in known:
            own = _blanks_of(domain, name)
            listed = f"it has {', '.join(own or known)}" if known else "it has none"
            problems.append(
                Diagnostic(
                    "unknown-module",
                    f"the domain has no blank and no external predicate `{name}`",
                    help=listed if own else did_you_mean(name, known) or listed,
                    file=domain.source.name,
                )
            )
        elif not callable(module) and not (isinstance(module, str) and module in (MLP, FORM)):
            found = repr(module) if isinstance(module, str) else f"a {type(module).__name__}"
            message = f"the module for `{name}` is {found}, and no function"
            problems.append(
                Diagnostic(
                    "bad-module",
                    message,
                    help=f'"{MLP}" keeps the network that learns it, "{FORM}" lets a form answer',
                )
            )
    return problems


def _unlearnable(domain: Domain, given: Mapping[str, Any]) -> list[Diagnostic]:
    return [
        Diagnostic(
            "int-without-choices",
            f"blank `{name}` returns {blank.returns}, an int without choices, and no default network can",
            blank.spans[0] if blank.spans else None,
            help="a label has choices, as in int64[choices=4]; a quantity is a float32[tolerance=0.3]",
        )
        for name, blank in domain.blanks.items()
        if blank.returns.prim == "int64" and blank.returns.choices is None and name not in given
    ]

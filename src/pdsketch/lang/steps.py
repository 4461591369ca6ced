"""A step, such as ``("move-to", "b#1", (0.1, 0.2))``: what it is, how it is checked, files of steps."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from re import fullmatch
from typing import Any, Final

from pdsketch.lang.check.numbers import read_number
from pdsketch.lang.data import LARGEST_FLOAT, flat, plain, short, show_atom, shown
from pdsketch.lang.diagnostics import Diagnostic, Error, did_you_mean, error
from pdsketch.lang.domain import Action, Domain
from pdsketch.lang.reader import Group, Node, Token, read
from pdsketch.lang.source import Source, Span
from pdsketch.lang.terms import Variable
from pdsketch.lang.types import ObjectType, ValueType

# Does a value fit its type? One rule, one code and one wording for each slip, over plain numbers and shapes.
#
# `shape-mismatch`, `not-finite`, `value-out-of-range`, and `bad-value` for what is no number at all.

BEYOND_INTS: Final = 2**63 - 1
"""Ints are less than this, and at least its negative: states mark overflow by the limits of 64 bits."""


def check_value(what: str, type_: ValueType, value: Any) -> Any:
    """A value as (nested) tuples of numbers; a vector of one may stand for a number. Else an `Error`."""
    value = plain(value)
    numbers = [*flat(value)]
    if not all(isinstance(number, bool | int | float) for number in numbers):
        raise error("bad-value", f"{what} is a {type_}, and {shown(value)} is no value")
    if type_.shape == () and isinstance(value, tuple) and len(numbers) == len(value) == 1:
        value = value[0]
    found = shape_of(value)
    if found is None:
        raise error("bad-value", f"{what} is a {type_}, and the rows of {shown(value)} differ in length")
    if (found == ()) if type_.shape is None else found != type_.shape:
        raise error("shape-mismatch", f"{what} has the shape {found}, and {wanted_shape(type_)} was wanted")
    for number in numbers:
        check_number(what, type_, number, value)
    return value


def check_number(what: str, type_: ValueType, number: float, within: Any = None) -> None:
    """Refuse a number that no value of the type holds; ``within``: the value that it is part of.

    ``what`` names the place of ``number`` in messages ("`level` of a"); ``type_`` says whether it is an int
    or a float32, and its range.
    """
    if not math.isfinite(number):
        raise error("not-finite", f"{what} is {_whole(number, within)}, which is not finite")
    if type_.prim == "float32":
        if abs(number) > LARGEST_FLOAT:
            raise error("not-finite", f"{what} is {_whole(number, within)}, which is too large for a float32")
    elif not in_range(type_, number):
        raise error("value-out-of-range", out_of_range(what, type_, number))


def _whole(number: float, within: Any) -> str:
    return shown(number if within is None else within)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of nested tuples; None if they are ragged."""
    if not isinstance(value, tuple):
        return ()
    inner = {shape_of(element) for element in value}
    shape = inner.pop() if inner else ()
    return None if inner or shape is None else (len(value), *shape)


def wanted_shape(type_: ValueType, axes: Sequence[int] = ()) -> str:
    """The shape of a table of values over objects, in words; ``d`` is an axis of any length."""
    own = ["d"] if type_.shape is None else [*map(str, type_.shape)]
    return f"({', '.join([*map(str, axes), *own])})"


def in_range(type_: ValueType, number: float) -> bool:
    """Whether a finite number is a Boolean, or an int, of a type."""
    if number != int(number):
        return False
    upper = 2 if type_.prim == "bool" else type_.choices
    return -BEYOND_INTS <= number < BEYOND_INTS if upper is None else 0 <= number < upper


def out_of_range(what: str, type_: ValueType, number: float) -> str:
    """What is wrong with a number that is no Boolean, or no int, of a type."""
    if abs(number) >= BEYOND_INTS:
        return f"{what} is beyond the ints of 64 bits"
    choices = "" if type_.choices is None else f" from 0 to {type_.choices - 1}"
    wanted = "true or false" if type_.prim == "bool" else f"an int{choices}"
    return f"{what} is {number:g}, and {wanted} was wanted"


Step = tuple[Any, ...]
"""The name of an action, then its arguments: names of objects, and values."""


def is_step(given: Any) -> bool:
    """Whether this is one step, and not a list of them."""
    if type(given) is tuple:  # as most are: it is found out sooner
        return len(given) > 0 and isinstance(given[0], str)
    return isinstance(given, str) or (
        isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], str)
    )


def action_of(domain: Domain, step: Any) -> Action:
    """The action of a step, whose name and number of arguments are checked."""
    if not is_step(step):
        raise error(
            "bad-action",
            f"an action is a tuple of its name and its arguments, and {step!r:.80} is not",
            help='write it as ("forward", "agent")',
        )
    name, count = (step, 0) if isinstance(step, str) else (step[0], len(step) - 1)
    action = domain.actions.get(name.lower())
    if action is None:
        raise error(
            "unknown-action",
            f"the domain has no action `{name}`",
            help=did_you_mean(name.lower(), domain.actions) or f"its actions: {', '.join(domain.actions)}",
        )
    if count != len(action.parameters):
        wanted = " ".join(f"{p.name} - {p.type}" for p in action.parameters) or "none"
        raise error(
            "arity-mismatch",
            f"`{action.name}` takes {len(action.parameters)} arguments, and {count} are given",
            action.span,
            help=f"its parameters: {wanted}",
        )
    return action


def resolve(domain: Domain, universe: Mapping[str, ObjectType], step: Any) -> Step:
    """The step in the domain's own names, every argument checked; ``universe`` holds all objects."""
    action = action_of(domain, step)
    arguments = () if isinstance(step, str) else step[1:]
    return (
        action.name,
        *(
            object_of(domain, universe, action, parameter, argument)
            if isinstance(parameter.type, ObjectType)
            else check_value(argument_words(action, parameter), parameter.type, argument)
            for parameter, argument in zip(action.parameters, arguments, strict=True)
        ),
    )


def argument_words(action: Action, parameter: Variable) -> str:
    """How diagnostics name an argument."""
    return f"`{parameter.name}` of `{action.name}`"


def object_of(
    domain: Domain, universe: Mapping[str, ObjectType], action: Action, parameter: Variable, given: Any
) -> str:
    """The name of the object that is given for a parameter.

    ``given`` must be a name of ``universe`` (objects to types), whose type fits the ``parameter`` of
    ``action`` in the types of ``domain``; else an `Error` says what would.
    """
    assert isinstance(parameter.type, ObjectType)
    what = argument_words(action, parameter)
    if not isinstance(given, str):
        message = f"{what} is the name of a {parameter.type}, and {shown(given):.60} is given"
        raise error("type-mismatch", message, action.span)
    name = given.lower()
    if name not in universe:
        fitting = domain.hierarchy.members(parameter.type, universe)
        some = f"objects of type {parameter.type}: {', '.join(fitting[:8])}"
        raise error(
            "unknown-object",
            f"{what}: there is no object `{name}`",
            action.span,
            help=did_you_mean(name, universe) or (some if fitting else f"there is no {parameter.type}"),
        )
    if not domain.hierarchy.is_subtype(universe[name], parameter.type):
        message = f"{what} is a {parameter.type}, and `{name}` is a {universe[name]}"
        raise error("type-mismatch", message, action.span)
    return name


def write_plan(steps: Iterable[Step], cost: float) -> str:
    """A plan as the IPC writes it: a step a line, then the cost."""
    total = int(cost) if float(cost).is_integer() else cost
    return "\n".join([*(show_atom(short(tuple(step))) for step in steps), f"; cost = {total}"]) + "\n"


def read_plan(source: Source, objects: Collection[str] = ()) -> list[Step]:
    """The steps of a plan file; an `Error` if it is not one. An object may have a number for a name.

    The IPC's form, a step a line, and VAL's, ``0: (a b) [1]``: in the order of their times.
    """
    reading = read(source)
    if reading.diagnostics:
        raise Error(reading.diagnostics)
    return [_step(node, source, objects) for node in _in_time(reading.nodes)]


def span_of_step(source: Source, index: int) -> Span:
    """The place of a step in a plan file."""
    node = _in_time(read(source).nodes)[index]
    return Span(source, node.start, node.end)


def _in_time(nodes: Iterable[Node]) -> list[Node]:
    """The steps without the times before them and the durations behind them, sorted by time.

    A time or a duration that belongs to no step is left, to be reported.
    """
    timed: list[tuple[float, Node]] = []
    time: tuple[float, Node] | None = None
    behind = False
    for node in nodes:
        if isinstance(node, Token) and time is None and fullmatch(r"\d+(\.\d*)?:", node.text):
            time, behind = (float(node.text[:-1]), node), False
        elif behind and isinstance(node, Group) and node.bracket == "[" and len(node.items) == 1:
            behind = False
        else:
            at = time[0] if time is not None else timed[-1][0] if timed else 0.0
            timed.append((at, node))
            time, behind = None, True
    if time is not None:
        timed.append(time)
    return [node for _, node in sorted(timed, key=lambda step: step[0])]


def _step(node: Node, source: Source, objects: Collection[str]) -> Step:
    if not isinstance(node, Group) or node.bracket != "(":
        raise _unreadable(node, source, "a plan is a list of steps `(action object …)`")
    if not node.items or not isinstance(node.items[0], Token):
        raise _unreadable(node, source, "a step begins with the name of an action")
    return (node.items[0].text, *(_argument(item, source, objects) for item in node.items[1:]))


def _argument(node: Node, source: Source, objects: Collection[str]) -> Any:
    """A name, a number, or a tuple of numbers."""
    if isinstance(node, Token):
        number = None if node.text in objects else read_number(node.text)
        return node.text if number is None else number
    if node.bracket != "[":
        raise _unreadable(node, source, "an argument is a name, a number, or a vector `[x, y]`")
    values = [_argument(item, source, ()) for item in node.items if not _is_comma(item)]
    if any(isinstance(value, str) for value in values):
        raise _unreadable(node, source, "a vector holds numbers")
    return tuple(values)


def _is_comma(node: Node) -> bool:
    return isinstance(node, Token) and node.text == ","


def _unreadable(node: Node, source: Source, message: str) -> Error:
    return Error([Diagnostic("bad-plan", message, Span(source, node.start, node.end))])

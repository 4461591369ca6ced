"""From all uses of a blank, its one signature; uses that clash are reported with both places."""

from __future__ import annotations

from collections.abc import Iterable

from pdsketch.lang.check.context import BlankUse
from pdsketch.lang.diagnostics import Note
from pdsketch.lang.domain import Action, Blank, BlankInput
from pdsketch.lang.report import CheckReport
from pdsketch.lang.terms import BlankCall, Each, Expr
from pdsketch.lang.types import ObjectType, ValueType


def collect_blanks(
    uses: Iterable[BlankUse], actions: Iterable[Action], report: CheckReport
) -> dict[str, Blank]:
    """The blanks of a domain in the order of their first use."""
    by_name: dict[str, list[BlankUse]] = {}
    for use in uses:
        if any(isinstance(arg.type, ObjectType) for arg in use.args):
            continue  # a variable whose type is wrong, and reported
        by_name.setdefault(use.name, []).append(use)
    residuals = _residuals(actions)
    found: dict[str, Blank] = {}
    for name, same in by_name.items():
        first = same[0]
        for other in same[1:]:
            _check_clash(first, other, report)
        settings = {key: value for use in reversed(same) for key, value in use.settings.items()}
        residual = residuals.get(name, {None})
        found[name] = Blank(
            name,
            tuple(blank_input(arg) for arg in first.args),
            first.returns,
            next(iter(residual)) if len(residual) == 1 else None,
            settings,
            tuple(use.span for use in same),
        )
        if first.returns.prim == "int64" and first.returns.choices is None:
            report.warning(
                "int-without-choices",
                f"`{name}` returns an int, and nothing says how many there are",
                first.span,
                help="declare the choices, for instance int64[choices=4]",
            )
    return found


def blank_input(arg: Expr) -> BlankInput:
    """An argument as the signature shows it."""
    assert isinstance(arg.type, ValueType)
    return BlankInput(arg.type, arg.variables if isinstance(arg, Each) else None)


def _check_clash(first: BlankUse, other: BlankUse, report: CheckReport) -> None:
    """Two uses of one name are one function, so they must agree."""
    mine, yours = _shape_of(first), _shape_of(other)
    if mine == yours:
        return
    report.error(
        "blank-clash",
        f"`{first.name}` is used with two signatures",
        other.span,
        label=f"here {_show(other)}",
        notes=[Note(first.span, f"there {_show(first)}")],
        help="one name in one definition is one function; give the other its own name",
    )


def _shape_of(use: BlankUse) -> tuple[object, ...]:
    inputs = tuple(
        (i.type, None if i.over is None else tuple(v.type for v in i.over))
        for i in map(blank_input, use.args)
    )
    return inputs, use.returns


def _show(use: BlankUse) -> str:
    return f"({', '.join(str(blank_input(arg)) for arg in use.args)}) -> {use.returns}"


def _residuals(actions: Iterable[Action]) -> dict[str, set[int | None]]:
    """For each blank that is assigned, the input around which it starts as the identity."""
    found: dict[str, set[int | None]] = {}
    for action in actions:
        for update in action.effects:
            if update.op == "assign" and isinstance(update.value, BlankCall):
                call = update.value
                found.setdefault(call.blank, set()).add(_residual(call, update.target))
    return found


def _residual(call: BlankCall, target: Expr) -> int | None:
    if target in call.args:
        return call.args.index(target)
    same = [i for i, arg in enumerate(call.args) if not isinstance(arg, Each) and arg.type == target.type]
    return same[0] if len(same) == 1 else None

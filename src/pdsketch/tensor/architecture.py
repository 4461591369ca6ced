"""``model.json``, read with suspicion, and compared with a sketch and with the user's modules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pdsketch.lang import Blank, Diagnostic, Domain, Error, error
from pdsketch.tensor.compile.logic import TNorm

_FIELDS: Mapping[str, type] = {
    "tnorm": str,
    "seed": int,
    "bound": dict,
    "blanks": dict,
    "externals": dict,
    "notes": dict,
}
_LARGEST = 1 << 24
"""No axis of a value is longer."""


def bad_model(path: Path, why: str) -> Error:
    """What to say of a folder that holds no model."""
    return error("bad-model", f"this folder holds no model: {why}", file=str(path))


def check_architecture(described: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """What ``model.json`` says, every field of which has the type that it should have."""
    for name, type_ in _FIELDS.items():
        if not isinstance(described.get(name), type_):
            raise bad_model(path, f"`{name}` is missing, or is not what it should be")
    if described["tnorm"] not in get_args(TNorm):
        raise bad_model(path, f"its logic is {described['tnorm']!r:.40}, which is not known")
    shapes = list(described["bound"].values())
    for name, blank in described["blanks"].items():
        if not _is_blank(blank):
            raise bad_model(path, f"`{name:.80}` of `blanks` is not what it should be")
        shapes += blank.get("shapes") or []
    if not all(isinstance(s, list) and all(type(n) is int and 0 <= n < _LARGEST for n in s) for s in shapes):
        raise bad_model(path, "a shape is not what it should be")
    return described


def _is_blank(blank: Any) -> bool:
    return (
        isinstance(blank, dict)
        and isinstance(blank.get("signature"), str)
        and isinstance(blank.get("module"), str)
        and isinstance(blank.get("calls"), list)
        and all(isinstance(call, str) for call in blank["calls"])
        and isinstance(blank.get("shapes", []), list)
        and (blank["module"] != "offset" or blank.get("arguments") in ([0], [1], [0, 1], [1, 0]))
    )


def calls_of(blank: Blank) -> list[str]:
    """How the sketch calls the blank, whatever the spaces between the words."""
    return [" ".join(span.text.split()) for span in blank.spans]


def changed_blanks(domain: Domain, described: Mapping[str, Any], path: Path) -> list[Diagnostic]:
    """How the blanks of a sketch differ from those that the weights were learned for."""
    was: Mapping[str, Any] = described["blanks"]
    problems = []
    for name, blank in domain.blanks.items():
        span = blank.spans[0] if blank.spans else None
        if name not in was:
            message = f"blank `{name}` is new: nothing was learned for it"
        elif was[name]["signature"] != blank.signature:
            message = f"blank `{name}` was {was[name]['signature']}, and is {blank.signature}"
        elif was[name]["calls"] != calls_of(blank):
            before = "; ".join(was[name]["calls"] or ["nothing"])
            message = f"blank `{name}` was called as {before}, and is called as {'; '.join(calls_of(blank))}"
        else:
            continue
        problems.append(Diagnostic("changed-sketch", message, span))
    for name in was:
        if name not in domain.blanks:
            message = f"blank `{name}` is gone, and the model has weights for it"
            problems.append(Diagnostic("changed-sketch", message, file=str(path)))
    return problems


def missing_modules(
    domain: Domain, described: Mapping[str, Any], given: Mapping[str, Any], path: Path
) -> list[Diagnostic]:
    """The user's own modules, which are not stored and must be given again, as far as they are not.

    ``domain`` is the model's, ``described`` the stored description of what fills its blanks, ``given`` the
    modules by name that came with the call, ``path`` the file that a diagnostic is about.
    """
    kinds = {name: described["blanks"][name]["module"] for name in domain.blanks}
    return [
        Diagnostic(
            "missing-module",
            f"blank `{name}` was filled with a {kind} of your own",
            help=f"pass it again: load_model(folder, modules={{'{name}': …}})",
            file=str(path),
        )
        for name, kind in kinds.items()
        if kind in ("module", "function") and name not in given
    ]

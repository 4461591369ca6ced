"""Episodes on disk: a folder with ``manifest.json`` and ``arrays.safetensors``; see docs/data-format.md.

Both files hold data alone, so that reading a folder of unknown origin cannot
run code. Everything is checked on the way in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from pdsketch.lang.diagnostics import Diagnostic, Error, did_you_mean
from pdsketch.lang.domain import Domain
from pdsketch.lang.types import ValueType
from pdsketch.learn.columns import Array, Columns, width_of
from pdsketch.learn.episodes import Episode, check_goal
from pdsketch.learn.recorder import check_numbers, columns_of, exact, value_types
from pdsketch.tensor.universe import Universe

FORMAT = "pdsketch-episodes"
VERSION = 2
MANIFEST = "manifest.json"
ARRAYS = "arrays.safetensors"

_COUNTED = {"length": np.int64, "universe": np.int64, "judgements": np.int64, "goal": np.int64}
_PER_ACTION = {"action": np.int64, "arguments": np.int64, "numbers": np.float32, "executable": np.int8}


def save_episodes(
    episodes: Columns | Iterable[Episode], path: str | os.PathLike[str], domain: Domain | None = None
) -> None:
    """Write episodes to a folder, which is made if need be."""
    if not isinstance(episodes, Columns):
        listed = list(episodes)
        if domain is None:
            if not listed:
                raise _bad(path, "there are no episodes to save")
            domain = listed[0].states[0].domain
        episodes = columns_of(listed, domain)
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: getattr(episodes, name) for name in (*_COUNTED, "success", *_PER_ACTION)}
    arrays |= {name: arrays[name].astype(np.int32) for name in _COUNTED}
    arrays |= {f"value/{name}": values for name, values in episodes.values.items()}
    (folder / MANIFEST).write_text(json.dumps(_manifest(episodes), indent=1), encoding="utf-8")
    save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()}, folder / ARRAYS)


def _manifest(columns: Columns) -> dict[str, Any]:
    predicates = {}
    for name in columns.values:
        predicate = columns.domain.predicates[name]
        predicates[name] = {
            "arguments": [str(p.type) for p in predicate.parameters],
            "prim": predicate.type.prim,
            "shape": list(columns.shapes[name]),
            "per": "episode" if name in columns.fixed else "state",
        }
    return {
        "format": FORMAT,
        "version": VERSION,
        "domain": columns.domain.name,
        "episodes": len(columns),
        "states": int(columns.length.sum()),
        "constants": list(columns.domain.constants),
        "predicates": predicates,
        "actions": {
            name: [str(p.type) for p in columns.domain.actions[name].parameters] for name in columns.actions
        },
        "universes": [{type_: list(names) for type_, names in r.objects.items()} for r in columns.universes],
        "goals": list(columns.goals),
    }


def load_episodes(path: str | os.PathLike[str], domain: Domain) -> Columns:
    """Read a folder of episodes for a domain.

    Predicates that the domain does not have are left aside, so that one data
    set serves several sketches. Whatever else does not fit is an `Error`.
    """
    folder = Path(path)
    manifest = _read_manifest(folder)
    try:
        arrays = load_file(folder / ARRAYS)
    except FileNotFoundError:
        raise _bad(folder, f"there is no {ARRAYS}") from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as problem:
        raise _bad(folder / ARRAYS, f"not a safetensors file: {problem}") from None
    try:
        return _columns(folder, manifest, arrays, domain)
    except (KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise _bad(folder / MANIFEST, f"the manifest is not as expected: {problem!r:.120}") from None
    except Error as problem:
        if all(d.file != "<input>" for d in problem.diagnostics):
            raise
        raise Error(
            [Diagnostic(d.code, d.message, help=d.help, file=str(folder)) for d in problem.diagnostics]
        ) from None


def _read_manifest(folder: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise _bad(folder, f"not a folder of episodes: there is no {MANIFEST}") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as problem:
        raise _bad(folder / MANIFEST, f"not JSON: {problem}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _bad(folder / MANIFEST, f'the manifest does not say "format": "{FORMAT}"')
    if manifest.get("version") != VERSION:
        raise _bad(
            folder / MANIFEST,
            f"the folder has format version {manifest.get('version')!r:.20}; this program reads {VERSION}",
        )
    return manifest


def _columns(
    folder: Path, manifest: Mapping[str, Any], arrays: Mapping[str, Array], domain: Domain
) -> Columns:
    if list(manifest["constants"]) != list(domain.constants):
        raise _bad(
            folder,
            f"recorded with the constants {', '.join(map(str, manifest['constants'])) or 'none'}; the domain "
            f"has {', '.join(domain.constants) or 'none'}",
        )
    universes = tuple(Universe.of(domain, _mapping(objects)) for objects in manifest["universes"])
    plain = _plain_columns(folder, manifest, arrays, domain)
    shapes, fixed, values = {}, set(), {}
    for name, entry in _mapping(manifest["predicates"]).items():
        if name not in domain.predicates or domain.predicates[name].role in ("derived", "external", "cost"):
            continue
        shapes[name] = _shape_of(folder, domain, name, entry)
        if entry["per"] == "episode":
            fixed.add(name)
        values[name] = _array(folder, arrays, f"value/{name}", axes=1)
    columns = Columns(
        domain=domain,
        universes=universes,
        goals=tuple(map(str, manifest["goals"])),
        values=_typed(folder, domain, values),
        shapes=shapes,
        fixed=frozenset(fixed),
        **plain,
    )
    _check_columns(folder, columns)
    return columns


def _plain_columns(
    folder: Path, manifest: Mapping[str, Any], arrays: Mapping[str, Array], domain: Domain
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, dtype in (*_COUNTED.items(), ("success", np.int8), *_PER_ACTION.items()):
        array = _array(folder, arrays, name, axes=2 if name in ("arguments", "numbers") else 1)
        kinds = "iuf" if name == "numbers" else "iu"
        if array.dtype.kind not in kinds:
            raise _bad(folder, f"`{name}` holds {array.dtype}, not ints")
        found[name] = array.astype(dtype)
    names = list(_mapping(manifest["actions"]))
    for name in names:
        if name not in domain.actions:
            raise _bad(folder, f"the domain has no action `{name}`", did_you_mean(name, domain.actions))
        wanted = [str(p.type) for p in domain.actions[name].parameters]
        if len(wanted) != len(manifest["actions"][name]):
            raise _bad(folder, f"`{name}` was recorded with other parameters than the domain's {wanted}")
    found["actions"] = tuple(names)
    return found


def _shape_of(folder: Path, domain: Domain, name: str, entry: Mapping[str, Any]) -> tuple[int, ...]:
    predicate = domain.predicates[name]
    shape = entry["shape"]
    if not isinstance(shape, list) or not all(isinstance(d, int) and 0 < d < 2**31 for d in shape):
        raise _bad(folder, f"`{name}` has the shape {shape!r:.60}")
    if predicate.type.shape is not None and tuple(shape) != predicate.type.shape:
        raise _bad(folder, f"`{name}` was recorded with shape {shape}; the domain says {predicate.type}")
    if len(entry["arguments"]) != len(predicate.parameters):
        raise _bad(folder, f"`{name}` was recorded with {len(entry['arguments'])} arguments")
    if entry["per"] not in ("state", "episode"):
        raise _bad(folder, f'`{name}` is kept per {entry["per"]!r:.20}; expected "state" or "episode"')
    return tuple(shape)


def _typed(folder: Path, domain: Domain, values: Mapping[str, Array]) -> dict[str, Array]:
    for name, array in values.items():
        if not exact(array, domain.predicates[name]):
            raise _bad(
                folder, f"`{name}` holds {array.dtype}; the domain says {domain.predicates[name].type}"
            )
        check_numbers(domain.predicates[name], array)
    return dict(values)


def _check_columns(folder: Path, columns: Columns) -> None:
    """Refuse arrays that do not fit together."""
    count, states = len(columns), int(columns.length.sum())
    if count and columns.length.min() < 1:
        raise _bad(folder, "an episode has no states")
    _long(folder, "universe", columns.universe, count)
    _in_range(folder, "universe", columns.universe, 0, len(columns.universes))
    _check_judgements(folder, columns)
    for name in _PER_ACTION:
        _long(folder, name, getattr(columns, name), states - count)
    _in_range(folder, "executable", columns.executable, -1, 2)
    _in_range(folder, "action", columns.action, 0, len(columns.actions))
    if not np.isfinite(columns.numbers).all():
        raise _bad(folder, "`numbers` holds NaN or an infinity")
    for name, values in columns.values.items():
        _long(folder, f"value/{name}", values, int(columns.offsets[name][-1]))
    _check_arguments(folder, columns)


def _check_judgements(folder: Path, columns: Columns) -> None:
    """Refuse goals and success that do not fit the episodes."""
    _long(folder, "judgements", columns.judgements, len(columns))
    _in_range(folder, "judgements", columns.judgements, 0, len(columns.goals) + 1)
    _long(folder, "goal", columns.goal, int(columns.judgements.sum()))
    _in_range(folder, "goal", columns.goal, 0, len(columns.goals))
    _long(folder, "success", columns.success, int(columns.verdicts[-1]))
    _in_range(folder, "success", columns.success, -1, 2)
    if len(np.unique(columns.owner * len(columns.goals) + columns.goal)) < len(columns.goal):
        raise _bad(folder, "`goal` names a goal twice in one episode")
    universe = columns.universe[columns.owner]
    for used in np.unique(universe * len(columns.goals) + columns.goal).tolist():
        at, goal = divmod(used, len(columns.goals))
        check_goal(columns.universes[at], columns.goals[goal])


def _check_arguments(folder: Path, columns: Columns) -> None:
    owner = columns.universe[np.repeat(np.arange(len(columns)), columns.length - 1)]
    for at, name in enumerate(columns.actions):
        chosen = columns.action == at
        parameters = columns.domain.actions[name].parameters
        width = sum(map(width_of, value_types(parameters)))
        if columns.numbers.shape[1] < width or columns.arguments.shape[1] < len(parameters):
            raise _bad(folder, f"the arrays are too narrow for the arguments of `{name}`")
        for place, parameter in enumerate(parameters):
            if isinstance(parameter.type, ValueType):
                continue
            fits = _fit_table(columns.universes, parameter.type)
            found = columns.arguments[chosen, place]
            _in_range(folder, "arguments", found, 0, fits.shape[1])
            if not fits[owner[chosen], found].all():
                raise _bad(folder, f"`{parameter.name}` of `{name}` is not always a {parameter.type}")


def _fit_table(universes: tuple[Universe, ...], type_: Any) -> Array:
    """Which places of each universe's universe hold an object of the type ``[universes, most]``."""
    table = np.zeros((len(universes), max((len(r.types) for r in universes), default=0)), dtype=np.bool_)
    for at, universe in enumerate(universes):
        members = set(universe.members(type_))
        table[at, : len(universe.types)] = [name in members for name in universe.types]
    return table


def _array(folder: Path, arrays: Mapping[str, Array], name: str, axes: int) -> Array:
    if name not in arrays:
        raise _bad(folder / ARRAYS, f"there is no array `{name}`")
    if arrays[name].ndim != axes:
        raise _bad(folder / ARRAYS, f"`{name}` has {arrays[name].ndim} axes instead of {axes}")
    return arrays[name]


def _long(folder: Path, name: str, array: Array, wanted: int) -> None:
    if len(array) != wanted:
        raise _bad(folder, f"`{name}` holds {len(array)} entries instead of {wanted}")


def _in_range(folder: Path, name: str, array: Array, low: int, high: int) -> None:
    if len(array) and (array.min() < low or array.max() >= high):
        raise _bad(folder, f"`{name}` holds numbers outside {low} … {high - 1}")


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {value!r:.60}")
    return value


def _bad(path: str | os.PathLike[str], message: str, help: str | None = None) -> Error:
    return Error([Diagnostic("bad-data", message, file=str(path), help=help)])

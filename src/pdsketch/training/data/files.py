"""Episodes on disk: a folder with ``manifest.json`` and ``arrays.safetensors``; see docs/data-format.md.

Both files hold data alone, so that reading a folder of unknown origin cannot
run code. What the manifest says is compared with what the arrays are before any
of them is read, and everything is checked on the way in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, final

import numpy as np

from pdsketch.files import (
    LEAST_MAPPED,
    NUMPY,
    Entry,
    TensorFile,
    block_of,
    chunks,
    digest_of,
    open_parts,
    tensor_bytes,
    write_parts,
)
from pdsketch.lang import UNPLACED, Diagnostic, Domain, Error, ObjectType, Predicate, ValueType, did_you_mean
from pdsketch.tensor import Universe, object_type
from pdsketch.training.data.episode import Episode, check_goal
from pdsketch.training.data.episode_arrays import COUNTED, PER_ACTION, Array, EpisodeArrays, narrow, width_of
from pdsketch.training.data.recorder import arrays_of, check_numbers, value_types

# A folder of episodes of unknown origin, checked on its way into `EpisodeArrays`.
#
# Sizes are compared with the manifest, and with each other, as whole numbers that
# do not wrap, and before an array is read; numbers are compared with their ranges
# before they are cast, counted up or used as places.


def kind_of(type_: ObjectType | ValueType) -> str:
    """What a manifest says of a parameter: the type of an object, or the numbers of a value."""
    return str(type_) if isinstance(type_, ObjectType) else f"{type_.prim}{list(type_.shape or ())}"


@final
class UntrustedFolder:
    """One folder of episodes: what its manifest says, and its arrays, still on disk.

    ``folder`` is named in errors. What ``manifest`` says must fit ``domain``, and the ``arrays`` of its file
    must fit what it says. Arrays of at least ``map_from`` bytes are mapped instead of read.
    """

    def __init__(
        self,
        folder: os.PathLike[str],
        manifest: Mapping[str, Any],
        arrays: TensorFile,
        domain: Domain,
        map_from: int,
    ) -> None:
        self._folder = folder
        self._manifest = manifest
        self._arrays = arrays
        self._domain = domain
        self._map_from = map_from
        self._check_constants()
        listed = manifest["universes"]
        if len(listed) > self._entry("length", 1).shape[0]:  # before a million are made
            raise self._bad("`universes` lists objects that no episode has")
        self._universes = tuple(Universe.of(domain, _mapping(objects)) for objects in listed)
        self._goals = tuple(_texts(manifest["goals"]))
        self._actions = self._known_actions()
        self._check_counts()

    def arrays(self) -> EpisodeArrays:
        """The arrays, every number of which is as it should be."""
        found = self._counted()
        found |= self._per_action()
        values, shapes, fixed = {}, {}, set()
        for name, entry in _mapping(self._manifest["predicates"]).items():
            predicate = self._domain.predicates.get(name)
            if predicate is None or predicate.role in ("derived", "external", "cost"):
                continue
            shapes[name] = self._shape(predicate, entry)
            if entry["per"] == "episode":
                fixed.add(name)
            values[name] = self._values(predicate, shapes[name], found, once=name in fixed)
        arrays = EpisodeArrays(
            domain=self._domain,
            universes=self._universes,
            goals=self._goals,
            actions=self._actions,
            values=values,
            shapes=shapes,
            fixed=frozenset(fixed),
            **found,
        )
        self._check_judgements(arrays)
        self._check_arguments(arrays)
        return arrays

    # -- what the manifest says ------------------------------------------------------

    def _check_constants(self) -> None:
        recorded, own = _texts(self._manifest["constants"]), list(self._domain.constants)
        if recorded != own:
            raise self._bad(
                f"recorded with the constants {', '.join(recorded) or 'none'}; the domain "
                f"has {', '.join(own) or 'none'}"
            )

    def _known_actions(self) -> tuple[str, ...]:
        recorded, known = _mapping(self._manifest["actions"]), self._domain.actions
        for name, kinds in recorded.items():
            _texts(kinds)
            if name not in known:
                raise self._bad(f"the domain has no action `{name}`", did_you_mean(name, known))
            wanted = [kind_of(p.type) for p in known[name].parameters]
            values = [isinstance(p.type, ValueType) for p in known[name].parameters]
            # Objects are compared one by one, with the types that the domain wants.
            if len(kinds) != len(wanted) or any(
                kind != want for kind, want, value in zip(kinds, wanted, values, strict=True) if value
            ):
                raise self._bad(
                    f"`{name}` was recorded with the parameters {kinds!r:.80}; the domain's: {wanted}"
                )
        return tuple(recorded)

    def _shape(self, predicate: Predicate, entry: Mapping[str, Any]) -> tuple[int, ...]:
        name, shape = predicate.name, entry["shape"]
        if not isinstance(shape, list) or not all(type(d) is int and 0 < d < 2**31 for d in shape):
            raise self._bad(f"`{name}` has the shape {shape!r:.60}")
        if predicate.type.shape is not None and tuple(shape) != predicate.type.shape:
            raise self._bad(f"`{name}` was recorded with shape {shape}; the domain says {predicate.type}")
        if entry["per"] not in ("state", "episode"):
            raise self._bad(f'`{name}` is kept per {entry["per"]!r:.20}; expected "state" or "episode"')
        recorded, wanted = _texts(entry["arguments"]), [p.type for p in predicate.parameters]
        if len(recorded) != len(wanted) or not all(map(self._runs_alike, recorded, wanted)):
            listed = ", ".join(map(str, wanted)) or "none"
            raise self._bad(
                f"`{name}` was recorded with the arguments {recorded!r:.80}; the domain's: {listed}"
            )
        return tuple(shape)

    def _runs_alike(self, recorded: str, wanted: ObjectType | ValueType) -> bool:
        """Whether the axis of a recorded type runs over the same objects as that of a type of the domain."""
        if recorded == kind_of(wanted) or isinstance(wanted, ValueType):
            return recorded == kind_of(wanted)
        type_ = object_type(self._domain.hierarchy, recorded)
        return all(u.members(type_) == u.members(wanted) for u in self._universes)

    # -- sizes, by the header alone ----------------------------------------------------

    def _check_counts(self) -> None:
        episodes, steps = self._entry("length", 1).shape[0], self._entry("action", 1).shape[0]
        self._states = episodes + steps
        for what, count in (("episodes", episodes), ("states", self._states)):
            if self._manifest[what] != count:
                raise self._bad(
                    f"the manifest speaks of {self._manifest[what]!r:.40} {what}, and the arrays of {count}"
                )
        parameters = [self._domain.actions[name].parameters for name in self._actions]
        arity = max((len(p) for p in parameters), default=0)
        width = max((sum(map(width_of, value_types(p))) for p in parameters), default=0)
        self._long("universe", episodes)
        self._long("judgements", episodes)
        self._long("executable", steps)
        self._long("arguments", steps, arity)
        self._long("numbers", steps, width)

    def _entry(self, name: str, axes: int) -> Entry:
        entry = self._arrays.entries.get(name)
        if entry is None:
            raise self._bad(f"there is no array `{name}`")
        if len(entry.shape) != axes:
            raise self._bad(f"`{name}` has {len(entry.shape)} axes instead of {axes}")
        if entry.dtype not in NUMPY:
            raise self._bad(f"`{name}` holds {entry.dtype}, which is no dtype of episodes")
        return entry

    def _long(self, name: str, *wanted: int) -> None:
        found = self._entry(name, len(wanted)).shape
        if found != wanted:
            raise self._bad(f"`{name}` has {_by(found)} entries instead of {_by(wanted)}")

    # -- numbers, by their ranges ------------------------------------------------------

    def _counted(self) -> dict[str, Array]:
        """Lengths, universes, goals and success, which say how much there is of everything."""
        goals = len(self._goals)
        length = self._ints("length", 1, self._states)
        if exact_sum(length) != self._states:
            raise self._bad(f"the lengths of the episodes do not add up to {self._states} states")
        universe = self._ints("universe", 0, len(self._universes) - 1)
        if len(np.unique(universe)) != len(self._universes):
            raise self._bad("`universes` lists objects that no episode has")
        judgements = self._ints("judgements", 0, goals)
        self._long("goal", exact_sum(judgements))
        goal = self._ints("goal", 0, goals - 1)
        self._long("success", exact_sum(np.repeat(length, judgements)))
        found = {"length": length, "universe": universe, "judgements": judgements, "goal": goal}
        return {**found, "success": self._ints("success", -1, 1)}

    def _per_action(self) -> dict[str, Array]:
        most = max((len(u.types) for u in self._universes), default=0)
        numbers = self._arrays.block("numbers").array
        limit = np.finfo(np.float32).max
        if numbers.dtype == np.bool_ or not bool((np.abs(numbers.astype(np.float64)) <= limit).all()):
            raise self._bad("`numbers` holds what is no number, or not finite")
        return {
            "action": self._ints("action", 0, len(self._actions) - 1),
            "arguments": self._ints("arguments", -1, most - 1),
            "numbers": numbers.astype(PER_ACTION["numbers"]),
            "executable": self._ints("executable", -1, 1),
        }

    def _ints(self, name: str, low: int, high: int) -> Array:
        """An array of ints, if all of them are within bounds, in the dtype that it has in memory."""
        entry = self._arrays.entries[name]
        if entry.dtype[0] not in "IU":
            raise self._bad(f"`{name}` holds {entry.dtype}, not ints")
        array = self._arrays.block(name).array
        if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
            raise self._bad(f"`{name}` holds numbers outside {low} … {high}")
        return array.astype({**COUNTED, **PER_ACTION}[name])

    def _values(
        self, predicate: Predicate, shape: tuple[int, ...], counted: Mapping[str, Array], *, once: bool
    ) -> Array:
        name = f"value/{predicate.name}"
        times = np.zeros(len(self._universes), dtype=np.int64)
        np.add.at(times, counted["universe"], 1 if once else counted["length"])
        sizes = [prod((*u.sizes(predicate), *shape)) for u in self._universes]
        self._long(name, sum(size * count for size, count in zip(sizes, times.tolist(), strict=True)))
        array = self._arrays.block(name, map_from=self._map_from).array
        for part in chunks(array):
            try:
                check_numbers(predicate, part)
            except Error as bad:
                raise Error([replace(d, file=os.fspath(self._folder)) for d in bad.diagnostics]) from None
        return array

    # -- how they fit together -----------------------------------------------------------

    def _check_judgements(self, arrays: EpisodeArrays) -> None:
        goals = max(1, len(arrays.goals))
        if len(np.unique(arrays.owner * goals + arrays.goal)) < len(arrays.goal):
            raise self._bad("`goal` names a goal twice in one episode")
        universe = arrays.universe[arrays.owner]
        for used in np.unique(universe * goals + arrays.goal).tolist():
            at, goal = divmod(used, goals)
            check_goal(arrays.universes[at], arrays.goals[goal])

    def _check_arguments(self, arrays: EpisodeArrays) -> None:
        owner = arrays.universe[np.repeat(np.arange(len(arrays)), arrays.length - 1)]
        for at, name in enumerate(arrays.actions):
            chosen = arrays.action == at
            for place, parameter in enumerate(self._domain.actions[name].parameters):
                if isinstance(parameter.type, ValueType):
                    continue
                if not _all_are(
                    arrays.universes, parameter.type, owner[chosen], arrays.arguments[chosen, place]
                ):
                    raise self._bad(f"`{parameter.name}` of `{name}` is not always a {parameter.type}")

    def _bad(self, message: str, help: str | None = None) -> Error:
        return Error([Diagnostic("bad-data", message, file=os.fspath(self._folder), help=help)])


def exact_sum(counts: Array) -> int:
    """The sum of numbers that are not negative, as a whole number that does not wrap."""
    low = int((counts & 0xFFFFFFFF).sum(dtype=np.int64))
    return low + (int((counts >> 32).sum(dtype=np.int64)) << 32)


def _all_are(universes: Sequence[Universe], type_: ObjectType, owner: Array, places: Array) -> bool:
    """Whether places, each in the universe of its owner, hold objects of the type."""
    fits = []
    for universe in universes:
        members = set(universe.members(type_))
        fits += [name in members for name in universe.types]
    sizes = np.array([len(universe.types) for universe in universes], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(sizes)])[owner]
    if not ((places >= 0) & (places < sizes[owner])).all():
        return False
    return bool(np.array(fits, dtype=np.bool_)[first + places].all())


def _by(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"expected a list of texts, found {value!r:.60}")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {value!r:.60}")
    return value


FORMAT = "pdsketch-episodes"
VERSION = 3
MANIFEST = "manifest.json"
ARRAYS = "arrays.safetensors"


def save_episodes(
    episodes: EpisodeArrays | Iterable[Episode],
    path: str | os.PathLike[str],
    domain: Domain | None = None,
    *,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Write episodes to a folder, which is made if need be; ``options`` say how they were made.

    ``path`` is the folder: it is replaced whole, or stays as it was. Of ``episodes`` that are no arrays yet,
    ``domain`` is that of their states unless given; an empty list needs one.
    """
    if not isinstance(episodes, EpisodeArrays):
        listed = list(episodes)
        if domain is None:
            if not listed:
                raise _bad(path, "there are no episodes to save")
            domain = listed[0].states[0].domain
        episodes = arrays_of(listed, domain)
    arrays = {name: narrow(getattr(episodes, name)) for name in (*COUNTED, *PER_ACTION) if name != "numbers"}
    arrays |= {"numbers": episodes.numbers}
    arrays |= {f"value/{name}": values for name, values in episodes.values.items()}
    blocks = {name: block_of(array) for name, array in arrays.items()}
    content = {**_manifest(episodes), "options": dict(options or {})}
    write_parts(path, MANIFEST, content, {ARRAYS: tensor_bytes(blocks)})


def _manifest(arrays: EpisodeArrays) -> dict[str, Any]:
    predicates = {}
    for name in arrays.values:
        predicate = arrays.domain.predicates[name]
        predicates[name] = {
            "arguments": [kind_of(p.type) for p in predicate.parameters],
            "prim": predicate.type.prim,
            "shape": list(arrays.shapes[name]),
            "per": "episode" if name in arrays.fixed else "state",
        }
    return {
        "format": FORMAT,
        "version": VERSION,
        "domain": arrays.domain.name,
        "sketch": digest_of(arrays.domain.source.text),
        "episodes": len(arrays),
        "states": int(arrays.length.sum()),
        "constants": list(arrays.domain.constants),
        "predicates": predicates,
        "actions": {
            name: [kind_of(p.type) for p in arrays.domain.actions[name].parameters] for name in arrays.actions
        },
        "universes": [{type_: list(names) for type_, names in r.objects.items()} for r in arrays.universes],
        "goals": list(arrays.goals),
    }


def load_episodes(
    path: str | os.PathLike[str], domain: Domain, *, map_from: int = LEAST_MAPPED
) -> EpisodeArrays:
    """Read a folder of episodes for a domain.

    The values of a predicate that take ``map_from`` bytes or more are not read into
    memory, but mapped from their file.
    Predicates that the domain does not have are left aside, so that one data
    set serves several sketches. Whatever else does not fit is an `Error`.
    """
    folder = Path(path)
    if not os.path.lexists(folder / MANIFEST):
        raise _bad(folder, f"not a folder of episodes: there is no {MANIFEST}")
    try:
        with open_parts(folder, MANIFEST, [ARRAYS], "bad-data", format=FORMAT, version=VERSION) as (
            manifest,
            parts,
        ):
            part = parts[ARRAYS]
            arrays = TensorFile(part.file, part.size, part.path, "bad-data")
            return UntrustedFolder(folder, manifest, arrays, domain, map_from).arrays()
    except (KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise _bad(folder / MANIFEST, f"the manifest is not as expected: {problem!r:.120}") from None
    except Error as problem:
        raise Error([_placed(d, folder) for d in problem.diagnostics]) from None


def _placed(diagnostic: Diagnostic, folder: Path) -> Diagnostic:
    """What is said of a goal or a value is said of the folder."""
    if diagnostic.file != UNPLACED:
        return diagnostic
    return Diagnostic(diagnostic.code, diagnostic.message, help=diagnostic.help, file=str(folder))


def _bad(path: str | os.PathLike[str], message: str) -> Error:
    return Error([Diagnostic("bad-data", message, file=str(path))])

"""Episodes on disk: a folder with ``manifest.json`` and ``arrays.safetensors``; see docs/data-format.md.

Both files hold data alone, so that reading a folder of unknown origin cannot
run code. What the manifest says is compared with what the arrays are before any
of them is read, and everything is checked on the way in (`intake`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pdsketch.files import (
    LEAST_MAPPED,
    TensorFile,
    block_of,
    digest_of,
    open_parts,
    tensor_bytes,
    write_parts,
)
from pdsketch.lang import UNPLACED, Diagnostic, Domain, Error
from pdsketch.training.data.episode import Episode
from pdsketch.training.data.episode_arrays import COUNTED, PER_ACTION, EpisodeArrays, narrow
from pdsketch.training.data.recorder import arrays_of
from pdsketch.training.data.validate import UntrustedFolder, kind_of

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

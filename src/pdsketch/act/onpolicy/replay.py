"""What learning by acting keeps on disk, so that a kill at any moment loses a part of one round at most.

``rounds/0003/episodes`` and ``rounds/0003/model`` are what a round collected and learned. ``curve.json`` is
written last: a round is finished once it stands there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

from pdsketch.files import check_seal, make_folder, read_json, sealed, write_file
from pdsketch.lang import Domain, Error, error
from pdsketch.tensor import Model, load_model
from pdsketch.training import MANIFEST, EpisodeArrays, join_episodes, load_episodes, save_episodes

CURVE: Final = "curve.json"
ROUNDS: Final = "rounds"
CHECKPOINT: Final = "checkpoint.safetensors"
_FORMAT: Final = "pdsketch-curve-1"
_CODE: Final = "bad-curve"

Modules = Mapping[str, Callable[..., Any]]
Row = dict[str, Any]


@final
class Replay:
    """A folder of rounds."""

    def __init__(self, folder: Path, domain: Domain, modules: Modules) -> None:
        self.folder = folder
        self._domain = domain
        self._modules = modules
        self._episodes: list[EpisodeArrays] = []

    # -- what is finished ---------------------------------------------------------------

    def rows(self, setup: Mapping[str, Any]) -> list[Row]:
        """The rounds that are finished; an `Error` where they belong to other settings."""
        path = self.folder / CURVE
        if not os.path.lexists(path):
            return []
        content = read_json(path, _CODE)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise _bad(path, "not the curve of learning by acting")
        check_seal(content, path, _CODE)
        was, now = content["setup"], json.loads(json.dumps(setup))
        others = [name for name in dict.fromkeys([*was, *now]) if was.get(name) != now.get(name)]
        if others:
            told = "; ".join(f"`{n}` was {was.get(n)!r:.40}, and is {now.get(n)!r:.40}" for n in others[:4])
            raise _bad(path, f"belongs to another run: {told}")
        rows: list[Row] = content["rounds"]
        return rows

    def commit(self, setup: Mapping[str, Any], rows: list[Row]) -> None:
        """Say that these rounds are finished."""
        content = sealed({"format": _FORMAT, "setup": dict(setup), "rounds": rows})
        write_file(self.folder / CURVE, json.dumps(content, indent=1))
        self.checkpoint(len(rows) - 1).unlink(missing_ok=True)

    # -- one round ----------------------------------------------------------------------

    def place(self, round_: int) -> Path:
        """The folder of a round."""
        return self.folder / ROUNDS / f"{round_:04d}"

    def checkpoint(self, round_: int) -> Path:
        """The checkpoint of a round's fit, while it lasts."""
        return self.place(round_) / CHECKPOINT

    def episodes(self, round_: int, collect: Callable[[], EpisodeArrays]) -> EpisodeArrays:
        """The episodes of a round, collected unless they have been."""
        folder = self.place(round_) / "episodes"
        if not os.path.lexists(folder / MANIFEST):
            make_folder(folder)
            save_episodes(collect(), folder)
        found = load_episodes(folder, self._domain)
        self._episodes[round_:] = [found]
        return found

    def all_episodes(self) -> EpisodeArrays:
        """The episodes of all rounds that have been asked for."""
        return join_episodes(self._episodes, self._domain)

    def save(self, round_: int, model: Model) -> None:
        """Keep what a round has learned."""
        model.save(str(make_folder(self.place(round_) / "model")))

    def model(self, round_: int) -> Model:
        """What a round has learned."""
        return load_model(self.place(round_) / "model", self._modules, domain=self._domain)


def _bad(path: Path, message: str) -> Error:
    fix = "name another folder, or begin anew (learn: `resume=False`; pdsketch learn: --force)"
    return error(_CODE, message, file=str(path), help=fix)

"""Folders as an attacker makes them: changed, and with digests that fit the change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pdsketch.files.reading import digest_of, sealed


def reseal(folder: Path, manifest: str, content: Any = None) -> None:
    """Write the manifest, with other content if any is given, for the parts as they are on disk."""
    path = folder / manifest
    content = json.loads(path.read_text()) if content is None else content
    if isinstance(content, dict) and isinstance(content.get("parts"), dict):
        for name in content["parts"]:
            data = (folder / name).read_bytes() if (folder / name).is_file() else b""
            content["parts"][name] = {"bytes": len(data), "digest": digest_of(data)}
        content = sealed(content)
    path.write_text(json.dumps(content))

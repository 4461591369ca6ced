"""What the site adds to this folder: pages that live elsewhere in the repository, and links to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PAGES = {
    "security.md": ROOT / "SECURITY.md",
    "architecture.md": ROOT / "ARCHITECTURE.md",
    "changes.md": ROOT / "CHANGELOG.md",
    "paper.md": ROOT / "paper" / "README.md",
    **{path.name: path for path in sorted((ROOT / "paper" / "docs").glob("*.md"))},
    **{f"language/{path.name}": path for path in sorted((ROOT / "tests" / "language").glob("*.md"))},
}
PICTURES = {
    path.name: path for kind in ("png", "gif") for path in sorted((ROOT / "paper" / "docs").glob(f"*.{kind}"))
}
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """The chapters of the language book, in the navigation."""
    book = [{_title(path): name} for name, path in PAGES.items() if name.startswith("language/")]
    for section in config.nav:
        for items in section.values():
            if isinstance(items, list):
                for item in items:
                    if isinstance(item, dict) and "Language book" in item:
                        item["Language book"] = book
    return config


def on_files(files: Any, config: Any) -> Any:
    """The pages and pictures from elsewhere."""
    for name, path in PAGES.items():
        files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    for name, path in PICTURES.items():
        files.append(File.generated(config, name, content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that point out of this folder: to the page on the site, or, for sources, none."""
    home = PAGES.get(page.file.src_uri, ROOT / "docs" / page.file.src_uri).parent
    here = page.file.src_uri.count("/")

    def changed(link: re.Match[str]) -> str:
        words, target, anchor = link[1], (home / link[2]).resolve(), link[3] or ""
        if not target.exists():
            return link[0]
        for name, path in (PAGES | PICTURES).items():
            if path == target:
                return f"[{words}]({'../' * here}{name}{anchor})"
        if target.is_relative_to(ROOT / "docs") and target.is_file():
            return f"[{words}]({'../' * here}{target.relative_to(ROOT / 'docs').as_posix()}{anchor})"
        return f"{words} (`{target.relative_to(ROOT).as_posix()}`)"

    return LINK.sub(changed, markdown)


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")

"""Pictures of the local page for the documents: ``python -m tests.serve.screenshots`` writes them into docs/.

The lamps of the examples are learned, asked for a goal with a slip in it, planned for, and acted in; then the
blocks are searched, for the tree. Needs Playwright and a Chromium of the system, as ``make browser`` does.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

import pdsketch as pds
from pdsketch.serve.exploration import Exploration
from pdsketch.serve.server import PageServer
from pdsketch.serve.subjects import ModelSubject, subject_of

ROOT = Path(__file__).parents[2]

WIDTH, HEIGHT = 1100, 800


def lamps() -> Exploration:
    """A learned model of the lamps, and a room that it has not seen."""
    made = runpy.run_path(str(ROOT / "examples/lamps/world.py"))
    domain = pds.load_domain(ROOT / "examples/lamps/lamps.pdsketch")
    model = pds.Model(domain, seed=0)
    shown = [made["demonstration"](domain, seed) for seed in range(100)]
    pds.fit(model, shown, steps=180, seed=0)
    state = made["Lamps"](domain, lamps=5, seed=1000).observe()
    return Exploration(
        ModelSubject(model, state), "(forall (?l - lamp) (lit ?l))", report=pds.evaluate(model, shown[:20])
    )


def blocks() -> Exploration:
    """A classical problem."""
    folder = ROOT / "examples/blocks"
    problem = pds.load_problem(folder / "p01.pddl", pds.load_domain(folder / "domain.pddl"))
    return Exploration(subject_of(problem), "(and (on a b) (on b c))")


def plan_with_lamps(page: Page, folder: Path) -> None:
    """A goal with a slip; then its truth by part, and a plan."""
    page.fill("#goal", "(and (exists (?l - lamp) (lit ?l)) (forall (?l - lamp) (lite ?l)))")
    expect(page.locator("#wrong")).to_be_visible()
    page.locator("#goal-section").screenshot(path=folder / "serve-mistake.png")
    page.fill("#goal", "(forall (?l - lamp) (lit ?l))")
    expect(page.locator("#wrong")).to_be_hidden()
    page.click("#plan")
    expect(page.locator("#outcome")).to_contain_text("solved", timeout=300_000)
    for _ in range(4):
        page.click("#forth")
    page.screenshot(path=folder / "serve-plan.png")


def search_blocks(page: Page, folder: Path) -> None:
    """The tree of a search, and a node of it."""
    page.select_option("#search-name", "astar")
    page.click("#plan")
    expect(page.locator("#outcome")).to_contain_text("solved", timeout=120_000)
    page.locator("#tree > div", has=page.locator(".goal")).click()
    expect(page.locator("#node")).to_contain_text("the goal: true")
    page.locator("#tree-section").screenshot(path=folder / "serve-tree.png")


def main(folder: Path) -> None:
    """Serve both, open them, and write the pictures into a folder."""
    with sync_playwright() as play:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for exploration, look in ((lamps(), plan_with_lamps), (blocks(), search_blocks)):
            with PageServer(exploration) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                page.goto(server.url)
                look(page, folder)
                server.shutdown()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")

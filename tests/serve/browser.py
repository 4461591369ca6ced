"""The local page in a real browser: ``make browser``, with Playwright and a Chromium of the system.

A reader opens the page, edits the goal and sees truth values and a mistake, plans, steps through the plan and
looks at the search tree. Chromium is found on the path, or at ``CHROMIUM``.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

import pdsketch as pds
from pdsketch.serve.exploration import Exploration
from pdsketch.serve.server import PageServer
from pdsketch.serve.subjects import subject_of

BLOCKS = Path(__file__).parents[2] / "examples" / "blocks"


def walk_through(page: Page) -> None:
    """What a reader does, and what the page must show."""
    expect(page.locator("#name")).to_have_text("blocks")
    expect(page.locator("#steps li")).to_have_text(["the beginning"])
    expect(page.locator("#state")).to_contain_text("(hand-empty)")
    assert page.evaluate("document.getElementById('graph').naturalWidth") > 0
    page.fill("#goal", "(and (hand-empty) (forall (?x - block) (on-table ?x)))")
    expect(page.locator("#truths tr")).to_have_count(3 + 4 - 1)
    page.fill("#goal", "(on a bb)")
    expect(page.locator("#wrong")).to_be_visible()
    expect(page.locator("#wrong")).to_contain_text("line 1, column 7: there is no object `bb`")
    page.fill("#goal", "(and (on a b) (on b c))")
    expect(page.locator("#wrong")).to_be_hidden()
    page.select_option("#search-name", "astar")
    page.click("#plan")
    expect(page.locator("#outcome")).to_contain_text("solved, cost 4", timeout=120_000)
    expect(page.locator("#steps li")).to_have_count(5)
    for step in range(1, 5):
        page.click("#forth")
        expect(page.locator("#where")).to_contain_text(f"after {step} of 4")
    expect(page.locator("#truths tr").first).to_contain_text("true")
    page.click("#back")
    expect(page.locator("#truths tr").first).to_contain_text("false")
    expect(page.locator("#tree .goal")).to_have_count(1)
    page.evaluate("const r = document.getElementById('upto'); r.value = 1; r.oninput()")
    expect(page.locator("#tree > div")).to_have_count(1)


def main() -> int:
    """Serve the blocks and open them."""
    problem = pds.load_problem(BLOCKS / "p01.pddl", pds.load_domain(BLOCKS / "domain.pddl"))
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    errors: list[str] = []
    with PageServer(Exploration(subject_of(problem), "(hand-empty)")) as server, sync_playwright() as play:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("pageerror", lambda problem: errors.append(str(problem)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.goto(server.url)
        try:
            walk_through(page)
        finally:
            if len(sys.argv) > 1:
                page.screenshot(path=sys.argv[1], full_page=True)
        browser.close()
        server.shutdown()
    unexpected = [text for text in errors if "422" not in text]  # the browser tells of refused goals
    print("the page works in a browser" if not unexpected else "\n".join(unexpected))
    return bool(unexpected)


if __name__ == "__main__":
    sys.exit(main())

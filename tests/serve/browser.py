"""The local page in a real browser: ``make browser``, with Playwright and a Chromium of the system.

A reader opens the page, edits the goal and sees truth values and a mistake, plans, steps through the plan and
looks at nodes of the search tree; then at a world that differs from its model, and at a report.
Chromium is found on the path, or at ``CHROMIUM``.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from tests.serve.test_serve import Room

import pdsketch as pds
from pdsketch.serve.exploration import Exploration
from pdsketch.serve.server import PageServer
from pdsketch.serve.subjects import ModelSubject, subject_of

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
    page.locator("#tree > div").first.click()
    expect(page.locator("#node")).to_contain_text("node 0, expanded, after 0 steps")
    expect(page.locator("#node")).to_contain_text("(hand-empty)")
    page.locator("#tree > div", has=page.locator(".goal")).click()
    expect(page.locator("#node")).to_contain_text("the goal: true")
    expect(page.locator("#tree > div.now .goal")).to_have_count(1)
    page.evaluate("const r = document.getElementById('upto'); r.value = 1; r.oninput()")
    expect(page.locator("#tree > div")).to_have_count(1)


def look_at_a_world(page: Page) -> None:
    """A plan in a world that does not do what the model says, and a report on an episode of it."""
    expect(page.locator("#picture")).to_be_visible()
    page.select_option("#search-name", "astar")
    page.click("#plan")
    expect(page.locator("#outcome")).to_contain_text("solved", timeout=120_000)
    page.click("#forth")
    page.click("#forth")
    expect(page.locator("#deviations")).to_contain_text("the world says: no success")
    steps = []
    for step in range(3):
        page.locator("#steps li").nth(step).click()
        expect(page.locator("#where")).to_contain_text(f"after {step} of 2")
        steps.append(page.locator("#deviations").inner_text())
    assert any("observed otherwise" in text and "lit b" in text for text in steps), steps
    page.locator("#report-part > summary").click()
    expect(page.locator("#worst tbody tr")).to_have_count(1)
    expect(page.locator("#worst")).to_contain_text("(press b)")


def main() -> int:
    """Serve the blocks and a room of lamps, and open them."""
    problem = pds.load_problem(BLOCKS / "p01.pddl", pds.load_domain(BLOCKS / "domain.pddl"))
    world = Room(works=False)
    model = pds.Model(world.domain, seed=0)
    dark = world.reset(0)
    report = pds.evaluate(model, [pds.Episode([dark, dark], [("press", "b")], "(lit a)", [0, 0])])
    room = Exploration(ModelSubject(model, dark), world.goal, world=world, report=report)
    errors: list[str] = []
    with sync_playwright() as play:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for exploration, walk in (
            (Exploration(subject_of(problem), "(hand-empty)"), walk_through),
            (room, look_at_a_world),
        ):
            with PageServer(exploration) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                page = browser.new_page()
                page.on("pageerror", lambda problem: errors.append(str(problem)))
                page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
                page.goto(server.url)
                try:
                    walk(page)
                finally:
                    if len(sys.argv) > 1:
                        page.screenshot(path=f"{sys.argv[1]}-{walk.__name__}.png", full_page=True)
                server.shutdown()
        browser.close()
    unexpected = [text for text in errors if "422" not in text]  # the browser tells of refused goals
    print("the page works in a browser" if not unexpected else "\n".join(unexpected))
    return bool(unexpected)


if __name__ == "__main__":
    sys.exit(main())

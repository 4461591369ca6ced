"""Every code block of the documents runs, and shows what it really prints.

``python`` blocks of a page share one namespace. In ``console`` blocks, each line
``$ pdsketch …`` is run, and the lines below it are its output (stdout, then
stderr); a line ``…`` stands for any lines.
"""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import pytest
from tests.docs.generated import GROUPS, generated, with_it

import pdsketch
from pdsketch.cli.main import main
from pdsketch.doors import names_in
from pdsketch.options import declared
from pdsketch.training.options import Options

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "paper"
PAGES = sorted(
    [
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md", PAPER / "README.md"),
        *(ROOT / "docs").glob("*.md"),
        *(PAPER / "docs").glob("*.md"),
    ]
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the examples stand where the documents say."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.usefixtures("workplace")
def test_every_block_of_a_page_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(body, str(page), "exec"), names)
        elif kind == "console":
            for command, wanted in sessions(body):
                capsys.readouterr()  # what a python block printed is not the command's
                main(command)
                caught = capsys.readouterr()
                assert matches(wanted, caught.out + caught.err), caught.out + caught.err


def sessions(body: str) -> list[tuple[list[str], list[str]]]:
    """The commands of a console block, each with the lines shown below it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            words = shlex.split(line[2:])
            assert words[0] == "pdsketch", f"a console block shows pdsketch alone: {line}"
            found.append((words[1:], []))
        elif found:
            found[-1][1].append(line)
    return found


def matches(wanted: list[str], output: str) -> bool:
    pattern = "".join(".*" if line == "…" else re.escape(line) + r"\n" for line in wanted)
    return not wanted or re.fullmatch(pattern, output, re.DOTALL) is not None


def test_the_documents_name_only_files_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} points at {target}"


@pytest.mark.parametrize(("file", "name", "text"), [*generated()], ids=[name for _, name, _ in generated()])
def test_what_is_made_from_options_is_what_they_declare(file: str, name: str, text: str) -> None:
    page = (ROOT / file).read_text(encoding="utf-8")
    assert with_it(page, name, text) == page, "`make options` writes it"


def test_the_groups_of_a_fit_hold_all_of_its_options() -> None:
    assert [n for group in GROUPS for n in declared(group)] == [*declared(Options)]


def test_the_table_of_policies_names_every_setting_with_its_default() -> None:
    page = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    section = page.partition("| setting | default | meaning |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", section, re.MULTILINE)
    found = {name: default for names, default in rows for name in re.findall(r"`(\w+)`", names)}
    settings = list(inspect.signature(pdsketch.Policy).parameters.values())[1:]
    defaults = {s.name: s.default for s in settings}
    empty = {n for n, default in defaults.items() if "factory" in repr(default)}
    assert found == {
        name: "{}" if name in empty else repr(value).replace("'", '"') for name, value in defaults.items()
    }
    run = list(inspect.signature(pdsketch.Policy.run).parameters)[1:]
    shown = re.search(r"`policy\.run\((.*?)\)`", page)
    assert shown is not None
    assert re.findall(r"(\w+)(?:=|,|$)", re.sub(r"=[^,]*", "=", shown[1])) == run


def test_the_reference_lists_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: (\S+)$", page, re.MULTILINE)) == sorted(
        f"{home_of(name)}.{name}" for name in dir(pdsketch) if name != "nets"
    )


def home_of(name: str) -> str:
    """The file of a public name: the public door names the room, and the room's door the file."""
    package = ROOT / "src" / "pdsketch"
    room = names_in((package / "__init__.pyi").read_text(encoding="utf-8"))[name]
    return names_in((ROOT / "src" / room.replace(".", "/") / "__init__.pyi").read_text(encoding="utf-8"))[
        name
    ]


def test_the_site_has_every_page() -> None:
    named = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    elsewhere = {"security.md", "architecture.md", "changes.md", "paper.md"}
    pages = [*(ROOT / "docs").glob("*.md"), *(PAPER / "docs").glob("*.md")]
    assert named - elsewhere == {page.name for page in pages}

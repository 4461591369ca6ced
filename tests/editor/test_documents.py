"""Open texts and the files beside them: which domain a problem belongs to, and what counts when."""

from __future__ import annotations

import os

import pytest

from pdsketch.editor.documents import Documents

DOMAIN = "; To cook (in short).\n\n(define (domain {name}) (:predicates (hot)) (:action heat :effect (hot)))"
PROBLEM = "(define (problem p) (:domain {name}) (:init) (:goal (hot)))"


@pytest.fixture
def documents() -> Documents:
    return Documents()


def home_of(documents: Documents, path: str) -> str | None:
    """The domain's path of a problem."""
    analysis = documents.analysis(path)
    assert analysis is not None
    return None if analysis.of is None else analysis.of.source.name


def test_a_problem_finds_the_domain_of_its_name(documents, tmp_path):
    for file, name in (("domain.pddl", "oven"), ("other.pddl", "kettle")):
        (tmp_path / file).write_text(DOMAIN.format(name=name), encoding="utf-8")
    for name, file in (("oven", "domain.pddl"), ("Kettle", "other.pddl")):
        path = str(tmp_path / f"{name}-p.pddl")
        documents.put(path, PROBLEM.format(name=name))
        assert home_of(documents, path) == str(tmp_path / file)
    path = str(tmp_path / "p3.pddl")
    documents.put(path, PROBLEM.format(name="stove"))
    assert home_of(documents, path) is None
    documents.put("/elsewhere/stove.pddl", DOMAIN.format(name="stove"))
    assert home_of(documents, path) == "/elsewhere/stove.pddl"


def test_the_editors_text_counts_before_the_disks(documents, tmp_path):
    file = tmp_path / "domain.pddl"
    file.write_text(DOMAIN.format(name="oven"), encoding="utf-8")
    domain, problem = str(file), str(tmp_path / "p.pddl")
    documents.put(problem, PROBLEM.format(name="oven"))
    first = documents.analysis(problem)
    assert first is not None
    assert first.problem is not None
    assert documents.analysis(problem) is first
    documents.put(domain, DOMAIN.format(name="oven").replace("hot", "warm"))
    assert documents.dependents(domain) == [problem]
    changed = documents.analysis(problem)
    assert changed is not None
    assert [d.code for d in changed.diagnostics] == ["unknown-predicate"]
    documents.close(domain)
    again = documents.analysis(problem)
    assert again is not None
    assert again.problem is not None


def test_a_file_is_read_again_when_it_changes_on_the_disk(documents, tmp_path):
    file = tmp_path / "domain.pddl"
    file.write_text(DOMAIN.format(name="oven"), encoding="utf-8")
    assert documents.text(str(file)) == DOMAIN.format(name="oven")
    file.write_text(DOMAIN.format(name="stove"), encoding="utf-8")
    os.utime(file, (1, 1))
    assert documents.text(str(file)) == DOMAIN.format(name="stove")


def test_what_cannot_be_read_is_no_text(documents, tmp_path):
    (tmp_path / "domain.pddl").write_bytes(b"\xff\xfe\x00")
    assert documents.text(str(tmp_path / "domain.pddl")) is None
    assert documents.analysis(str(tmp_path / "nowhere.pddl")) is None
    os.mkfifo(tmp_path / "pipe.pddl")  # nobody will ever write into it
    assert documents.text(str(tmp_path / "pipe.pddl")) is None
    path = str(tmp_path / "p.pddl")
    documents.put(path, PROBLEM.format(name="oven"))
    assert home_of(documents, path) is None


def test_a_name_is_changed_in_its_domain_and_in_the_problems_of_that_domain(documents, tmp_path):
    paths = {}
    for name in ("oven", "kettle"):
        for kind, text in (("domain", DOMAIN), ("problem", PROBLEM)):
            paths[name, kind] = str(tmp_path / f"{name}-{kind}.pddl")
            documents.put(paths[name, kind], text.format(name=name))
    found = documents.definition(paths["oven", "problem"], PROBLEM.format(name="oven").rindex("hot"))
    assert found is not None
    assert [span.source.name for span in documents.occurrences(found)] == [
        *[paths["oven", "domain"]] * 2,
        paths["oven", "problem"],
    ]
    assert [*documents.rename(found, "warm")] == [paths["oven", "domain"], paths["oven", "problem"]]

"""Runs on a cluster, with a stand-in for Ray: two threads. `make cluster` asks Ray itself."""

from __future__ import annotations

import sys
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import SimpleNamespace

import pytest
from paper.tests.experiments.doubles import runs

from pdsketch.cli.main import main
from pdsketch.lang.diagnostics import Error
from pdsketch_paper.experiments.runs import count_finished, run_all
from pdsketch_paper.experiments.workers import Cluster, on_cluster


class LostError(Exception):
    """What Ray raises where a worker has died."""


class StandIn:
    """The part of Ray that is used."""

    def __init__(self) -> None:
        self.exceptions = SimpleNamespace(RayError=LostError)
        self.pool: ThreadPoolExecutor | None = None
        self.asked: dict[str, object] = {}
        self.most = 0

    def is_initialized(self) -> bool:
        return self.pool is not None

    def init(self, address=None, **settings) -> None:
        if address == "nowhere":
            raise ConnectionError("nobody answers")
        self.asked = {"address": address, **settings}
        self.pool = ThreadPoolExecutor(2)

    def shutdown(self) -> None:
        self.pool.shutdown()
        self.pool = None

    def remote(self, **settings):
        assert settings == {"num_cpus": 1, "max_retries": 0}
        return lambda function: SimpleNamespace(remote=lambda *args: self.pool.submit(function, *args))

    def wait(self, pending: list[Future], num_returns: int):
        assert num_returns == 1
        self.most = max(self.most, len(pending))
        done, rest = wait(pending, return_when=FIRST_COMPLETED)
        first, *others = done
        return [first], [*others, *rest]

    def get(self, future: Future):
        return future.result()


@pytest.fixture
def ray(monkeypatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    return stand_in


def test_what_workers_measure_is_written_here_and_finished_runs_are_not_made_again(ray, tmp_path):
    told: list[str] = []
    found = run_all(runs(1, 2, 3, 4, 5), tmp_path, 2, told.append, Cluster())
    assert [record["result"]["twice"] for record in found] == [2, 4, 6, 8, 10]
    assert ray.asked["num_cpus"] == ray.most == 2
    assert not ray.is_initialized()
    run_all(runs(1, 2, 3, 4, 5), tmp_path, 2, told.append, Cluster())
    assert told[-1] == "5 of 5 runs are finished already"


def test_a_run_that_fails_is_told_of_and_costs_no_other(ray, tmp_path):
    with pytest.raises(Error, match="run n13: thirteen is not doubled"):
        run_all(runs(13, 1, 2), tmp_path, 2, cluster=Cluster("head:1"))
    assert ray.asked == {"address": "head:1"}
    assert count_finished(runs(1, 2), tmp_path) == 2


def test_a_worker_that_is_lost_and_an_error_that_is_none_of_ours_are_outcomes(ray, monkeypatch):
    def broken(number: int) -> int:
        if number == 1:
            raise ZeroDivisionError("nothing divides")
        return number

    found = {task: (value, problem) for task, value, problem in on_cluster([0, 1], broken, None, 2)}
    assert found[0] == (0, None)
    assert "nothing divides" in str(found[1][1])

    def lost(_):
        raise LostError("the node died")

    monkeypatch.setattr(ray, "get", lost)
    ((_, value, problem),) = on_cluster([3], broken, None, 1)
    assert value is None
    assert problem.diagnostics[0].code == "worker-died"


def test_no_cluster_and_no_ray_are_said_so(ray, tmp_path, monkeypatch, capsys):
    words = ["reproduce", "babyai-factors", "--quick", "-o", str(tmp_path)]
    assert main([*words, "--cluster", "nowhere"]) == 31
    assert "no-cluster" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main([*words, "--cluster"]) == 31
    caught = capsys.readouterr().err
    assert "missing-extra" in caught
    assert "pdsketch-paper[cluster]" in caught

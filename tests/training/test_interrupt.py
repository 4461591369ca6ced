"""A fit that ends early, by the clock or by Ctrl-C, keeps what it has learned and can be resumed."""

from __future__ import annotations

import signal
import threading
import time
from types import SimpleNamespace

import pytest
import torch

import pdsketch as pds

OPTIONS = {"steps": 12, "batch": 32, "evaluate_every": 1, "validation": 0.2}


def weights(model: pds.Model) -> dict[str, torch.Tensor]:
    bounds = (".low", ".high")  # of what was seen: noted at the end
    return {n: tensor.clone() for n, tensor in model.state_dict().items() if not n.endswith(bounds)}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def press_ctrl_c(at: int, times: int = 1):
    """A callback during which the user presses Ctrl-C."""

    def callback(now: pds.Progress) -> None:
        if now.step == at:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return callback


@pytest.fixture(scope="module")
def whole(rooms):
    """An uninterrupted fit, its weights and what was measured."""
    model = pds.Model(rooms[0], seed=0)
    report = pds.fit(model, rooms[1][:12], **OPTIONS)
    return weights(model), report.history


@pytest.mark.parametrize("step", [3, 9, 12])
def test_ctrl_c_leaves_a_checkpoint_from_which_the_fit_goes_on(rooms, whole, tmp_path, step):
    domain, episodes = rooms[0], rooms[1][:12]
    path = str(tmp_path / "fit.safetensors")
    with pytest.raises(KeyboardInterrupt, match=f"after {step} steps") as stopped:
        pds.fit(
            pds.Model(domain, seed=0),
            episodes,
            checkpoint=path,
            callback=press_ctrl_c(step),
            **OPTIONS,
        )
    assert stopped.value.checkpoint == path
    model = pds.Model(domain, seed=0)
    report = pds.fit(model, episodes, checkpoint=path, resume=True, **OPTIONS)
    assert report.history == whole[1]
    assert same(weights(model), whole[0])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of fits, in seconds, which goes on as it is told."""
    now = [0.0]
    told = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr("pdsketch.training.trainer.time", told)
    return now


def test_a_fit_in_slices_of_time_ends_where_an_uninterrupted_one_does(rooms, whole, tmp_path, clock):
    domain, episodes = rooms[0], rooms[1][:12]
    limit, ended = 0.3, []

    def until_time_is_up(now: pds.Progress) -> None:
        if now.step in (4, 8):
            clock[0] += 2 * limit

    while not ended or ended[-1].status == "out-of-time":
        model = pds.Model(domain, seed=0)
        report = pds.fit(
            model,
            episodes,
            checkpoint=str(tmp_path / "fit.safetensors"),
            resume=True,
            time_limit=limit,
            callback=until_time_is_up,
            **OPTIONS,
        )
        assert not ended or report.steps > ended[-1].steps, "a slice goes on where the one before it ended"
        ended.append(report)
    assert [report.steps for report in ended[:2]] == [4, 8]
    assert ended[-1].history == whole[1]
    assert same(weights(model), whole[0])


@pytest.mark.parametrize("ending", ["ctrl-c", "time"])
def test_whatever_ends_a_fit_the_model_of_the_best_round_is_left(rooms, ending, clock, monkeypatch):
    """The second round has made one step and is worse: what stays is what the first round left."""
    domain, episodes = rooms[0], rooms[1][:12]
    monkeypatch.setattr("pdsketch.training.rounds.ROUND_STEPS", 8)
    first, model = pds.Model(domain, seed=0), pds.Model(domain, seed=0)
    pds.fit(first, episodes, **{**OPTIONS, "steps": 8})

    def end_in_the_second_round(now: pds.Progress) -> None:
        if now.step == 9:
            if ending == "ctrl-c":
                signal.raise_signal(signal.SIGINT)
            else:
                clock[0] += 2 * limit

    limit = 1.0
    options = {**OPTIONS, "steps": 100, "callback": end_in_the_second_round}
    if ending == "time":
        report = pds.fit(model, episodes, time_limit=limit, **options)
        assert (report.status, report.steps) == ("out-of-time", 9)
    else:
        with pytest.raises(KeyboardInterrupt, match="after 9 steps"):
            pds.fit(model, episodes, **options)
    assert same(weights(model), weights(first))
    assert {n: str(f) for n, f in model.forms.items()} == {n: str(f) for n, f in first.forms.items()}
    assert not model.training


def test_a_second_ctrl_c_does_not_wait(rooms, tmp_path):
    path = tmp_path / "fit.safetensors"
    with pytest.raises(KeyboardInterrupt):
        pds.fit(
            pds.Model(rooms[0], seed=0),
            rooms[1][:12],
            checkpoint=str(path),
            callback=press_ctrl_c(3, times=2),
            **{**OPTIONS, "evaluate_every": 3},
        )
    assert not path.exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_handles_ctrl_c_itself_goes_on_doing_so(rooms):
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        report = pds.fit(
            pds.Model(rooms[0], seed=0), rooms[1][:12], steps=4, evaluate_every=1, callback=press_ctrl_c(3)
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert report.status == "finished"
    assert pressed == [True]


def test_a_fit_may_run_in_any_thread(rooms):
    reports = []
    thread = threading.Thread(
        target=lambda: reports.append(pds.fit(pds.Model(rooms[0], seed=0), rooms[1], steps=2, batch=32))
    )
    thread.start()
    thread.join()
    assert [report.status for report in reports] == ["finished"]

"""Episodes as Minari data sets and back, with the real package and real folders."""

from __future__ import annotations

import builtins
import json

import gymnasium
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer
from tests.training.rooms import GOALS, SKETCH, world

import pdsketch as pds
from pdsketch.training.data.recorder import Recorder


@pytest.fixture(autouse=True)
def shelf(tmp_path, monkeypatch):
    """Where Minari keeps its data sets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def walks():
    return world(3, seed=3, boxes=(2, 3))


def same(before, after):
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        assert list(one.actions) == list(other.actions)
        assert (one.executable and list(one.executable)) == (other.executable and list(other.executable))
        assert {g: s and list(s) for g, s in one.goals.items()} == {
            g: s and list(s) for g, s in other.goals.items()
        }
        for a, b in zip(one.states, other.states, strict=True):
            assert a.objects == b.objects
            assert all(a[name].equal(b[name]) for name in a.values)


def test_a_folder_is_written_and_read(walks, shelf):
    domain, episodes = walks
    first = episodes[0]
    mixed = [
        *episodes,
        pds.Episode(first.states, first.actions),
        pds.Episode(
            first.states,
            first.actions,
            goals={GOALS[0]: [None] + [1] * 6, GOALS[2]: [0] * 7},
            executable=[True] * 5 + [False],
        ),
    ]
    written = pds.write_minari(
        mixed, "rooms/walks-v0", author="A. Walker", algorithm_name="random", description="walks"
    )
    assert (shelf / "rooms" / "walks-v0" / "data" / "metadata.json").exists()
    for source in (written, "rooms/walks-v0", shelf / "rooms" / "walks-v0"):
        same(mixed, pds.read_minari(source, domain))


def test_what_minari_itself_sees(walks):
    episodes = walks[1]
    pds.write_minari(
        episodes, "rooms/walks-v1", author="A. Walker", algorithm_name="random", description="walks"
    )
    dataset = minari.load_dataset("rooms/walks-v1")
    metadata = dataset.storage.metadata
    assert metadata["author"] == {"A. Walker"}
    assert metadata["algorithm_name"] == "random"
    assert metadata["description"] == "walks"
    assert json.loads(metadata["pdsketch"])["domain"] == "rooms"
    assert dataset.total_episodes == 3
    assert dataset.total_steps == 18
    assert dataset.spec.observation_space["colour"].dtype == np.int64
    assert dataset.spec.observation_space["stands"].shape == (2, 1)
    for episode, own in zip(dataset.iterate_episodes(), episodes, strict=True):
        assert episode.rewards.tolist() == [float(s) for s in next(iter(own.goals.values()))[1:]]
        assert episode.terminations[-1] != episode.truncations[-1]


def test_objects_may_differ_and_values_are_arguments():
    domain = pds.parse_domain("""(define (domain pushing) (:types block - object pose - vector[float32, 2])
      (:constants home - block)
      (:predicates (at [return_type=pose] ?b - block) (held ?b - block))
      (:action put :parameters (?b - block ?p - pose ?q - block) :effect (at::assign ?b ?p)))""")
    recorder = Recorder(domain)
    for name in ("red", "green"):
        recorder.add(
            objects={"block": [name]},
            values={"at": np.arange(8).reshape(2, 2, 2) / 3, "held": np.array([[0, 1], [1, 0]])},
            actions=[("put", name, (0.25, 1 / 3), "home")],
            goal=f"(held {name})",
            success=[1, 0],
        )
    episodes = recorder.arrays()
    dataset = pds.write_minari(episodes, "push-v0")
    assert dataset.spec.action_space["action"].n == 1
    assert dataset.spec.action_space["numbers"].shape == (2,)
    same(list(episodes), list(pds.read_minari("push-v0", domain)))
    values = {"at": np.ones((2, 3, 2)), "held": np.ones((2, 3))}
    recorder.add({"block": ["a", "b"]}, values, [("put", "b", (0.5, 0.5), "a")])
    padded = pds.write_minari(recorder.arrays(), "push-v1")
    assert padded.spec.observation_space["at"].shape == (3, 2)
    same(list(recorder.arrays()), list(pds.read_minari("push-v1", domain)))
    recorder.add({"block": ["a"]}, {"at": np.ones((1, 2, 2)), "held": np.ones((1, 2))}, [])
    with pytest.raises(pds.Error, match="an episode has no actions"):
        pds.write_minari(recorder.arrays(), "push-v2")


@pytest.mark.filterwarnings("ignore:.*None:UserWarning")  # Minari would like to know more
def test_data_from_elsewhere_needs_a_reader(walks):
    domain, _ = walks
    space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    buffer = EpisodeBuffer(
        observations=np.zeros((3, 1), np.float32),
        actions=np.array([1, 0]),
        rewards=[0.0, 1.0],
        terminations=[False, True],
        truncations=[False, False],
    )
    minari.create_dataset_from_buffers(
        "other/line-v0", [buffer], observation_space=space, action_space=gymnasium.spaces.Discrete(2)
    )

    def reader(episode):
        count = len(episode.observations)
        return {
            "objects": {"robot": ["rob"], "box": ["b0"]},
            "values": {
                "at": episode.observations[:, None],
                "colour": np.zeros((count, 1), int),
                "stands": np.zeros((count, 1, 1)),
            },
            "actions": [(("left", "right")[a], "rob") for a in episode.actions],
            "goal": GOALS[2],
            "success": [0, *map(int, episode.rewards)],
        }

    found = pds.read_minari("other/line-v0", domain, reader)
    assert found[0].actions == (("right", "rob"), ("left", "rob"))
    assert found[0].success == (0, 0, 1)
    with pytest.raises(pds.Error, match="pass a `reader`"):
        pds.read_minari("other/line-v0", domain)
    with pytest.raises(pds.Error, match="a reader returns a dictionary"):
        pds.read_minari("other/line-v0", domain, lambda episode: {"actions": []})
    with pytest.raises(pds.Error, match="bad-episode"):
        pds.read_minari("other/line-v0", domain, lambda e: {**reader(e), "actions": [("left", "rob")]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("(stands [return_type=place]", "(stands [return_type=vector[float32, 2]]"), r"\(2, 2\) is wanted"),
        (("(stands [return_type=place] ?b", "(lit) (stands [return_type=place] ?b"), "nothing for"),
        (("(:action left", "(:action back"), "the action `left`"),
        (("(:predicates", "(:constants base - robot) (:predicates"), "the constants"),
    ],
)  # fmt: skip
def test_another_domain_is_refused(walks, change, said):
    pds.write_minari(walks[1], "rooms/walks-v2")
    with pytest.raises(pds.Error, match=said) as caught:
        pds.read_minari("rooms/walks-v2", pds.parse_domain(SKETCH.replace(*change)))
    assert caught.value.diagnostics[0].code == "not-for-minari"


def test_names_that_are_taken_unknown_or_wrong(walks):
    domain, episodes = walks
    dataset = pds.write_minari(episodes, "rooms/walks-v3")
    for source, said in (
        ("rooms/none-v0", "there are: rooms/walks-v3"),
        ("rooms/walks", "no Minari data set"),
        (3, "its id or folder was wanted"),
    ):
        with pytest.raises(pds.Error, match=said):
            pds.read_minari(source, domain)
    for name, said in (("rooms/walks-v3", "already"), ("rooms/walks", "is no id"), ("", "is no id")):
        with pytest.raises(pds.Error, match=said):
            pds.write_minari(episodes, name)
    with pytest.raises(pds.Error, match="no-episodes"):
        pds.write_minari([], "rooms/none-v0")
    with pytest.raises(pds.Error, match="takes episodes"):
        pds.write_minari([3], "rooms/none-v0")
    dataset.storage.update_metadata({"pdsketch": "{}"})
    with pytest.raises(pds.Error, match="is damaged"):
        pds.read_minari("rooms/walks-v3", domain)


def test_without_the_package_the_extra_is_named(walks, monkeypatch):
    real = builtins.__import__

    def absent(name, *rest):
        if name == "minari":
            raise ModuleNotFoundError("no such package", name="minari")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    for call in (
        lambda: pds.write_minari(walks[1], "a-v0"),
        lambda: pds.read_minari("a-v0", walks[0]),
    ):
        with pytest.raises(pds.Error, match=r"pdsketch-planning\[minari\]"):
            call()

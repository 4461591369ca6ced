"""Worlds by name, those of other packages, and Gymnasium's environments."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pdsketch as pds
from pdsketch.act import world as registry
from pdsketch.extras import WORLDS, offered


def code_of(refused) -> str:
    return refused.value.diagnostics[0].code


class Meadow:
    """Grass, as far as one sees.

    More about it.
    """

    def __init__(self, size=2):
        self.size = size


@pytest.fixture
def meadow(packages):
    """A world of another package."""
    packages({"pdsketch.worlds": {"meadow": f"{__name__}:Meadow"}}, vars(sys.modules[__name__]))


@pytest.mark.usefixtures("meadow")
def test_worlds_of_other_packages_are_known_by_name_with_a_line_each(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    assert pds.worlds() == {"meadow": "Grass, as far as one sees."}
    assert pds.make_world("meadow", size=7).size == 7
    with pytest.raises(pds.Error) as refused:
        pds.register_world("meadow", print)
    assert code_of(refused) == "bad-world"


@pytest.mark.usefixtures("meadow")
def test_unknown_worlds_and_options_get_a_hint():
    with pytest.raises(pds.Error, match="did you mean `meadow`") as refused:
        pds.make_world("medow")
    assert code_of(refused) == "unknown-world"
    with pytest.raises(pds.Error, match="did you mean `size`") as refused:
        pds.make_world("meadow", siz=3)
    assert code_of(refused) == "unknown-option"


@pytest.mark.usefixtures("meadow")
def test_a_world_of_the_reproduction_says_what_to_install():
    for name, code in (("babyai", "missing-package"), ("babiai", "unknown-world")):
        with pytest.raises(pds.Error) as refused:
            pds.make_world(name)
        (found,) = refused.value.diagnostics
        assert found.code == code
        assert {"babyai": "pip install pdsketch-paper", "babiai": "did you mean `babyai`"}[name] in found.help


def test_what_a_world_lacks_is_its_line(packages):
    def lacking(name):
        raise pds.Error([pds.Diagnostic("missing-extra", f"{name} is not there")])

    packages({"pdsketch.worlds": {"far": "elsewhere:Far"}}, lacking)
    assert pds.worlds()["far"] == "Far is not there"


def test_a_world_of_ones_own_can_be_registered(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    pds.register_world("mine", lambda size=3: ("a world", size), "small")
    assert pds.worlds()["mine"] == "small"
    assert pds.make_world("mine", size=4) == ("a world", 4)
    for name, maker in (("", print), ("other", 3)):
        with pytest.raises(pds.Error) as refused:
            pds.register_world(name, maker)
        assert code_of(refused) == "bad-world"


def test_a_world_that_needs_an_option_says_so(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    pds.register_world("mine", lambda size: size)
    with pytest.raises(pds.Error, match="needs the option `size`"):
        pds.make_world("mine")


def test_names_are_listed_without_importing_any_package():
    code = "import sys; from pdsketch.extras import WORLDS, offered; "
    code += "print(*offered(WORLDS)); assert 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(offered(WORLDS))


LINE = pds.parse_domain("""
(define (domain line)
  (:types robot - object)
  (:predicates (at [return_type=float32[tolerance=0.1]] ?r - robot))
  (:action right :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 1)))
  (:action jump :parameters (?r - robot) :effect (assign (at ?r) (+ (at ?r) 2))))
""")


class Steps:
    """Gymnasium's interface, and nothing else."""

    def reset(self, *, seed=None, options=None):
        self.x = float(seed or 0)
        return self.x, {}

    def step(self, action):
        self.x += action
        return self.x, float(self.x >= 3), self.x >= 3, self.x < 0, {}

    def render(self):
        return None


def see(x, env):
    return pds.State(LINE, {"robot": ["r"]}, {"at": [x]})


def gym_world(**changes):
    settings = {
        "observe": see,
        "act": lambda action, env: {"right": 1, "jump": None}[action[0]],
        "goal": lambda env: f"(>= (at r) {env.x + 3:g})",
        **changes,
    }
    return pds.GymWorld(Steps(), LINE, **settings)


def test_a_gymnasium_environment_is_a_world():
    world = gym_world()
    done = pds.rollout(pds.Policy(pds.Model(LINE), heuristic="blind"), world, seeds=[0])
    assert world.goal == "(>= (at r) 3)"
    assert done.success == (True,)
    assert list(done[0].success) == [0] * len(done[0].actions) + [1]
    refused = [action for action, done in zip(done[0].actions, done[0].executable, strict=True) if not done]
    assert refused == [("jump", "r")] * len(refused)
    assert refused


def test_the_word_of_a_gymnasium_world_can_be_given():
    world = gym_world(success=lambda env: env.x >= 1, goal="(>= (at r) 1)")
    world.reset(seed=0)
    assert world.success is False
    world.step(("right", "r"))
    assert (world.success, world.ended) == (True, False)


def test_what_is_no_gymnasium_world_is_refused():
    for changes in ({"observe": None}, {"act": 3}, {"success": 3}, {"goal": 3}):
        with pytest.raises(pds.Error) as refused:
            gym_world(**changes)
        assert code_of(refused) == "bad-world"
    with pytest.raises(pds.Error, match="has `reset`; a int has not"):
        pds.GymWorld(3, LINE, observe=see, act=see, goal="(and)")
    with pytest.raises(pds.Error, match="draws nothing"):
        gym_world().render()
    with pytest.raises(pds.Error, match="no state yet"):
        gym_world().step(("right", "r"))

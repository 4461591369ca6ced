"""Our dataclasses do what the standard library's do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any

import pytest

from pdsketch.lang.records import dataclass

KINDS = {"theirs": dataclasses.dataclass, "ours": dataclass}


def family(made: Any, **settings: Any) -> dict[str, type]:
    """Classes of each shape, made by one of the two."""

    @made(**settings)
    class Empty:
        """No field."""

    @made(**settings)
    class One:
        """One field."""

        a: Any

    @made(**settings)
    class Base:
        """Fields that take no part in some methods."""

        a: int
        b: Any = field(default=None, compare=False, repr=False)

    @made(**settings)
    class Inner(Base):
        """A subclass with a factory, and a field that is compared and not hashed."""

        c: list[int] = field(default_factory=list, hash=False)

    @made(**settings)
    class Whole:
        """Fields that only have names, that are no parameters, and that are checked."""

        a: int
        b: int = field(default=2, kw_only=True)
        c: list[int] = field(default_factory=list, init=False, hash=False)
        d: int = field(default=3, init=False)

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("negative")
            self.c.append(self.a)

    @made(**settings)
    class Own:
        """Methods of its own."""

        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    return {kind.__name__: kind for kind in (Empty, One, Base, Inner, Whole, Own)}


MAKERS = {
    "Empty": [()],
    "One": [(1,), (2,), (float("nan"),), ((1, 2),)],
    "Base": [(1,), (1, "b"), (2,)],
    "Inner": [(1,), (1, None, [3]), (1, 2, [3])],
    "Whole": [(1,), (2,)],
    "Own": [(1,), (2,)],
}


@pytest.mark.parametrize(
    "settings",
    [
        {"frozen": True, "slots": True},
        {"frozen": True},
        {"slots": True},
        {},
        {"frozen": True, "slots": True, "eq": False},
        {"frozen": True, "repr": False},
    ],
    ids=str,
)
def test_they_compare_hash_and_show_alike(settings: dict[str, bool]) -> None:
    families = {name: family(made, **settings) for name, made in KINDS.items()}
    for kind, arguments in MAKERS.items():
        found: dict[str, list[Any]] = {}
        for name, classes in families.items():
            instances = [classes[kind](*given) for given in arguments]
            again = [classes[kind](*given) for given in arguments]
            same = [[a == b for b in again] for a in instances]
            unhashable = classes[kind].__hash__ is None
            pairs = [] if unhashable else list(zip(instances, again, strict=True))
            alike = [hash(a) == hash(b) for a, b in pairs]
            shown = [repr(a) for a in instances if " object at " not in repr(a)]
            found[name] = [same, unhashable, alike, shown, classes[kind].__match_args__, instances[0] != 5]
        assert found["ours"] == found["theirs"], kind


def test_a_subclass_is_not_its_base_and_replace_copy_and_match_work() -> None:
    classes = family(dataclass, frozen=True, slots=True)
    base, inner = classes["Base"](1), classes["Inner"](1)
    assert base != inner
    assert dataclasses.replace(inner, a=2).a == 2  # type: ignore[type-var]
    assert copy.deepcopy(inner) == inner
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.a = 5  # type: ignore[attr-defined]
    match Node("a", []):
        case Node(name, children):
            assert (name, children) == ("a", [])
        case _:
            raise AssertionError("positional patterns do not match")


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_arguments_are_those_of_the_fields(made: Any) -> None:
    whole = family(made, frozen=True, slots=True)["Whole"]
    assert dataclasses.astuple(whole(1, b=5)) == (1, 5, [1], 3)  # type: ignore[call-overload]
    for wrong in ((), (1, 2)):
        with pytest.raises(TypeError):
            whole(*wrong)
    with pytest.raises(ValueError, match="negative"):
        whole(-1)


def test_a_dataclass_of_the_standard_library_may_be_derived_of_ours() -> None:
    base: Any = family(dataclass, frozen=True)["Base"]

    @dataclasses.dataclass(frozen=True)
    class Theirs(base):  # type: ignore[misc]
        c: int = 3

    assert Theirs(1) == Theirs(1, None, 3)
    with pytest.raises(TypeError, match="cannot inherit"):
        dataclass(type("Changing", (base,), {}))


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree, of which a cycle is made below."""

    name: str
    children: list[Node]


def test_a_cycle_is_shown_and_instances_are_pickled() -> None:
    node = Node("a", [])
    node.children.append(node)
    assert repr(node) == "Node(name='a', children=[...])"
    assert pickle.loads(pickle.dumps(Node("b", []))) == Node("b", [])

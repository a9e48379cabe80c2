"""Our dataclass beside that of the standard library: whoever uses one of its classes notices no difference."""

import copy
import dataclasses
import pickle
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Ours:
    """Has a field of each sort."""

    name: str
    numbers: Sequence[int]
    note: str | None = None
    more: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def total(self) -> int:
        return sum(self.numbers)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    name: str
    numbers: Sequence[int]
    note: str | None = None
    more: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Single:
    value: object


@dataclass(frozen=True, slots=True)
class Layers[Entry]:
    own: Entry
    shipped: Entry


VALUES = st.tuples(st.text(), st.tuples(st.integers(), st.integers()), st.none() | st.text())


@given(VALUES, VALUES)
def test_values_compare_hash_and_print_as_in_the_standard_library(one: Any, other: Any) -> None:
    (a, b), (x, y) = (Ours(*one), Ours(*other)), (Theirs(*one), Theirs(*other))
    assert (a == b) == (x == y)
    assert a == Ours(*one)
    assert repr(a) == repr(x).replace("Theirs", "Ours")
    assert hash(Single(one)) == hash((one,))
    assert dataclasses.asdict(a) == dataclasses.asdict(x)
    assert dataclasses.astuple(a) == dataclasses.astuple(x)


def test_a_field_cannot_be_changed() -> None:
    ours = Ours("a", (1,))
    for change in (lambda: setattr(ours, "name", "b"), lambda: delattr(ours, "name"), lambda: setattr(ours, "new", 1)):
        with pytest.raises(FrozenInstanceError):
            change()
    assert ours.name == "a"


def test_a_default_factory_runs_for_each_value() -> None:
    one, other = Ours("a", ()), Ours("a", ())
    one.more["x"] = 1
    assert other.more == {}
    assert Ours("a", (), more={"y": 2}).more == {"y": 2}


@pytest.mark.parametrize("arguments", [(), ("a",), ("a", (), None, {}, 5)])
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        Ours(*arguments)


def test_values_can_be_replaced_copied_matched_and_sent_to_other_processes() -> None:
    ours = Ours("a", (1, 2), more={"x": 1})
    assert replace(ours, name="b") == Ours("b", (1, 2), more={"x": 1})
    for again in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):  # noqa: S301 - our own
        assert again == ours
    match ours:
        case Ours(name, numbers):
            assert (name, numbers) == ("a", (1, 2))
    assert ours.total == 3
    assert not hasattr(ours, "__dict__")


def test_a_value_of_another_class_is_another_value() -> None:
    assert Single(1) != Layers(1, 1)
    assert (Single(1) == 1) is False
    assert Nothing() == Nothing()
    assert repr(Nothing()) == "Nothing()"
    assert [one.name for one in fields(Layers)] == ["own", "shipped"]


def test_other_options_use_the_dataclass_of_the_standard_library() -> None:
    @dataclass(frozen=True, slots=True)
    class Secret:
        name: str
        key: str = field(repr=False)

    @dataclass(frozen=True, slots=True, order=True)
    class Place:
        line: int

    @dataclass(slots=True)
    class Changing:
        at: int

    assert "hunter2" not in repr(Secret("a", "hunter2"))
    assert Place(1) < Place(2)
    changing = Changing(1)
    changing.at = 2
    assert changing.at == 2

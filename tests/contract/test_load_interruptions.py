"""What only happens to a table elsewhere, while an executor is loaded: a placement of the same one under way, others in
between, a transaction in conflict."""

from typing import TYPE_CHECKING

import pytest

from signpost.contract import ExecutorVersion, PlacedExecutor
from signpost.directory.model import DirectoryChange, DirectorySnapshot, LoadNotice, PlacementRefusal
from tests.contract.test_functions import executor_of, hosted_functions, placed_names
from tests.contract.test_placement_interruptions import MOMENTS, Crash, functions_with_interference

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

EXECUTOR_VERSION = ExecutorVersion("2", "d" * 64)
ALL = list("abcdefghxyz")


def decide_replacement(tenant: str, *names: str) -> "Decision":
    return Decision(tenant, names)


class Decision:
    """Loads an executor with these functions in the place of what it has, and remembers how often it was asked."""

    def __init__(self, tenant: str, names: tuple[str, ...]) -> None:
        self._tenant = tenant
        self._names = names
        self.asked = 0

    def __call__(self, holding: DirectorySnapshot) -> DirectoryChange | PlacementRefusal:
        self.asked += 1
        executor = executor_of(self._tenant)
        had = {name for one in holding.placed if one.executor == executor for name in one.functions}
        told = [LoadNotice("load", name) for name in self._names]
        return DirectoryChange(
            executor, hosted_functions(*self._names), EXECUTOR_VERSION, sorted(had.difference(self._names)), told
        )


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_load_during_a_placement_stands(
    own_client: "DynamoDBClient", tenant: str, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.adapters.dynamodb.directory.LONGEST_TRANSACTION", 4)
    table, others, interference = functions_with_interference(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosted_functions(*"xyzabc"))
    interference.meanwhile(moment, lambda: others.loaded_executors.change(tenant, decide_replacement(tenant, *"efgh")))
    assert table.directory.place(tenant, executor, hosted_functions(*"abcdef")) == []
    served = placed_names(table, tenant, ALL)
    assert served == ({*"efgh"} if moment else {*"abcdef"})
    free = sorted({*ALL} - served)
    assert others.directory.place(tenant, executor_of(tenant, "next"), hosted_functions(*free)) == []


@pytest.mark.parametrize("crash_after", range(1, 4))
def test_a_load_completes_a_placement_that_crashed(
    own_client: "DynamoDBClient", tenant: str, crash_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.adapters.dynamodb.directory.LONGEST_TRANSACTION", 4)
    table, others, interference = functions_with_interference(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosted_functions(*"xyzabc"))
    interference.crash_after(crash_after)
    with pytest.raises(Crash):
        table.directory.place(tenant, executor, hosted_functions(*"abcdef"), EXECUTOR_VERSION)
    assert [one.terms for one in others.directory.list_placed() if one.tenant == tenant] == [None]
    others.loaded_executors.change(tenant, decide_replacement(tenant, *"efgh"))
    assert placed_names(others, tenant, ALL) == {*"efgh"}
    placed = [one for one in others.directory.list_placed() if one.tenant == tenant]
    assert placed == [PlacedExecutor(tenant, executor, list("efgh"), EXECUTOR_VERSION)]


def test_a_load_is_decided_again_after_a_concurrent_placement(own_client: "DynamoDBClient", tenant: str) -> None:
    table, others, interference = functions_with_interference(own_client)
    decide, theirs = decide_replacement(tenant, "a"), executor_of(tenant, "other")
    interference.meanwhile(0, lambda: others.directory.place(tenant, theirs, hosted_functions("b")))
    table.loaded_executors.change(tenant, decide)
    assert decide.asked == 2
    assert placed_names(table, tenant, ["a", "b"]) == {"a", "b"}
    assert len(table.list_events(tenant)) == 2  # of the placement and of the load


def test_a_load_is_retried_after_transaction_conflicts(own_client: "DynamoDBClient", tenant: str) -> None:
    table, _, interference = functions_with_interference(own_client)
    interference.conflict(3, "TransactionConflict")
    decide = decide_replacement(tenant, "a")
    table.loaded_executors.change(tenant, decide)
    assert (decide.asked, placed_names(table, tenant, ["a"])) == (1, {"a"})


def test_a_load_that_crashes_before_its_transaction_changes_nothing(own_client: "DynamoDBClient", tenant: str) -> None:
    table, others, interference = functions_with_interference(own_client)
    others.loaded_executors.change(tenant, decide_replacement(tenant, "a"))
    before = others.loaded_executors.read(tenant)
    interference.crash_after(0)
    with pytest.raises(Crash):
        table.loaded_executors.change(tenant, decide_replacement(tenant, "b"))
    assert others.loaded_executors.read(tenant) == before

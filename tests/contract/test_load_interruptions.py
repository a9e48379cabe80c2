"""What only happens to a table elsewhere, while an executor is loaded: a placement of the same one under way, others in
between, a transaction in conflict."""

from typing import TYPE_CHECKING

import pytest

from signpost.contract import ExecutorVersion, PlacedExecutor
from signpost.directory.model import DirectoryChange, DirectorySnapshot, LoadNotice, PlacementRefusal
from tests.contract.test_functions import executor_of, hosting, hosts_of
from tests.contract.test_interruptions import MOMENTS, Crash, interfered

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TERMS = ExecutorVersion("2", "d" * 64)
ALL = list("abcdefghxyz")


def taking_over(tenant: str, *names: str) -> "Decision":
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
        return DirectoryChange(executor, hosting(*self._names), TERMS, sorted(had.difference(self._names)), told)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_load_stands_whenever_it_comes_into_a_placement(
    own_client: "DynamoDBClient", tenant: str, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.adapters.dynamodb.directory.LONGEST_TRANSACTION", 4)
    table, others, interference = interfered(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosting(*"xyzabc"))
    interference.meanwhile(moment, lambda: others.loads.change(tenant, taking_over(tenant, *"efgh")))
    assert table.directory.place(tenant, executor, hosting(*"abcdef")) == []
    served = hosts_of(table, tenant, ALL)
    assert served == ({*"efgh"} if moment else {*"abcdef"})
    free = sorted({*ALL} - served)
    assert others.directory.place(tenant, executor_of(tenant, "next"), hosting(*free)) == []


@pytest.mark.parametrize("crash_after", range(1, 4))
def test_a_load_completes_a_placement_that_crashed(
    own_client: "DynamoDBClient", tenant: str, crash_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.adapters.dynamodb.directory.LONGEST_TRANSACTION", 4)
    table, others, interference = interfered(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosting(*"xyzabc"))
    interference.crash_after(crash_after)
    with pytest.raises(Crash):
        table.directory.place(tenant, executor, hosting(*"abcdef"), TERMS)
    assert [one.terms for one in others.directory.list_placed() if one.tenant == tenant] == [None]
    others.loads.change(tenant, taking_over(tenant, *"efgh"))
    assert hosts_of(others, tenant, ALL) == {*"efgh"}
    placed = [one for one in others.directory.list_placed() if one.tenant == tenant]
    assert placed == [PlacedExecutor(tenant, executor, list("efgh"), TERMS)]


def test_where_somebody_else_came_first_it_is_decided_again(own_client: "DynamoDBClient", tenant: str) -> None:
    table, others, interference = interfered(own_client)
    decide, theirs = taking_over(tenant, "a"), executor_of(tenant, "other")
    interference.meanwhile(0, lambda: others.directory.place(tenant, theirs, hosting("b")))
    table.loads.change(tenant, decide)
    assert decide.asked == 2
    assert hosts_of(table, tenant, ["a", "b"]) == {"a", "b"}
    assert len(table.told(tenant)) == 1


def test_conflicts_with_others_are_waited_out(own_client: "DynamoDBClient", tenant: str) -> None:
    table, _, interference = interfered(own_client)
    interference.conflict(3, "TransactionConflict")
    decide = taking_over(tenant, "a")
    table.loads.change(tenant, decide)
    assert (decide.asked, hosts_of(table, tenant, ["a"])) == (1, {"a"})


def test_a_load_that_crashes_before_its_transaction_has_left_nothing(own_client: "DynamoDBClient", tenant: str) -> None:
    table, others, interference = interfered(own_client)
    others.loads.change(tenant, taking_over(tenant, "a"))
    before = others.loads.read(tenant)
    interference.crash_after(0)
    with pytest.raises(Crash):
        table.loads.change(tenant, taking_over(tenant, "b"))
    assert others.loads.read(tenant) == before

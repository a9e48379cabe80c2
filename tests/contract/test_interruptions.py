"""What only happens to a table elsewhere: a crash between two writes, an overload, others in the way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSResponse

from signpost.adapters import keys
from signpost.contract import HostedFunction
from signpost.errors import Unavailable
from tests.contract.conftest import TABLE, Functions, client_of, dynamo_functions
from tests.contract.test_functions import executor_of, executors_in, hosting, hosts_of, many

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TRANSACTION = "dynamodb.TransactWriteItems"
READ = "dynamodb.BatchGetItem"


class Crash(Exception):  # noqa: N818 - it is none of ours
    """The process ends here."""


class Interference:
    """Stands between a client and its table."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._events = client.meta.events
        self.calls: list[str] = []
        self._events.register("before-parameter-build.dynamodb", self._count)

    def _count(self, model: Any, **_: Any) -> None:
        self.calls.append(model.name)

    def crash_after(self, calls: int) -> None:
        seen = iter(range(calls))

        def crash(**_: Any) -> None:
            if next(seen, None) is None:
                raise Crash

        self._events.register(f"before-call.{TRANSACTION}", crash, unique_id="crash")

    def repair(self) -> None:
        self._events.unregister(f"before-call.{TRANSACTION}", unique_id="crash")

    def meanwhile(self, calls: int, act: Callable[[], object]) -> None:
        """Somebody else acts, from beginning to end, before the transaction after so many."""
        seen = iter([*[False] * calls, True])

        def interrupt(**_: Any) -> None:
            if next(seen, False):
                act()

        self._events.register(f"before-call.{TRANSACTION}", interrupt)

    def shorten_pages(self) -> None:
        def one_row(params: Any, **_: Any) -> None:
            params["Limit"] = 1

        self._events.register("before-parameter-build.dynamodb.Query", one_row)

    def conflict(self, times: int, code: str) -> None:
        left = iter(range(times))

        def refuse(request_signer: Any, **_: Any) -> Any:
            del request_signer
            if next(left, None) is None:
                return None
            refused = {"Error": {"Code": "TransactionCanceledException", "Message": "in the way"}}
            reasons = [{"Code": "None"}, {"Code": code, "Message": "in the way"}]
            no_headers: Any = {}
            return AWSResponse("http://table.test", 400, no_headers, None), {
                **refused,
                "CancellationReasons": reasons,
                "ResponseMetadata": {"HTTPStatusCode": 400},
            }

        self._events.register(f"before-call.{TRANSACTION}", refuse)

    def leave_unread(self, times: int) -> None:
        """The answer holds one row, and says that the others were not reached."""
        left = iter(range(times))

        def cut(parsed: Any, context: Any, **_: Any) -> None:
            del context
            if next(left, None) is None:
                return
            (table, found), *_others = parsed["Responses"].items()
            parsed["Responses"] = {table: found[:1]}
            unread = [{"pk": row["pk"], "sk": row["sk"]} for row in found[1:]]
            parsed["UnprocessedKeys"] = {table: {"Keys": unread, "ConsistentRead": True}} if unread else {}

        self._events.register(f"after-call.{READ}", cut)


@pytest.fixture
def interference(own_client: "DynamoDBClient") -> Interference:
    return Interference(own_client)


def interfered(client: "DynamoDBClient") -> tuple[Functions, Functions, Interference]:
    """The table through a client that is interfered with, and as everybody else reaches it."""
    others = dynamo_functions(client_of(client.meta.endpoint_url))
    return dynamo_functions(client), others, Interference(client)


@pytest.fixture
def table(own_client: "DynamoDBClient", interference: Interference) -> Functions:
    del interference  # it has to stand there first
    return dynamo_functions(own_client)


def names_of(hosted: Sequence[HostedFunction]) -> list[str]:
    return [one.function for one in hosted]


def crashes(interference: Interference, act: Callable[[], object]) -> Iterator[int]:
    """Acts again and again, each time a transaction further, until it comes through."""
    for calls in range(20):
        interference.crash_after(calls)
        with suppress(Crash):
            act()
            interference.repair()
            return
        interference.repair()
        yield calls


@pytest.mark.invariant(33)
def test_a_placement_that_crashes_anywhere_keeps_serving_and_is_completed_by_placing_again(
    table: Functions, interference: Interference, tenant: str
) -> None:
    executor, before, after = executor_of(tenant), many(150), [*many(300)[100:], *hosting("new")]
    old, new = set(names_of(before)), set(names_of(after))
    table.directory.place(tenant, executor, before)
    crashed = 0
    for _ in crashes(interference, lambda: table.directory.place(tenant, executor, after)):
        crashed += 1
        assert hosts_of(table, tenant, sorted(old | new)) >= old & new
        assert executor in executors_in(table.directory)
    assert crashed >= 4
    assert hosts_of(table, tenant, sorted(old | new)) == new
    assert table.directory.place(tenant, executor_of(tenant, "next"), hosting(*sorted(old - new))) == []


def test_until_its_last_write_a_placement_that_crashed_holds_its_ids(
    table: Functions, interference: Interference, tenant: str
) -> None:
    interference.crash_after(1)
    with pytest.raises(Crash):
        table.directory.place(tenant, executor_of(tenant), hosting("a"))
    interference.repair()
    assert list(table.directory.place(tenant, executor_of(tenant, "other"), hosting("a"))) == ["a"]
    assert table.directory.remove(tenant, executor_of(tenant).arn)
    assert table.directory.place(tenant, executor_of(tenant, "other"), hosting("a")) == []


def test_a_removal_that_crashes_is_completed_by_removing_again(
    table: Functions, interference: Interference, tenant: str
) -> None:
    executor, hosted = executor_of(tenant), many(150)
    table.directory.place(tenant, executor, hosted)
    for _ in crashes(interference, lambda: table.directory.remove(tenant, executor.arn)):
        assert executor in executors_in(table.directory)
    assert hosts_of(table, tenant, names_of(hosted)) == set()
    assert executor not in executors_in(table.directory)


@pytest.fixture
def short_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few functions take many."""
    monkeypatch.setattr("signpost.adapters.dynamodb.directory.LONGEST_TRANSACTION", 4)


MOMENTS = range(7)
"""Before each transaction of a placement of six functions, three of them new, in place of six."""


@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_of_two_placements_of_one_executor_the_later_stands_whenever_it_comes(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    table, others, interference = interfered(own_client)
    executor, first, second = executor_of(tenant), hosting(*"abcdef"), hosting(*"efgh")
    table.directory.place(tenant, executor, hosting(*"xyzabc"))
    interference.meanwhile(moment, lambda: others.directory.place(tenant, executor, second))
    assert table.directory.place(tenant, executor, first) == []
    served = hosts_of(table, tenant, list("abcdefghxyz"))
    assert served == ({*"efgh"} if moment else {*"abcdef"})
    free = sorted({*"abcdefghxyz"} - served)
    assert others.directory.place(tenant, executor_of(tenant, "next"), hosting(*free)) == []


@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_executor_that_is_removed_while_it_is_placed_is_there_or_not_but_not_half(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    table, others, interference = interfered(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosting(*"xyzabc"))
    interference.meanwhile(moment, lambda: others.directory.remove(tenant, executor.arn))
    assert table.directory.place(tenant, executor, hosting(*"abcdef")) == []
    served = hosts_of(table, tenant, list("abcdefxyz"))
    assert served == (set() if moment else {*"abcdef"})
    assert (executor in executors_in(table.directory)) == bool(served)


@pytest.mark.invariant(33)
@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_id_is_never_won_twice_whenever_the_other_comes(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    table, others, interference = interfered(own_client)
    mine, other, answers = executor_of(tenant), executor_of(tenant, "other"), list[Sequence[str]]()
    table.directory.place(tenant, mine, hosting(*"xyzabc"))
    interference.meanwhile(moment, lambda: answers.append(others.directory.place(tenant, other, hosting(*"fg"))))
    answers.append(table.directory.place(tenant, mine, hosting(*"abcdef")))
    assert sorted(map(list, answers)) == [[], ["f"]]
    placement = table.states.read(tenant, "f").own
    assert placement is not None
    won = placement.executor == other
    assert hosts_of(table, tenant, list("abcdefgxyz")) == ({*"xyzabcfg"} if won else {*"abcdef"})


@pytest.mark.invariant(38)
@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_who_lists_functions_while_they_are_placed_finds_out_that_they_changed(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    """A reader looks at the version first; what it read under it is good for as long as it stays."""
    table, others, interference = interfered(own_client)
    executor, seen = executor_of(tenant), list[tuple[int, list[str]]]()

    def look() -> None:
        version = others.revisions.read(tenant).placements
        seen.append((version, names_of(others.placed.functions(tenant))))

    table.directory.place(tenant, executor, hosting(*"xyzabc"))
    interference.meanwhile(moment, look)
    table.directory.place(tenant, executor, hosting(*"abcdef"))
    look()
    assert seen[-1][1] == [*"abcdef"]
    listed = dict(seen)  # by version: two different lists under one would be found by nobody
    assert [listed[version] for version, _ in seen] == [names for _, names in seen]


@pytest.mark.usefixtures("short_transactions")
def test_who_listed_functions_of_a_placement_that_then_crashed_finds_what_it_wrote_last(
    own_client: "DynamoDBClient", tenant: str
) -> None:
    table, others, interference = interfered(own_client)
    seen: list[tuple[int, list[str]]] = []

    def look() -> None:
        seen.append((others.revisions.read(tenant).placements, names_of(others.placed.functions(tenant))))

    interference.meanwhile(2, look)
    interference.crash_after(3)
    with pytest.raises(Crash):
        table.directory.place(tenant, executor_of(tenant), hosting(*"abcdef"))
    look()
    (early, half), (late, more) = seen
    assert (half, more) == ([*"ab"], [*"abcd"])
    assert late > early


def test_functions_of_an_earlier_release_are_called_and_listed_without_what_it_did_not_know(
    own_client: "DynamoDBClient", table: Functions, tenant: str
) -> None:
    told = HostedFunction(
        "a", 5, frozenset({"x"}), False, "Sends.", {"properties": {}}, exposed=True, name="A", hidden=True
    )
    table.directory.place(tenant, executor_of(tenant), [told])
    own_client.update_item(
        TableName=TABLE,
        Key=keys.placed_function(tenant, "a"),
        UpdateExpression="REMOVE description, input_schema, exposed, listing",
    )
    old = HostedFunction("a", 5, frozenset({"x"}), readable=False)
    assert list(table.placed.functions(tenant)) == [old]
    placement = table.states.read(tenant, "a").own
    assert placement is not None
    assert placement.hosted == old


def test_a_list_is_revalidated_by_one_call(table: Functions, interference: Interference, tenant: str) -> None:
    everything_about(table, tenant)
    interference.calls.clear()
    assert table.revisions.read(tenant).placements
    assert interference.calls == ["BatchGetItem"]


def test_who_never_gets_to_place_is_told_to_come_again(own_client: "DynamoDBClient", tenant: str) -> None:
    table, others, interference = interfered(own_client)
    for number in range(20):  # each call that takes ids meets somebody who just took others
        name = f"other-{number}"
        interference.meanwhile(
            number, lambda name=name: others.directory.place(tenant, executor_of(tenant, name), hosting(name))
        )
    with pytest.raises(Unavailable):
        table.directory.place(tenant, executor_of(tenant), hosting("a"))
    assert hosts_of(table, tenant, ["a"]) == set()


def test_a_directory_of_many_pages_is_read_to_its_end(
    table: Functions, interference: Interference, tenant: str
) -> None:
    interference.shorten_pages()
    executors = [executor_of(tenant, f"number-{number}") for number in range(4)]
    for executor in executors:
        assert table.directory.place(tenant, executor, hosting(executor.arn[-8:])) == []
    assert [executor for executor in executors_in(table.directory) if tenant in executor.arn] == executors


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
def test_transactions_in_the_way_are_waited_for(
    table: Functions, interference: Interference, tenant: str, code: str
) -> None:
    interference.conflict(3, code)
    assert table.directory.place(tenant, executor_of(tenant), hosting("a")) == []
    assert interference.calls.count("TransactWriteItems") == 3 + 3


def test_transactions_that_are_always_in_the_way_end_in_a_refusal_to_retry(
    table: Functions, interference: Interference, tenant: str
) -> None:
    interference.conflict(1_000, "TransactionConflict")
    with pytest.raises(Unavailable):
        table.directory.place(tenant, executor_of(tenant), hosting("a"))
    assert hosts_of(table, tenant, ["a"]) == set()


def everything_about(table: Functions, tenant: str) -> None:
    table.directory.place(tenant, executor_of(tenant), hosting("a"))
    table.settings.set(tenant, "a", "breaker_failures", 5)
    table.settings.set(tenant, None, "breaker_failures", 6)


def test_a_function_is_read_in_one_call(table: Functions, interference: Interference, tenant: str) -> None:
    everything_about(table, tenant)
    interference.calls.clear()
    assert table.states.read(tenant, "a").own
    assert interference.calls == ["BatchGetItem"]


def test_rows_that_were_not_reached_are_asked_for_again(
    table: Functions, interference: Interference, tenant: str
) -> None:
    everything_about(table, tenant)
    whole = table.states.read(tenant, "a")
    interference.leave_unread(2)
    interference.calls.clear()
    assert table.states.read(tenant, "a") == whole
    assert interference.calls == ["BatchGetItem"] * 3


def test_rows_that_are_never_reached_are_a_refusal_to_retry(
    own_client: "DynamoDBClient", table: Functions, tenant: str
) -> None:
    def never(parsed: Any, context: Any, **_: Any) -> None:
        del context
        table_name = next(iter(parsed["Responses"]))
        parsed["UnprocessedKeys"] = {table_name: {"Keys": [{"pk": {"S": "a"}, "sk": {"S": "b"}}]}}

    own_client.meta.events.register(f"after-call.{READ}", never)
    with pytest.raises(Unavailable):
        table.states.read(tenant, "a")

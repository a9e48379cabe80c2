"""What only happens to a table elsewhere: a crash between two writes, an overload, others in the way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSResponse

from signpost.adapters import keys
from signpost.contract import HostedFunction
from signpost.errors import Unavailable
from tests.contract.conftest import TABLE, FunctionPorts, build_dynamo_functions, connect_dynamodb
from tests.contract.test_functions import executor_of, executors_in, hosted_functions, many_functions, placed_names

pytestmark = pytest.mark.no_cover

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


def functions_with_interference(client: "DynamoDBClient") -> tuple[FunctionPorts, FunctionPorts, Interference]:
    """The table through a client that is interfered with, and as everybody else reaches it."""
    others = build_dynamo_functions(connect_dynamodb(client.meta.endpoint_url))
    return build_dynamo_functions(client), others, Interference(client)


@pytest.fixture
def table(own_client: "DynamoDBClient", interference: Interference) -> FunctionPorts:
    del interference  # it has to stand there first
    return build_dynamo_functions(own_client)


def names_of(hosted: Sequence[HostedFunction]) -> list[str]:
    return [one.function for one in hosted]


def crash_at_each_transaction(interference: Interference, act: Callable[[], object]) -> Iterator[int]:
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
def test_a_crashed_placement_keeps_serving_and_is_completed_by_placing_again(
    table: FunctionPorts, interference: Interference, tenant: str
) -> None:
    executor, before, after = (
        executor_of(tenant),
        many_functions(150),
        [*many_functions(300)[100:], *hosted_functions("new")],
    )
    old, new = set(names_of(before)), set(names_of(after))
    table.directory.place(tenant, executor, before)
    crashed = 0
    for _ in crash_at_each_transaction(interference, lambda: table.directory.place(tenant, executor, after)):
        crashed += 1
        assert placed_names(table, tenant, sorted(old | new)) >= old & new
        assert executor in executors_in(table.directory)
    assert crashed >= 4
    assert placed_names(table, tenant, sorted(old | new)) == new
    assert table.directory.place(tenant, executor_of(tenant, "next"), hosted_functions(*sorted(old - new))) == []


def test_a_crashed_placement_holds_its_ids_until_it_is_removed(
    table: FunctionPorts, interference: Interference, tenant: str
) -> None:
    interference.crash_after(1)
    with pytest.raises(Crash):
        table.directory.place(tenant, executor_of(tenant), hosted_functions("a"))
    interference.repair()
    assert list(table.directory.place(tenant, executor_of(tenant, "other"), hosted_functions("a"))) == ["a"]
    assert table.directory.remove(tenant, executor_of(tenant).arn)
    assert table.directory.place(tenant, executor_of(tenant, "other"), hosted_functions("a")) == []


def test_a_removal_that_crashes_is_completed_by_removing_again(
    table: FunctionPorts, interference: Interference, tenant: str
) -> None:
    executor, hosted = executor_of(tenant), many_functions(150)
    table.directory.place(tenant, executor, hosted)
    for _ in crash_at_each_transaction(interference, lambda: table.directory.remove(tenant, executor.arn)):
        assert executor in executors_in(table.directory)
    assert placed_names(table, tenant, names_of(hosted)) == set()
    assert executor not in executors_in(table.directory)


@pytest.fixture
def short_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few functions take many."""
    monkeypatch.setattr("signpost.adapters.dynamodb.directory.LONGEST_TRANSACTION", 4)


MOMENTS = range(7)
"""Before each transaction of a placement of six functions, three of them new, in place of six."""


@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_later_of_two_placements_of_one_executor_stands(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    table, others, interference = functions_with_interference(own_client)
    executor, first, second = executor_of(tenant), hosted_functions(*"abcdef"), hosted_functions(*"efgh")
    table.directory.place(tenant, executor, hosted_functions(*"xyzabc"))
    interference.meanwhile(moment, lambda: others.directory.place(tenant, executor, second))
    assert table.directory.place(tenant, executor, first) == []
    served = placed_names(table, tenant, list("abcdefghxyz"))
    assert served == ({*"efgh"} if moment else {*"abcdef"})
    free = sorted({*"abcdefghxyz"} - served)
    assert others.directory.place(tenant, executor_of(tenant, "next"), hosted_functions(*free)) == []


@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_executor_removed_during_its_placement_is_never_half_placed(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    table, others, interference = functions_with_interference(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosted_functions(*"xyzabc"))
    interference.meanwhile(moment, lambda: others.directory.remove(tenant, executor.arn))
    assert table.directory.place(tenant, executor, hosted_functions(*"abcdef")) == []
    served = placed_names(table, tenant, list("abcdefxyz"))
    assert served == (set() if moment else {*"abcdef"})
    assert (executor in executors_in(table.directory)) == bool(served)


@pytest.mark.invariant(33)
@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_id_is_never_placed_twice_by_concurrent_placements(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    table, others, interference = functions_with_interference(own_client)
    mine, other, answers = executor_of(tenant), executor_of(tenant, "other"), list[Sequence[str]]()
    table.directory.place(tenant, mine, hosted_functions(*"xyzabc"))
    interference.meanwhile(
        moment, lambda: answers.append(others.directory.place(tenant, other, hosted_functions(*"fg")))
    )
    answers.append(table.directory.place(tenant, mine, hosted_functions(*"abcdef")))
    assert sorted(map(list, answers)) == [[], ["f"]]
    placement = table.states.read(tenant, "f").own
    assert placement is not None
    won = placement.executor == other
    assert placed_names(table, tenant, list("abcdefgxyz")) == ({*"xyzabcfg"} if won else {*"abcdef"})


@pytest.mark.invariant(38)
@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_list_read_during_a_placement_has_a_revision_of_its_own(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    """A reader looks at the version first; what it read under it is good for as long as it stays."""
    table, others, interference = functions_with_interference(own_client)
    executor, seen = executor_of(tenant), list[tuple[int, list[str]]]()

    def look() -> None:
        version = others.revisions.read(tenant).placements
        seen.append((version, names_of(others.placed_functions.functions(tenant))))

    table.directory.place(tenant, executor, hosted_functions(*"xyzabc"))
    interference.meanwhile(moment, look)
    table.directory.place(tenant, executor, hosted_functions(*"abcdef"))
    look()
    assert seen[-1][1] == [*"abcdef"]
    listed = dict(seen)  # by version: two different lists under one would be found by nobody
    assert [listed[version] for version, _ in seen] == [names for _, names in seen]


@pytest.mark.usefixtures("short_transactions")
def test_a_list_read_before_a_crash_has_an_older_revision(own_client: "DynamoDBClient", tenant: str) -> None:
    table, others, interference = functions_with_interference(own_client)
    seen: list[tuple[int, list[str]]] = []

    def look() -> None:
        seen.append((others.revisions.read(tenant).placements, names_of(others.placed_functions.functions(tenant))))

    interference.meanwhile(2, look)
    interference.crash_after(3)
    with pytest.raises(Crash):
        table.directory.place(tenant, executor_of(tenant), hosted_functions(*"abcdef"))
    look()
    (early, half), (late, more) = seen
    assert (half, more) == ([*"ab"], [*"abcd"])
    assert late > early


@pytest.mark.invariant(131)
@pytest.mark.usefixtures("short_transactions")
def test_an_interrupted_placement_tells_of_every_skill_once_it_is_completed(
    own_client: "DynamoDBClient", tenant: str
) -> None:
    table, _, interference = functions_with_interference(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosted_functions(*"xyzabc"))
    first = list(table.list_events(tenant))
    crashed = 0
    for _ in crash_at_each_transaction(
        interference, lambda: table.directory.place(tenant, executor, hosted_functions(*"abcdef"))
    ):
        crashed += 1
        assert list(table.list_events(tenant)) == first
    assert crashed >= 4
    told = [(event.op, event.key) for event in table.list_events(tenant)[len(first) :]]
    assert told == [
        (op, name) for op, names in (("reload", "abc"), ("load", "def"), ("unload", "xyz")) for name in names
    ]


@pytest.mark.invariant(131)
@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_events_of_concurrent_placements_lead_from_the_former_skills_to_the_latest(
    own_client: "DynamoDBClient", tenant: str, moment: int
) -> None:
    table, others, interference = functions_with_interference(own_client)
    executor = executor_of(tenant)
    table.directory.place(tenant, executor, hosted_functions(*"xyzabc"))
    interference.meanwhile(moment, lambda: others.directory.place(tenant, executor, hosted_functions(*"efgh")))
    table.directory.place(tenant, executor, hosted_functions(*"abcdef"))
    known: set[str] = set()
    for event in table.list_events(tenant):
        known = known - {event.key} if event.op == "unload" else known | {event.key}
    assert known == placed_names(table, tenant, list("abcdefghxyz"))


def test_the_events_of_a_large_placement_take_several_rows(
    table: FunctionPorts, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.adapters.dynamodb.placement_notices.LONGEST_NOTICES", 50)
    table.directory.place(tenant, executor_of(tenant), hosted_functions(*"abcdefghij"))
    assert [event.key for event in table.list_events(tenant)] == [*"abcdefghij"]
    assert {event.sequence for event in table.list_events(tenant)} == {1}


def test_rows_of_an_earlier_release_are_read_without_newer_attributes(
    own_client: "DynamoDBClient", table: FunctionPorts, tenant: str
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
    assert list(table.placed_functions.functions(tenant)) == [old]
    placement = table.states.read(tenant, "a").own
    assert placement is not None
    assert placement.hosted == old


def test_a_list_is_revalidated_by_one_call(table: FunctionPorts, interference: Interference, tenant: str) -> None:
    place_and_configure(table, tenant)
    interference.calls.clear()
    assert table.revisions.read(tenant).placements
    assert interference.calls == ["BatchGetItem"]


def test_a_placement_overtaken_at_each_attempt_is_unavailable(own_client: "DynamoDBClient", tenant: str) -> None:
    table, others, interference = functions_with_interference(own_client)
    for number in range(20):  # each call that takes ids meets somebody who just took others
        name = f"other-{number}"
        interference.meanwhile(
            number, lambda name=name: others.directory.place(tenant, executor_of(tenant, name), hosted_functions(name))
        )
    with pytest.raises(Unavailable):
        table.directory.place(tenant, executor_of(tenant), hosted_functions("a"))
    assert placed_names(table, tenant, ["a"]) == set()


def test_a_directory_of_many_pages_is_read_to_its_end(
    table: FunctionPorts, interference: Interference, tenant: str
) -> None:
    interference.shorten_pages()
    executors = [executor_of(tenant, f"number-{number}") for number in range(4)]
    for executor in executors:
        assert table.directory.place(tenant, executor, hosted_functions(executor.arn[-8:])) == []
    assert [executor for executor in executors_in(table.directory) if tenant in executor.arn] == executors


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
def test_a_placement_is_retried_after_transaction_conflicts(
    table: FunctionPorts, interference: Interference, tenant: str, code: str
) -> None:
    interference.conflict(3, code)
    assert table.directory.place(tenant, executor_of(tenant), hosted_functions("a")) == []
    assert interference.calls.count("TransactWriteItems") == 3 + 3


def test_a_placement_with_lasting_conflicts_is_unavailable(
    table: FunctionPorts, interference: Interference, tenant: str
) -> None:
    interference.conflict(1_000, "TransactionConflict")
    with pytest.raises(Unavailable):
        table.directory.place(tenant, executor_of(tenant), hosted_functions("a"))
    assert placed_names(table, tenant, ["a"]) == set()


def place_and_configure(table: FunctionPorts, tenant: str) -> None:
    table.directory.place(tenant, executor_of(tenant), hosted_functions("a"))
    table.settings.set(tenant, "a", "breaker_failures", 5)
    table.settings.set(tenant, None, "breaker_failures", 6)


def test_a_function_is_read_in_one_call(table: FunctionPorts, interference: Interference, tenant: str) -> None:
    place_and_configure(table, tenant)
    interference.calls.clear()
    assert table.states.read(tenant, "a").own
    assert interference.calls == ["BatchGetItem"]


def test_unprocessed_keys_are_requested_again(table: FunctionPorts, interference: Interference, tenant: str) -> None:
    place_and_configure(table, tenant)
    whole = table.states.read(tenant, "a")
    interference.leave_unread(2)
    interference.calls.clear()
    assert table.states.read(tenant, "a") == whole
    assert interference.calls == ["BatchGetItem"] * 3


def test_keys_that_stay_unprocessed_make_a_read_unavailable(
    own_client: "DynamoDBClient", table: FunctionPorts, tenant: str
) -> None:
    def never(parsed: Any, context: Any, **_: Any) -> None:
        del context
        table_name = next(iter(parsed["Responses"]))
        parsed["UnprocessedKeys"] = {table_name: {"Keys": [{"pk": {"S": "a"}, "sk": {"S": "b"}}]}}

    own_client.meta.events.register(f"after-call.{READ}", never)
    with pytest.raises(Unavailable):
        table.states.read(tenant, "a")

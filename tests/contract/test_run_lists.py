"""The lists of runs and of open approval requests, as each store has to keep them."""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.dynamodb.run_lists import DynamoRunLists, build_run_rows
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.adapters.memory.run_lists import MemoryRunLists
from signpost.workflow.instance import ApprovalRequest, Instance, InstanceWrite
from signpost.workflow.ports import ListedRun, ListPage
from signpost.workflow.run_summary import HumanDecision, RunSummary, starter_key
from tests.contract.conftest import ENGINES, TABLE, build_text_store
from tests.support.effort import count_repetitions

NOW = 1_800_000_000.0
ANN, BOB = starter_key("issuer", "ann"), starter_key("issuer", "bob")
MANY = count_repetitions(2_000, 100_000)
ROWS_A_BATCH = 25


@dataclass(frozen=True, slots=True)
class Lists:
    instances: DynamoInstanceStore | MemoryInstanceStore
    lists: DynamoRunLists | MemoryRunLists
    tenant: str

    def start(self, name: str, at: float, by: str = "ann", **changes: Any) -> Instance:
        instance = Instance(
            id=f"wf_{name}",
            definition_id="demo",
            digest="d",
            state="open",
            version=1,
            context={},
            input={},
            started_at=at,
            started_by=by,
            starter_issuer="issuer",
            **changes,
        )
        assert self.instances.save(self.tenant, write_of(instance), replacing=None)
        return instance

    def move(self, before: Instance, state: str, closed_request_id: str | None = None) -> Instance:
        after = replace(before, state=state, version=before.version + 1)
        write = replace(write_of(after), closed_request_id=closed_request_id)
        assert self.instances.save(self.tenant, write, replacing=before.write_condition)
        return after

    def ids(self, starter: str | None = None, after: str = "", most: int = 100) -> Sequence[str]:
        page = self.lists.list_runs(self.tenant, starter, after=after, most=most)
        return [run.summary.workflow_id.removeprefix("wf_") for run in page.entries]

    def requests(self, after: str = "", most: int = 100) -> Sequence[str]:
        page = self.lists.list_requests(self.tenant, after=after, most=most)
        return [entry.approval.request.id for entry in page.entries]


def summary_of_instance(instance: Instance) -> RunSummary:
    return RunSummary(
        workflow_id=instance.id,
        definition_id=instance.definition_id,
        digest=instance.digest,
        title="A demo",
        state=instance.state,
        version=instance.version,
        started_at=instance.started_at,
        changed_at=NOW,
        started_by=instance.started_by,
        starter_issuer=instance.starter_issuer,
        waiting="agent",
        decisions=(HumanDecision("agree", [{"kind": "role", "role": "clerk"}]),),
    )


def write_of(instance: Instance) -> InstanceWrite:
    return InstanceWrite(instance, token=uuid.uuid4().hex, summary=summary_of_instance(instance))


@pytest.fixture(params=ENGINES)
def runs(request: pytest.FixtureRequest, dynamodb: Callable[[str], Any], tenant: str) -> Lists:
    if request.param == "memory":
        instances = MemoryInstanceStore()
        return Lists(instances, MemoryRunLists(instances), tenant)
    client = dynamodb(request.param)
    stored = DynamoInstanceStore(client, TABLE, build_text_store(request.param, request))
    return Lists(stored, DynamoRunLists(client, TABLE), tenant)


def test_runs_are_listed_newest_first_for_the_tenant_and_for_each_starter(runs: Lists) -> None:
    runs.start("first", NOW)
    runs.start("third", NOW + 2, by="bob")
    runs.start("second", NOW + 1)
    assert runs.ids() == ["third", "second", "first"]
    assert runs.ids(ANN) == ["second", "first"]
    assert runs.ids(BOB) == ["third"]
    assert runs.ids(starter_key("another", "ann")) == []
    assert runs.lists.list_runs("another", None, after="", most=9) == ListPage[ListedRun]([], is_last=True)


def test_a_listed_run_has_the_summary_of_the_last_write_at_its_old_place(runs: Lists) -> None:
    first = runs.start("first", NOW)
    runs.start("second", NOW + 1)
    moved = runs.move(first, "done")
    page = runs.lists.list_runs(runs.tenant, ANN, after="", most=9)
    assert [run.summary.state for run in page.entries] == ["open", "done"]
    assert page.entries[1].summary == summary_of_instance(moved)


def test_pages_go_on_behind_a_run_while_others_start_and_move(runs: Lists) -> None:
    started = [runs.start(f"{number}", NOW + number) for number in range(5)]
    page = runs.lists.list_runs(runs.tenant, None, after="", most=2)
    assert (len(page.entries), page.is_last) == (2, False)
    runs.start("new", NOW + 9)
    runs.move(started[4], "done")
    runs.move(started[0], "done")
    after = page.entries[-1].position
    assert runs.ids(after=after, most=2) == ["2", "1"]
    assert runs.ids(after=after) == ["2", "1", "0"]
    assert runs.ids(most=1) == ["new"]


def test_runs_of_one_moment_have_places_of_their_own(runs: Lists) -> None:
    for name in "bca":
        runs.start(name, NOW)
    seen: list[str] = []
    after = ""
    for _ in range(3):
        (entry,) = runs.lists.list_runs(runs.tenant, None, after=after, most=1).entries
        seen, after = [*seen, entry.summary.workflow_id], entry.position
    assert seen == ["wf_c", "wf_b", "wf_a"]
    assert runs.ids(after=after) == []


def test_a_write_that_is_refused_changes_no_list(runs: Lists) -> None:
    first = runs.start("first", NOW)
    runs.move(first, "done")
    late = replace(first, state="late", version=2)
    assert not runs.instances.save(runs.tenant, write_of(late), replacing=first.write_condition)
    page = runs.lists.list_runs(runs.tenant, None, after="", most=9)
    assert [run.summary.state for run in page.entries] == ["done"]


def test_a_write_without_a_summary_leaves_the_lists_as_they_are(runs: Lists) -> None:
    first = runs.start("first", NOW)
    after = replace(first, version=2, state="done")
    assert runs.instances.save(runs.tenant, InstanceWrite(after), replacing=first.write_condition)
    page = runs.lists.list_runs(runs.tenant, None, after="", most=9)
    assert [run.summary.state for run in page.entries] == ["open"]


def ask(name: str, at: float) -> ApprovalRequest:
    return ApprovalRequest(name, "office", "ann", at, state="open", shown=("draft",), digest="digest")


def test_open_requests_are_listed_with_the_summaries_of_their_runs(runs: Lists) -> None:
    first = runs.start("first", NOW, request=ask("hr_1", NOW))
    second = runs.start("second", NOW + 1, request=ask("hr_2", NOW + 1))
    page = runs.lists.list_requests(runs.tenant, after="", most=9)
    assert [entry.approval.request.id for entry in page.entries] == ["hr_2", "hr_1"]
    assert page.entries[0].summary == summary_of_instance(second)
    assert runs.requests(after=page.entries[0].position) == ["hr_1"]
    assert runs.requests(most=1) == ["hr_2"]
    found = runs.lists.find_request(runs.tenant, "hr_1")
    assert found is not None
    assert found.approval.workflow_id == first.id
    runs.move(replace(first, request=None), "done", closed_request_id="hr_1")
    assert runs.requests() == ["hr_2"]
    assert runs.lists.find_request(runs.tenant, "hr_1") is None


def test_no_part_of_an_id_finds_a_request(runs: Lists) -> None:
    runs.start("first", NOW, request=ask("hr_12", NOW))
    for name in ("hr_1", "hr_", "hr_123", "hr_0"):
        assert runs.lists.find_request(runs.tenant, name) is None
    assert runs.lists.find_request("another", "hr_12") is None


def test_a_request_of_an_earlier_release_has_no_summary(runs: Lists) -> None:
    instance = Instance("wf_old", "demo", "d", "open", 1, {}, {}, NOW, request=ask("hr_1", NOW))
    assert runs.instances.save(runs.tenant, InstanceWrite(instance), replacing=None)
    (entry,) = runs.lists.list_requests(runs.tenant, after="", most=9).entries
    assert (entry.approval.workflow_id, entry.summary) == ("wf_old", None)
    assert runs.ids() == []


@pytest.mark.invariant(139)
@pytest.mark.parametrize("engine", ENGINES[1:])
def test_a_page_of_many_runs_is_one_query_wherever_it_begins(
    engine: str, dynamodb: Callable[[str], Any], tenant: str
) -> None:
    client = dynamodb(engine)
    summaries = [
        replace(summary_of_instance(Instance(f"wf_{number:06}", "demo", "d", "open", 1, {}, {}, NOW + number)))
        for number in range(MANY)
    ]
    written = [{"PutRequest": {"Item": row}} for summary in summaries for row in build_run_rows(tenant, summary)[:1]]
    for start in range(0, len(written), ROWS_A_BATCH):
        unwritten = {TABLE: written[start : start + ROWS_A_BATCH]}
        while unwritten:
            unwritten = client.batch_write_item(RequestItems=unwritten)["UnprocessedItems"]
    calls = Counter[str]()
    counted: Any = CountingClient(client, calls)
    lists = DynamoRunLists(counted, TABLE)
    for last in (MANY, MANY // 2, 15):
        calls.clear()
        after = "" if last == MANY else keys.run_position(NOW + last, f"wf_{last:06}")
        page = lists.list_runs(tenant, None, after=after, most=10)
        expected = [f"wf_{number:06}" for number in range(last - 1, last - 11, -1)]
        assert [run.summary.workflow_id for run in page.entries] == expected
        assert calls == {"query": 1}


class CountingClient:
    """Counts the requests to a table."""

    def __init__(self, client: Any, calls: Counter[str]) -> None:
        self._client = client
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(**arguments: Any) -> Any:
            self._calls[name] += 1
            return method(**arguments)

        call.__name__ = name
        return call


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_lists_of_runs_are_rows_of_their_own_beside_the_instance(
    engine: str, request: pytest.FixtureRequest, dynamodb: Callable[[str], Any], tenant: str
) -> None:
    client = dynamodb(engine)
    store = DynamoInstanceStore(client, TABLE, build_text_store(engine, request))
    Lists(store, DynamoRunLists(client, TABLE), tenant).start("first", NOW)
    position = keys.run_position(NOW, "wf_first")
    for starter in (None, ANN):
        row = rows.get(client, TABLE, keys.listed_run(tenant, starter, position))
        assert row is not None
        assert row["schema"] == {"N": "1"}

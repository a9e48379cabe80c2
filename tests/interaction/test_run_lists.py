"""gateway.search with the kinds `run` and `approval`: an agent finds its runs, a person what waits for a decision."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.model import JsonObject, Principal
from signpost.workflow.instance import Instance, InstanceWrite, WriteCondition
from signpost.workflow.running import run_finder
from tests.support.gateway_workflows import TENANT, GatewayWorkflows
from tests.support.guest_gateway import GuestGateway
from tests.support.imports import imported_by

FINANCE: JsonObject = {"kind": "role", "role": "finance"}
ASK: JsonObject = {"target": "asked", "executor": {"kind": "human", "queue": "office"}}
ANSWERS: JsonObject = {
    "grant": {"target": "granted", "actor": "human", "decision": "approve", "guards": [FINANCE]},
    "refuse": {"target": "wanted", "actor": "human", "decision": "reject", "guards": [FINANCE]},
}
EXPENSE: JsonObject = {
    "title": "Approve an expense",
    "initialState": "wanted",
    "states": {
        "wanted": {"transitions": {"ask": ASK}},
        "asked": {"transitions": ANSWERS},
        "granted": {"terminal": True},
    },
}
CLOSE: JsonObject = {"open": {"transitions": {"close": {"target": "closed"}}}, "closed": {"terminal": True}}
CALLERS = {
    "agent": Principal("agent-1", TENANT, "t"),
    "other": Principal("agent-2", TENANT, "t"),
    "fay": Principal("fay", TENANT, "t", frozenset({"finance"}), human=True),
    "ann": Principal("ann", TENANT, "t", human=True),
    "robot": Principal("robot", TENANT, "t", frozenset({"finance"})),
}


class RunLister:
    """A tenant with workflows, whose callers list runs."""

    def __init__(self) -> None:
        self.world = GatewayWorkflows(CALLERS)
        self.world.publish("expense", EXPENSE)
        self.world.publish("ticket", {"title": "Close a ticket", "initialState": "open", "states": CLOSE})

    def start(self, definition: str = "ticket", who: str = "agent", **workflow_input: Any) -> str:
        """Start a run a second after the one before."""
        self.world.clock.advance(1)
        started = self.world.call("workflow.start", {"definitionId": definition, "input": workflow_input}, who)
        return started["workflowId"]

    def submit(self, run: str, transition: str, who: str = "agent") -> Any:
        seen = self.world.call("workflow.get", {"workflowId": run}, who)
        (link,) = [link for link in seen["links"] if link["args"].get("transition") == transition]
        return self.world.call("workflow.submit", link["args"], who)

    def start_request(self, who: str = "agent") -> str:
        run = self.start("expense", who)
        self.submit(run, "ask", who)
        return run

    def search(self, who: str = "agent", kind: str = "run", **arguments: Any) -> Any:
        return self.world.call("gateway.search", {"kind": kind, **arguments}, who)

    def ids(self, who: str = "agent", **arguments: Any) -> Sequence[str]:
        return [result["item"]["id"] for result in self.search(who, **arguments)["results"]]

    def approvals(self, who: str) -> Sequence[str]:
        results = self.search(who, "approval")["results"]
        return [result["item"]["workflowId"] for result in results]

    def pages(self, who: str, **arguments: Any) -> Sequence[Sequence[str]]:
        """The ids of all pages, following the `next` links."""
        pages: list[Sequence[str]] = []
        answer = self.search(who, **arguments)
        while True:
            pages.append([result["item"]["id"] for result in answer["results"]])
            if "links" not in answer:
                return pages
            (link,) = answer["links"]
            assert link["args"]["cursor"] == answer["nextCursor"]
            answer = self.world.call(link["method"], link["args"], who)


@pytest.fixture
def lister() -> RunLister:
    return RunLister()


@pytest.mark.invariant(140)
def test_an_agent_that_lost_its_context_finds_its_run_and_goes_on(lister: RunLister) -> None:
    lister.start("expense")
    run = lister.start("ticket")
    lister.start("ticket", "other")
    (entry,) = lister.search(mine=True, query="the ticket that I was working on")["results"]
    assert entry["item"] == {
        "id": run,
        "kind": "run",
        "title": "Close a ticket",
        "description": "In state open, changed at 2027-01-15T08:00:02Z. Waits for the next transition.",
        "tags": [],
        "definitionId": "ticket",
        "state": "open",
        "version": 1,
        "startedAt": "2027-01-15T08:00:02Z",
        "changedAt": "2027-01-15T08:00:02Z",
        "waitingFor": "agent",
        "mine": True,
        "links": [{"rel": "self", "method": "workflow.get", "args": {"workflowId": run}}],
    }
    (link,) = entry["item"]["links"]
    move, _cancel = lister.world.call(link["method"], link["args"], "agent")["links"]
    assert lister.world.call(move["method"], move["args"], "agent")["terminal"] is True
    (closed,) = lister.search(mine=True, definition="ticket")["results"]
    assert closed["item"]["description"] == "In state closed, changed at 2027-01-15T08:00:03Z. It has ended."
    assert closed["item"]["terminal"] is True


@pytest.mark.invariant(140)
def test_a_second_person_finds_the_request_that_waits_for_them_and_decides(lister: RunLister) -> None:
    run = lister.start_request()
    assert [lister.approvals(who) for who in ("agent", "fay")] == [[run], [run]]
    assert [lister.approvals(who) for who in ("other", "ann", "robot")] == [[], [], []]
    (entry,) = lister.search("fay", "approval")["results"]
    item = entry["item"]
    assert item["id"].startswith("hr_")
    assert item["description"] == (
        "agent-1 asked for approval at 2027-01-15T08:00:01Z in the queue office. The run is in state asked. "
        "A person answers by grant or refuse."
    )
    assert (item["title"], item["decisions"], item["queue"]) == ("Approve an expense", ["grant", "refuse"], "office")
    (link,) = item["links"]
    seen = lister.world.call(link["method"], link["args"], "fay")
    assert seen["approval"]["requestId"] == item["id"]
    assert lister.submit(run, "grant", "fay")["state"] == "granted"
    assert [lister.approvals(who) for who in ("agent", "fay")] == [[], []]


def test_requests_are_listed_newest_first_page_by_page(lister: RunLister) -> None:
    asked = [lister.start_request() for _ in range(5)]
    pages = lister.pages("fay", kind="approval", limit=2)
    assert [len(page) for page in pages] == [2, 2, 1]
    runs = [lister.world.call("gateway.describe", {"id": name}, "fay")["workflowId"] for page in pages for name in page]
    assert runs == asked[::-1]


def test_runs_are_listed_newest_first_and_narrowed_by_each_filter(lister: RunLister) -> None:
    ticket, expense, done = lister.start(), lister.start_request(), lister.start(who="other")
    lister.submit(done, "close", "other")
    assert lister.ids() == [done, expense, ticket]
    assert lister.ids(query="") == [done, expense, ticket]
    assert lister.ids(state="closed") == [done]
    assert lister.ids(definition="ticket") == [done, ticket]
    assert lister.ids(waiting="human") == [expense]
    assert lister.ids(waiting="agent") == [ticket]
    assert lister.ids(fault=True) == []
    assert lister.ids(fault=False, state="open") == [ticket]
    assert lister.ids(mine=True) == [expense, ticket]
    assert lister.ids(mine=False) == [done, expense, ticket]
    assert lister.ids(query="expense") == [expense]
    assert lister.ids(query="asked") == [expense]
    assert lister.ids(query=done) == [done]
    assert lister.ids(query="nothing") == []
    assert lister.ids(kind="approval", state="asked", definition="expense") == lister.ids(kind="approval")
    assert lister.ids(kind="approval", definition="ticket") == []


def test_a_fault_is_found(lister: RunLister) -> None:
    failing: JsonObject = {"kind": "unknown"}
    states: JsonObject = {
        "open": {"transitions": {"go": {"target": "broken"}}},
        "broken": {"transitions": {"on": {"target": "end", "actor": "deterministic", "executor": failing}}},
        "end": {"terminal": True},
    }
    lister.world.publish("broken", {"initialState": "open", "states": states})
    run = lister.start("broken")
    lister.start()
    lister.submit(run, "go")
    assert lister.ids(fault=True) == [run]
    (entry,) = lister.search(fault=True)["results"]
    assert entry["item"]["fault"] == "CHAIN_FAILED"
    assert "Its last step failed (CHAIN_FAILED)." in entry["item"]["description"]


@pytest.mark.invariant(139)
def test_pages_stay_in_order_while_runs_start_and_move(lister: RunLister) -> None:
    runs = [lister.start() for _ in range(25)]
    first = lister.search(limit=10)
    assert [result["item"]["id"] for result in first["results"]] == runs[:14:-1]
    lister.start()
    lister.submit(runs[20], "close")
    lister.submit(runs[3], "close")
    (link,) = first["links"]
    second = lister.world.call(link["method"], link["args"], "agent")
    assert [result["item"]["id"] for result in second["results"]] == runs[14:4:-1]
    (link,) = second["links"]
    third = lister.world.call(link["method"], link["args"], "agent")
    assert [result["item"]["id"] for result in third["results"]] == runs[4::-1]
    assert third["results"][1]["item"]["state"] == "closed"
    assert "links" not in third


def test_a_page_may_be_shorter_than_its_limit_and_the_next_goes_on(lister: RunLister) -> None:
    wanted = lister.start("expense")
    for _ in range(510):
        lister.start()
    pages = lister.pages("agent", definition="expense")
    assert pages == [[], [wanted]]


@pytest.mark.invariant(138)
def test_a_cursor_names_no_run_that_the_caller_may_not_see(lister: RunLister, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last places that the page looked at are those of hidden runs and requests."""
    monkeypatch.setattr(run_finder, "MOST_ROWS", 4)
    lister.world.publish("private", {**EXPENSE, "readers": [FINANCE]})
    hidden = [lister.start("private", "fay") for _ in range(5)]
    for run in hidden:
        lister.submit(run, "ask", "fay")
    requests = [
        lister.world.call("workflow.get", {"workflowId": run}, "fay")["approval"]["requestId"] for run in hidden
    ]
    for kind in ("run", "approval"):
        page = lister.search("agent", kind, state="asked")
        assert page["results"] == []
        seen = b"".join(map(decode, page["nextCursor"].split(".")))
        assert not any(name.encode() in seen for name in [*hidden, *requests])
        assert lister.search("agent", kind, state="asked", cursor=page["nextCursor"]) == {"results": []}


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class CountedLists:
    """Counts the pages that are read from the lists."""

    def __init__(self, lister: RunLister, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0
        for name in ("run_summaries", "open_requests", "load"):
            self._count(monkeypatch, name)
        self.lister = lister

    def _count(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        read = getattr(MemoryInstanceStore, name)

        def count(*arguments: Any, **named: Any) -> Any:
            self.reads += 1
            return read(*arguments, **named)

        monkeypatch.setattr(MemoryInstanceStore, name, count)


def test_a_page_reads_one_list_and_no_run(lister: RunLister, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(12):
        lister.start_request()
    counted = CountedLists(lister, monkeypatch)
    for kind in ("run", "approval"):
        counted.reads = 0
        assert len(lister.ids("fay", kind=kind)) == 10
        assert counted.reads == 1


READERS: Sequence[JsonObject] = (
    FINANCE,
    {"kind": "expr", "expr": "$.workflow.input.open == true"},
    {"kind": "any_of", "guards": [FINANCE, {"kind": "expr", "expr": "$.context.open == true"}]},
    {"kind": "evidence", "requires": ["never"]},
    {"kind": "unknown"},
)


@pytest.mark.invariant(138)
@pytest.mark.parametrize("reader", READERS, ids=("role", "input", "context", "evidence", "unknown"))
def test_lists_show_exactly_the_runs_that_get_shows(lister: RunLister, reader: JsonObject) -> None:
    opened: JsonObject = {
        "open": {"transitions": {"reveal": {"target": "shown", "output": {"open": "$.arguments.open"}}}}
    }
    lister.world.publish(
        "private", {"initialState": "open", "readers": [reader], "states": {**opened, "shown": {"terminal": True}}}
    )
    runs = [lister.start("private", open=value) for value in (True, False)]
    for who in CALLERS:
        visible = [
            run for run in runs[::-1] if "error" not in lister.world.call("workflow.get", {"workflowId": run}, who)
        ]
        assert lister.ids(who) == visible
        assert lister.ids(who, definition="private", query="private open") == visible
        for run in runs:
            described = lister.world.call("gateway.describe", {"id": run}, who)
            assert ("error" in described) == (run not in visible)


@pytest.mark.invariant(138)
def test_a_value_that_opens_a_run_to_others_opens_its_entry_with_the_same_step(lister: RunLister) -> None:
    moves: JsonObject = {"set": {"target": "open", "output": {"open": "$.arguments.open"}, "inputSchema": {}}}
    readers = [{"kind": "any_of", "guards": [FINANCE, {"kind": "expr", "expr": "$.context.open == true"}]}]
    lister.world.publish(
        "private", {"initialState": "open", "readers": readers, "states": {"open": {"transitions": moves}}}
    )
    run = lister.start("private", "fay")
    for version, is_open in ((1, True), (2, False)):
        asked = {"workflowId": run, "expectedVersion": version, "transition": "set", "arguments": {"open": is_open}}
        lister.world.call("workflow.submit", asked, "fay")
        assert lister.ids("other") == ([run] if is_open else [])
        assert lister.ids("fay") == [run]


@pytest.mark.invariant(138)
def test_the_request_of_a_hidden_run_is_not_listed(lister: RunLister) -> None:
    lister.world.publish("expense", {**EXPENSE, "readers": [{"kind": "role", "role": "chief"}]})
    instances = lister.world.instances
    lister.start("expense")
    hidden = Instance("wf_h", "expense", "d", "asked", 1, {}, {}, lister.world.clock.now())
    assert instances.save(TENANT, InstanceWrite(hidden), replacing=None)
    assert [lister.ids(who, kind=kind) for who in CALLERS for kind in ("run", "approval")] == [[]] * 10


@pytest.mark.invariant(138)
def test_long_calls_are_listed_for_their_caller_only(lister: RunLister) -> None:
    run = lister.world.start_long_call("yard::build", "agent")
    (entry,) = lister.search()["results"]
    item = entry["item"]
    assert (item["id"], item["title"], item["capability"]) == (run, "yard::build", "yard::build")
    assert (item["definitionId"], item["waitingFor"]) == ("proxy_default", "executor")
    assert lister.ids("other") == []
    assert lister.ids(query="build") == [run]
    assert lister.ids(definition="yard::build") == [run]


def test_a_run_of_a_capability_has_the_title_of_the_capability() -> None:
    world = GatewayWorkflows(CALLERS)
    exposed = {"name": "github.list_issues", "title": "List GitHub issues", "executor": {"kind": "noop"}}
    world.publish_manifest({"version": 1, "proxy": {"expose": [exposed]}})
    started = world.call("workflow.start", {"input": {"capability": "github.list_issues"}}, "agent")
    (entry,) = world.call("gateway.search", {"kind": "run"}, "agent")["results"]
    assert (entry["item"]["id"], entry["item"]["title"]) == (started["workflowId"], "List GitHub issues")
    assert entry["item"]["capability"] == "github.list_issues"


@pytest.mark.invariant(138)
@pytest.mark.parametrize("start", [{"definitionId": "break_in"}, {"input": {"capability": "vault.read"}}])
def test_runs_of_denied_items_are_listed_for_their_starter_only(start: Mapping[str, Any]) -> None:
    world = GuestGateway(with_vault=True)
    world.log_in_as("owner", "staff")
    run = world.call("workflow.start", **start)["result"]["structuredContent"]["workflowId"]

    def list_ids() -> Sequence[str]:
        results = world.call("gateway.search", kind="run")["result"]["structuredContent"]["results"]
        return [result["item"]["id"] for result in results]

    world.log_in_as("guest")
    assert list_ids() == [run]
    world.publish_policies({"no": {"kind": "deny", "who": ["*"], "what": ["break_in", "vault.read"]}})
    world.gateway.clock.advance(2)
    assert list_ids() == []
    assert "error" in world.call("gateway.describe", id=run)["result"]["structuredContent"]
    world.log_in_as("owner", "staff")
    assert list_ids() == [run]


@pytest.mark.invariant(138)
def test_runs_of_a_denied_workflow_stay_hidden_when_it_is_switched_off() -> None:
    """The rule names the workflow by its tool, which a workflow that cannot be started does not have."""
    world = GuestGateway(with_vault=True)
    world.log_in_as("owner", "staff")
    world.call("workflow.start", definitionId="break_in")
    deny = {"kind": "deny", "who": ["role:guest"], "what": ["workflow:Break In"]}
    world.publish_policies({"no": deny})
    world.log_in_as("guest", "guest")
    for switched_on in (True, False):
        world.call_registry("switch", {"id": "break_in", "enabled": switched_on})
        world.gateway.clock.advance(2)
        assert world.call("gateway.search", kind="run")["result"]["structuredContent"]["results"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"state": "open"}, "`state` is for the kind run or approval."),
        ({"kind": "workflow", "cursor": "x"}, "`cursor` is for the kind run or approval."),
        ({"kind": "capability", "mine": True}, "`mine` is for the kind run."),
        ({"kind": "approval", "waiting": "human"}, "`waiting` is for the kind run, not for approval."),
        ({"kind": "approval", "fault": True}, "`fault` is for the kind run, not for approval."),
        ({"kind": "approval", "mine": True}, "`mine` is for the kind run, not for approval."),
        ({"kind": "run", "cursor": "made up"}, "This cursor is not valid for you and this kind."),
    ],
)
def test_an_argument_of_another_kind_is_refused_with_the_kinds_that_have_it(
    lister: RunLister, arguments: Mapping[str, Any], says: str
) -> None:
    answer = lister.world.call("gateway.search", arguments, "agent")
    assert answer["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert says in answer["error"]["message"]
    links = [(link["rel"], link["args"]) for link in answer["links"]]
    assert links[:2] == [("runs", {"query": "", "kind": "run"}), ("requests", {"query": "", "kind": "approval"})]


@pytest.mark.invariant(10)
def test_a_cursor_is_valid_for_its_caller_and_its_kind_only(lister: RunLister) -> None:
    for _ in range(3):
        lister.start_request()
    cursor = lister.search(limit=2)["nextCursor"]
    assert len(lister.ids(limit=2, cursor=cursor)) == 1
    assert "error" in lister.search("other", limit=2, cursor=cursor)
    assert "error" in lister.search("agent", "approval", limit=2, cursor=cursor)


def test_ids_of_runs_and_requests_are_described_with_the_link_to_the_run(lister: RunLister) -> None:
    run = lister.start_request()
    (request,) = lister.ids("fay", kind="approval")
    self_link = {"rel": "self", "method": "workflow.get", "args": {"workflowId": run}}
    for name, kind in ((run, "run"), (request, "approval")):
        described = lister.world.call("gateway.describe", {"id": name}, "fay")
        assert (described["id"], described["kind"], described["links"]) == (name, kind, [self_link])
    for missing in ("wf_none", "hr_", request[:-1], "wf_" + "x" * 99, f"{run}#", "hr_" + "ä" * 600):
        answer = lister.world.call("gateway.describe", {"id": missing}, "fay")
        assert answer["error"]["code"] == "NOT_FOUND", missing


def test_a_request_of_an_earlier_release_is_found_by_reading_its_run(lister: RunLister) -> None:
    run = lister.start_request()
    stored = lister.world.instances.load(TENANT, run)
    assert stored is not None
    # An earlier release writes the same rows without summaries.
    write = InstanceWrite(stored, closed_request_id=stored.request.id if stored.request else None)
    condition = WriteCondition(stored.version, None, stored.releases)
    assert lister.world.instances.save(TENANT, write, replacing=condition)
    assert lister.world.instances.save(TENANT, InstanceWrite(stored), replacing=condition)
    assert lister.approvals("fay") == [run]
    assert lister.approvals("ann") == []


def test_a_search_of_the_catalogue_does_not_import_the_search_of_runs() -> None:
    searching = (
        "from tests.support.memory_gateway import MemoryGateway\n"
        "answer = MemoryGateway().request('tools/call', {'name': 'gateway.search', 'arguments': {'query': 'x'}})\n"
        "assert answer.json['result']['structuredContent'] == {'results': []}, answer.text"
    )
    late = {"signpost.surfaces.gateway.run_search", "signpost.workflow.running.run_finder", "signpost.wiring.run_lists"}
    discovery = "signpost.surfaces.gateway.discovery"
    assert imported_by(searching, {discovery, *late}) == {discovery}

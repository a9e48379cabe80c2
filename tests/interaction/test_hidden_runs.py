"""Runs that `readers` hide: reading one needs no definition, as reading one that does not exist."""

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.model import Json, JsonObject, Principal
from signpost.workflow.running.serialization import LONGEST_READERS, head_of, head_text
from signpost.workflow.running.service import StartRequest
from tests.support.memory_workflows import TENANT, MemoryWorkflows

CLERK = Principal("clara", TENANT, "issuer", roles=frozenset({"clerk"}))
GUEST = Principal("gus", TENANT, "issuer")
ROLE: JsonObject = {"kind": "role", "role": "clerk"}
LONG_ROLE: JsonObject = {"kind": "role", "role": "c" * LONGEST_READERS}
OPEN_INPUT: JsonObject = {"kind": "expr", "expr": "$.input.open == true"}
STATES: JsonObject = {"open": {"transitions": {"close": {"target": "closed"}}}, "closed": {"terminal": True}}


def start_run(instances: MemoryInstanceStore, *readers: Json) -> tuple[MemoryWorkflows, str]:
    shop = MemoryWorkflows(instances=instances)
    shop.publish("private", {"initialState": "open", "states": STATES, "readers": list(readers)})
    started = shop.start(CLERK, StartRequest("private", {"open": False}, workflow_id="wf_1"))
    return shop, str(started["workflowId"])


@pytest.mark.invariant(103)
@pytest.mark.parametrize(
    "reader",
    [
        ROLE,
        OPEN_INPUT,
        {"kind": "all_of", "guards": [ROLE, OPEN_INPUT]},
        {"kind": "not", "guard": {"kind": "not", "guard": ROLE}},
        {"kind": "unknown"},
    ],
    ids=("role", "input", "all_of", "not", "unknown"),
)
def test_a_hidden_run_is_refused_like_a_missing_one_without_its_definition(reader: JsonObject) -> None:
    instances = MemoryInstanceStore()
    _, hidden = start_run(instances, reader)
    without_definitions = MemoryWorkflows(instances=instances)
    for of_run in (hidden, "wf_2"):
        seen = without_definitions.get(of_run, GUEST)
        moved = without_definitions.submit(of_run, "close", GUEST, version=1)
        assert seen == moved
        assert seen["error"] == {"code": "NOT_FOUND", "message": f"There is no workflow {of_run} that you may see."}


def test_readers_are_decided_on_the_head_where_they_ask_about_the_principal() -> None:
    instances = MemoryInstanceStore()
    shop, run = start_run(instances, ROLE, OPEN_INPUT)
    head = head_of(run, head_text(shop.load_instance(run)))
    assert (head.context, head.input, head.readers) == ({}, {}, [ROLE, OPEN_INPUT])


@pytest.mark.parametrize("reader", [ROLE, LONG_ROLE], ids=("kept", "too long to be kept"))
def test_readers_hold_whether_the_run_keeps_them_or_not(reader: JsonObject) -> None:
    shop, run = start_run(MemoryInstanceStore(), reader)
    assert (shop.load_instance(run).readers is None) == (reader is LONG_ROLE)
    reads = Principal("rita", TENANT, "issuer", roles=frozenset({str(reader["role"])}))
    assert shop.get(run, GUEST)["error"]["code"] == "NOT_FOUND"
    assert shop.get(run, reads)["state"] == "open"
    assert shop.submit(run, "close", reads)["state"] == "closed"
    assert shop.get(run, GUEST)["error"]["code"] == "NOT_FOUND"


def test_a_workflow_without_readers_keeps_none() -> None:
    shop, run = start_run(MemoryInstanceStore())
    assert shop.load_instance(run).readers is None
    assert "readers" not in head_text(shop.load_instance(run))
    assert shop.get(run, GUEST)["state"] == "open"

"""What eight clients see of a few workflows that all of them drive, while the table fails and connections break: some
order of what they asked explains every answer."""

import json
import random
import uuid
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Any

import pytest

from stage.faults import FAULTS_HEADER, LOST_ANSWER, LOST_REQUEST
from tests.support.deployed_workflows import DeployedWorkflows, deploy_workflows, run_concurrently
from tests.support.effort import count_repetitions
from tests.support.executors import SHORT_LEASE_MARGIN_MS
from tests.support.histories import History, Operation, find_violations
from tests.support.laptop import Laptop
from tests.support.line_output import ShowLine
from tests.support.memory_gateway import build_modern_request

pytestmark = pytest.mark.cloud

CLIENTS, OPERATIONS, WORKFLOWS = 8, count_repetitions(400, proof=1_000), 6
ACCEPTED, STALE, LOST = OPERATIONS // 20, OPERATIONS // 20, OPERATIONS // 50
"""Submits and answers that there are at least, so that there is something to explain."""
UNAVAILABLE = "503"
SWEEP_EVERY = 40
"""Operations of a client; what somebody has begun and did not end is gone on with."""
COUNT: Mapping[str, Any] = {"kind": "function", "function": "trials::show", "arguments": {}, "idempotent": True}
MARK_OUTPUT = {"output": {"by": "$.arguments.by"}}
VERSION_COUNTS = {"move": 1, "run": 1, "chain": 2, "long": 2}
"""Transitions, and by how many versions each leads on."""
MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "workflows": {
        "shared": {
            "initialState": "open",
            "states": {
                "open": {
                    "transitions": {
                        "move": {"target": "open", **MARK_OUTPUT},
                        "run": {
                            "target": "open",
                            "executor": COUNT,
                            "reliability": {"timeoutMs": 5_000},
                            **MARK_OUTPUT,
                        },
                        "chain": {"target": "passing", **MARK_OUTPUT},
                        "long": {"target": "running", **MARK_OUTPUT},
                    }
                },
                "passing": {"transitions": {"on": {"actor": "deterministic", "target": "open"}}},
                "running": {
                    "transitions": {
                        "on": {
                            "actor": "deterministic",
                            "target": "open",
                            "executor": COUNT,
                            "reliability": {"timeoutMs": 5_000},
                        }
                    }
                },
            },
        }
    },
}


@pytest.fixture(scope="module")
def workflows(laptop: Laptop) -> DeployedWorkflows:
    return deploy_workflows(laptop, "histories", MANIFEST, LeaseMarginMs=SHORT_LEASE_MARGIN_MS)


class RandomClient:
    """Goes by what it saw last, which is often not where the workflow stands."""

    def __init__(self, number: int, workflows: DeployedWorkflows, history: History, run: str) -> None:
        self._workflows = workflows
        self._history = history
        self._run = run
        self._chance = random.Random(number)  # noqa: S311 - no secret
        self._known: dict[str, int] = {}
        """The version that each workflow had when it was last seen."""
        self.faults: Counter[str] = Counter()
        """Which of them answers told of."""
        self.unseen: Counter[str] = Counter()
        """What answers were that did not show where a workflow stands: a status, or the code of an error."""

    def run_operations(self, operations: int) -> None:
        for number in range(operations):
            if number % SWEEP_EVERY == SWEEP_EVERY - 1:
                self._workflows.sweep()
            done = self._run_operation()
            if done.observed is not None:
                self._known[done.workflow_id] = done.observed.version

    def _run_operation(self) -> Operation:
        kind = self._chance.choices(("start", "get", "submit"), (1, 3, 8))[0]
        if kind == "start" or not self._known:
            return self._start()
        workflow_id = self._chance.choice(sorted(self._known))
        return self._get(workflow_id) if kind == "get" else self._submit(workflow_id)

    def _start(self) -> Operation:
        token = f"{self._run}-{self._chance.randrange(WORKFLOWS)}"
        asked = Operation("start", 0, 0, mark=token)
        return self._record(asked, "workflow.start", definitionId="shared", clientToken=token)

    def _get(self, workflow_id: str) -> Operation:
        return self._record(Operation("get", 0, 0, workflow_id), "workflow.get", workflowId=workflow_id)

    def _submit(self, workflow_id: str) -> Operation:
        transition, mark, expected = (
            self._chance.choice(sorted(VERSION_COUNTS)),
            uuid.uuid4().hex,
            self._known[workflow_id],
        )
        asked = Operation(
            "submit", 0, 0, workflow_id, expected_version=expected, version_count=VERSION_COUNTS[transition], mark=mark
        )
        arguments = {"expectedVersion": expected, "transition": transition, "arguments": {"by": mark}}
        return self._record(asked, "workflow.submit", workflowId=workflow_id, **arguments)

    def _record(self, asked: Operation, tool: str, **arguments: Any) -> Operation:
        hangs_up, seed = self._chance.random() < 0.05, str(self._chance.random())
        return self._history.record(asked, lambda: self._send(tool, arguments, seed, hangs_up=hangs_up))

    def _send(self, tool: str, arguments: Mapping[str, Any], seed: str, *, hangs_up: bool) -> Any:
        """None if it never came, whoever is to blame."""
        message, headers = build_modern_request("tools/call", {"name": tool, "arguments": dict(arguments)})
        sent = {**headers, "authorization": f"Bearer {self._workflows.key}", FAULTS_HEADER: seed}
        with closing(HTTPConnection("127.0.0.1", self._workflows.stack.port, timeout=40)) as connection:
            try:
                connection.request("POST", "/mcp", json.dumps(message).encode(), sent)
                if hangs_up:
                    return None
                response = connection.getresponse()
                text = response.read()
            except (OSError, HTTPException):
                return None
        self.faults.update(fault for fault in response.headers.get(FAULTS_HEADER, "").split(", ") if fault)
        return (
            self._read_state(json.loads(text)["result"])
            if response.status == 200
            else self._count_unseen(response.status)
        )

    def _read_state(self, result: Any) -> Any:
        seen = result["structuredContent"]
        return seen if "version" in seen else self._count_unseen(seen["error"]["code"])

    def _count_unseen(self, why: object) -> None:
        self.unseen[str(why)] += 1


@pytest.mark.invariant(57)
def test_some_order_explains_all_concurrent_answers_despite_faults(
    workflows: DeployedWorkflows, show_line: ShowLine
) -> None:
    history, run = History(), uuid.uuid4().hex
    clients = [RandomClient(number, workflows, history, run) for number in range(CLIENTS)]
    run_concurrently(lambda client: client.run_operations(OPERATIONS // CLIENTS), clients, CLIENTS)
    assert len(history.operations) == OPERATIONS
    assert find_violations(history.operations) == []
    submits = Counter(describe_outcome(one) for one in history.operations if one.kind == "submit")
    faults = sum((client.faults for client in clients), Counter[str]())
    lost = sum(one.observed is None for one in history.operations)
    unseen = sum((client.unseen for client in clients), Counter[str]())
    show_line(
        f"{OPERATIONS} operations, of {lost} of which the answer was lost or said nothing {dict(unseen)}: "
        f"{dict(Counter(one.kind for one in history.operations))}; submits {dict(submits)}; "
        f"versions {sorted(_find_newest_versions(history).values())}; faults {dict(faults)}"
    )
    assert submits["accepted"] >= ACCEPTED
    assert submits["STALE_WORKFLOW_VERSION"] >= STALE
    assert lost >= LOST
    assert unseen.keys() <= {UNAVAILABLE, "STALE_WORKFLOW_VERSION"}  # it may have been done, or it is to be asked again
    assert {fault.partition(" ")[2] for fault in faults} >= {LOST_REQUEST, LOST_ANSWER, "refused", "cancelled"}


def describe_outcome(submit: Operation) -> str:
    if submit.observed is None:
        return "lost"
    if submit.is_open:
        return "goes on"
    return submit.observed.error or "accepted"


def _find_newest_versions(history: History) -> Mapping[str, int]:
    newest: dict[str, int] = {}
    for operation in history.operations:
        if operation.observed is not None:
            newest[operation.workflow_id] = max(newest.get(operation.workflow_id, 0), operation.observed.version)
    return newest

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

from stage.faults import FAULTS, LOST_ANSWER, LOST_REQUEST
from tests.support.driven_workflows import DrivenWorkflows, at_once, driven
from tests.support.effort import times
from tests.support.executors import SHORT_LEASE_MARGIN_MS
from tests.support.histories import History, Operation, violations
from tests.support.laptop import Laptop
from tests.support.memory_gateway import modern
from tests.support.saying import Say

pytestmark = pytest.mark.cloud

CLIENTS, OPERATIONS, WORKFLOWS = 8, times(400, proof=1_000), 6
ACCEPTED, STALE, LOST = OPERATIONS // 20, OPERATIONS // 20, OPERATIONS // 50
"""Submits and answers that there are at least, so that there is something to explain."""
UNAVAILABLE = "503"
SWEEP_EVERY = 40
"""Operations of a client; what somebody has begun and did not end is gone on with."""
COUNT: Mapping[str, Any] = {"kind": "function", "function": "trials::show", "arguments": {}, "idempotent": True}
BY = {"output": {"by": "$.arguments.by"}}
LEADS = {"move": 1, "run": 1, "chain": 2, "long": 2}
"""Transitions, and by how many versions each leads on."""
MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "workflows": {
        "shared": {
            "initialState": "open",
            "states": {
                "open": {
                    "transitions": {
                        "move": {"target": "open", **BY},
                        "run": {"target": "open", "executor": COUNT, "reliability": {"timeoutMs": 5_000}, **BY},
                        "chain": {"target": "passing", **BY},
                        "long": {"target": "running", **BY},
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
def workflows(laptop: Laptop) -> DrivenWorkflows:
    return driven(laptop, "histories", MANIFEST, LeaseMarginMs=SHORT_LEASE_MARGIN_MS)


class Client:
    """Goes by what it saw last, which is often not where the workflow stands."""

    def __init__(self, number: int, workflows: DrivenWorkflows, history: History, run: str) -> None:
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

    def work(self, operations: int) -> None:
        for number in range(operations):
            if number % SWEEP_EVERY == SWEEP_EVERY - 1:
                self._workflows.sweep()
            done = self._one()
            if done.seen is not None:
                self._known[done.workflow_id] = done.seen.version

    def _one(self) -> Operation:
        kind = self._chance.choices(("start", "get", "submit"), (1, 3, 8))[0]
        if kind == "start" or not self._known:
            return self._start()
        workflow_id = self._chance.choice(sorted(self._known))
        return self._get(workflow_id) if kind == "get" else self._submit(workflow_id)

    def _start(self) -> Operation:
        token = f"{self._run}-{self._chance.randrange(WORKFLOWS)}"
        asked = Operation("start", 0, 0, mark=token)
        return self._asked(asked, "workflow.start", definitionId="shared", clientToken=token)

    def _get(self, workflow_id: str) -> Operation:
        return self._asked(Operation("get", 0, 0, workflow_id), "workflow.get", workflowId=workflow_id)

    def _submit(self, workflow_id: str) -> Operation:
        transition, mark, expected = self._chance.choice(sorted(LEADS)), uuid.uuid4().hex, self._known[workflow_id]
        asked = Operation("submit", 0, 0, workflow_id, expected=expected, leads=LEADS[transition], mark=mark)
        arguments = {"expectedVersion": expected, "transition": transition, "arguments": {"by": mark}}
        return self._asked(asked, "workflow.submit", workflowId=workflow_id, **arguments)

    def _asked(self, asked: Operation, tool: str, **arguments: Any) -> Operation:
        hangs_up, seed = self._chance.random() < 0.05, str(self._chance.random())
        return self._history.record(asked, lambda: self._answer(tool, arguments, seed, hangs_up=hangs_up))

    def _answer(self, tool: str, arguments: Mapping[str, Any], seed: str, *, hangs_up: bool) -> Any:
        """None if it never came, whoever is to blame."""
        message, headers = modern("tools/call", {"name": tool, "arguments": dict(arguments)})
        sent = {**headers, "authorization": f"Bearer {self._workflows.key}", FAULTS: seed}
        with closing(HTTPConnection("127.0.0.1", self._workflows.stack.port, timeout=40)) as connection:
            try:
                connection.request("POST", "/mcp", json.dumps(message).encode(), sent)
                if hangs_up:
                    return None
                response = connection.getresponse()
                text = response.read()
            except (OSError, HTTPException):
                return None
        self.faults.update(fault for fault in response.headers.get(FAULTS, "").split(", ") if fault)
        return self._shown(json.loads(text)["result"]) if response.status == 200 else self._not_shown(response.status)

    def _shown(self, result: Any) -> Any:
        seen = result["structuredContent"]
        return seen if "version" in seen else self._not_shown(seen["error"]["code"])

    def _not_shown(self, why: object) -> None:
        self.unseen[str(why)] += 1


@pytest.mark.invariant(57)
def test_some_order_explains_everything_that_many_clients_see_while_stores_and_connections_fail(
    workflows: DrivenWorkflows, say: Say
) -> None:
    history, run = History(), uuid.uuid4().hex
    clients = [Client(number, workflows, history, run) for number in range(CLIENTS)]
    at_once(lambda client: client.work(OPERATIONS // CLIENTS), clients, CLIENTS)
    assert len(history.operations) == OPERATIONS
    assert violations(history.operations) == []
    submits = Counter(outcome(one) for one in history.operations if one.kind == "submit")
    faults = sum((client.faults for client in clients), Counter[str]())
    lost = sum(one.seen is None for one in history.operations)
    unseen = sum((client.unseen for client in clients), Counter[str]())
    say(
        f"{OPERATIONS} operations, of {lost} of which the answer was lost or said nothing {dict(unseen)}: "
        f"{dict(Counter(one.kind for one in history.operations))}; submits {dict(submits)}; "
        f"versions {sorted(_newest(history).values())}; faults {dict(faults)}"
    )
    assert submits["accepted"] >= ACCEPTED
    assert submits["STALE_WORKFLOW_VERSION"] >= STALE
    assert lost >= LOST
    assert unseen.keys() <= {UNAVAILABLE, "STALE_WORKFLOW_VERSION"}  # it may have been done, or it is to be asked again
    assert {fault.partition(" ")[2] for fault in faults} >= {LOST_REQUEST, LOST_ANSWER, "refused", "cancelled"}


def outcome(submit: Operation) -> str:
    if submit.seen is None:
        return "lost"
    if submit.is_open:
        return "goes on"
    return submit.seen.error or "accepted"


def _newest(history: History) -> Mapping[str, int]:
    newest: dict[str, int] = {}
    for operation in history.operations:
        if operation.seen is not None:
            newest[operation.workflow_id] = max(newest.get(operation.workflow_id, 0), operation.seen.version)
    return newest

"""The links of errors: each leads to an answer that is no error."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from signpost.adapters.memory import MemoryDirectory
from signpost.contract import Executor, HostedFunction
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from tests.support.manifests import publish
from tests.support.memory_gateway import MemoryGateway
from tests.support.played_executors import ScriptedExecutor
from tests.support.tool_answers import read_tool_answer

TENANT = "default"
SCHEMA: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
BROKEN: Any = {"onEnter": {"executor": {"kind": "act"}}, "transitions": {"go": {"target": "end"}}}
MANIFEST: Any = {
    "version": 1,
    "discovery": {"include": ["workflows"]},
    "proxy": {
        "expose": [
            {"name": "rest.call", "executor": {"kind": "rest", "connection": "there"}},
            {"name": "scan.all", "inputSchema": SCHEMA, "executor": {"kind": "act"}},
        ]
    },
    "workflows": {
        "review": {
            "inputSchema": SCHEMA,
            "initialState": "open",
            "states": {
                "open": {"transitions": {"go": {"target": "end", "inputSchema": SCHEMA}}},
                "end": {"terminal": True},
            },
        },
        "broken": {"initialState": "a", "states": {"a": BROKEN, "end": {"terminal": True}}},
    },
}


class Client:
    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        fails_once = ScriptedExecutor(ExecutorFailure("permanent_error", "No luck."), ExecutorOutcome())
        self.gateway.step_executors["act"] = fails_once
        self._key = str(self.gateway.make_key())
        adapters = self.gateway.adapters
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, MANIFEST)
        executor = Executor("arn:yard", "secret:yard", 60_000)
        assert MemoryDirectory(self.gateway.functions).place(TENANT, executor, [HostedFunction("yard::look")]) == []

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return read_tool_answer(
            self.gateway.request("tools/call", {"name": name, "arguments": arguments}, credential=self._key)
        )


PROXY = "proxy_default"
CALLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "a capability without an executor": ("workflow.start", {"input": {"capability": "rest.call"}}),
    "a capability whose executor fails": ("workflow.start", {"input": {"capability": "scan.all"}}),
    "an unknown capability": ("workflow.start", {"input": {"capability": "zzz"}}),
    "a mistyped capability": ("workflow.start", {"input": {"capability": "rest.cal"}}),
    "a capability in the place of a workflow": ("workflow.start", {"definitionId": "rest.call"}),
    "a mistyped workflow of capabilities": ("workflow.start", {"definitionId": "proxy_defaul"}),
    "an unknown workflow": ("workflow.start", {"definitionId": "zzz"}),
    "a mistyped workflow": ("workflow.start", {"definitionId": "reviw"}),
    "an input of a wrong type": ("workflow.start", {"definitionId": "review", "input": {"n": "one"}}),
    "a workflow whose entry fails": ("workflow.start", {"definitionId": "broken"}),
    "an unknown argument": ("workflow.start", {"definition": "review"}),
    "an unknown item": ("gateway.describe", {"id": "zzz"}),
    "a mistyped item": ("gateway.describe", {"id": "reviw"}),
    "the workflow of capabilities": ("gateway.describe", {"id": PROXY}),
    "no item": ("gateway.describe", {}),
    "a made up cursor": ("gateway.home", {"cursor": "zzz"}),
    "a negative limit": ("gateway.search", {"limit": -1}),
    "an unknown run": ("workflow.get", {"workflowId": "wf_0"}),
    "a name that is no id of a run": ("workflow.get", {"workflowId": "zzz"}),
    "a malformed submission to no run": ("workflow.submit", {"workflowId": "zzz"}),
    "a submission to no run": ("workflow.submit", {"workflowId": "wf_0", "expectedVersion": 1, "transition": "go"}),
    "an explanation of no workflow": ("workflow.explain", {"definitionId": "zzz"}),
    "an explanation of no transition": ("workflow.explain", {"definitionId": "review", "transition": "zzz"}),
    "an explanation of no capability": ("workflow.explain", {"definitionId": PROXY, "transition": "zzz"}),
}
SUBMISSIONS: Mapping[str, Mapping[str, Any]] = {
    "a mistyped transition": {"transition": "og"},
    "an argument of a wrong type": {"transition": "go", "arguments": {"n": "one"}},
    "an old version": {"transition": "go", "expectedVersion": 7},
    "no transition": {"transition": 3},
}


def check_links(make_error: Callable[[Client], Any]) -> None:
    """Follow each link of an error in a gateway of its own, since one may make another one stale."""
    number = len(make_error(Client())["links"])
    assert number
    for position in range(number):
        client = Client()
        answer = make_error(client)
        assert "error" in answer, answer
        link = answer["links"][position]
        followed = client.call(link["method"], link["args"])
        assert "error" not in followed, (link, followed["error"])


@pytest.mark.invariant(120)
@pytest.mark.parametrize("case", CALLS)
def test_every_link_of_an_error_leads_on(case: str) -> None:
    check_links(lambda client: client.call(*CALLS[case]))


@pytest.mark.invariant(120)
@pytest.mark.parametrize("case", SUBMISSIONS)
def test_every_link_of_a_refused_submission_leads_on(case: str) -> None:
    def submit(client: Client) -> Any:
        started = client.call("workflow.start", {"definitionId": "review"})
        submission = {"workflowId": started["workflowId"], "expectedVersion": 1, **SUBMISSIONS[case]}
        return client.call("workflow.submit", submission)

    check_links(submit)

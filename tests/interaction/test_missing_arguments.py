"""A start or a submission without required arguments asks a client that can fill in a form, in the call itself."""

from collections.abc import Mapping
from typing import Any

import pytest

from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import PROXY_WORKFLOW, JsonObject, Principal
from tests.support.gateway_workflows import TENANT
from tests.support.manifests import publish_documents
from tests.support.memory_gateway import MemoryGateway
from tests.support.tool_answers import read_tool_answer

ANN = Principal("ann", TENANT, "t", human=True)
FORMS: JsonObject = {"elicitation": {}}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["reason", "count"],
    "properties": {
        "reason": {"type": "string", "title": "Reason", "minLength": 3},
        "count": {"type": "integer", "minimum": 1},
        "note": {"type": "string"},
    },
    "additionalProperties": False,
}
DOCUMENT: Mapping[str, Any] = {
    "initialState": "open",
    "states": {
        "open": {
            "transitions": {
                "close": {
                    "title": "Close the case",
                    "target": "closed",
                    "inputSchema": SCHEMA,
                    "output": {"why": "$.arguments.reason"},
                },
                "approve": {
                    "title": "Approve the case",
                    "actor": "human",
                    "decision": "approve",
                    "target": "closed",
                    "inputSchema": {
                        "type": "object",
                        "required": ["reason"],
                        "properties": {"reason": {"type": "string"}},
                    },
                    "output": {"why": "$.arguments.reason"},
                },
            }
        },
        "closed": {"terminal": True},
    },
}
STARTED: Mapping[str, Any] = {
    **DOCUMENT,
    "inputSchema": {"type": "object", "required": ["customer"], "properties": {"customer": {"type": "string"}}},
}
NOT_FLAT: Mapping[str, Any] = {
    "list": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object"},
    "pattern": {"type": "string", "pattern": "^a$"},
    "exclusive": {"type": "number", "exclusiveMinimum": 0},
    "several types": {"type": ["string", "null"]},
    "reference": {"$ref": "#/$defs/it"},
    "choice of numbers": {"type": "integer", "enum": [1, 2]},
    "unknown format": {"type": "string", "format": "uuid"},
    "anything": {},
    "secret": {"type": "string", "title": "Your password"},
}


class Office:
    """A gateway with two workflows and a capability, and a client that declares what it can answer."""

    def __init__(self, schema: Mapping[str, Any] = SCHEMA, capabilities: JsonObject = FORMS) -> None:
        self.gateway = MemoryGateway()
        self.capabilities = capabilities
        states = DOCUMENT["states"]
        close = {**states["open"]["transitions"]["close"], "inputSchema": schema}
        opened = {"transitions": {**states["open"]["transitions"], "close": close}}
        proxy = {
            "initialState": "ready",
            "states": {"ready": {"transitions": {"file": {**close, "title": "File it", "target": "ready"}}}},
        }
        documents = {
            "case": {**DOCUMENT, "states": {**states, "open": opened}},
            "started": STARTED,
            PROXY_WORKFLOW: proxy,
        }
        adapters = self.gateway.adapters
        publish_documents(adapters.content, adapters.values, adapters.definitions, TENANT, documents)
        self.token = self.gateway.make_token(sub="ann", tenant=TENANT, amr=["pwd"])

    def send(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> Any:
        meta = {CLIENT_CAPABILITIES: self.capabilities}
        params: JsonObject = {"name": tool, "arguments": arguments, "_meta": meta, **more}
        return self.gateway.request("tools/call", params, credential=self.token)

    def call(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> Any:
        answer = self.send(tool, arguments, **more)
        result = answer.json["result"]
        return result if result.get("resultType") == "input_required" else read_tool_answer(answer)

    def answer(
        self, tool: str, arguments: Mapping[str, Any], asked: Any, action: str = "accept", **content: Any
    ) -> Any:
        """Send the same call again with the answer to its question."""
        (key,) = asked["inputRequests"]
        given: JsonObject = {"action": action, **({"content": content} if action == "accept" else {})}
        state: JsonObject = {"requestState": asked["requestState"]} if "requestState" in asked else {}
        return self.call(tool, arguments, inputResponses={key: given}, **state)

    def open_case(self) -> str:
        return self.call("workflow.start", {"definitionId": "case"})["workflowId"]

    def submission(self, transition: str = "close", **arguments: Any) -> Mapping[str, Any]:
        return {
            "workflowId": self.open_case(),
            "expectedVersion": 1,
            "transition": transition,
            "arguments": arguments,
        }


def form_of(asked: Any) -> Any:
    (request,) = asked["inputRequests"].values()
    assert request["method"] == "elicitation/create"
    return request["params"]


@pytest.mark.invariant(162)
def test_a_submission_asks_for_its_missing_arguments_and_goes_on_with_them() -> None:
    office = Office()
    submission = office.submission(count=2)
    asked = office.call("workflow.submit", submission)
    form = form_of(asked)
    assert form["message"] == "Close the case needs more input: reason."
    assert form["requestedSchema"] == {
        "type": "object",
        "properties": {"reason": {"type": "string", "title": "Reason", "minLength": 3}},
        "required": ["reason"],
    }
    done = office.answer("workflow.submit", submission, asked, reason="It is solved.")
    assert (done["state"], done["context"]) == ("closed", {"why": "It is solved."})


def test_a_start_asks_for_its_missing_input() -> None:
    office = Office()
    start: JsonObject = {"definitionId": "started", "input": {}}
    asked = office.call("workflow.start", start)
    assert form_of(asked)["requestedSchema"]["required"] == ["customer"]
    begun = office.answer("workflow.start", start, asked, customer="c-1")
    assert (begun["definitionId"], begun["state"]) == ("started", "open")


@pytest.mark.invariant(162)
def test_a_start_of_a_capability_asks_for_its_missing_arguments_and_starts_one_run() -> None:
    office = Office()
    start = {"input": {"capability": "file", "count": 2}}
    asked = office.call("workflow.start", start)
    assert form_of(asked)["requestedSchema"]["required"] == ["reason"]
    done = office.answer("workflow.start", start, asked, reason="It is solved.")
    assert (done["version"], done["context"]["why"]) == (2, "It is solved.")
    assert len(office.gateway.instances.run_summaries(TENANT, None)) == 1


def test_a_declined_start_of_a_capability_answers_with_its_run() -> None:
    office = Office()
    start = {"input": {"capability": "file", "count": 2}}
    shown = office.answer("workflow.start", start, office.call("workflow.start", start), "decline")
    assert (shown["version"], shown["links"][0]["args"]["transition"]) == (1, "file")
    assert len(office.gateway.instances.run_summaries(TENANT, None)) == 1


def test_a_start_of_a_capability_without_any_argument_shows_the_link() -> None:
    office = Office()
    shown = office.call("workflow.start", {"input": {"capability": "file"}})
    assert (shown["version"], shown["links"][0]["args"]["transition"]) == (1, "file")


@pytest.mark.invariant(162)
def test_an_approver_is_asked_for_the_reason_that_the_definition_demands() -> None:
    office = Office()
    submission = office.submission("approve")
    asked = office.call("workflow.submit", submission)
    assert form_of(asked)["message"] == "Approve the case: to approve, the approver has to give reason."
    assert office.answer("workflow.submit", submission, asked, reason="Fine.")["context"] == {"why": "Fine."}


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_client_that_declines_gets_the_refusal_with_its_link(action: str) -> None:
    office = Office()
    submission = office.submission(count=2)
    refused = office.answer("workflow.submit", submission, office.call("workflow.submit", submission), action)
    assert refused["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert [link["args"].get("transition") for link in refused["links"]][:2] == [None, "close"]


@pytest.mark.invariant(162)
@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}, {"elicitation": {"url": {}}}])
def test_a_client_without_forms_gets_the_refusal_with_its_link(capabilities: JsonObject) -> None:
    office = Office(capabilities=capabilities)
    refused = office.call("workflow.submit", office.submission(count=2))
    assert (refused["error"]["code"], "reason" in refused["error"]["message"]) == ("INPUT_SCHEMA_VIOLATION", True)
    assert office.call("workflow.start", {"definitionId": "started"})["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert office.call("workflow.start", {"input": {"capability": "file"}})["version"] == 1


def test_a_client_of_an_older_revision_gets_the_refusal_with_its_link() -> None:
    office = Office()
    params: JsonObject = {"name": "workflow.submit", "arguments": office.submission(count=2)}
    refused = read_tool_answer(office.gateway.request_legacy("tools/call", params, "2025-11-25", office.token))
    assert refused["error"]["code"] == "INPUT_SCHEMA_VIOLATION"


@pytest.mark.parametrize("declared", NOT_FLAT.values(), ids=NOT_FLAT)
def test_an_argument_that_no_form_can_have_is_not_asked_for(declared: Mapping[str, Any]) -> None:
    schema = {
        "type": "object",
        "required": ["it"],
        "properties": {"it": declared},
        "$defs": {"it": {"type": "string"}},
    }
    office = Office(schema)
    assert office.call("workflow.submit", office.submission())["error"]["code"] == "INPUT_SCHEMA_VIOLATION"


@pytest.mark.parametrize("arguments", [{"count": 0}, {"count": "many"}, {"colour": "red"}])
def test_nothing_is_asked_while_other_arguments_do_not_fit(arguments: Any) -> None:
    office = Office()
    assert office.call("workflow.submit", office.submission(**arguments))["error"]["code"] == "INPUT_SCHEMA_VIOLATION"


def test_a_refusal_for_another_cause_asks_nothing() -> None:
    office = Office()
    submission = {**office.submission(), "expectedVersion": 7}
    assert office.call("workflow.submit", submission)["error"]["code"] == "STALE_WORKFLOW_VERSION"
    unknown = {**office.submission(), "transition": "lose"}
    assert office.call("workflow.submit", unknown)["error"]["code"] == "INVALID_TRANSITION"


def test_an_answer_that_comes_after_another_move_is_stale() -> None:
    office = Office()
    submission = office.submission(count=2)
    asked = office.call("workflow.submit", submission)
    office.call("workflow.submit", {**submission, "arguments": {"count": 1, "reason": "At once."}})
    late = office.answer("workflow.submit", submission, asked, reason="It is solved.")
    assert late["error"]["code"] == "STALE_WORKFLOW_VERSION"


def test_choices_and_truth_values_are_asked_for() -> None:
    fields: Mapping[str, Any] = {"mode": {"enum": ["fast", "slow"]}, "sure": {"type": "boolean"}}
    office = Office({"type": "object", "required": [*fields], "properties": fields})
    asked = office.call("workflow.submit", office.submission())
    assert form_of(asked)["requestedSchema"]["properties"] == {
        "mode": {"type": "string", "enum": ["fast", "slow"]},
        "sure": {"type": "boolean"},
    }

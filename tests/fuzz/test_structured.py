"""Requests that Hypothesis makes up: any JSON in any place of the envelope."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signpost.mcp.revisions import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from signpost.model import JsonObject
from tests.differential.generated_requests import LEGACY, MODERN, OPERATIONS
from tests.differential.outcome import Sent
from tests.fuzz.events import event
from tests.fuzz.inputs import TOOLS
from tests.fuzz.target import Target
from tests.support.effort import count_examples
from tests.support.memory_gateway import META

pytestmark = pytest.mark.no_cover

same_every_time = settings(
    derandomize=True,
    database=None,
    max_examples=count_examples(1_000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""Which examples there are must not depend on what the machine has seen before, nor on how fast it is."""

META_WITH_ELICITATION: JsonObject = {**META, CLIENT_CAPABILITIES: {"elicitation": {}}}

any_text = st.text(st.characters(), max_size=12)
any_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
versions = st.sampled_from([MODERN, *LEGACY, "1999-01-01"]) | any_text
no_capabilities: st.SearchStrategy[Any] = st.builds(dict[str, Any])
known: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["gateway.home", "test_prompt", *TOOLS]) | any_json,
    "uri": st.just("test://static-text") | any_json,
    "arguments": st.dictionaries(st.sampled_from(["a", "b", "name", "cursor"]) | any_text, any_json) | any_json,
    "cursor": any_json,
    "ref": st.fixed_dictionaries({"type": any_json, "name": any_json}) | any_json,
    "argument": st.fixed_dictionaries({"name": any_json, "value": any_json}) | any_json,
    "inputResponses": any_json,
    "requestState": any_json,
    "_meta": st.fixed_dictionaries(
        {PROTOCOL_VERSION: versions, CLIENT_CAPABILITIES: no_capabilities | any_json},
        optional={"progressToken": any_json, "io.modelcontextprotocol/logLevel": any_json, "traceparent": any_json},
    ),
}
methods = st.sampled_from([method for method, _ in OPERATIONS]) | any_text
documents = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers() | any_text, "method": methods},
    optional={"params": st.fixed_dictionaries({}, optional=known) | any_json, "extra": any_json},
)


@same_every_time
@given(documents, st.booleans(), versions)
def test_any_request_gets_a_defined_answer(
    target: Target, document: dict[str, Any], agreeing: bool, version: str
) -> None:
    headers = agreeing_headers(document) if agreeing else {"mcp-protocol-version": version}
    sent = event(json.dumps(document), {**headers, "authorization": target.authorization}, now=target.now)
    assert target.faults(sent) == []


@same_every_time
@given(any_json)
def test_any_document_gets_a_defined_answer(target: Target, document: Any) -> None:
    sent = event(json.dumps(document), {"authorization": target.authorization}, now=target.now)
    assert target.faults(sent) == []


ASKING = "test_input_required_result_request_state"
contents = st.dictionaries(st.sampled_from(["ok", "more"]) | any_text, any_json, max_size=3) | any_json
answers = (
    st.fixed_dictionaries(
        {}, optional={"action": st.sampled_from(["accept", "decline", "cancel"]) | any_json, "content": contents}
    )
    | any_json
)
responses = st.dictionaries(st.just("confirm") | any_text, answers, max_size=3) | any_json


@settings(same_every_time, max_examples=count_examples(300))
@given(responses)
def test_any_answers_to_a_question_are_taken_asked_again_or_refused(target: Target, sent: Any) -> None:
    call: dict[str, Any] = {"name": ASKING, "arguments": {}}
    asked = target.ask("tools/call", call, meta=META_WITH_ELICITATION)["result"]
    again = {**call, "inputResponses": sent, "requestState": asked["requestState"]}
    answered = target.ask("tools/call", again, meta=META_WITH_ELICITATION)
    if "error" in answered:
        assert answered["error"]["code"] in (-32602, -32700), answered
    elif answered["result"]["resultType"] == "complete":
        assert sent["confirm"]["action"] == "accept"
        assert isinstance(sent["confirm"]["content"]["ok"], bool)


def agreeing_headers(document: dict[str, Any]) -> dict[str, str]:
    """The headers that repeat what the body says, where it says something."""
    sent = Sent(document, {})
    said = {
        "mcp-method": sent.method,
        "mcp-protocol-version": sent.meta.get(PROTOCOL_VERSION),
        "mcp-name": sent.params.get("name", sent.params.get("uri")),
    }
    return {name: value for name, value in said.items() if isinstance(value, str)}

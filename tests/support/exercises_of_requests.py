"""Exercises of the functions that clients and operators call: the gateway, the registry and the core functions."""

import json
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.request import urlopen

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb.content_store import CHANGES_AT_ONCE
from signpost.adapters.dynamodb.definitions import LONGEST_IN_A_ROW as LONGEST_RULES_IN_A_ROW
from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.calling import wire
from signpost.calling.effects import CLAIM, RECORD, RELEASE
from signpost.calling.handles import CREATE, DELETE, LIST, READ
from signpost.content.model import PromptChange, StoredPrompt
from signpost.contract import BreakerState, Executor, FunctionCall, HostedFunction
from signpost.mcp.dispatch import LONGEST_ANSWER
from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import JsonObject, Principal
from signpost.signing.capability_tokens import TokenMint, grant_of
from signpost.signing.key_ring import KeyRing
from signpost.workflow.engine.permissions import CANCEL
from signpost.workflow.running.serialization import text_of
from tests.support.exercised_stack import ASKING_FUNCTION, FOREIGN_FUNCTION, FOREIGN_LAMBDA, TENANT, ExercisedStack

OUTER = "outer"
"""The id of the call that an executor runs."""


def exercise_gateway(exercised: ExercisedStack) -> None:
    """Exercise the gateway: a token under an issuer key that is not stored yet, a page with a cursor, a shipped
    document, a prompt in an overlay, an answer too long to be sent, a failing function, a function that works again, a
    workflow that people approve and one that calls functions."""
    token = exercised.make_token("reader")
    home = exercised.call_tool(token, "gateway.home", {})
    assert "nextCursor" in home.get("structuredContent", {}), home
    _read_document(exercised, token)
    _list_pending_prompt(exercised)
    long = exercised.call_tool(token, "strange__long", {"characters": LONGEST_ANSWER}, "/mcp/functions")
    with urlopen(long["content"][1]["uri"]) as answer:  # noqa: S310 - an address of the emulator
        assert len(answer.read()) > LONGEST_ANSWER
    exercised.set_breakers()
    failure = exercised.call_function(token, FOREIGN_FUNCTION).get("failure", {})
    assert failure.get("code") == "malformed_reply", failure
    _wait(exercised, token)
    assert exercised.list_open_breakers() == {FOREIGN_FUNCTION}
    _release(exercised)
    _answer_once(exercised)


def _answer_once(exercised: ExercisedStack) -> None:
    """Answer a question whose answer counts once."""
    token, path = exercised.make_token("reader"), "/mcp/functions"
    meta: JsonObject = {CLIENT_CAPABILITIES: {"elicitation": {}}}
    asked: JsonObject = {"name": ASKING_FUNCTION.replace("::", "__"), "arguments": {}, "_meta": meta}
    required = exercised.stack.request(token, "tools/call", asked, path).json["result"]
    answers: JsonObject = {"who": {"action": "accept", "content": {"name": "Ada"}}}
    given: JsonObject = {**asked, "inputResponses": answers, "requestState": required["requestState"]}
    answered = exercised.stack.request(token, "tools/call", given, path)
    assert answered.json["result"]["content"][0]["text"] == "answered", answered.text


def _read_document(exercised: ExercisedStack, token: str) -> None:
    """Read the second listed document: the first is the index."""
    listed = exercised.stack.request(token, "resources/list").json["result"]["resources"]
    read = exercised.stack.request(token, "resources/read", {"uri": listed[1]["uri"]})
    assert "result" in read.json, read.text


def _list_pending_prompt(exercised: ExercisedStack) -> None:
    exercised.leave_overlay(
        "pending", [PromptChange("soon", StoredPrompt("soon", "", "mail::letter", (), ""))], version=1
    )
    token = exercised.laptop.issuer.access_token("reader", exercised.stack.url, tenant="pending")
    listed = exercised.stack.request(token, "prompts/list")
    assert [prompt["name"] for prompt in listed.json["result"]["prompts"]] == ["soon"], listed.text


def _wait(exercised: ExercisedStack, token: str) -> None:
    assert exercised.call_function(token, "core::wait").get("result") == {"waited": 0}


def _release(exercised: ExercisedStack) -> None:
    """Open and close an approval request, with a context that is too long for a row."""
    token = exercised.make_token("approver")

    def follow(tool: str, arguments: Mapping[str, Any]) -> Any:
        result = exercised.call_tool(token, tool, arguments)
        assert result.get("isError") is False, result
        return result["structuredContent"]

    answer = follow("workflow.start", {"definitionId": "release"})
    for arguments in ({"what": "x" * (LONGEST_IN_A_ROW + 1)}, {}):
        moves = [link["args"] for link in answer["links"] if link["args"]["transition"] != CANCEL]
        answer = follow("workflow.submit", {**moves[-1], "arguments": arguments})
    assert answer["terminal"] is True
    started = follow("workflow.start", {"definitionId": "work"})
    wait = {"workflowId": started["workflowId"], "expectedVersion": 1, "transition": "wait"}
    assert follow("workflow.submit", wait)["terminal"] is True


def exercise_nested_calls(exercised: ExercisedStack) -> None:
    """Exercise nested calls of a function that fails, of one that works again, and under rules that are too long for a
    row; the last one also of a function of the registry. Exercise context operations."""
    exercised.set_breakers()
    failed = _call_nested(exercised, FOREIGN_FUNCTION)
    assert failed.get("failure", {}).get("code") == "malformed_reply", failed
    assert _call_nested(exercised, "core::wait").get("result") == {"waited": 0}
    assert exercised.list_open_breakers() == {FOREIGN_FUNCTION}
    rule = {"kind": "deny", "who": ["*"], "what": ["nothing::here"], "description": "x" * 1_000}
    rules = {f"rule-{number}": rule for number in range(LONGEST_RULES_IN_A_ROW // 1_000 + 1)}
    published = exercised.call_registry("manifest::publish", {"policies": rules})
    assert "error" not in published, published
    assert _call_nested(exercised, "core::wait", "default").get("result") == {"waited": 0}
    listed = _call_nested(exercised, "skills::list", "default")
    assert "result" in listed, listed
    _keep_effects_and_handles(exercised)
    for action in ("grant", "revoke"):
        performed = _perform(exercised, action, {"name": "exercised"})
        assert "result" in performed, performed


def _keep_effects_and_handles(exercised: ExercisedStack) -> None:
    """Claim effects, of which one happens and one does not, and create, read, list and delete a handle."""
    claim = {"scope": uuid.uuid4().hex, "claim": "c"}
    for name, end in {"happens": RECORD, "fails": RELEASE}.items():
        assert _perform(exercised, CLAIM, {"name": name, **claim})["result"] == {"state": "claimed"}
        ended = _perform(exercised, end, {"name": name, "text": "1", "loss": "", **claim})
        assert "result" in ended, ended
    handle = {"id": f"cart_{'a' * 26}", "text": "1", "schema": 1, "seconds": 60, "write": "w", "kind": "cart"}
    for action in (CREATE, READ, LIST, DELETE):
        performed = _perform(exercised, action, handle)
        assert "result" in performed, performed


def _call_nested(exercised: ExercisedStack, function: str, tenant: str = TENANT) -> Any:
    """Call a function as an executor does that runs a call which declares this function."""
    token = _mint_token(exercised, tenant, function)
    message = wire.nested_message(wire.NestedCall(token, OUTER, function, {"seconds": 0}))
    return exercised.functions.invoke("NestedCalls", message)


def _perform(exercised: ExercisedStack, action: str, fields: JsonObject) -> Any:
    """Perform a context operation as an executor does that runs a call."""
    message = wire.context_message(wire.ContextOperation(_mint_token(exercised, TENANT), OUTER, action, fields))
    return exercised.functions.invoke("NestedCalls", message)


def _mint_token(exercised: ExercisedStack, tenant: str, *callees: str) -> str:
    """Mint the token of a call that an executor runs."""
    master = SecretMasterKeys(
        lambda: exercised.laptop.client("secretsmanager"), exercised.read_output("MasterSecretArn")
    )
    caller, deadline = Principal("reader", tenant, "signpost:test"), time.time() + 20
    outer = FunctionCall(OUTER, "mail::outer", {}, caller, deadline, callees=frozenset(callees))
    mint = TokenMint(KeyRing(store=master, clock=SystemClock()))
    return mint.mint(grant_of(outer, "arn:outer", deadline))


def exercise_core(exercised: ExercisedStack) -> None:
    """Exercise a function, and a search with the key from a secret."""
    token = exercised.make_token("reader")
    _wait(exercised, token)
    found = exercised.call_function(token, "core::web_search", query="tea").get("result")
    assert found == {"query": "tea", "results": []}


def exercise_registry(exercised: ExercisedStack) -> None:
    with _cloudformation() as cloudformation:
        _update_shipped_functions(exercised, cloudformation)
    _register_document(exercised)
    _publish_definition(exercised)
    _publish_prompts(exercised)
    _ask_stranger_for_its_functions(exercised)
    _read_sections(exercised)


class _CloudFormation(HTTPServer):
    """Receives the answers of custom resources."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.answers: list[Any] = []


class _Answer(BaseHTTPRequestHandler):
    server: _CloudFormation  # pyright: ignore[reportIncompatibleVariableOverride] - the only server it has

    def do_PUT(self) -> None:
        self.server.answers.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name is the base class's
        del format, args


@contextmanager
def _cloudformation() -> Generator[_CloudFormation]:
    server = _CloudFormation()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _update_shipped_functions(exercised: ExercisedStack, cloudformation: _CloudFormation) -> None:
    """Replace another executor by the core executor."""
    former = Executor("arn:former", "none", 3_000)
    exercised.directory.place(None, former, [HostedFunction("core::former")])
    event = {
        "RequestType": "Update",
        "RequestId": "1",
        "StackId": "stack",
        "LogicalResourceId": "ShippedFunctions",
        "ResponseURL": f"http://127.0.0.1:{cloudformation.server_port}/",
        "ResourceProperties": {"Executors": [exercised.read_output("ExecutorCoreFunctionArn")]},
        "OldResourceProperties": {"Executors": [former.arn]},
    }
    exercised.functions.invoke("Registry", event)
    answer = cloudformation.answers.pop()
    assert answer["Status"] == "SUCCESS", answer


def _register_document(exercised: ExercisedStack) -> None:
    """Register a document, read it and remove it."""
    body = f"# {uuid.uuid4().hex}"
    registered = exercised.call_registry("skills::register", {"id": "exercise", "skill": body})
    read = exercised.call_registry("skills::resources-read", {"uri": "iii://exercise"})
    removed = exercised.call_registry("skills::unregister", {"id": "exercise"})
    listed = exercised.call_registry("skills::list", {})
    assert "error" not in registered | read | removed | listed
    assert read["contents"][0]["text"] == body


def _publish_definition(exercised: ExercisedStack) -> None:
    """Publish a catalogue with a new definition that replaces the one before."""
    document = {"title": uuid.uuid4().hex, "initialState": "a", "states": {"a": {"terminal": True}}}
    sent = exercised.call_registry("manifest::bodies", {"definitions": {"version": 1, "workflows": {"w": document}}})
    named = [{"id": "w", "digest": sha256(text_of(document).encode()).hexdigest()}]
    published = exercised.call_registry("manifest::publish", {"workflows": named, "parts": [sent["part"]]})
    assert "error" not in published, published
    schedules = {"exercise": {"workflow": "w", "rate": f"{int(uuid.uuid4().hex[:2], 16) + 1} days"}}
    scheduled = exercised.call_registry("manifest::publish", {"schedules": schedules})
    assert "error" not in scheduled, scheduled


def _publish_prompts(exercised: ExercisedStack) -> None:
    """Publish more prompts than one transaction takes."""
    prompts = [
        {"name": f"prompt-{number}", "description": "Writes.", "function_id": "mail::letter"}
        for number in range(CHANGES_AT_ONCE + 1)
    ]
    published = exercised.call_registry("manifest::publish", {"prompts": prompts})
    assert "error" not in published, published


def _ask_stranger_for_its_functions(exercised: ExercisedStack) -> None:
    """Load a Lambda function that the deployment allows, but that is no executor by its configuration."""
    answer = exercised.call_registry("skills::load", {"executor": FOREIGN_LAMBDA})
    assert "EXECUTOR_KEY_SECRET_ARN" in answer["error"]["message"], answer


def _read_sections(exercised: ExercisedStack) -> None:
    """Read a section of a function with an open breaker, which is called and refuses its arguments; and a section of a
    function of another stack, which answers with something that is no reply."""
    opened = BreakerState(opened_until=0, failures=3, last_failure="crashed")
    exercised.breakers.open("default", "core::wait", opened)
    for section, cause in (("core/wait", "invalid_arguments"), ("strange/function", "malformed_reply")):
        answer = exercised.call_registry("skills::resources-read", {"uri": f"iii://fn/{section}"})
        assert answer["error"]["data"]["cause"] == cause, answer
    exercised.breakers.close("default", "core::wait")

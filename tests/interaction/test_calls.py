"""A call of a function from the gateway: where it goes, how long it may take, what it is allowed, what comes back."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost.adapters.memory import MemoryDirectory, MemoryRuntimeSettings
from signpost.calling import wire
from signpost.calling.caller import CALLER_MARGIN, GRACE
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import CallClient, CallReply, CallRequest, Executor, Failure, HostedFunction, KeptResult, Result
from signpost.model import InputRequired, JsonObject, Principal, Trace
from signpost.signing.capability_tokens import DEEPEST_CALL
from tests.support.effort import count_examples
from tests.support.memory_gateway import MemoryGateway, build_modern_request

AGENT = Principal("agent", "acme", "signpost:api-key", frozenset({"writer"}), frozenset({"mail"}))
MAIL = Executor("arn:mail", "secret:mail", timeout_ms=60_000)
OTHER = Executor("arn:other", "secret:other", timeout_ms=5_000)


class RecordingExecutor:
    """An executor that believes everything, writes down what it was sent, and answers as it is told."""

    def __init__(self, answer: JsonObject) -> None:
        self.answer = answer
        self.received: list[Any] = []

    def __call__(self, message: JsonObject) -> JsonObject:
        self.received.append(message)
        return self.answer

    @property
    def call(self) -> Any:
        return self.received[-1]["call"]


class Caller:
    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.directory = MemoryDirectory(self.gateway.functions)
        self.settings = MemoryRuntimeSettings(self.gateway.functions)
        self.mail = self.gateway.executors[MAIL.arn] = RecordingExecutor(wire.reply_message(Result("sent")))
        self.other = self.gateway.executors[OTHER.arn] = RecordingExecutor(wire.reply_message(Result("other")))

    def place(self, tenant: str | None, executor: Executor, *hosted: HostedFunction) -> Sequence[str]:
        return self.directory.place(tenant, executor, hosted)

    def call(self, function: str = "email::send", *, lasting: float = 25, **request: Any) -> CallReply:
        ends_at = self.gateway.clock.now() + lasting
        principal = request.pop("principal", AGENT)
        wanted = CallRequest(function, request.pop("arguments", {}), principal, ends_at, **request)
        return self.gateway.composition.calling.executors.invoke(wanted)

    def seconds(self) -> float:
        """What the call that was sent last had."""
        return round(self.mail.call["deadline"] - self.gateway.clock.now(), 3)


@pytest.fixture
def caller() -> Caller:
    return Caller()


def code(reply: CallReply) -> str:
    assert isinstance(reply, Failure)
    return reply.code


def test_a_call_carries_principal_arguments_step_trace_and_answers(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send", permissions=frozenset({"mail"})))
    trace = Trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1")
    reply = caller.call(
        arguments={"to": "x"},
        idempotency_key="wf_1.send.2",
        step="wf_1.send.2",
        trace=trace,
        answers={"name": "Ana"},
        state={"asked": 1},
    )
    assert reply == Result("sent", [])
    sent = caller.mail.call
    assert sent["principal"] == {
        "subject": "agent",
        "tenant": "acme",
        "issuer": "signpost:api-key",
        "roles": ["writer"],
        "permissions": ["mail"],
        "human": False,
    }
    assert (sent["function"], sent["arguments"], sent["depth"]) == ("email::send", {"to": "x"}, 0)
    assert (sent["idempotencyKey"], sent["step"]) == ("wf_1.send.2", "wf_1.send.2")
    assert sent["trace"] == {"traceparent": trace.traceparent, "tracestate": "v=1"}
    assert (sent["answers"], sent["state"]) == ({"name": "Ana"}, {"asked": 1})
    assert sent["keepAt"] == f"answers/acme/{sent['id']}.json"


def test_a_function_of_the_tenant_hides_the_shipped_one(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.place("acme", OTHER, HostedFunction("email::send"))
    caller.place("umbrella", MAIL, HostedFunction("private::thing"))
    assert caller.call() == Result("other", [])
    assert code(caller.call("private::thing")) == "unknown_function"


def test_a_tenant_can_switch_shipped_functions_off(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.settings.set("acme", None, "shipped_content", 0)
    assert code(caller.call()) == "unknown_function"
    caller.place("acme", OTHER, HostedFunction("email::send"))
    caller.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert caller.call() == Result("other", [])


@pytest.mark.parametrize("name", ["nobody", "", "../x", "a" * 300, "é", "a::b#c"])
def test_a_function_that_no_executor_hosts_is_unknown(caller: Caller, name: str) -> None:
    assert code(caller.call(name)) == "unknown_function"


def test_s234_a_placed_function_is_found_within_two_seconds(caller: Caller) -> None:
    assert code(caller.call()) == "unknown_function"
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert caller.call() == Result("sent", [])


@pytest.mark.parametrize(
    ("declared", "for_all", "for_this", "seconds"),
    [
        (None, None, None, 24.5),  # what the caller has, less what it needs to answer
        (None, 20_000, None, 20),
        (10_000, 20_000, None, 10),
        (10_000, 20_000, 15_000, 15),
        (None, None, 1, 0.001),
    ],
)
def test_the_earliest_deadline_applies(
    caller: Caller, declared: int | None, for_all: int | None, for_this: int | None, seconds: float
) -> None:
    caller.place(None, MAIL, HostedFunction("email::send", timeout_ms=declared))
    for function, value in ((None, for_all), ("email::send", for_this)):
        if value is not None:
            caller.settings.set("acme", function, "tool_timeout_ms", value)
    caller.call()
    assert caller.seconds() == seconds


def test_a_deadline_never_exceeds_the_timeout_of_the_executor(caller: Caller) -> None:
    caller.place(None, OTHER, HostedFunction("email::send", timeout_ms=50_000))
    caller.settings.set("acme", "email::send", "tool_timeout_ms", 50_000)
    caller.call()
    assert round(caller.other.call["deadline"] - caller.gateway.clock.now()) == 5


@pytest.mark.invariant(28)
def test_a_setting_is_effective_within_two_seconds(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.call()
    caller.settings.set("acme", "email::send", "tool_timeout_ms", 7_000)
    caller.gateway.clock.advance(REVALIDATION_INTERVAL)
    caller.call()
    assert caller.seconds() == 7


def test_a_call_without_time_is_not_sent(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    assert code(caller.call(lasting=GRACE + CALLER_MARGIN)) == "late"
    assert caller.mail.received == []


@pytest.mark.parametrize(
    ("declared", "most", "granted"),
    [(("mail", "web"), None, ["mail", "web"]), (("mail", "web"), ("web", "admin"), ["web"]), ((), ("web",), [])],
)
def test_a_function_gets_its_declared_permissions_that_the_caller_has(
    caller: Caller, declared: Sequence[str], most: Sequence[str] | None, granted: list[str]
) -> None:
    caller.place(None, MAIL, HostedFunction("email::send", permissions=frozenset(declared)))
    caller.call(permissions=None if most is None else frozenset(most))
    assert caller.mail.call["permissions"] == granted


def test_arguments_that_are_too_large_are_not_sent(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    assert code(caller.call(arguments={"text": "x" * wire.LARGEST_PAYLOAD})) == "request_too_large"
    assert caller.mail.received == []


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"statusCode": 200},
        {"signpost": 2, "result": 1},
        {"signpost": True, "result": 1},
        {"signpost": 1},
        {"signpost": 1, "failure": {"code": "x", "class": "odd", "outcome": "none", "message": ""}},
        {"signpost": 1, "failure": {"code": "x", "class": "timeout", "outcome": "perhaps", "message": ""}},
        {"signpost": 1, "result": float("nan")},
        {"signpost": 1, "result": [{"deep": float("-inf")}]},
        {"signpost": 1, "result": "half a character: \ud83d"},
        {"signpost": 1, "result": {"\udc00": 1}},
        {"signpost": 1, "result": 1, "evidence": [1]},
        {"signpost": 1, "kept": {"key": "answers/umbrella/secret.json", "size": 1, "sha256": ""}},
        {"signpost": 1, "kept": {"key": 1, "size": "1", "sha256": ""}},
        {"signpost": 1, "kept": {"key": "k", "size": float("inf"), "sha256": ""}},
        {"signpost": 1, "inputRequired": {"requests": []}},
    ],
)
def test_a_reply_that_departs_from_the_contract_is_malformed(caller: Caller, answer: JsonObject) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.mail.answer = answer
    reply = caller.call()
    assert code(reply) == "malformed_reply"
    assert isinstance(reply, Failure)
    assert reply.outcome == "unknown"


class RawTransport:
    """A link to an executor that answers these bytes, whatever it is asked."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> bytes:
        del function_arn, payload, give_up_at
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"null",
        b"[]",
        b"sent",
        b'{"signpost": 1, "result": 1',
        b'{"signpost": 1, "result": Infinity}',
        b'{"signpost": 1, "result": 1e400}',
        b'{"signpost": 1, "result": -1e400}',
        b'{"signpost": 1, "result": "\\uD83D"}',
        b'{"signpost": 1, "result": "\xed\xa0\xbd"}',
        b'{"signpost": 1, "result": "\xff"}',
        '{"signpost": 1, "result": "\\ud83d"}'.encode("utf-16"),
        b'{"signpost": 1, "result": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"signpost": 1, "result": ' + b"9" * 5_000 + b"}",
    ],
)
def test_a_reply_that_is_not_strict_json_is_malformed(caller: Caller, answer: bytes) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.gateway.replace_adapters(link=RawTransport(answer))
    assert code(caller.call()) == "malformed_reply"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (b'{"signpost": 1.0, "result": 1e300}', 1e300),
        (b'{"signpost": 1, "result": "\\ud83d\\ude00"}', "\U0001f600"),
        ('{"signpost": 1, "result": "\U0001f600"}'.encode(), "\U0001f600"),
        (b'{"signpost": 1, "result": "\\\\ud83d"}', "\\ud83d"),
    ],
)
def test_an_unusual_but_valid_reply_is_accepted(caller: Caller, answer: bytes, value: object) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.gateway.replace_adapters(link=RawTransport(answer))
    assert caller.call() == Result(value, [])  # pyright: ignore[reportArgumentType] - it is Json


def test_every_kind_of_reply_arrives_unchanged(caller: Caller) -> None:
    replies: list[CallReply] = [
        Result({"a": [1, None, "é"]}, [{"kind": "mail_sent"}]),
        InputRequired({"q": {"method": "roots/list"}}, state=[1]),
        Failure("reported", "rate_limited", "none", "Wait.", 2_000),
        Failure("something_new", "transient_error", "unknown", "From a later release."),
    ]
    caller.place(None, MAIL, HostedFunction("email::send"))
    for reply in replies:
        caller.mail.answer = wire.reply_message(reply)
        assert caller.call() == reply


def test_a_kept_result_has_a_key_that_the_call_allows(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))

    def keep(message: Any) -> JsonObject:
        return wire.reply_message(KeptResult(message["call"]["keepAt"], 7, "digest"))

    caller.gateway.executors[MAIL.arn] = keep
    reply = caller.call()
    assert isinstance(reply, KeptResult)
    assert reply.key.startswith("answers/acme/")


def call_nested(caller: Caller, function: str, **changes: Any) -> Any:
    """What the function that was called last gets when it calls another one."""
    token, call_id = caller.mail.received[-1]["token"], caller.mail.call["id"]
    message = {**wire.nested_message(wire.NestedCall(token, call_id, function, {"n": 1})), **changes}
    return caller.gateway.handle_nested(json.loads(json.dumps(message)))


SELF_CALLING = HostedFunction("email::send", callees=frozenset({"email::send"}))


@pytest.mark.invariant(83)
def test_a_token_makes_nested_calls_only_of_functions_that_its_function_declares(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send", callees=frozenset({"web::get"})))
    caller.place(None, OTHER, HostedFunction("web::get"), HostedFunction("web::purge"))
    caller.call()
    refused = call_nested(caller, "web::purge")["failure"]
    assert (refused["code"], refused["outcome"]) == ("undeclared_call", "none")
    assert caller.other.received == []
    assert call_nested(caller, "web::get")["result"] == "other"


@pytest.mark.invariant(83)
def test_the_token_of_a_function_without_declared_calls_makes_no_nested_call(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send"))
    caller.place(None, OTHER, HostedFunction("web::get"))
    caller.call()
    assert call_nested(caller, "web::get")["failure"]["code"] == "undeclared_call"
    assert caller.other.received == []


@pytest.mark.invariant(83)
def test_the_token_of_a_step_makes_no_nested_call_after_the_deadline_although_its_lease_lasts(caller: Caller) -> None:
    caller.place(None, MAIL, SELF_CALLING)
    caller.call(lasting=10, expires_at=caller.gateway.clock.now() + 60, step="wf_1.send.2")
    caller.gateway.clock.advance(10)
    assert call_nested(caller, "email::send")["failure"]["code"] == "token_expired"
    assert len(caller.mail.received) == 1


def test_a_nested_call_has_the_same_principal_and_no_more_permissions(caller: Caller) -> None:
    caller.place(
        None,
        MAIL,
        HostedFunction("email::send", permissions=frozenset({"mail", "web"}), callees=frozenset({"web::get"})),
    )
    caller.place(None, OTHER, HostedFunction("web::get", permissions=frozenset({"web", "write"})))
    caller.call(lasting=10, step="wf_1.send.2")
    outer = caller.mail.call
    assert call_nested(caller, "web::get") == {"signpost": 1, "result": "other"}
    inner = caller.other.call
    assert inner["principal"] == outer["principal"]
    assert (inner["permissions"], inner["depth"], inner["step"]) == (["web"], 1, "wf_1.send.2")
    assert inner["deadline"] <= outer["deadline"]
    assert inner["id"] != outer["id"]


PERMISSIONS = frozenset({"mail", "web", "write", "admin"})
sets_of_permissions = st.frozensets(st.sampled_from(sorted(PERMISSIONS)))


@given(st.none() | sets_of_permissions, st.lists(sets_of_permissions, min_size=2, max_size=DEEPEST_CALL + 1))
@settings(max_examples=count_examples(60))
def test_permissions_only_shrink_along_a_chain_of_calls(
    most: frozenset[str] | None, declared: Sequence[frozenset[str]]
) -> None:
    """Each function is called by the one before it, which asks for everything."""
    caller = Caller()
    hosted = [
        HostedFunction(f"chain::{place}", permissions=permissions, callees=frozenset({f"chain::{place + 1}"}))
        for place, permissions in enumerate(declared)
    ]
    caller.place(None, MAIL, *hosted)
    assert caller.call("chain::0", permissions=most) == Result("sent", [])
    for callee in hosted[1:]:
        greedy: JsonObject = {
            "id": "x",
            "function": callee.function,
            "arguments": {},
            "permissions": sorted(PERMISSIONS),
        }
        assert call_nested(caller, callee.function, call=greedy, permissions=sorted(PERMISSIONS))["result"] == "sent"
    calls = [message["call"] for message in caller.mail.received]
    assert [call["function"] for call in calls] == [callee.function for callee in hosted]
    had = PERMISSIONS if most is None else most
    for depth, (call, callee) in enumerate(zip(calls, hosted, strict=True)):
        had &= callee.permissions
        assert (frozenset(call["permissions"]), call["depth"]) == (had, depth)
        assert call["principal"] == calls[0]["principal"]


def test_s226_a_nested_call_without_a_valid_token_is_refused(caller: Caller) -> None:
    caller.place(None, MAIL, SELF_CALLING)
    caller.call()
    assert call_nested(caller, "email::send", token="nonsense")["failure"]["code"] == "invalid_token"
    assert call_nested(caller, "email::send", call={})["failure"]["code"] == "not_understood"
    caller.gateway.clock.advance(25)
    assert call_nested(caller, "email::send")["failure"]["code"] == "token_expired"
    assert len(caller.mail.received) == 1


def test_s239_nested_calls_are_at_most_three_deep(caller: Caller) -> None:
    caller.place(None, MAIL, SELF_CALLING)
    caller.call()
    assert [call_nested(caller, "email::send").get("failure", {}).get("code") for _ in range(4)] == [
        None,
        None,
        None,
        "too_deep",
    ]
    assert code(caller.call(depth=4)) == "too_deep"


def test_a_fault_in_a_nested_call_is_returned_without_its_details(caller: Caller) -> None:
    def broken(message: JsonObject) -> JsonObject:
        raise RuntimeError(f"nobody foresaw {message}")

    caller.place(None, MAIL, HostedFunction("email::send", callees=frozenset({"broken::thing"})))
    caller.place(None, OTHER, HostedFunction("broken::thing"))
    caller.call()
    caller.gateway.executors[OTHER.arn] = broken
    answer = call_nested(caller, "broken::thing")
    assert answer["failure"]["code"] == "service_error"
    assert "foresaw" not in json.dumps(answer)


@pytest.mark.invariant(84)
def test_the_entrance_of_nested_calls_refuses_events_of_the_api(caller: Caller) -> None:
    key = str(caller.gateway.make_key("acme"))
    message, headers = build_modern_request("tools/list", {})
    event: JsonObject = {
        "version": "2.0",
        "rawPath": "/mcp",
        "headers": {**headers, "authorization": f"Bearer {key}"},
        "requestContext": {"http": {"method": "POST", "path": "/mcp", "sourceIp": "198.51.100.7"}},
        "body": json.dumps(message),
    }
    answer = caller.gateway.handle_nested(event)
    assert answer["failure"]["code"] == "not_understood"
    assert "statusCode" not in answer


@pytest.mark.invariant(84)
def test_the_gateway_refuses_nested_calls(caller: Caller) -> None:
    caller.place(None, MAIL, SELF_CALLING)
    caller.call()
    token = caller.mail.received[-1]["token"]
    answer = caller.gateway.handle(wire.nested_message(wire.NestedCall(token, "x", "email::send", {})))
    assert answer["failure"]["code"] == "not_understood"
    assert len(caller.mail.received) == 1


def test_only_an_executor_that_takes_the_client_gets_it(caller: Caller) -> None:
    client = CallClient({"elicitation": {}}, thread="t1")
    caller.place(None, MAIL, HostedFunction("email::send", takes_client=True), HostedFunction("email::list"))
    caller.call(client=client)
    assert caller.mail.call["client"] == {"capabilities": {"elicitation": {}}, "thread": "t1"}
    caller.call("email::list", client=client)
    assert "client" not in caller.mail.call


def test_only_an_executor_that_takes_the_client_gets_claims(caller: Caller) -> None:
    """Executors of earlier releases refuse tokens with fields that they do not know."""
    principal = replace(AGENT, claims={"department": "sales"})
    caller.place(None, MAIL, HostedFunction("email::send", takes_client=True), HostedFunction("email::list"))
    caller.call(principal=principal)
    assert caller.mail.call["principal"]["claims"] == {"department": "sales"}
    caller.call("email::list", principal=principal)
    assert "claims" not in caller.mail.call["principal"]


def perform(caller: Caller, action: str, **changes: Any) -> Any:
    token, call_id = caller.mail.received[-1]["token"], caller.mail.call["id"]
    message = {**wire.context_message(wire.ContextOperation(token, call_id, action, {})), **changes}
    return caller.gateway.handle_nested(json.loads(json.dumps(message)))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"token": "made.up.token"}, "invalid_token"),
        ({"token": 7}, "not_understood"),
        ({"call": {"id": "x"}}, "not_understood"),
        ({}, "not_understood"),
    ],
)
def test_a_context_operation_without_a_token_or_of_an_unknown_action_is_refused(
    caller: Caller, changes: Any, code: str
) -> None:
    caller.place(None, MAIL, HostedFunction("email::send", takes_client=True))
    caller.call(client=CallClient(thread="t1"))
    assert perform(caller, "tell.fortune", **changes)["failure"]["code"] == code


def test_a_context_operation_after_the_deadline_of_its_call_is_refused(caller: Caller) -> None:
    caller.place(None, MAIL, HostedFunction("email::send", takes_client=True))
    caller.call(lasting=10, expires_at=caller.gateway.clock.now() + 60, client=CallClient(thread="t1"))
    caller.gateway.clock.advance(10)
    assert perform(caller, "tell.fortune")["failure"]["code"] == "token_expired"


def test_a_nested_call_has_a_thread_of_its_own_for_each_function_and_arguments(caller: Caller) -> None:
    caller.place(
        None, MAIL, HostedFunction("email::send", takes_client=True, callees=frozenset({"web::get", "web::put"}))
    )
    caller.place(
        None, OTHER, HostedFunction("web::get", takes_client=True), HostedFunction("web::put", takes_client=True)
    )
    caller.call(client=CallClient({"elicitation": {}}, thread="t1"))
    threads: list[str] = []
    for function in ("web::get", "web::get", "web::put"):
        call_nested(caller, function)
        assert caller.other.call["client"].keys() == {"thread"}
        threads.append(caller.other.call["client"]["thread"])
    assert threads[0] == threads[1] != threads[2]
    assert "t1" not in threads


@pytest.mark.invariant(152)
@pytest.mark.parametrize("client", [None, CallClient(thread="t1"), CallClient({"sampling": {}}, can_answer=True)])
def test_a_function_that_needs_a_client_is_not_called_without_one(caller: Caller, client: CallClient | None) -> None:
    caller.place(None, MAIL, HostedFunction("email::send", takes_client=True, needs=("elicitation",)))
    assert code(caller.call(client=client)) == "client_lacking"
    assert caller.mail.received == []
    able = CallClient({"elicitation": {}}, can_answer=True)
    assert isinstance(caller.call(client=able), Result)

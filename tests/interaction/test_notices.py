"""Progress and log messages of functions: collected with the reply, and sent to the client that asked for them before
the answer."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signpost.calling.wire import reply_message
from signpost.contract import CallClient, CallReply, Failure, KeptResult, Result
from signpost.model import InputRequired, JsonObject, LogNotice, Notice, ProgressNotice
from signpost.toolkit import Context, ToolError, Toolkit
from signpost.toolkit.context import notices_of
from signpost.toolkit.notices import LONGEST_FACTS, LONGEST_NOTICES, MOST_NOTICES
from tests.support.function_host import MemoryKeptResults, host_callable
from tests.support.memory_gateway import META, MODERN, build_modern_request
from tests.support.oracle import parse_messages
from tests.support.toolkits import BRIDGE, TOOLKIT_EXECUTOR, ServedToolkits

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
LEGACY, BATCHES = "2025-11-25", "2025-03-26"
LISTENING = CallClient(wants_progress=True, log_level="debug")
QUESTION: JsonObject = {
    "method": "elicitation/create",
    "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
}
SECRET = 'correct "horse"\nbattery'
BOTH = pytest.mark.parametrize("isolate", [False, True], ids=["here", "apart"])


def call_function(
    run: Callable[[Any, Context], object], client: CallClient | None = LISTENING, seconds: float = 60, **host: Any
) -> CallReply:
    return host_callable(run, secrets={"pin": SECRET}, **host).call("f", seconds=seconds, client=client)


def count_to_three(_: Any, ctx: Context) -> str:
    for done in (1, 2, 3):
        ctx.progress(done, 3, f"{done} of three")
    ctx.log.warning("Nearly done.", left=0)
    return "done"


COUNTED: tuple[Notice, ...] = (
    ProgressNotice(1, 3, "1 of three"),
    ProgressNotice(2, 3, "2 of three"),
    ProgressNotice(3, 3, "3 of three"),
    LogNotice("warning", {"message": "Nearly done.", "facts": {"left": 0}}),
)


class TestReply:
    @BOTH
    def test_a_reply_has_the_progress_and_the_log_messages(self, *, isolate: bool) -> None:
        assert call_function(count_to_three, isolate=isolate) == Result("done", [], notices=COUNTED)

    @pytest.mark.parametrize(
        ("client", "kinds"),
        [
            (None, []),
            (CallClient(), []),
            (CallClient(wants_progress=True), [ProgressNotice] * 3),
            (CallClient(log_level="warning"), [LogNotice]),
            (CallClient(log_level="error"), []),
        ],
    )
    def test_a_reply_has_only_the_notices_that_the_client_wants(
        self, client: CallClient | None, kinds: list[type[Notice]]
    ) -> None:
        reply = call_function(count_to_three, client)
        assert [type(notice) for notice in reply.notices] == kinds

    def test_the_log_of_the_executor_has_them_whatever_the_client_wants(self) -> None:
        hosted = host_callable(count_to_three)
        hosted.call("f")
        assert [line["said"] for line in hosted.log.find_lines("said")] == ["Nearly done."]
        assert [line["done"] for line in hosted.log.find_lines("progress")] == [1, 3]

    @BOTH
    def test_questions_and_failures_have_them_too(self, *, isolate: bool) -> None:
        def ask(_: Any, ctx: Context) -> InputRequired:
            ctx.progress(1)
            return InputRequired({"sure": QUESTION})

        def fail(_: Any, ctx: Context) -> None:
            ctx.progress(1)
            raise ToolError("No.")

        def crash(_: Any, ctx: Context) -> None:
            ctx.progress(1)
            raise RuntimeError

        replies = [call_function(run, isolate=isolate) for run in (ask, fail, crash)]
        assert [type(reply) for reply in replies] == [InputRequired, Failure, Failure]
        assert [reply.notices for reply in replies] == [(ProgressNotice(1),)] * 3

    @BOTH
    def test_a_function_that_was_stopped_has_told_what_it_did_before(self, *, isolate: bool) -> None:
        def linger(_: Any, ctx: Context) -> None:
            ctx.progress(1)
            ctx.log.info("Lingering.")
            time.sleep(30)

        reply = call_function(linger, seconds=0.5, isolate=isolate)
        assert isinstance(reply, Failure)
        assert (reply.code, reply.notices) == ("timed_out", (ProgressNotice(1), LogNotice("info", "Lingering.")))

    def test_a_function_whose_process_dies_has_told_what_it_did_before(self) -> None:
        def die(_: Any, ctx: Context) -> None:
            ctx.progress(1)
            os._exit(1)

        reply = call_function(die, isolate=True)
        assert isinstance(reply, Failure)
        assert (reply.code, reply.notices) == ("crashed", (ProgressNotice(1),))

    def test_a_function_that_closed_its_pipe_goes_on_after_a_report(self, tmp_path: Path) -> None:
        def run(_: Any, ctx: Context) -> None:
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            ctx.progress(1)
            (tmp_path / "went-on").touch()

        reply = call_function(run, isolate=True)
        assert isinstance(reply, Failure)
        assert (reply.code, (tmp_path / "went-on").exists()) == ("crashed", True)

    def test_a_result_that_is_kept_has_them_too(self) -> None:
        def run(_: Any, ctx: Context) -> str:
            ctx.progress(1)
            return "x" * 6_000_000

        hosted = host_callable(run, kept_results=MemoryKeptResults())
        reply = hosted.call("f", client=LISTENING, keep_at="answers/a.json")
        assert isinstance(reply, KeptResult)
        assert reply.notices == (ProgressNotice(1),)

    @pytest.mark.invariant(154)
    @BOTH
    def test_secrets_are_masked(self, *, isolate: bool) -> None:
        def leak(_: Any, ctx: Context) -> None:
            pin = ctx.secret("pin")
            ctx.progress(1, None, pin)
            ctx.log.info(pin, pin=pin)

        notices = call_function(leak, isolate=isolate).notices
        assert len(notices) == 2
        assert "horse" not in repr(notices)

    def test_the_latest_progress_arrives_even_if_there_was_too_much(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            for done in range(MOST_NOTICES * 2):
                ctx.progress(done)
                ctx.log.info("More.")

        notices = call_function(run).notices
        assert len(notices) == MOST_NOTICES + 1
        assert notices[-1] == ProgressNotice(MOST_NOTICES * 2 - 1)
        done = [notice.done for notice in notices if isinstance(notice, ProgressNotice)]
        assert done == sorted(set(done))

    def test_the_size_of_all_notices_is_bounded(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            for done in range(100):
                ctx.log.info("Long.", more="x" * LONGEST_FACTS)
                ctx.progress(done, None, "\0" * 4_000)

        notices = call_function(run).notices
        encoded = json.dumps(reply_message(Result(None, notices=notices)))
        assert len(encoded) < LONGEST_NOTICES + 25_000
        assert isinstance(notices[-1], ProgressNotice)
        assert notices[-1].done == 99
        assert notices[0] == LogNotice("info", "Long.")

    def test_notices_that_no_reply_can_hold_spoil_no_reply(self) -> None:
        deep: Any = 1
        for _ in range(500):
            deep = [deep]

        def run(_: Any, ctx: Context) -> str:
            ctx.progress(1, 10**400, "Too large for a double.")
            ctx.progress(2, 3, "\ud800")
            ctx.log.info("\ud800", odd="\udfff")
            ctx.log.info("Deep.", deep=deep)
            return "done"

        reply = call_function(run)
        assert isinstance(reply, Result)
        assert [type(notice) for notice in reply.notices] == [ProgressNotice, LogNotice, LogNotice]
        assert reply.notices[-1] == LogNotice("info", "Deep.")

    def test_what_a_function_left_running_tells_later_is_dropped(self) -> None:
        contexts: list[Context] = []

        def run(_: Any, ctx: Context) -> None:
            contexts.append(ctx)
            ctx.progress(1)

        assert call_function(run).notices == (ProgressNotice(1),)
        contexts[0].progress(2)
        assert notices_of(contexts[0]).take() == ()


def workshop() -> Toolkit:
    kit = Toolkit("yard")

    def report(ctx: Context) -> None:
        ctx.progress(1, 2, "half")
        ctx.log.info("Working.")

    @kit.tool(readable=True)
    def work(ctx: Context) -> str:
        report(ctx)
        return "worked"

    @kit.tool
    def fail(ctx: Context) -> str:
        report(ctx)
        raise ToolError("No.")

    @kit.tool
    def ask(ctx: Context) -> InputRequired:
        report(ctx)
        return InputRequired({"sure": QUESTION})

    @kit.prompt
    def letter(ctx: Context) -> str:
        report(ctx)
        return "Dear reader"

    @kit.prompt
    def refuse(ctx: Context) -> str:
        report(ctx)
        raise ToolError("No.")

    @kit.resource("yard://today")
    def today(ctx: Context) -> str:
        report(ctx)
        return "Monday"

    assert [work, fail, ask, letter, refuse, today]
    return kit


class Listener:
    """A client that takes event streams, of a gateway with toolkits."""

    def __init__(self, version: str = MODERN, endpoint: str = BRIDGE, accept: str = "text/event-stream") -> None:
        self.served = ServedToolkits(workshop(), version=version, endpoint=endpoint)
        self.headers = {"accept": f"application/json, {accept}", "authorization": f"Bearer {self.served.key}"}

    def send(self, method: str, params: JsonObject, **meta: Any) -> list[Any]:
        """Return the messages of the answer, the answer last."""
        message, headers = build_modern_request(method, params, {**META, **meta})
        if self.served.version != MODERN:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
            headers = {"mcp-protocol-version": self.served.version}
        return self.post(message, headers)

    def post(self, body: Any, headers: dict[str, str]) -> list[Any]:
        self.served.gateway.clock.advance(time.time() - self.served.gateway.clock.now())
        answer = self.served.gateway.send(
            path=self.served.endpoint, body=json.dumps(body), headers={**headers, **self.headers}
        )
        return parse_messages(answer.headers, answer.text)


PROGRESS = {"progressToken": "p", "progress": 1, "total": 2, "message": "half"}
REQUESTS: dict[str, tuple[str, JsonObject, str]] = {
    "tool": ("tools/call", {"name": "yard__work", "arguments": {}}, "yard::work"),
    "failure": ("tools/call", {"name": "yard__fail", "arguments": {}}, "yard::fail"),
    "prompt": ("prompts/get", {"name": "letter"}, "yard::letter"),
    "resource": ("resources/read", {"uri": "yard://today"}, "yard::today"),
    "section": ("resources/read", {"uri": "iii://fn/yard/work"}, "yard::work"),
    "fetched section": (
        "tools/call",
        {"name": "skill__fetch", "arguments": {"uri": "iii://fn/yard/work"}},
        "yard::work",
    ),
}


@pytest.mark.invariant(154)
@pytest.mark.parametrize("version", [MODERN, LEGACY, "2024-11-05"])
@pytest.mark.parametrize("kind", REQUESTS)
def test_a_client_gets_the_notices_before_the_answer(kind: str, version: str) -> None:
    method, params, function = REQUESTS[kind]
    progress, logged, answer = Listener(version).send(method, params, progressToken="p", **{LOG_LEVEL: "info"})
    assert (progress["method"], progress["params"]) == ("notifications/progress", PROGRESS)
    told = {"level": "info", "logger": function, "data": "Working."}
    assert (logged["method"], logged["params"]) == ("notifications/message", told)
    assert answer["id"] == 1


@pytest.mark.invariant(154)
@pytest.mark.parametrize("kind", REQUESTS)
def test_a_client_that_asked_for_no_notices_gets_none(kind: str) -> None:
    (answer,) = Listener().send(*REQUESTS[kind][:2])
    assert answer["id"] == 1


@pytest.mark.parametrize("endpoint", [BRIDGE, "/mcp/flat"])
def test_the_tools_of_each_endpoint_send_notices(endpoint: str) -> None:
    name = "yard__work" if endpoint == BRIDGE else "skill:work"
    progress, _ = Listener(endpoint=endpoint).send("tools/call", {"name": name, "arguments": {}}, progressToken="p")
    assert progress["params"] == PROGRESS


def test_a_client_without_event_streams_gets_the_answer_alone() -> None:
    (answer,) = Listener(accept="text/plain").send(*REQUESTS["tool"][:2], progressToken="p")
    assert answer["result"]["content"][0]["text"] == "worked"


@pytest.mark.parametrize(("version", "number"), [(MODERN, 0), (LEGACY, 2)])
def test_an_error_with_an_http_status_of_its_own_comes_alone(version: str, number: int) -> None:
    *told, answer = Listener(version).send("prompts/get", {"name": "refuse"}, progressToken="p", **{LOG_LEVEL: "info"})
    assert (len(told), answer["error"]["message"]) == (number, "No.")


def test_a_question_comes_after_the_notices() -> None:
    capabilities: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    params: JsonObject = {"name": "yard__ask", "arguments": {}}
    progress, asked = Listener().send("tools/call", params, progressToken="p", **capabilities)
    assert (progress["params"], asked["result"]["resultType"]) == (PROGRESS, "input_required")


@pytest.mark.invariant(154)
def test_progress_of_one_request_grows_over_all_its_functions() -> None:
    params: JsonObject = {"name": "skill__fetch", "arguments": {"uris": ["iii://fn/yard/work", "iii://fn/yard/work"]}}
    *notified, answer = Listener().send("tools/call", params, progressToken="p", **{LOG_LEVEL: "info"})
    assert [message["method"] for message in notified] == [
        "notifications/progress", "notifications/message", "notifications/message"
    ]  # fmt: skip
    assert answer["result"]["isError"] is False


def test_a_batch_gets_the_notices_of_all_its_calls_before_its_answers() -> None:
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "yard__work", "arguments": {}, "_meta": {"progressToken": token}},
        }
        for number, token in ((1, "one"), (2, "two"))
    ]
    messages = Listener(BATCHES).post(calls, {"mcp-protocol-version": BATCHES})
    tokens = [message["params"].get("progressToken") for message in messages[:-2]]
    assert tokens == ["one", None, "two", None]
    assert [answer["id"] for answer in messages[-2:]] == [1, 2]


@pytest.mark.parametrize(
    "notices",
    [
        [{"progress": {"done": 10**400}}],
        [{"progress": {"done": "1"}}],
        [{"log": {"level": "loud", "data": ""}}],
        [{"log": {"level": "info", "data": json.loads("[" * 100 + "]" * 100)}}],
        {"progress": 1},
    ],
)
def test_malformed_notices_of_an_executor_are_a_malformed_reply(notices: Any) -> None:
    listener = Listener()
    listener.served.gateway.executors[TOOLKIT_EXECUTOR.arn] = lambda _: {
        "signpost": 1, "result": 1, "notices": notices
    }  # fmt: skip
    (answer,) = listener.send(*REQUESTS["tool"][:2], progressToken="p")
    assert answer["result"]["isError"] is True
    assert "sent a reply that does not follow the contract" in answer["result"]["content"][0]["text"]


def test_notices_beyond_what_fits_beside_the_answer_are_left_out() -> None:
    listener = Listener()
    listener.served.gateway.executors[TOOLKIT_EXECUTOR.arn] = lambda _: {
        "signpost": 1, "result": 1, "notices": [{"log": {"level": "info", "data": "x" * 100_000}}] * 20
    }  # fmt: skip
    *logged, answer = listener.send(*REQUESTS["tool"][:2], **{LOG_LEVEL: "info"})
    assert len(logged) == 2
    assert answer["result"]["isError"] is False

"""What a function may do besides answering: write into its executor's log, say how far it is, read secrets."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, override

import boto3
import pytest
from botocore.config import Config

from signpost.adapters.secrets_manager import SecretsManagerTexts
from signpost.calling.wire import call_message
from signpost.contract import CallReply, Failure, Result
from signpost.errors import PermanentlyUnavailable, Unavailable
from signpost.model import InputRequired, Principal
from signpost.toolkit import Answer, CallEnded, Content, Context, ToolError, Toolkit, ToolResult
from signpost.toolkit.call_log import CallLog, ProgressReporter
from signpost.toolkit.notices import NoticeCollector
from signpost.toolkit.secrets import CACHE_SECONDS, SHORTEST_MASKED, Secrets, find_secret_arns
from tests.support.function_host import TOKEN, MemoryLog, build_call, build_secrets, host_callable
from tests.support.memory_gateway import ManualClock
from tests.support.receiver import ReceiverReply as Sent
from tests.support.receiver import start_receiver

SECRET = 'correct "horse"\nbattery'
BOTH = pytest.mark.parametrize("isolate", [False, True], ids=["here", "apart"])


def reply_and_log(run: Callable[[Any, Context], object], *, isolate: bool = False) -> tuple[CallReply, MemoryLog]:
    hosted = host_callable(
        run, isolate=isolate, secrets={"pin": SECRET, "account": json.dumps({"word": SECRET, "n": 1})}
    )
    return hosted.call("f"), hosted.log


class Unprintable:
    """Says nothing of itself, also where it is part of something else."""

    @override
    def __str__(self) -> str:
        raise LookupError("no words")

    __repr__ = __str__


class TestCallLog:
    def test_a_log_line_carries_the_id_of_its_call(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            ctx.log.debug("one")
            ctx.log.info("two", order=7, on=date(2027, 1, 31))
            ctx.log.warning("three", call_id="not mine", level="FATAL")
            ctx.log.error("four")

        _, log = reply_and_log(run)
        common = {"message": "said", "call_id": "call-1", "function": "f"}
        assert log.find_lines("said") == [
            {**common, "level": "DEBUG", "said": "one"},
            {**common, "level": "INFO", "said": "two", "facts": {"order": 7, "on": "2027-01-31"}},
            {**common, "level": "WARNING", "said": "three", "facts": {"call_id": "not mine", "level": "FATAL"}},
            {**common, "level": "ERROR", "said": "four"},
        ]

    def test_a_fact_without_a_json_form_is_logged_as_its_repr(self) -> None:
        _, log = reply_and_log(lambda _, ctx: ctx.log.info("odd", thing={1}, half="\ud800"))
        assert log.find_lines("said")[0]["facts"] == {"thing": "{1}", "half": "\ud800"}

    @pytest.mark.parametrize(
        "thing",
        [Unprintable(), [Unprintable()], {"in": Unprintable()}, {Unprintable(): 1}],
        ids=["it", "list", "dict", "key"],
    )
    def test_a_fact_that_cannot_be_printed_fails_no_call(self, thing: object) -> None:
        def run(_: Any, ctx: Context) -> str:
            ctx.log.info("odd", thing=thing, order=7)
            return "done"

        reply, log = reply_and_log(run)
        assert reply == Result("done", [])
        (line,) = log.find_lines("said")
        assert line["facts"]["order"] in (7, "7")
        assert line["facts"]["thing"] == f"a {type(thing).__name__} whose str() failed: LookupError"

    def test_a_text_that_cannot_be_printed_fails_no_call(self) -> None:
        def run(_: Any, ctx: Context) -> str:
            said: Any = Unprintable()
            ctx.log.info(said)
            ctx.progress(1, 2, said)
            return "done"

        reply, log = reply_and_log(run)
        assert reply == Result("done", [])
        lines = [*log.find_lines("said"), *log.find_lines("progress")]
        assert [line["said"] for line in lines] == ["a Unprintable whose str() failed: LookupError"] * 2

    def test_a_log_line_is_cut_at_its_maximum_length(self) -> None:
        _, log = reply_and_log(lambda _, ctx: ctx.log.info("x" * 5_000))
        assert len(log.find_lines("said")[0]["said"]) == 4_000


class TestProgress:
    def test_progress_values_that_are_not_finite_are_left_out(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            for done in (math.nan, math.inf, -math.inf, 1, 10**400):
                ctx.progress(done, 10**400)
            ctx.progress(10**400 + 1, math.inf)

        _, log = reply_and_log(run)
        assert [line["done"] for line in log.find_lines("progress")] == [1, 10**400]

    def test_progress_only_grows_and_is_logged(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            for done in (1, 1, 0, 2, 10):
                ctx.progress(done, 10, f"step {done}")

        _, log = reply_and_log(run)
        assert [(line["done"], line["total"], line["said"]) for line in log.find_lines("progress")] == [
            (1, 10, "step 1"),
            (10, 10, "step 10"),
        ]

    def test_progress_is_logged_once_a_second_and_at_the_end(self) -> None:
        log, clock = MemoryLog(), ManualClock()
        began = clock.now()
        notices = NoticeCollector(None)
        call_log = CallLog(log, build_call("f"), build_secrets({}), notices)
        progress = ProgressReporter(call_log, notices, every=1.0, now=clock.now)
        for done in range(1, 401):
            progress.report(done, 400, "")
            clock.advance(0.25)
        assert clock.now() - began == 100
        assert [line["done"] for line in log.find_lines("progress")] == [*range(1, 400, 4), 400]


class TestSecrets:
    def test_a_secret_is_named_by_its_environment_variable(self) -> None:
        environment = {"SECRET_MAIL_KEY_ARN": "arn:a", "SECRET_OTHER_ARN": "", "EXECUTOR_KEY_SECRET_ARN": "arn:b"}
        assert find_secret_arns(environment) == {"mail_key": "arn:a"}

    def test_a_function_reads_the_text_of_a_secret_or_a_member_of_it(self) -> None:
        lengths, _ = reply_and_log(lambda _, ctx: [len(ctx.secret("pin")), len(ctx.secret("account", "word"))])
        assert lengths == Result([len(SECRET)] * 2, [])

    @pytest.mark.parametrize(
        ("name", "member", "says"),
        [
            ("key", None, "There is no secret `key`; the operator must set its ARN as SECRET_KEY_ARN."),
            ("pin", "word", "The secret `pin` holds no JSON object with a text 'word'; the operator must correct it."),
            (
                "account",
                "n",
                "The secret `account` holds no JSON object with a text 'n'; the operator must correct it.",
            ),
        ],
    )
    def test_a_missing_secret_or_member_is_a_failure_that_names_it(
        self, name: str, member: str | None, says: str
    ) -> None:
        refused, _ = reply_and_log(lambda _, ctx: ctx.secret(name, member))
        assert refused == Failure("reported", "permanent_error", "none", says)

    def test_a_secret_is_cached_for_five_minutes_unless_a_fresh_read_is_requested(self) -> None:
        read = list[str]()

        class Numbered:
            def read(self, secret: str) -> str:
                read.append(secret)
                return f"number {len(read)}"

        clock = ManualClock()
        secrets = Secrets({"pin": "arn:pin"}, Numbered(), clock)
        assert [secrets.read("pin", None, fresh=False) for _ in range(2)] == ["number 1"] * 2
        clock.advance(CACHE_SECONDS)
        assert secrets.read("pin", None, fresh=False) == "number 2"
        assert secrets.read("pin", None, fresh=True) == "number 3"
        assert read == ["arn:pin"] * 3
        assert secrets.mask("number 1, number 2, number 4") == "***, ***, number 4"

    def test_a_call_that_has_ended_cannot_read_a_secret(self) -> None:
        left: list[Context] = []
        hosted = host_callable(lambda _, ctx: left.append(ctx), secrets={"pin": SECRET})
        hosted.call("f")
        with pytest.raises(CallEnded):
            left[0].secret("pin")

    @pytest.mark.parametrize(
        ("answered", "says"),
        [
            (Sent(200, json.dumps({"SecretString": "it"}).encode()), None),
            (
                Sent(200, json.dumps({"SecretBinary": "aXQ="}).encode()),
                PermanentlyUnavailable("it contains binary data, not text"),
            ),
            (Sent(400, b'{"__type": "AccessDeniedException"}'), PermanentlyUnavailable("AccessDeniedException")),
            (Sent(400, b'{"__type": "ThrottlingException"}'), Unavailable("overloaded")),
        ],
    )
    def test_an_error_of_secrets_manager_is_raised_with_its_reason(
        self, answered: Sent, says: Exception | None
    ) -> None:
        with start_receiver(lambda _: answered) as server:
            client = boto3.client(
                "secretsmanager",
                region_name="us-east-1",
                endpoint_url=server.url,
                aws_access_key_id="a",
                aws_secret_access_key="b",
                config=Config(retries={"total_max_attempts": 1}),
            )
            texts = SecretsManagerTexts(lambda: client)
            if says is None:
                assert texts.read("arn:secret") == "it"
            else:
                with pytest.raises(type(says), match=str(says)):
                    texts.read("arn:secret")

    @pytest.mark.parametrize(
        ("fault", "kind", "says"),
        [
            (
                PermanentlyUnavailable("AccessDeniedException"),
                "permanent_error",
                "(AccessDeniedException); the operator must check it.",
            ),
            (Unavailable("It is overloaded."), "transient_error", "It is overloaded. Try again."),
        ],
    )
    def test_an_unreadable_secret_fails_the_call_with_a_next_step(self, fault: Exception, kind: str, says: str) -> None:
        class Closed:
            def read(self, secret: str) -> str:
                del secret
                raise fault

        with pytest.raises(ToolError, match="The secret `pin` cannot be read") as raised:
            Secrets({"pin": "arn"}, Closed(), ManualClock()).read("pin", None, fresh=False)
        assert (raised.value.kind, raised.value.message.endswith(says)) == (kind, True)


def raise_fault(fault: Exception) -> object:
    raise fault


LEAKS: Mapping[str, Callable[[str], object]] = {
    "a text": lambda secret: f"<{secret}>",
    "a member and a name": lambda secret: {"word": secret, secret: [1, {"again": secret}]},
    "evidence": lambda secret: Answer(1, [{"with": secret}]),
    "content": lambda secret: [Content.text(secret), Content.text("else")],
    "a whole result": lambda secret: ToolResult([Content.text(secret)], structured={"a": secret}, meta={"b": secret}),
    "an error result": lambda secret: ToolResult([Content.text(secret)], is_error=True),
    "a question": lambda secret: InputRequired({"ask": {"method": "x", "params": {"m": secret}}}, state={"s": secret}),
    "a failure": lambda secret: raise_fault(ToolError(f"It is {secret}.")),
    "an exception": lambda secret: raise_fault(RuntimeError(secret)),
    "no json": lambda secret: raise_fault(KeyError(secret)),
}


@pytest.mark.invariant(63)
@BOTH
@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("told", ["it", "a member"])
def test_a166_a_secret_read_by_a_function_is_masked_in_its_answer_and_log(
    leak: str, isolate: bool, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: Any, ctx: Context) -> object:
        secret = ctx.secret("pin") if told == "it" else ctx.secret("account", "word")
        said = f"It is {secret}."
        ctx.log.info(said, secret=secret, inside=[{secret: secret}])
        ctx.progress(1, 1, secret)
        return LEAKS[leak](secret)

    reply, log = reply_and_log(run, isolate=isolate)
    seen = f"{reply!r} {log.lines!r} {capsys.readouterr()}"
    assert "***" in seen
    for form in (SECRET, json.dumps(SECRET)[1:-1], repr(SECRET)[1:-1], "horse"):
        assert form not in seen


KEY = "-----BEGIN KEY-----\nMIIBVgIBADANBgkq\n  hkiG9w0BAQEFAASC\nAUA=\n-----END KEY-----\n"
PARTS: Mapping[str, tuple[str, str | None, str]] = {
    "without what surrounds it": ("pin", None, "correct horse"),
    "a line": ("key", None, "MIIBVgIBADANBgkq"),
    "an indented line": ("key", None, "hkiG9w0BAQEFAASC"),
    "a member": ("account", None, "s3cret-enough"),
    "a line of a member": ("account", None, "hkiG9w0BAQEFAASC"),
    "a line of the member that was read": ("account", "key", "MIIBVgIBADANBgkq"),
}


@pytest.mark.parametrize("part", PARTS)
def test_the_parts_of_a_secret_are_masked_like_the_whole(part: str) -> None:
    name, member, used = PARTS[part]
    account = json.dumps({"word": "s3cret-enough", "key": KEY, "port": 5432, "user": "ada"})
    secrets = build_secrets({"pin": "  correct horse\n", "key": KEY, "account": account})
    secrets.read(name, member, fresh=False)
    assert secrets.mask(f"It is {used}.") == "It is ***."


def test_short_parts_and_unread_members_of_a_secret_are_not_masked() -> None:
    secrets = build_secrets({"key": KEY, "account": json.dumps({"word": "s3cret-enough", "engine": "postgres"})})
    secrets.read("key", None, fresh=False)
    secrets.read("account", "word", fresh=False)
    assert secrets.mask("AUA=, postgres") == "AUA=, postgres"


def test_another_thread_can_read_a_secret_while_a_text_is_masked() -> None:
    class Sly(str):
        __slots__ = ()

        @override
        def __repr__(self) -> str:
            secrets.read("other", None, fresh=False)
            return super().__repr__()

    class Texts:
        def read(self, secret: str) -> str:
            return Sly("correct horse") if secret == "pin" else "battery staple"

    secrets = Secrets({"pin": "pin", "other": "other"}, Texts(), ManualClock())
    secrets.read("pin", None, fresh=False)
    assert secrets.mask("correct horse") == "***"
    assert secrets.mask("battery staple") == "***"


def test_a_secret_too_short_to_be_distinctive_is_not_masked() -> None:
    hosted = host_callable(lambda _, ctx: f"{ctx.secret('pin')}, {len(ctx.secret('digits'))}, 12345678", secrets=PINS)
    assert hosted.call("f") == Result(f"{PINS['pin']}, 8, ***", [])
    number = host_callable(lambda _, ctx: (ctx.secret("digits"), 12345678)[1], secrets=PINS)
    assert number.call("f") == Result(12345678, [])


PINS = {"pin": "1" * (SHORTEST_MASKED - 1), "digits": "12345678"}


def test_the_principal_reaches_the_function_unchanged() -> None:
    somebody = Principal("ada", "acme", "https://issuer.test", frozenset({"editor"}), frozenset({"mail"}), human=True)
    seen: list[Principal] = []
    hosted = host_callable(lambda _, ctx: seen.append(ctx.principal))
    hosted.handle(call_message(replace(build_call("f"), principal=somebody), TOKEN))
    assert seen == [somebody]


class TestAuthorTests:
    """What surrounds a call, as tests see it."""

    def test_a_trial_of_a_tool_shows_secrets_log_lines_and_progress(self) -> None:
        kit = Toolkit("yard")

        @kit.tool
        def send(ctx: Context) -> int:  # pyright: ignore[reportUnusedFunction] - the kit has it
            for done in range(1, 4):
                ctx.progress(done, 3, f"mail {done}")
            ctx.log.info("Sent.", by=ctx.secret("mail_key"))
            return len(ctx.secret("mail_key"))

        tested = kit.test("send", secrets={"mail_key": "a long enough key"})
        assert tested.value == 17
        assert tested.logged == [{"level": "INFO", "said": "Sent.", "facts": {"by": "***"}}]
        assert [(one["done"], one["said"]) for one in tested.progress] == [(1, "mail 1"), (2, "mail 2"), (3, "mail 3")]
        missing = kit.test("send").failure
        assert missing is not None
        assert "SECRET_MAIL_KEY_ARN" in missing.message

    def test_a_trial_of_a_prompt_shows_log_lines_and_masks_secrets(self) -> None:
        kit = Toolkit("yard")

        @kit.prompt
        def ask(ctx: Context) -> str:  # pyright: ignore[reportUnusedFunction] - the kit has it
            ctx.log.warning("asked")
            return ctx.secret("word")

        rendered = kit.get_prompt("ask", secrets={"word": "abracadabra"})
        assert (rendered.text, rendered.logged) == ("***", [{"level": "WARNING", "said": "asked"}])
        assert rendered.progress == []

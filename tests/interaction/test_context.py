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
from signpost.toolkit.secrets import CACHE_SECONDS, SHORTEST_MASKED, Secrets, find_secret_arns
from tests.support.hosted import TOKEN, KeptLog, call_of, running, secrets_of
from tests.support.memory_gateway import SetClock
from tests.support.receiver import Reply as Sent
from tests.support.receiver import receiving
from tests.support.toolkits import Served

SECRET = 'correct "horse"\nbattery'
BOTH = pytest.mark.parametrize("isolate", [False, True], ids=["here", "apart"])


def reply_and_log(run: Callable[[Any, Context], object], *, isolate: bool = False) -> tuple[CallReply, KeptLog]:
    hosted = running(run, isolate=isolate, secrets={"pin": SECRET, "account": json.dumps({"word": SECRET, "n": 1})})
    return hosted.call("f"), hosted.log


class Mute:
    """Says nothing of itself, also where it is part of something else."""

    @override
    def __str__(self) -> str:
        raise LookupError("no words")

    __repr__ = __str__


class TestTheLog:
    def test_a_line_stands_under_the_id_of_its_call(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            ctx.log.debug("one")
            ctx.log.info("two", order=7, on=date(2027, 1, 31))
            ctx.log.warning("three", call_id="not mine", level="FATAL")
            ctx.log.error("four")

        _, log = reply_and_log(run)
        common = {"message": "said", "call_id": "call-1", "function": "f"}
        assert log.of("said") == [
            {**common, "level": "DEBUG", "said": "one"},
            {**common, "level": "INFO", "said": "two", "facts": {"order": 7, "on": "2027-01-31"}},
            {**common, "level": "WARNING", "said": "three", "facts": {"call_id": "not mine", "level": "FATAL"}},
            {**common, "level": "ERROR", "said": "four"},
        ]

    def test_what_has_no_form_in_json_is_told_in_other_words(self) -> None:
        _, log = reply_and_log(lambda _, ctx: ctx.log.info("odd", thing={1}, half="\ud800"))
        assert log.of("said")[0]["facts"] == {"thing": "{1}", "half": "\ud800"}

    @pytest.mark.parametrize(
        "thing", [Mute(), [Mute()], {"in": Mute()}, {Mute(): 1}], ids=["it", "list", "dict", "key"]
    )
    def test_what_cannot_be_told_fails_no_call(self, thing: object) -> None:
        def run(_: Any, ctx: Context) -> str:
            ctx.log.info("odd", thing=thing, order=7)
            return "done"

        reply, log = reply_and_log(run)
        assert reply == Result("done", [])
        (line,) = log.of("said")
        assert line["facts"]["order"] in (7, "7")
        assert line["facts"]["thing"] == f"a {type(thing).__name__} whose str() failed: LookupError"

    def test_a_text_that_cannot_be_told_fails_no_call(self) -> None:
        def run(_: Any, ctx: Context) -> str:
            said: Any = Mute()
            ctx.log.info(said)
            ctx.progress(1, 2, said)
            return "done"

        reply, log = reply_and_log(run)
        assert reply == Result("done", [])
        lines = [*log.of("said"), *log.of("progress")]
        assert [line["said"] for line in lines] == ["a Mute whose str() failed: LookupError"] * 2

    def test_a_line_has_an_end(self) -> None:
        _, log = reply_and_log(lambda _, ctx: ctx.log.info("x" * 5_000))
        assert len(log.of("said")[0]["said"]) == 4_000


class TestProgress:
    def test_what_has_no_end_or_is_no_number_is_left_out(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            for done in (math.nan, math.inf, -math.inf, 1, 10**400):
                ctx.progress(done, 10**400)
            ctx.progress(10**400 + 1, math.inf)

        _, log = reply_and_log(run)
        assert [line["done"] for line in log.of("progress")] == [1, 10**400]

    def test_it_only_grows_and_goes_to_the_log(self) -> None:
        def run(_: Any, ctx: Context) -> None:
            for done in (1, 1, 0, 2, 10):
                ctx.progress(done, 10, f"step {done}")

        _, log = reply_and_log(run)
        assert [(line["done"], line["total"], line["said"]) for line in log.of("progress")] == [
            (1, 10, "step 1"),
            (10, 10, "step 10"),
        ]

    def test_there_is_a_line_a_second_and_one_at_the_end(self) -> None:
        log, clock = KeptLog(), SetClock()
        began = clock.now()
        progress = ProgressReporter(CallLog(log, call_of("f"), secrets_of({})), every=1.0, now=clock.now)
        for done in range(1, 401):
            progress.report(done, 400, "")
            clock.advance(0.25)
        assert clock.now() - began == 100
        assert [line["done"] for line in log.of("progress")] == [*range(1, 400, 4), 400]

    def test_no_client_hears_of_it(self) -> None:
        kit = Toolkit("yard")

        @kit.tool
        def count(ctx: Context) -> str:  # pyright: ignore[reportUnusedFunction] - the kit has it
            ctx.progress(1, 2, "half of it")
            return "done"

        served = Served(kit)
        meta = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
        answer = served.ask("tools/call", {"name": "yard__count", "arguments": {}, "_meta": meta})
        assert answer["content"] == [{"type": "text", "text": "done"}]
        assert served.executor.log.of("progress")[0]["said"] == "half of it"


class TestSecrets:
    def test_one_is_read_by_the_name_that_the_environment_gives_it(self) -> None:
        environment = {"SECRET_MAIL_KEY_ARN": "arn:a", "SECRET_OTHER_ARN": "", "EXECUTOR_KEY_SECRET_ARN": "arn:b"}
        assert find_secret_arns(environment) == {"mail_key": "arn:a"}

    def test_a_function_is_given_its_text_or_a_member_of_it(self) -> None:
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
    def test_what_there_is_not_is_said_to_whoever_deploys(self, name: str, member: str | None, says: str) -> None:
        refused, _ = reply_and_log(lambda _, ctx: ctx.secret(name, member))
        assert refused == Failure("reported", "permanent_error", "none", says)

    def test_it_is_kept_for_five_minutes_unless_a_fresh_one_is_wanted(self) -> None:
        read = list[str]()

        class Numbered:
            def read(self, secret: str) -> str:
                read.append(secret)
                return f"number {len(read)}"

        clock = SetClock()
        secrets = Secrets({"pin": "arn:pin"}, Numbered(), clock)
        assert [secrets.read("pin", None, fresh=False) for _ in range(2)] == ["number 1"] * 2
        clock.advance(CACHE_SECONDS)
        assert secrets.read("pin", None, fresh=False) == "number 2"
        assert secrets.read("pin", None, fresh=True) == "number 3"
        assert read == ["arn:pin"] * 3
        assert secrets.mask("number 1, number 2, number 4") == "***, ***, number 4"

    def test_a_call_that_is_over_reads_none(self) -> None:
        left: list[Context] = []
        hosted = running(lambda _, ctx: left.append(ctx), secrets={"pin": SECRET})
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
    def test_secrets_manager_has_it_or_says_why_not(self, answered: Sent, says: Exception | None) -> None:
        with receiving(lambda _: answered) as server:
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
    def test_one_that_cannot_be_read_fails_the_call_with_what_to_do(
        self, fault: Exception, kind: str, says: str
    ) -> None:
        class Closed:
            def read(self, secret: str) -> str:
                del secret
                raise fault

        with pytest.raises(ToolError, match="The secret `pin` cannot be read") as raised:
            Secrets({"pin": "arn"}, Closed(), SetClock()).read("pin", None, fresh=False)
        assert (raised.value.kind, raised.value.message.endswith(says)) == (kind, True)


def raised(fault: Exception) -> object:
    raise fault


LEAKS: Mapping[str, Callable[[str], object]] = {
    "a text": lambda secret: f"<{secret}>",
    "a member and a name": lambda secret: {"word": secret, secret: [1, {"again": secret}]},
    "evidence": lambda secret: Answer(1, [{"with": secret}]),
    "content": lambda secret: [Content.text(secret), Content.text("else")],
    "a whole result": lambda secret: ToolResult([Content.text(secret)], structured={"a": secret}, meta={"b": secret}),
    "an error result": lambda secret: ToolResult([Content.text(secret)], is_error=True),
    "a question": lambda secret: InputRequired({"ask": {"method": "x", "params": {"m": secret}}}, state={"s": secret}),
    "a failure": lambda secret: raised(ToolError(f"It is {secret}.")),
    "an exception": lambda secret: raised(RuntimeError(secret)),
    "no json": lambda secret: raised(KeyError(secret)),
}


@pytest.mark.invariant(63)
@BOTH
@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("told", ["it", "a member"])
def test_a166_a_secret_that_a_function_read_leaves_neither_in_its_answer_nor_in_its_log(
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
def test_what_is_used_of_a_secret_leaves_as_little_as_the_whole(part: str) -> None:
    name, member, used = PARTS[part]
    account = json.dumps({"word": "s3cret-enough", "key": KEY, "port": 5432, "user": "ada"})
    secrets = secrets_of({"pin": "  correct horse\n", "key": KEY, "account": account})
    secrets.read(name, member, fresh=False)
    assert secrets.mask(f"It is {used}.") == "It is ***."


def test_what_is_short_of_a_secret_and_a_member_that_was_not_read_are_left_as_they_are() -> None:
    secrets = secrets_of({"key": KEY, "account": json.dumps({"word": "s3cret-enough", "engine": "postgres"})})
    secrets.read("key", None, fresh=False)
    secrets.read("account", "word", fresh=False)
    assert secrets.mask("AUA=, postgres") == "AUA=, postgres"


def test_another_thread_may_read_a_secret_while_one_is_looked_for() -> None:
    class Sly(str):
        __slots__ = ()

        @override
        def __repr__(self) -> str:
            secrets.read("other", None, fresh=False)
            return super().__repr__()

    class Texts:
        def read(self, secret: str) -> str:
            return Sly("correct horse") if secret == "pin" else "battery staple"

    secrets = Secrets({"pin": "pin", "other": "other"}, Texts(), SetClock())
    secrets.read("pin", None, fresh=False)
    assert secrets.mask("correct horse") == "***"
    assert secrets.mask("battery staple") == "***"


def test_a_text_that_a_secret_could_be_by_chance_is_left_as_it_is() -> None:
    hosted = running(lambda _, ctx: f"{ctx.secret('pin')}, {len(ctx.secret('digits'))}, 12345678", secrets=PINS)
    assert hosted.call("f") == Result(f"{PINS['pin']}, 8, ***", [])
    number = running(lambda _, ctx: (ctx.secret("digits"), 12345678)[1], secrets=PINS)
    assert number.call("f") == Result(12345678, [])


PINS = {"pin": "1" * (SHORTEST_MASKED - 1), "digits": "12345678"}


def test_what_a_credential_said_reaches_a_function_as_far_as_the_mapping_of_claims_goes() -> None:
    somebody = Principal("ada", "acme", "https://issuer.test", frozenset({"editor"}), frozenset({"mail"}), human=True)
    seen: list[Principal] = []
    hosted = running(lambda _, ctx: seen.append(ctx.principal))
    hosted.handle(call_message(replace(call_of("f"), principal=somebody), TOKEN))
    assert seen == [somebody]


class TestOfAnAuthor:
    """What surrounds a call, as tests see it."""

    def test_secrets_lines_and_progress_are_seen_in_a_test(self) -> None:
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

    def test_and_of_prompts_and_resources(self) -> None:
        kit = Toolkit("yard")

        @kit.prompt
        def ask(ctx: Context) -> str:  # pyright: ignore[reportUnusedFunction] - the kit has it
            ctx.log.warning("asked")
            return ctx.secret("word")

        rendered = kit.get_prompt("ask", secrets={"word": "abracadabra"})
        assert (rendered.text, rendered.logged) == ("***", [{"level": "WARNING", "said": "asked"}])
        assert rendered.progress == []

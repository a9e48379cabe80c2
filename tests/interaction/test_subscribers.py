"""From a change to those who want to hear of it, over stores in memory: who is told, what, and how often."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from signpost.adapters.memory import FunctionTable, MemoryContentStore, MemoryMasterKeys, MemoryRevisionRows
from signpost.calling.failures import failure
from signpost.content.deliveries import Backoff, Delivery, from_text, to_text
from signpost.content.model import ChangeEvent, Skill, SkillChange, Subscription, SubscriptionChange
from signpost.contract import CallReply, CallRequest, Failure, KeptResult, Result
from signpost.entrypoints.change_fanout import ChangeFanout, SubscriptionCache
from signpost.entrypoints.content_relay import content_bus_event
from signpost.entrypoints.delivery import DeliveryHandler, TriggerSender, WebhookSender
from signpost.errors import Unavailable
from signpost.model import InputRequired, MasterKeys
from signpost.signing.key_ring import KeyRing
from signpost.signing.webhook_signatures import derive_signing_key, format_key
from signpost.telemetry import Telemetry
from signpost.web import WebAnswer, WebFailure, WebRequest
from signpost.wiring.delivery import DELIVERY_BACKOFF
from tests.support.memory_gateway import SetClock

NOW = "2026-11-18T12:00:00.000Z"
URL = "https://hooks.test/a"
TRIGGER = Subscription("trigger", "skills::on-change", "mail::index", NOW)
WEBHOOK = Subscription("webhook", "skills::on-change", URL, NOW)
DELIVERY = Delivery("acme", 7, "skills::on-change", {"op": "register", "id": "a"}, "webhook", URL)


class Queue:
    """Takes as many as it may, and then no more."""

    def __init__(self, takes: int = 1_000) -> None:
        self.takes = takes
        self.texts: list[str] = []
        self.put_offs: list[tuple[str, int]] = []

    def put(self, text: str) -> None:
        if len(self.texts) >= self.takes:
            raise Unavailable("An AWS service that this request needs is overloaded.")
        self.texts.append(text)

    def put_off(self, receipt: str, seconds: int) -> None:
        self.put_offs.append((receipt, seconds))

    @property
    def deliveries(self) -> list[Delivery]:
        return [from_text(text) for text in self.texts]


class Listening:
    """A content store that counts how often it is asked who listens."""

    def __init__(self, *subscriptions: Subscription) -> None:
        self.content = MemoryContentStore(FunctionTable())
        self.asked = 0
        self.subscribe(*subscriptions)

    def subscribe(self, *subscriptions: Subscription, tenant: str = "acme") -> None:
        self.content.apply(tenant, [SubscriptionChange(one.name, one) for one in subscriptions])

    def change(self, *ids: str, tenant: str | None = "acme") -> Sequence[Mapping[str, Any]]:
        """What the bus tells of new documents."""
        before = len(self.content.events)
        skills = [Skill(skill_id, "T", None, 1, NOW, "0" * 64) for skill_id in ids]
        self.content.apply(tenant, [SkillChange(skill.id, skill) for skill in skills])
        return [on_the_bus(asdict(content_bus_event(event))) for event in self.content.events[before:]]

    def read(self, tenant: str) -> Any:
        self.asked += 1
        return MemoryRevisionRows(self.content).read(tenant)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.content, name)


def on_the_bus(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "source": event["source"],
        "detail-type": event["type"],
        "detail": json.loads(event["detail"]),
        "resources": list(event["resources"]),
    }


def door(content: Any, queue: Queue) -> ChangeFanout:
    return ChangeFanout(
        subscribers=SubscriptionCache(content, content), queue=queue, telemetry=Telemetry("subscriber-under-test")
    )


def waiting(*events: Mapping[str, Any]) -> Mapping[str, Any]:
    """As the queue of changes hands them out."""
    return {"Records": [{"messageId": f"m{n}", "body": json.dumps(event)} for n, event in enumerate(events)]}


def not_told(answer: Any) -> list[str]:
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


class TestWhoIsTold:
    def test_everybody_who_subscribed_to_this_type_is(self) -> None:
        listening, queue = Listening(TRIGGER, WEBHOOK), Queue()
        listening.subscribe(replace(TRIGGER, trigger_type="prompts::on-change"))
        (event,) = listening.change("a/b")
        assert not_told(door(listening, queue).handle(waiting(event), "r")) == []
        assert queue.deliveries == [
            Delivery("acme", 4, "skills::on-change", {"op": "register", "id": "a/b"}, one.kind, one.target)
            for one in (TRIGGER, WEBHOOK)
        ]

    def test_nobody_of_another_tenant_is_and_nobody_of_what_is_shipped(self) -> None:
        listening, queue = Listening(TRIGGER), Queue()
        for event in (*listening.change("a", tenant="other"), *listening.change("a", tenant=None)):
            assert not_told(door(listening, queue).handle(waiting(event), "r")) == []
        assert queue.texts == []

    def test_what_the_queue_does_not_take_makes_the_event_come_again_with_the_same_identities(self) -> None:
        listening, queue = Listening(TRIGGER, WEBHOOK), Queue(takes=1)
        (event,) = listening.change("a")
        subscriber = door(listening, queue)
        assert not_told(subscriber.handle(waiting(event), "r")) == ["m0"]
        queue.takes = 3
        assert not_told(subscriber.handle(waiting(event), "r")) == []
        assert [one.kind for one in queue.deliveries] == ["trigger", "trigger", "webhook"]
        assert len({one.id for one in queue.deliveries}) == 2

    def test_who_subscribed_before_a_change_is_never_missing(self) -> None:
        listening, queue = Listening(), Queue()
        subscriber = door(listening, queue)
        (before,) = listening.change("a")
        subscriber.handle(waiting(before), "r")
        listening.subscribe(TRIGGER)
        (after,) = listening.change("b")
        subscriber.handle(waiting(after), "r")
        assert [one.payload["id"] for one in queue.deliveries] == ["b"]

    def test_who_subscribed_before_a_load_is_not_missing_either_though_loads_have_numbers_of_their_own(self) -> None:
        listening, queue = Listening(TRIGGER), Queue()
        subscriber = door(listening, queue)
        subscriber.handle(waiting(*listening.change("a", "b", "c")), "r")
        loads = replace(TRIGGER, trigger_type="skills::registry")
        listening.subscribe(loads)
        told = content_bus_event(ChangeEvent("acme", 1, "skills::registry", "load", "send"))
        subscriber.handle(waiting(on_the_bus(asdict(told))), "r")
        assert queue.deliveries[-1] == Delivery(
            "acme", 1, "skills::registry", {"op": "load", "name": "send"}, loads.kind, loads.target
        )

    def test_for_a_whole_publication_it_is_looked_once(self) -> None:
        listening, queue = Listening(TRIGGER), Queue()
        events = listening.change(*(f"s{number}" for number in range(200)))
        subscriber = door(listening, queue)
        assert not_told(subscriber.handle(waiting(*events), "r")) == []
        assert len(queue.deliveries) == 200
        assert listening.asked == 1

    @pytest.mark.parametrize(
        "event",
        [
            {},
            {"detail-type": "skills::on-change", "detail": {}, "resources": []},
            {"detail-type": "skills::on-change", "detail": {"op": "x"}, "resources": ["urn:signpost:tenant:acme"]},
            {"detail-type": "skills::on-change", "detail": {"op": "x"}, "resources": ["urn:signpost:seq:-1", "t"]},
            {"detail-type": "skills::on-change", "detail": {"op": "x"}, "resources": "urn:signpost:seq:1"},
            {"detail-type": "other", "detail": {"op": "x"}, "resources": ["urn:signpost:seq:1"]},
        ],
    )
    def test_an_event_that_is_none_of_ours_is_set_aside_by_its_queue_and_keeps_nobody_from_the_others(
        self, event: Mapping[str, Any]
    ) -> None:
        listening, queue = Listening(TRIGGER), Queue()
        (good,) = listening.change("a")
        assert not_told(door(listening, queue).handle(waiting(event, good), "r")) == ["m0"]
        assert len(queue.deliveries) == 1


class World:
    """The delivery function, with an executor and a web that answer what a test says."""

    def __init__(self, service: str = "delivery-under-test") -> None:
        self.clock = SetClock()
        self.keys = MemoryMasterKeys(MasterKeys("0" * 64, None))
        self.queue = Queue()
        self.requests: list[CallRequest] = []
        self.posts: list[WebRequest] = []
        self.reply: CallReply | Exception = Result(None)
        self.answer: WebAnswer | WebFailure = WebAnswer(204, {}, b"")
        self.door = DeliveryHandler(
            triggers=TriggerSender(executors=self, clock=self.clock),
            webhooks=WebhookSender(web=self, keys=KeyRing(store=self.keys, clock=self.clock), clock=self.clock),
            queue=self.queue,
            backoff=Backoff(10, 3_600),
            clock=self.clock,
            telemetry=Telemetry(service),
        )

    def invoke(self, request: CallRequest) -> CallReply:
        self.requests.append(request)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def send(self, request: WebRequest) -> WebAnswer | WebFailure:
        self.posts.append(request)
        return self.answer

    def deliver(self, *deliveries: Delivery, attempts: int = 1, seconds: float = 60) -> list[str]:
        """Those that failed."""
        records = [
            {
                "messageId": f"m{number}",
                "receiptHandle": f"r{number}",
                "body": to_text(delivery),
                "attributes": {"ApproximateReceiveCount": str(attempts)},
            }
            for number, delivery in enumerate(deliveries)
        ]
        answer: Any = self.door.handle({"Records": records}, int(seconds * 1000), "r")
        return [failed["itemIdentifier"] for failed in answer["batchItemFailures"]]


@pytest.fixture
def world() -> World:
    return World()


TO_A_FUNCTION = replace(DELIVERY, kind="trigger", target="mail::index")


class TestTriggers:
    def test_the_function_gets_the_detail_and_nothing_else(self, world: World) -> None:
        assert world.deliver(TO_A_FUNCTION) == []
        (request,) = world.requests
        assert (request.function, request.arguments) == ("mail::index", {"op": "register", "id": "a"})
        assert request.idempotency_key == TO_A_FUNCTION.id
        principal = request.principal
        assert (principal.tenant, principal.subject, principal.human) == ("acme", "trigger", False)
        assert principal.roles | principal.permissions == frozenset()
        assert world.clock.now() < request.ends_at < world.clock.now() + 60

    @pytest.mark.parametrize(
        ("reply", "failed"),
        [
            (Result({"any": "thing"}), []),
            (KeptResult("k", 1, "0"), []),
            (failure("exception", "f"), ["m0"]),
            (failure("unknown_function", "f"), ["m0"]),
            (Failure("reported", "permanent_error", "none", "No."), ["m0"]),
            (InputRequired({}, None), ["m0"]),
            (Unavailable("Overloaded."), ["m0"]),
            (RuntimeError("a fault of ours"), ["m0"]),
        ],
    )
    def test_whatever_fails_is_told_again(self, world: World, reply: CallReply | Exception, failed: list[str]) -> None:
        world.reply = reply
        assert world.deliver(TO_A_FUNCTION) == failed
        assert world.queue.put_offs == [("r0", 10) for _ in failed]


class TestWebhooks:
    def test_the_body_says_what_has_happened_and_to_whom(self, world: World) -> None:
        assert world.deliver(DELIVERY) == []
        (post,) = world.posts
        assert (post.method, post.url) == ("POST", URL)
        assert json.loads(post.body or b"") == {
            "type": "skills::on-change",
            "tenant": "acme",
            "sequence": 7,
            "payload": {"op": "register", "id": "a"},
        }

    @pytest.mark.parametrize("status", [100, 199, 300, 301, 307, 400, 404, 410, 429, 500, 503])
    def test_anything_but_a_2xx_is_told_again(self, world: World, status: int) -> None:
        world.answer = WebAnswer(status, {"location": "https://elsewhere.test/"}, b"")
        assert world.deliver(DELIVERY) == ["m0"]
        assert len(world.posts) == 1

    @pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
    def test_a_2xx_is_success_whatever_the_body_says(self, world: World, status: int) -> None:
        world.answer = WebAnswer(status, {}, b"failed!", is_cut=True)
        assert world.deliver(DELIVERY) == []

    def test_who_is_not_reached_is_told_again(self, world: World) -> None:
        world.answer = WebFailure("forbidden", "hooks.test is not a public address.")
        assert world.deliver(DELIVERY) == ["m0"]

    def test_an_attempt_is_signed_anew_under_the_same_identity(self, world: World) -> None:
        world.deliver(DELIVERY)
        world.clock.advance(100)
        world.deliver(DELIVERY, attempts=2)
        first, second = (post.headers for post in world.posts)
        assert first["webhook-id"] == second["webhook-id"] == DELIVERY.id
        assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 100
        assert first["webhook-signature"] != second["webhook-signature"]


@pytest.mark.invariant(36)
def test_while_keys_are_rotated_both_secrets_check_it_and_no_others(world: World) -> None:
    secrets = [format_key(derive_signing_key(digit * 64, "acme", URL)) for digit in "012"]
    assert checked_by(world, secrets) == [True, False, False]
    world.keys.write(MasterKeys("1" * 64, "0" * 64))
    world.clock.advance(301)
    assert checked_by(world, secrets) == [True, True, False]
    world.keys.write(MasterKeys("2" * 64, "1" * 64))
    world.clock.advance(301)
    assert checked_by(world, secrets) == [False, True, True]
    others = [format_key(derive_signing_key("2" * 64, *whose)) for whose in (("other", URL), ("acme", f"{URL}b"))]
    assert checked_by(world, others) == [False, False]


def checked_by(world: World, secrets: Sequence[str]) -> list[bool]:
    world.deliver(DELIVERY)
    post = world.posts[-1]
    signed = f"{post.headers['webhook-id']}.{post.headers['webhook-timestamp']}.".encode() + (post.body or b"")
    keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    digests = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys]
    return [f"v1,{digest}" in post.headers["webhook-signature"].split(" ") for digest in digests]


class TestTryingAgain:
    def test_the_pauses_grow_and_end_growing(self, world: World) -> None:
        world.answer = WebAnswer(500, {}, b"")
        for attempts in (1, 2, 3, 9, 10, 14, 1_000):
            world.deliver(DELIVERY, attempts=attempts)
        assert [seconds for _, seconds in world.queue.put_offs] == [10, 20, 40, 2_560, 3_600, 3_600, 3_600]

    def test_all_attempts_together_take_over_five_hours(self) -> None:
        assert sum(DELIVERY_BACKOFF.delay_after(attempts) for attempts in range(1, 14)) == pytest.approx(
            5.4 * 3600, rel=0.01
        )

    def test_of_a_batch_only_what_failed_comes_again(self, world: World) -> None:
        world.reply = failure("exception", "f")
        assert world.deliver(DELIVERY, TO_A_FUNCTION, DELIVERY) == ["m1"]

    def test_what_cannot_be_read_leaves_the_others_alone(self, world: World) -> None:
        records = [
            {
                "messageId": f"m{number}",
                "receiptHandle": "r",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1"},
            }
            for number, body in enumerate(["{}", to_text(DELIVERY), "no JSON"])
        ]
        answer: Any = world.door.handle({"Records": records}, 60_000, "r")
        assert [failed["itemIdentifier"] for failed in answer["batchItemFailures"]] == ["m0", "m2"]
        assert len(world.posts) == 1

    def test_the_log_says_what_failed_and_not_where(self, capsys: pytest.CaptureFixture[str]) -> None:
        world = World("delivery-that-logs")
        world.answer = WebAnswer(500, {}, b"")
        world.deliver(DELIVERY)
        logged = capsys.readouterr().out
        line = next(json.loads(line) for line in logged.splitlines() if "not delivered" in line)
        assert (line["tenant"], line["delivery"], line["failure"]) == ("acme", DELIVERY.id, "status_500")
        assert "hooks.test" not in logged
        assert "v1," not in logged

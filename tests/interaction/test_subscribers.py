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
from signpost.content.changes import SUBSCRIPTIONS, parse_change, text_of
from signpost.content.deliveries import Backoff, Delivery, from_text, to_text
from signpost.content.model import ChangeEvent, Skill, SkillChange, Subscription, SubscriptionChange
from signpost.contract import CallClient, CallReply, CallRequest, Failure, KeptResult, Result
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
from tests.support.memory_gateway import ManualClock

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


class CountedSubscriptions:
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
        return [bus_event_of(asdict(content_bus_event(event))) for event in self.content.events[before:]]

    def read(self, tenant: str) -> Any:
        self.asked += 1
        return MemoryRevisionRows(self.content).read(tenant)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.content, name)


def bus_event_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "source": event["source"],
        "detail-type": event["type"],
        "detail": json.loads(event["detail"]),
        "resources": list(event["resources"]),
    }


def fanout_of(content: Any, queue: Queue, work: Queue | None = None) -> ChangeFanout:
    return ChangeFanout(
        subscribers=SubscriptionCache(content, content),
        queue=queue,
        work=work or Queue(takes=0),
        telemetry=Telemetry("subscriber-under-test"),
    )


def queue_batch_of(*events: Mapping[str, Any]) -> Mapping[str, Any]:
    """As the queue of changes hands them out."""
    return {"Records": [{"messageId": f"m{n}", "body": json.dumps(event)} for n, event in enumerate(events)]}


def failed_messages(answer: Any) -> list[str]:
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


class TestFanout:
    def test_every_subscriber_of_the_type_gets_a_delivery(self) -> None:
        listening, queue = CountedSubscriptions(TRIGGER, WEBHOOK), Queue()
        listening.subscribe(replace(TRIGGER, trigger_type="prompts::on-change"))
        (event,) = listening.change("a/b")
        assert failed_messages(fanout_of(listening, queue).handle(queue_batch_of(event), "r")) == []
        assert queue.deliveries == [
            Delivery("acme", 4, "skills::on-change", {"op": "register", "id": "a/b"}, one.kind, one.target)
            for one in (TRIGGER, WEBHOOK)
        ]

    def test_changes_of_other_tenants_and_shipped_content_are_not_delivered(self) -> None:
        listening, queue = CountedSubscriptions(TRIGGER), Queue()
        for event in (*listening.change("a", tenant="other"), *listening.change("a", tenant=None)):
            assert failed_messages(fanout_of(listening, queue).handle(queue_batch_of(event), "r")) == []
        assert queue.texts == []

    def test_an_event_that_could_not_be_queued_is_repeated_with_the_same_delivery_ids(self) -> None:
        listening, queue = CountedSubscriptions(TRIGGER, WEBHOOK), Queue(takes=1)
        (event,) = listening.change("a")
        subscriber = fanout_of(listening, queue)
        assert failed_messages(subscriber.handle(queue_batch_of(event), "r")) == ["m0"]
        queue.takes = 3
        assert failed_messages(subscriber.handle(queue_batch_of(event), "r")) == []
        assert [one.kind for one in queue.deliveries] == ["trigger", "trigger", "webhook"]
        assert len({one.id for one in queue.deliveries}) == 2

    def test_a_subscriber_registered_before_a_change_gets_its_delivery(self) -> None:
        listening, queue = CountedSubscriptions(), Queue()
        subscriber = fanout_of(listening, queue)
        (before,) = listening.change("a")
        subscriber.handle(queue_batch_of(before), "r")
        listening.subscribe(TRIGGER)
        (after,) = listening.change("b")
        subscriber.handle(queue_batch_of(after), "r")
        assert [one.payload["id"] for one in queue.deliveries] == ["b"]

    def test_a_subscriber_registered_before_a_load_gets_its_delivery(self) -> None:
        listening, queue = CountedSubscriptions(TRIGGER), Queue()
        subscriber = fanout_of(listening, queue)
        subscriber.handle(queue_batch_of(*listening.change("a", "b", "c")), "r")
        loads = replace(TRIGGER, trigger_type="skills::registry")
        listening.subscribe(loads)
        told = content_bus_event(ChangeEvent("acme", 1, "skills::registry", "load", "send"))
        subscriber.handle(queue_batch_of(bus_event_of(asdict(told))), "r")
        assert queue.deliveries[-1] == Delivery(
            "acme", 1, "skills::registry", {"op": "load", "name": "send"}, loads.kind, loads.target
        )

    def test_subscriptions_are_read_once_for_a_whole_publication(self) -> None:
        listening, queue = CountedSubscriptions(TRIGGER), Queue()
        events = listening.change(*(f"s{number}" for number in range(200)))
        subscriber = fanout_of(listening, queue)
        assert failed_messages(subscriber.handle(queue_batch_of(*events), "r")) == []
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
    def test_a_malformed_event_fails_alone_in_its_batch(self, event: Mapping[str, Any]) -> None:
        listening, queue = CountedSubscriptions(TRIGGER), Queue()
        (good,) = listening.change("a")
        assert failed_messages(fanout_of(listening, queue).handle(queue_batch_of(event, good), "r")) == ["m0"]
        assert len(queue.deliveries) == 1


class DeliveryStage:
    """The delivery function, with an executor and a web that answer what a test says."""

    def __init__(self, service: str = "delivery-under-test") -> None:
        self.clock = ManualClock()
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
def stage() -> DeliveryStage:
    return DeliveryStage()


TO_A_FUNCTION = replace(DELIVERY, kind="trigger", target="mail::index")


def test_a_delivery_that_an_earlier_release_queued_is_read() -> None:
    fields = asdict(TO_A_FUNCTION)
    del fields["metadata"], fields["timeout_ms"]
    assert from_text(json.dumps(fields)) == TO_A_FUNCTION


def test_a_repeated_delivery_has_the_same_id_after_a_change_of_its_trigger() -> None:
    assert replace(TO_A_FUNCTION, metadata={"a": 1}, timeout_ms=5).id == TO_A_FUNCTION.id


@pytest.mark.parametrize("subscription", [TRIGGER, replace(TRIGGER, metadata={"a": [1]}, timeout_ms=5)])
def test_the_row_of_a_trigger_keeps_all_of_it(subscription: Subscription) -> None:
    change = SubscriptionChange(subscription.name, subscription)
    assert parse_change(SUBSCRIPTIONS.tag, subscription.name, text_of(change)) == change


def test_a_row_of_an_earlier_release_has_no_metadata_and_no_timeout() -> None:
    fields = asdict(TRIGGER)
    del fields["metadata"], fields["timeout_ms"]
    assert SUBSCRIPTIONS.read(TRIGGER.name, json.dumps(fields)) == TRIGGER


class TestTriggers:
    def test_a_trigger_function_gets_only_the_detail_of_the_event(self, stage: DeliveryStage) -> None:
        assert stage.deliver(TO_A_FUNCTION) == []
        (request,) = stage.requests
        assert (request.function, request.arguments) == ("mail::index", {"op": "register", "id": "a"})
        assert request.idempotency_key == TO_A_FUNCTION.id
        principal = request.principal
        assert (principal.tenant, principal.subject, principal.human) == ("acme", "trigger", False)
        assert principal.roles | principal.permissions == frozenset()
        assert stage.clock.now() < request.ends_at < stage.clock.now() + 60

    def test_all_attempts_of_a_delivery_are_one_thread(self, stage: DeliveryStage) -> None:
        """So an effect of the trigger's function happens once, however often its change is delivered."""
        for _ in range(2):
            stage.deliver(TO_A_FUNCTION)
        assert [request.client for request in stage.requests] == [CallClient(thread=TO_A_FUNCTION.id)] * 2

    def test_metadata_of_a_trigger_is_beside_the_detail(self, stage: DeliveryStage) -> None:
        stage.deliver(replace(TO_A_FUNCTION, metadata={"team": "docs"}))
        assert stage.requests[0].arguments == {"op": "register", "id": "a", "metadata": {"team": "docs"}}

    def test_the_timeout_of_a_trigger_limits_its_call(self, stage: DeliveryStage) -> None:
        stage.deliver(replace(TO_A_FUNCTION, timeout_ms=5_000))
        assert stage.requests[0].ends_at == stage.clock.now() + 5

    def test_a_timeout_does_not_prolong_the_time_of_a_delivery(self, stage: DeliveryStage) -> None:
        stage.deliver(replace(TO_A_FUNCTION, timeout_ms=10**6))
        assert stage.requests[0].ends_at < stage.clock.now() + 60

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
    def test_a_failed_trigger_is_delivered_again(
        self, stage: DeliveryStage, reply: CallReply | Exception, failed: list[str]
    ) -> None:
        stage.reply = reply
        assert stage.deliver(TO_A_FUNCTION) == failed
        assert stage.queue.put_offs == [("r0", 10) for _ in failed]


class TestWebhooks:
    def test_the_body_of_a_webhook_has_type_tenant_sequence_and_payload(self, stage: DeliveryStage) -> None:
        assert stage.deliver(DELIVERY) == []
        (post,) = stage.posts
        assert (post.method, post.url) == ("POST", URL)
        assert json.loads(post.body or b"") == {
            "type": "skills::on-change",
            "tenant": "acme",
            "sequence": 7,
            "payload": {"op": "register", "id": "a"},
        }

    @pytest.mark.parametrize("status", [100, 199, 300, 301, 307, 400, 404, 410, 429, 500, 503])
    def test_a_status_other_than_2xx_is_delivered_again(self, stage: DeliveryStage, status: int) -> None:
        stage.answer = WebAnswer(status, {"location": "https://elsewhere.test/"}, b"")
        assert stage.deliver(DELIVERY) == ["m0"]
        assert len(stage.posts) == 1

    @pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
    def test_a_2xx_status_is_success_with_any_body(self, stage: DeliveryStage, status: int) -> None:
        stage.answer = WebAnswer(status, {}, b"failed!", is_cut=True)
        assert stage.deliver(DELIVERY) == []

    def test_an_unreachable_webhook_is_delivered_again(self, stage: DeliveryStage) -> None:
        stage.answer = WebFailure("forbidden", "hooks.test is not a public address.")
        assert stage.deliver(DELIVERY) == ["m0"]

    def test_each_attempt_has_a_new_signature_and_the_same_webhook_id(self, stage: DeliveryStage) -> None:
        stage.deliver(DELIVERY)
        stage.clock.advance(100)
        stage.deliver(DELIVERY, attempts=2)
        first, second = (post.headers for post in stage.posts)
        assert first["webhook-id"] == second["webhook-id"] == DELIVERY.id
        assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 100
        assert first["webhook-signature"] != second["webhook-signature"]


@pytest.mark.invariant(36)
def test_a_signature_is_valid_for_both_secrets_during_a_rotation(stage: DeliveryStage) -> None:
    secrets = [format_key(derive_signing_key(digit * 64, "acme", URL)) for digit in "012"]
    assert verify_signature(stage, secrets) == [True, False, False]
    stage.keys.write(MasterKeys("1" * 64, "0" * 64))
    stage.clock.advance(301)
    assert verify_signature(stage, secrets) == [True, True, False]
    stage.keys.write(MasterKeys("2" * 64, "1" * 64))
    stage.clock.advance(301)
    assert verify_signature(stage, secrets) == [False, True, True]
    others = [format_key(derive_signing_key("2" * 64, *whose)) for whose in (("other", URL), ("acme", f"{URL}b"))]
    assert verify_signature(stage, others) == [False, False]


def verify_signature(world: DeliveryStage, secrets: Sequence[str]) -> list[bool]:
    world.deliver(DELIVERY)
    post = world.posts[-1]
    signed = f"{post.headers['webhook-id']}.{post.headers['webhook-timestamp']}.".encode() + (post.body or b"")
    keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    digests = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys]
    return [f"v1,{digest}" in post.headers["webhook-signature"].split(" ") for digest in digests]


class TestRetries:
    def test_pauses_between_attempts_grow_up_to_an_hour(self, stage: DeliveryStage) -> None:
        stage.answer = WebAnswer(500, {}, b"")
        for attempts in (1, 2, 3, 9, 10, 14, 1_000):
            stage.deliver(DELIVERY, attempts=attempts)
        assert [seconds for _, seconds in stage.queue.put_offs] == [10, 20, 40, 2_560, 3_600, 3_600, 3_600]

    def test_all_attempts_together_take_over_five_hours(self) -> None:
        assert sum(DELIVERY_BACKOFF.delay_after(attempts) for attempts in range(1, 14)) == pytest.approx(
            5.4 * 3600, rel=0.01
        )

    def test_only_failed_deliveries_of_a_batch_are_repeated(self, stage: DeliveryStage) -> None:
        stage.reply = failure("exception", "f")
        assert stage.deliver(DELIVERY, TO_A_FUNCTION, DELIVERY) == ["m1"]

    def test_a_malformed_delivery_fails_alone_in_its_batch(self, stage: DeliveryStage) -> None:
        records = [
            {
                "messageId": f"m{number}",
                "receiptHandle": "r",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1"},
            }
            for number, body in enumerate(["{}", to_text(DELIVERY), "no JSON"])
        ]
        answer: Any = stage.door.handle({"Records": records}, 60_000, "r")
        assert [failed["itemIdentifier"] for failed in answer["batchItemFailures"]] == ["m0", "m2"]
        assert len(stage.posts) == 1

    def test_the_log_names_the_failure_and_not_the_url(self, capsys: pytest.CaptureFixture[str]) -> None:
        world = DeliveryStage("delivery-that-logs")
        world.answer = WebAnswer(500, {}, b"")
        world.deliver(DELIVERY)
        logged = capsys.readouterr().out
        line = next(json.loads(line) for line in logged.splitlines() if "not delivered" in line)
        assert (line["tenant"], line["delivery"], line["failure"]) == ("acme", DELIVERY.id, "status_500")
        assert "hooks.test" not in logged
        assert "v1," not in logged

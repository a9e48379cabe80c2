"""Exercises of the functions that streams, queues and schedules invoke, with events that the test makes."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from signpost.adapters import keys
from signpost.adapters.dynamodb.due import due_attributes, wake_attributes
from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW, DynamoInstanceStore
from signpost.adapters.dynamodb.outbox import ChangeBatch, row_of_change_batch
from signpost.adapters.dynamodb.scopes import row_of_scope
from signpost.adapters.dynamodb.timetables import DynamoTimetables, build_timetable_wake
from signpost.adapters.s3 import S3Bodies
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.deliveries import Delivery, to_text
from signpost.content.model import (
    PromptChange,
    SkillChange,
    StoredPrompt,
    SubscriberKind,
    Subscription,
    SubscriptionChange,
)
from signpost.content.retention import PART
from signpost.model import Principal
from signpost.workflow.instance import (
    ApprovalRequest,
    AuditEvent,
    AuditRecord,
    Claim,
    Instance,
    InstanceWrite,
    Job,
)
from signpost.workflow.running.serialization import audit_text
from signpost.workflow.wakes import SCHEDULES, Wake, WakeMessage
from stage.samples import TENANT
from tests.support.catalogues import store_stack_catalogue
from tests.support.exercised_stack import FOREIGN_FUNCTION, WORK, ExercisedStack
from tests.support.receiver import Receiver

SUBSCRIBED_TENANT = "listener"
"""A tenant that has just published a subscription."""
NO_FAILURES: Mapping[str, Any] = {"batchItemFailures": []}


def exercise_content_relay(exercised: ExercisedStack) -> None:
    """Exercise the content relay with a change batch, as the stream shows it."""
    publication = ChangeBatch(1, [SkillChange("relayed", None)])
    image = row_of_change_batch("exercise", publication, publication.save("exercise", exercised.change_batches))
    assert exercised.functions.invoke("Relay", _shown(image)) == NO_FAILURES


def exercise_workflow_relay(exercised: ExercisedStack) -> None:
    """Exercise the workflow relay with the rows of a step and of a wake, as the stream shows them."""
    step = {
        **keys.workflow_row("exercise", "wf_1", keys.audit(1.0, "cor_1")),
        "correlation": {"S": "cor_1"},
        "subject": {"S": "ann"},
        "text": {"S": audit_text([AuditEvent(AuditRecord("workflow.started", {}), 1.0, "cor_1", "ann")])},
    }
    head = {**keys.workflow_row("exercise", "wf_1", keys.HEAD), **wake_attributes([Wake("wf_1")])}
    assert exercised.functions.invoke("Herald", _shown(step, head)) == NO_FAILURES


def _shown(*images: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stream event with new rows."""
    records = [
        {"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(number), "NewImage": image}}
        for number, image in enumerate(images)
    ]
    return {"Records": records}


def exercise_change_fanout(exercised: ExercisedStack) -> None:
    """Exercise the change fan-out with a change of a tenant that has an overlay."""
    function = Subscription("trigger", "skills::on-change", FOREIGN_FUNCTION, "2026-11-18T12:00:00.000Z")
    workflow = Subscription("workflow", "skills::on-change", "work", "2026-11-18T12:00:00.000Z")
    changes = [SubscriptionChange(trigger.name, trigger) for trigger in (function, workflow)]
    exercised.leave_overlay(SUBSCRIBED_TENANT, changes, version=2)
    event = {
        "detail-type": "skills::on-change",
        "detail": {"op": "register", "id": "a"},
        "resources": ["iii://a", "urn:signpost:seq:2", f"urn:signpost:tenant:{SUBSCRIBED_TENANT}"],
    }
    message = {"messageId": "m", "body": json.dumps(event)}
    assert exercised.functions.invoke("Subscriber", {"Records": [message]}) == NO_FAILURES


def exercise_delivery(exercised: ExercisedStack, receiver: Receiver) -> None:
    """Exercise the delivery to a failing function (its breaker opens and the message is postponed), to a function that
    works again, and to a webhook."""
    exercised.set_breakers()
    assert not _deliver(exercised, "trigger", FOREIGN_FUNCTION)
    assert _deliver(exercised, "trigger", "core::wait")
    assert _deliver(exercised, "webhook", receiver.url)
    assert exercised.list_open_breakers() == {FOREIGN_FUNCTION}


def _deliver(exercised: ExercisedStack, kind: SubscriberKind, target: str) -> bool:
    """Deliver one message and return whether that succeeded. If not, the message must be visible again at once, because
    the test stage postpones messages by zero seconds."""
    sqs, queue = exercised.laptop.client("sqs"), exercised.read_output("DeliveryQueueUrl")
    sqs.purge_queue(QueueUrl=queue)
    delivery = Delivery(TENANT, 1, "skills::on-change", {"seconds": 0}, kind, target)
    sqs.send_message(QueueUrl=queue, MessageBody=to_text(delivery))
    (message,) = sqs.receive_message(QueueUrl=queue, VisibilityTimeout=600, WaitTimeSeconds=5)["Messages"]
    is_delivered = exercised.functions.invoke("Delivery", _taken(message)) == NO_FAILURES
    if not is_delivered:
        assert sqs.receive_message(QueueUrl=queue).get("Messages"), "The message was not delayed."
    return is_delivered


def _taken(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a queue event with one message."""
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    return {"Records": [record]}


def exercise_worker(exercised: ExercisedStack) -> None:
    """Exercise the worker: expired claims on steps of a function that works again and of one that fails, with a context
    too long for a row; an approval request past its deadline; and a message that cannot be read."""
    exercised.set_breakers()
    reached = [
        _resume(exercised, _instance(exercised, "ready", claim=_claim("wait"))),
        _resume(exercised, _instance(exercised, "ready", claim=_claim("fail"))),
        _resume(exercised, _instance(exercised, "asked", request=_asked(), ends_at=2.0)),
    ]
    assert reached == ["done", "in_doubt", "done"]
    assert exercised.list_open_breakers() == {FOREIGN_FUNCTION}
    _start_scheduled(exercised)
    _put_off_nonsense(exercised)


def _start_scheduled(exercised: ExercisedStack) -> None:
    """Start the workflow of a schedule that is due, and refuse one of a workflow that does not exist any more."""
    tenant = f"scheduled-{uuid.uuid4().hex[:8]}"
    entry = {"workflow": "work", "rate": "1 minute", "since": "2026-01-01T00:00:00+00:00", "publishedBy": "operator"}
    published = CatalogueSnapshot(schedules={"due": entry, "gone": {**entry, "workflow": "gone"}})
    item = exercised.define("work", WORK, tenant)
    store_stack_catalogue(exercised.laptop, exercised.stack, tenant, [item], published)
    table = exercised.read_output("WorkflowsTableName")
    exercised.dynamodb.transact_write_items(TransactItems=[build_timetable_wake(table, tenant)])
    taken = _taken({"MessageId": "m", "ReceiptHandle": "r", "Body": WakeMessage(tenant, SCHEDULES).text})
    assert exercised.functions.invoke("Worker", taken) == NO_FAILURES
    timetable = DynamoTimetables(exercised.dynamodb, table).load(tenant)
    assert timetable is not None
    outcomes = {name: result.outcome for name, result in timetable.results.items()}
    assert outcomes == {"due": "started", "gone": "refused"}


def _instance(exercised: ExercisedStack, state: str, **members: Any) -> Instance:
    digest = exercised.define("work", WORK).definition
    context = {"text": "x" * (LONGEST_IN_A_ROW + 1)}
    return Instance(f"wf_{uuid.uuid4().hex}", "work", str(digest), state, 1, context, {}, started_at=1.0, **members)


def _claim(transition: str) -> Claim:
    job = Job(transition, {}, Principal("ann", TENANT, "issuer"))
    return Claim("token", "waiting", job, since=1.0, until=1.0)


def _asked() -> ApprovalRequest:
    return ApprovalRequest(f"hr_{uuid.uuid4().hex}", "anyone", "ann", 1.0, state="asked")


def _resume(exercised: ExercisedStack, instance: Instance) -> str:
    """Have the worker continue an instance, and return its state, or the standing of its claim if it has one."""
    instances = DynamoInstanceStore(exercised.dynamodb, exercised.read_output("WorkflowsTableName"), exercised.values)
    assert instances.save(TENANT, InstanceWrite(instance, token=uuid.uuid4().hex), replacing=None)
    body = WakeMessage(TENANT, instance.id).text
    exercised.functions.invoke("Worker", _taken({"MessageId": "m", "ReceiptHandle": "none", "Body": body}))
    after = instances.load(TENANT, instance.id)
    assert after is not None
    return after.state if after.claim is None else after.claim.standing


def _put_off_nonsense(exercised: ExercisedStack) -> None:
    """Check that a message that the worker cannot read is postponed and reported as failed."""
    sqs, queue = exercised.laptop.client("sqs"), exercised.read_output("WorkQueueUrl")
    nonsense = uuid.uuid4().hex
    sqs.send_message(QueueUrl=queue, MessageBody=nonsense)
    message = _receive(sqs, queue, nonsense)
    answer = exercised.functions.invoke("Worker", _taken(message))
    assert answer == {"batchItemFailures": [{"itemIdentifier": message["MessageId"]}]}


def _receive(sqs: Any, queue: str, body: str) -> Any:
    """Receive the message with this body, and delete those before it."""
    while True:
        messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=5)["Messages"]
        for message in messages:
            if message["Body"] == body:
                return message
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def exercise_sweeper(exercised: ExercisedStack) -> None:
    """Exercise the sweeper with an overlay to be written into rows, unreferenced objects, and a due workflow."""
    name, tenant = uuid.uuid4().hex, "swept"
    changes = [PromptChange(name, StoredPrompt(name, "", "mail::letter", (), "")), SkillChange(name, None)]
    exercised.leave_overlay(tenant, changes, version=2)
    exercised.dynamodb.put_item(TableName=exercised.table, Item=row_of_scope(tenant))
    s3, bucket = exercised.laptop.client("s3"), exercised.read_output("ContentBucketName")
    S3Bodies(lambda: s3, bucket).keep(tenant, f"{PART}{name}", b"[]")
    unnamed = ChangeBatch(1, changes).save("unnamed", exercised.change_batches)
    due = {**keys.workflow_row(tenant, "wf_1", keys.HEAD), **due_attributes("wf_1", 1.0)}
    exercised.dynamodb.put_item(TableName=exercised.read_output("WorkflowsTableName"), Item=due)
    swept = exercised.functions.invoke("Sweeper", {"source": "aws.events"})
    assert swept["completed"] > 0, swept
    assert swept["removed"] > 0, swept
    # The second sweep has the candidates that the first one noted.
    second = exercised.functions.invoke("Sweeper", {"source": "aws.events"})
    assert second["looked_at"] > 0, (swept, second)
    assert "Versions" not in s3.list_object_versions(Bucket=bucket, Prefix=unnamed)
    due_sweep = exercised.functions.invoke("Sweeper", {"sweep": "due"})
    assert due_sweep["woken"] > 0, due_sweep

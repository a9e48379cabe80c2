"""The sweeper function and its schedule, and changes that are sent after all, on the deployed stack."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from signpost.content.digests import digest_of
from tests.acceptance.bus import EventRecorder
from tests.support.commands import ProcessRunner
from tests.support.laptop import Laptop
from tests.support.swept_stack import SweptStack, deploy_swept_stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

PATIENCE = 150.0
"""Seconds."""


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> SweptStack:
    return deploy_swept_stack(laptop)


@pytest.fixture(scope="module")
def scheduled_tenant(laptop: Laptop, stack: SweptStack) -> Iterator[str]:
    """A tenant that is left to the schedule, which is the product's but for its rate: a minute, not five."""
    tenant = f"t-{uuid.uuid4().hex[:8]}"
    stack.register(tenant, "a", "# A")
    name = stack.stack.deployed.outputs["SweeperFunctionName"]
    events = laptop.client("events")
    arn = laptop.client("lambda").get_function(FunctionName=name)["Configuration"]["FunctionArn"]
    rules = events.list_rule_names_by_target(TargetArn=arn)["RuleNames"]
    schedules = {events.describe_rule(Name=rule)["ScheduleExpression"]: rule for rule in rules}
    assert set(schedules) == {"rate(5 minutes)", "rate(1 minute)"}
    rule = schedules["rate(5 minutes)"]
    events.put_rule(Name=rule, ScheduleExpression="rate(1 minute)")
    yield tenant
    events.put_rule(Name=rule, ScheduleExpression="rate(5 minutes)")


@pytest.fixture
def tenant(stack: SweptStack, scheduled_tenant: str) -> str:
    assert scheduled_tenant  # it waits for the schedule from the first test on
    name = f"t-{uuid.uuid4().hex[:8]}"
    stack.disable_shipped_content(name)
    return name


def wait_until(condition: Callable[[], bool], what: str) -> None:
    wait_for(what, condition, lambda holds: holds, patience=PATIENCE)


@pytest.fixture
def bus(laptop: Laptop, stack: SweptStack) -> Iterator[EventRecorder]:
    with EventRecorder(laptop, stack.stack.deployed.outputs["EventBusName"]) as bus:
        yield bus


@pytest.fixture
def stopped_relay(stack: SweptStack) -> Iterator[None]:
    """The stream is shown to it no more, as when Lambda has given up."""
    with stack.functions.disable_event_sources("Relay"):
        yield


def describe_given_up_batch(function_arn: str, first: float, last: float) -> str:
    """As Lambda describes a batch that it gives up."""
    stream = {"streamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/registry/stream/1", "shardId": "shardId-1"}
    place = {**stream, "startSequenceNumber": "1", "endSequenceNumber": "9", "batchSize": 2}
    arrived = {
        f"approximateArrivalOf{which}Record": datetime.fromtimestamp(at, UTC).isoformat()
        for which, at in (("First", first), ("Last", last))
    }
    context = {"functionArn": function_arn, "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 21}
    return json.dumps({"version": "1.0", "requestContext": context, "DDBStreamBatchInfo": {**place, **arrived}})


@pytest.mark.invariant(44)
@pytest.mark.usefixtures("stopped_relay")
def test_redrive_sends_the_changes_that_the_content_relay_gave_up(
    laptop: Laptop, stack: SweptStack, bus: EventRecorder, tenant: str, signpost: ProcessRunner
) -> None:
    began = time.time()
    stack.register(tenant, "a", "# A")
    many = [{"name": f"p-{number}", "description": "Writes.", "function_id": "mail::letter"} for number in range(40)]
    published = stack.call_registry(tenant, "manifest::publish", {"prompts": many})
    queue, sqs = stack.stack.deployed.outputs["UndeliveredChangesUrl"], laptop.client("sqs")
    relay = laptop.client("lambda").get_function(FunctionName=stack.stack.deployed.outputs["RelayFunctionName"])
    arn = relay["Configuration"]["FunctionArn"]
    sqs.send_message(QueueUrl=queue, MessageBody=describe_given_up_batch(arn, began, time.time()))

    rehearsed = signpost("events", "redrive", "--dry-run", "--stack", stack.stack.deployed.name)
    assert rehearsed.returncode == 0, rehearsed.stderr
    done = signpost("events", "redrive", "--stack", stack.stack.deployed.name)
    assert done.returncode == 0, done.stderr
    assert json.loads(rehearsed.stdout) == json.loads(done.stdout)
    assert json.loads(done.stdout)["batches"] == 1
    assert f"{tenant}: 2 changes" in done.stderr
    last: Any = {"type": "prompts::on-change", "payload": {"op": "register", "name": "p-39"}}
    assert len(bus.until(tenant, last)) == published["sequence"] == 41
    again = signpost("events", "redrive", "--stack", stack.stack.deployed.name)
    assert json.loads(again.stdout) == {"batches": 0, "changes": 0, "too_old": 0}


def test_the_schedule_runs_the_sweeper(stack: SweptStack, scheduled_tenant: str) -> None:
    """After a test that sweeps nothing, during which its schedule has begun, and before the one that sweeps itself."""
    wait_until(lambda: stack.list_versions(f"sweeper/{scheduled_tenant}.json") != [], "the schedule to run the sweeper")


def test_sweeps_remove_all_unreferenced_objects_and_no_others(stack: SweptStack, tenant: str) -> None:
    for body in ("# Old", "# New"):
        stack.register(tenant, "a", body)
    stack.call_registry(tenant, "manifest::bodies", {"skills": [{"id": "b", "skill": "# Never published"}]})
    assert len(stack.list_versions(f"content/{tenant}/")) == 4  # three bodies, and a part

    def is_swept() -> bool:
        stack.sweep()
        return len(stack.list_versions(f"content/{tenant}/")) == 1

    wait_until(is_swept, "all bodies but the named one to be gone")
    assert stack.list_versions(f"content/{tenant}/") == [f"content/{tenant}/{digest_of('# New')}"]
    assert stack.read_documents(tenant) == {"a": "# New"}
    stack.register(tenant, "a", "# Old")
    assert stack.read_documents(tenant) == {"a": "# Old"}

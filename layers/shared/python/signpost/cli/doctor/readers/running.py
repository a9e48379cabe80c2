"""Examines what runs: queues, event sources, rules, alarms, functions, and the quotas that they share."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from signpost.cli.doctor.readers.partial_reads import read_existing
from signpost.cli.doctor.rules.alarms import AlarmFacts, StackAlarm, judge_alarms
from signpost.cli.doctor.rules.event_sources import EventRule, EventSource, judge_event_source, judge_rule
from signpost.cli.doctor.rules.functions import LambdaFacts, find_missing_function, judge_function
from signpost.cli.doctor.rules.queues import (
    DEAD_LETTER_QUEUES,
    QueuedMessage,
    QueueFacts,
    find_missing_queue,
    judge_queue,
)
from signpost.cli.doctor.rules.quotas import (
    LIMITED,
    ConcurrencyFacts,
    judge_concurrency,
    judge_resources,
    judge_role,
)
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.cli.doctor.findings import Finding
    from signpost.cli.doctor.readers.examined_stack import ExaminedStack, ListedResource
    from signpost.cli.doctor.readers.partial_reads import PartialReads

FUNCTION, QUEUE, ALARM = "AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::CloudWatch::Alarm"
COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
AGE_PERIOD = 300
SAMPLE_SIZE = 10


@dataclass(frozen=True, slots=True)
class MissingResource:
    """The answer of AWS that there is no such resource."""


def examine_queues(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    for queue in stack.list_resources(QUEUE):
        facts = reads.read(queue.name, partial(_read_queue, stack, reads, queue))
        if isinstance(facts, MissingResource):
            yield find_missing_queue(queue.name)
        elif facts is not None:
            yield from judge_queue(facts, stack.name)


def _read_queue(stack: "ExaminedStack", reads: "PartialReads", queue: "ListedResource") -> QueueFacts | MissingResource:
    sqs, url = stack.client("sqs"), queue.physical_id
    answer = read_existing(lambda: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(COUNTS)))
    if answer is None:
        return MissingResource()
    visible, in_flight = (int(answer["Attributes"][name]) for name in COUNTS)
    if queue.name in DEAD_LETTER_QUEUES:
        samples = (
            reads.read(f"messages of {queue.name}", lambda: _sample_messages(sqs, queue.physical_id)) if visible else ()
        )
        return QueueFacts(queue.name, visible, in_flight, samples=samples or ())
    age = _read_age(stack, reads, queue, visible) if visible else None
    return QueueFacts(queue.name, visible, in_flight, oldest_seconds=age)


def _sample_messages(sqs: Any, url: str) -> Sequence[QueuedMessage]:
    """Receive some messages without hiding them from other receivers. A dead letter queue does not count receives."""
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=SAMPLE_SIZE, VisibilityTimeout=0, AttributeNames=["SentTimestamp"]
    )
    return [
        QueuedMessage(int(message.get("Attributes", {}).get("SentTimestamp", 0)) / 1000, message["Body"])
        for message in answer.get("Messages", [])
    ]


def _read_age(stack: "ExaminedStack", reads: "PartialReads", queue: "ListedResource", visible: int) -> float | None:
    """Read the age of the oldest message. CloudWatch needs minutes to measure a queue that was empty for hours."""
    subject = f"age of the oldest message in {queue.name} ({visible} can be received)"
    measured = reads.read(subject, lambda: _list_ages(stack, queue.physical_id))
    if measured is not None and not measured:
        reads.miss(subject, "CloudWatch has not measured it. Run this command again in some minutes.")
    return max(measured) if measured else None


def _list_ages(stack: "ExaminedStack", url: str) -> Sequence[float]:
    answer = stack.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/SQS",
        MetricName="ApproximateAgeOfOldestMessage",
        Dimensions=[{"Name": "QueueName", "Value": url.rpartition("/")[2]}],
        StartTime=time.time() - 2 * AGE_PERIOD,
        EndTime=time.time(),
        Period=AGE_PERIOD,
        Statistics=["Maximum"],
    )
    return [point["Maximum"] for point in answer["Datapoints"]]


def examine_event_sources(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    for source in stack.list_resources("AWS::Lambda::EventSourceMapping"):
        facts = reads.read(source.name, partial(_read_event_source, stack, source))
        if facts is not None:
            yield from judge_event_source(facts)
    for rule in stack.list_resources("AWS::Events::Rule"):
        event_rule = reads.read(rule.name, partial(_read_rule, stack, rule))
        if event_rule is not None:
            yield from judge_rule(event_rule)


def _read_event_source(stack: "ExaminedStack", source: "ListedResource") -> EventSource:
    answer = read_existing(lambda: stack.client("lambda").get_event_source_mapping(UUID=source.physical_id))
    if answer is None:
        return EventSource(source.name, source.physical_id, None)
    return EventSource(source.name, source.physical_id, answer["State"], answer.get("LastProcessingResult", ""))


def _read_rule(stack: "ExaminedStack", rule: "ListedResource") -> EventRule:
    # CloudFormation names a rule of another bus than the default one as `bus|rule`; the emulator leaves out the bus.
    named_bus, _, name = rule.physical_id.rpartition("|")
    bus = named_bus or ("default" if rule.name != "SubscriberRule" else stack.outputs["EventBusName"])
    answer = read_existing(lambda: stack.client("events").describe_rule(Name=name, EventBusName=bus))
    return EventRule(rule.name, name, bus, answer["State"] if answer is not None else None)


def examine_alarms(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    names = {resource.physical_id: resource.name for resource in stack.list_resources(ALARM)}
    pages = stack.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNames=list(names))
    found = {alarm["AlarmName"]: alarm for page in pages for alarm in page["MetricAlarms"]}
    alarms = [_alarm_of(name, physical_id, found.get(physical_id)) for physical_id, name in names.items()]
    topics = sorted({topic for alarm in alarms for topic in alarm.topics if ":sns:" in topic})
    subscriptions = reads.read("subscribers of the alarms", partial(_list_subscriptions, stack, topics))
    return judge_alarms(AlarmFacts(alarms, subscriptions, stack.parameters.is_in_account))


def _alarm_of(name: str, physical_id: str, alarm: Mapping[str, Any] | None) -> StackAlarm:
    if alarm is None:
        return StackAlarm(name, physical_id, None)
    return StackAlarm(
        name=name,
        physical_id=physical_id,
        state=alarm["StateValue"],
        description=alarm.get("AlarmDescription", ""),
        reason=alarm.get("StateReason", ""),
        may_act=alarm["ActionsEnabled"],
        topics=alarm["AlarmActions"],
    )


def _list_subscriptions(stack: "ExaminedStack", topics: Sequence[str]) -> Sequence[str]:
    answers = [stack.client("sns").list_subscriptions_by_topic(TopicArn=topic) for topic in topics]
    return [subscription["SubscriptionArn"] for answer in answers for subscription in answer["Subscriptions"]]


def examine_functions(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    layer = stack.outputs["LayerArn"]
    for function in stack.list_resources(FUNCTION):
        facts = reads.read(function.name, partial(_read_function, stack, reads, function))
        if isinstance(facts, MissingResource):
            yield find_missing_function(function.name)
        elif facts is not None:
            yield from judge_function(facts, layer)


def _read_function(
    stack: "ExaminedStack", reads: "PartialReads", function: "ListedResource"
) -> LambdaFacts | MissingResource:
    client = stack.client("lambda")
    configuration = read_existing(lambda: client.get_function_configuration(FunctionName=function.physical_id))
    if configuration is None:
        return MissingResource()
    environment = configuration.get("Environment", {})
    if "Error" in environment:
        reads.miss(f"environment of {function.name}", str(environment["Error"].get("Message", "")))
    return LambdaFacts(
        name=function.name,
        physical_id=function.physical_id,
        state=configuration.get("State", "Active"),
        update_status=configuration.get("LastUpdateStatus", "Successful"),
        reason=configuration.get("StateReason") or configuration.get("LastUpdateStatusReason", ""),
        environment=environment.get("Variables", {}),
        layers=frozenset(layer["Arn"] for layer in configuration.get("Layers", [])),
        reserved=_read_reserved(stack, function.physical_id),
    )


def _read_reserved(stack: "ExaminedStack", function: str) -> int | None:
    answer = read_existing(lambda: stack.client("lambda").get_function_concurrency(FunctionName=function))
    return None if answer is None else answer.get("ReservedConcurrentExecutions")


def examine_quotas(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    concurrency = reads.read("concurrency of the account", lambda: _read_concurrency(stack))
    if concurrency is not None:
        yield from judge_concurrency(concurrency, stack.parameters)
    for role in stack.list_resources("AWS::IAM::Role"):
        size = reads.read(f"policies of {role.name}", partial(_measure_policies, stack, role.physical_id))
        if size is not None:
            yield from judge_role(role.name, size)
    yield from judge_resources(stack.name, len(stack.resources))


def _read_concurrency(stack: "ExaminedStack") -> ConcurrencyFacts:
    limits = stack.client("lambda").get_account_settings()["AccountLimit"]
    limited = [function for function in stack.list_resources(FUNCTION) if function.name in LIMITED.values()]
    found = {function.name: _read_reserved(stack, function.physical_id) for function in limited}
    return ConcurrencyFacts(
        unreserved=limits["UnreservedConcurrentExecutions"],
        reserved={name: reserved for name, reserved in found.items() if reserved is not None},
    )


def _measure_policies(stack: "ExaminedStack", role: str) -> int:
    """Count the characters of the inline policies of a role, without white space, as IAM does."""
    iam = stack.client("iam")
    pages = iam.get_paginator("list_role_policies").paginate(RoleName=role)
    names = [name for page in pages for name in page["PolicyNames"]]
    documents = [iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names]
    return sum(len(json.dumps(document, separators=(",", ":"), ensure_ascii=False)) for document in documents)

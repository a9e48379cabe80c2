"""Examines the deployment: the stack's status, parameters, release, clock and drift."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from signpost import __version__
from signpost.adapters.keys import SCHEMA
from signpost.cli.doctor.readers.endpoint import read_health
from signpost.cli.doctor.rules.clocks import judge_clock
from signpost.cli.doctor.rules.drift import ResourceDrift, judge_drift
from signpost.cli.doctor.rules.parameters import judge_parameters
from signpost.cli.doctor.rules.releases import ReleaseFacts, StoredFormat, judge_releases
from signpost.cli.doctor.rules.stack_status import StackStatus, judge_status

if TYPE_CHECKING:
    from signpost.cli.doctor.findings import Finding
    from signpost.cli.doctor.readers.examined_stack import ExaminedStack
    from signpost.cli.doctor.readers.partial_reads import PartialReads

SECONDS_TO_DETECT = 300.0
"""CloudFormation reads the resources one after another: a minute for a stack of this size."""
POLL_SECONDS = 2.0
LISTED_DRIFTS = ("MODIFIED", "DELETED")


def examine_status(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    is_sound = stack.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE")
    events = () if is_sound else reads.read("events of the stack", lambda: stack.events) or ()
    return judge_status(StackStatus(stack.name, stack.status, stack.reason, events))


def examine_parameters(stack: "ExaminedStack", _: "PartialReads") -> "Iterator[Finding]":
    return judge_parameters(stack.parameters)


def examine_clock(stack: "ExaminedStack", _: "PartialReads") -> "Iterator[Finding]":
    return judge_clock(stack.clock)


def examine_release(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    """Compare the releases, and the form of each kind of row with the latest one that this release reads."""
    health = reads.read("release of the stack", lambda: read_health(stack.outputs["McpUrl"]))
    release = health.document.get("version") if health is not None else None
    stored = reads.read("forms of the rows", lambda: stack.adapters.stored_formats.read([None, *stack.tenants]))
    formats = [StoredFormat(kind, form, SCHEMA) for kind, form in (stored or {}).items()]
    return judge_releases(ReleaseFacts(__version__, str(release) if release else None, formats))


def examine_drift(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    client = stack.client("cloudformation")
    detection = client.detect_stack_drift(StackName=stack.name)["StackDriftDetectionId"]
    answer = _await_detection(client, detection)
    if answer["DetectionStatus"] != "DETECTION_COMPLETE":
        reason = answer.get("DetectionStatusReason") or f"not finished after {SECONDS_TO_DETECT:.0f} s"
        reads.miss("drift of some resources", f"The detection is {answer['DetectionStatus']}: {reason}")
    for drift in _list_drifts(client, stack.name):
        yield from judge_drift(drift, stack.name)


def _await_detection(client: Any, detection: str) -> Mapping[str, Any]:
    deadline = time.monotonic() + SECONDS_TO_DETECT
    while True:
        answer = client.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
        if answer["DetectionStatus"] != "DETECTION_IN_PROGRESS" or time.monotonic() > deadline:
            return answer
        time.sleep(POLL_SECONDS)


def _list_drifts(client: Any, stack: str) -> Iterator[ResourceDrift]:
    arguments: dict[str, Any] = {"StackName": stack, "StackResourceDriftStatusFilters": list(LISTED_DRIFTS)}
    while True:
        page = client.describe_stack_resource_drifts(**arguments)
        for drift in page["StackResourceDrifts"]:
            paths = [difference["PropertyPath"] for difference in drift.get("PropertyDifferences", [])]
            yield ResourceDrift(drift["LogicalResourceId"], drift["StackResourceDriftStatus"], paths)
        if not page.get("NextToken"):
            return
        arguments["NextToken"] = page["NextToken"]

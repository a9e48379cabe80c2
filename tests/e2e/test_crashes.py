"""The registry function, killed at every step between its stores, while the sweeper is at work all the time; and the
relay, killed at every step between the outbox and the bus."""

import threading
import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from signpost.adapters.dynamodb import outbox
from signpost.adapters.s3 import S3ChangeBatchStore
from stage.crashes import CRASH_STEP, CRASHED_AT, MORTAL_VARIABLE, PASSED_STEPS, PROCESS, SANDBOX, STEP_SEPARATOR
from tests.acceptance.bus import EventRecorder
from tests.support.deployed_workflows import run_concurrently
from tests.support.effort import count_repetitions, is_proof
from tests.support.laptop import Laptop
from tests.support.line_output import ShowLine
from tests.support.swept_stack import SweptStack, deploy_swept_stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

OLD, NEW = "# Old", "# New"
MANY = [f"prompt-{number:03}" for number in range(40)]
"""More changes than a transaction takes."""
RELAY_CASES = {"changes": (MANY[:12], None), "a publication": ([*MANY, *(f"{name}-b" for name in MANY)], 2)}
"""What the relay is shown, more than the bus takes in one call; and at how many of its first steps it dies, where the
rest is what it does of anything else."""
EVENTS_PER_CALL = 10
TIMES, KILLERS = count_repetitions(1, proof=20), 4
SANDBOXES = 2
"""Of the registry, at the same time: each takes a second of a processor to start."""
NEVER = 10_000
MAX_INVOCATIONS = 3
MARKER = "marker"


@dataclass(frozen=True, slots=True)
class VisibleContent:
    """All that readers can see."""

    documents: Mapping[str, str]
    prompts: Sequence[str]


@dataclass(frozen=True, slots=True)
class ContentWrite:
    """Something that a tenant with one document does, and what it leaves."""

    function_id: str
    payload: Mapping[str, Any]
    after: VisibleContent
    events: Sequence[tuple[str, str]]


BEFORE = VisibleContent({"a": OLD}, [])
FIRST = ("register", "a")
CONTENT_WRITES = {
    "a registration": ContentWrite(
        "skills::register", {"id": "a", "skill": NEW}, VisibleContent({"a": NEW}, []), [("register", "a")]
    ),
    "a registration of the same": ContentWrite(
        "skills::register", {"id": "a", "skill": OLD}, VisibleContent({"a": OLD}, []), [("register", "a")]
    ),
    "a removal": ContentWrite("skills::unregister", {"id": "a"}, VisibleContent({}, []), [("unregister", "a")]),
    "a publication": ContentWrite(
        "manifest::publish",
        {
            "skills": [{"id": "b", "skill": NEW}],
            "prompts": [{"name": name, "description": "Writes.", "function_id": "mail::letter"} for name in MANY],
            "prune": True,
        },
        VisibleContent({"b": NEW}, MANY),
        [("register", "b"), *(("register", name) for name in MANY), ("unregister", "a")],
    ),
}


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> SweptStack:
    return deploy_swept_stack(laptop)


@pytest.fixture(scope="module")
def bus(laptop: Laptop, stack: SweptStack) -> Iterator[EventRecorder]:
    with EventRecorder(laptop, stack.stack.deployed.outputs["EventBusName"]) as bus:
        yield bus


@contextmanager
def run_sweeps(stack: SweptStack) -> Generator[list[Any]]:
    """Again and again, until the block ends; what each run answered."""
    ended, answers, failures = threading.Event(), list[Any](), list[BaseException]()

    def sweep() -> None:
        try:
            while not ended.wait(0.2):  # not to wear out the machine
                answers.append(stack.sweep())
        except BaseException as failure:  # noqa: BLE001 - raised again by whoever waits
            failures.append(failure)

    sweeper = threading.Thread(target=sweep, daemon=True)
    sweeper.start()
    try:
        yield answers
    finally:
        ended.set()
        sweeper.join()
    assert failures == []


@pytest.fixture(scope="module")
def mortal_stack(stack: SweptStack) -> Iterator[SweptStack]:
    """The stack, whose registry function is mortal as long as the tests of this module run."""
    yield stack
    stack.choose_mortal_process(None)


CRASH_CASES = [(kind, PROCESS) for kind in CONTENT_WRITES] + [
    pytest.param(kind, SANDBOX, marks=[] if kind == "a publication" else [pytest.mark.prove]) for kind in CONTENT_WRITES
]
COMMIT = "dynamodb.TransactWriteItems"
"""The first write of this name makes all of a change visible."""


@pytest.mark.invariant(42)
@pytest.mark.parametrize(("kind", "dies"), CRASH_CASES)
def test_a_change_killed_at_any_step_is_complete_with_its_events_or_absent(
    mortal_stack: SweptStack, bus: EventRecorder, show_line: ShowLine, kind: str, dies: str
) -> None:
    """A process of its own dies at every step; a sandbox before and after the commit, in `make prove` at every step."""
    began, writing, run, stack = time.monotonic(), CONTENT_WRITES[kind], f"t-{uuid.uuid4().hex[:8]}", mortal_stack
    stack.choose_mortal_process(dies)
    register_old_document(stack, f"{run}-whole")
    names = stack.list_crash_steps(f"{run}-whole", writing.function_id, writing.payload)
    is_every_step = dies == PROCESS or is_proof()
    # A sandbox that has just started takes more steps than the one that named them, so the commit goes by its name.
    steps: Sequence[int | str] = [*(range(len(names)) if is_every_step else [f"before {COMMIT}"]), f"after {COMMIT}"]
    with run_sweeps(stack) as swept_meanwhile:
        happened = run_concurrently(
            lambda number: is_applied_after_kill(stack, writing, f"{run}-{number}", steps[number]),
            range(len(steps)),
            SANDBOXES,
        )
    for number, has_happened in enumerate(happened):
        check_events(stack, bus, f"{run}-{number}", writing if has_happened else None)
    assert happened == sorted(happened)  # not at all up to some step, and from there on whole
    assert {*happened} == {False, True}
    # A publisher that dies between the commit and its rows dies after the one or before the other.
    left_unfinished = 2 if is_every_step else 1
    assert sum(answer["completed"] for answer in swept_meanwhile) >= (left_unfinished if kind == "a publication" else 0)
    assert swept_meanwhile
    show_line(f"registry, {kind}: {len(happened)} times a {dies} killed; {time.monotonic() - began:.0f} s")


def register_old_document(stack: SweptStack, tenant: str) -> None:
    stack.disable_shipped_content(tenant)
    stack.register(tenant, "a", OLD)


def is_applied_after_kill(stack: SweptStack, writing: ContentWrite, tenant: str, step: int | str) -> bool:
    """Return whether the change has happened although its writer was killed at this step."""
    register_old_document(stack, tenant)
    assert stack.call_registry(tenant, writing.function_id, writing.payload, crash_after=step) is None
    seen = VisibleContent(stack.read_documents(tenant), stack.list_prompts(tenant))
    assert seen in (BEFORE, writing.after)
    wait_until_overlay_finished(stack, tenant)
    assert VisibleContent(stack.read_documents(tenant), stack.list_prompts(tenant)) == seen
    stack.register(tenant, MARKER, "# Marker")
    has_happened = stack.read_head(tenant).version == 2 + len(writing.events)
    assert seen == (writing.after if has_happened else BEFORE)
    return has_happened


def check_events(stack: SweptStack, bus: EventRecorder, tenant: str, writing: ContentWrite | None) -> None:
    """The bus was told of what has happened, if it has, and of nothing else."""
    events = writing.events if writing is not None else ()
    told = bus.until(tenant, build_event("register", MARKER))
    assert sorted(read_changes(told)) == sorted([FIRST, *events, ("register", MARKER)])
    after = writing.after if writing is not None else BEFORE
    assert stack.read_documents(tenant).items() >= after.documents.items()


def wait_until_overlay_finished(stack: SweptStack, tenant: str) -> None:
    """By the sweeper, since nobody else writes."""
    wait_for(
        "a sweep to finish the publication", lambda: stack.read_head(tenant).overlay, lambda overlay: overlay is None
    )


def build_event(op: str, name: str) -> Any:
    return {"type": "skills::on-change", "payload": {"op": op, "id": name}}


def read_changes(events: Sequence[Any]) -> list[tuple[str, str]]:
    payloads = [event["payload"] for event in events]
    return [(payload["op"], payload.get("id") or payload["name"]) for payload in payloads]


@pytest.fixture
def mortal_relay(stack: SweptStack) -> Iterator[SweptStack]:
    """Others use the stack as well. Nobody else shows it anything meanwhile, nor when it is started anew: the emulator
    ends with a function also what it is doing."""
    with stack.functions.disable_event_sources("Relay"):
        stack.functions.configure("Relay", **{MORTAL_VARIABLE: PROCESS})
        yield stack
        stack.functions.configure("Relay", **{MORTAL_VARIABLE: None})


@pytest.mark.invariant(44)
@pytest.mark.parametrize("kind", RELAY_CASES)
def test_a_content_relay_killed_at_any_step_loses_no_event(
    mortal_relay: SweptStack, bus: EventRecorder, show_line: ShowLine, kind: str
) -> None:
    """Lambda shows a batch again of which nobody heard. The emulator does not, so the test shows it again; what had
    been said before the relay died has arrived by then."""
    stack, (prompts, first) = mortal_relay, RELAY_CASES[kind]
    began, run = time.monotonic(), f"r-{uuid.uuid4().hex[:8]}"
    steps = invoke_relay(stack, publish_prompts(stack, f"{run}-whole", prompts), NEVER)[PASSED_STEPS].split(
        STEP_SEPARATOR
    )[:first]
    tenants = [(step, f"{run}-{step}-{number}") for step in range(len(steps)) for number in range(TIMES)]
    runs = run_concurrently(lambda one: (one[0], publish_prompts(stack, one[1], prompts)), tenants, KILLERS)
    answers = run_concurrently(lambda one: invoke_relay(stack, one[1], one[0]), runs, KILLERS)
    assert [answer[CRASHED_AT] for answer in answers] == [steps[step] for step, _ in runs]
    for step, outbox_of in runs:
        told = steps[: step + 1].count("after eventbridge.PutEvents") * EVENTS_PER_CALL
        if told:
            bus.until(outbox_of.tenant, outbox_of.events[:told][-1])
    again = run_concurrently(lambda one: invoke_relay(stack, one[1], NEVER), runs, KILLERS)
    assert all(PASSED_STEPS in answer and answer["batchItemFailures"] == [] for answer in again)
    for _, outbox_of in runs:
        assert bus.until(outbox_of.tenant, outbox_of.events[-1]) == outbox_of.events
    took = time.monotonic() - began
    show_line(f"relay, {kind}: {len(runs)} killed, {TIMES} each at {', '.join(steps)}; none lost; {took:.0f} s")


@dataclass(frozen=True, slots=True)
class TenantOutbox:
    """What the stream shows of a tenant, and what the bus is to be told of it."""

    tenant: str
    rows: Sequence[Any]
    events: Sequence[Any]


def publish_prompts(stack: SweptStack, tenant: str, names: Sequence[str]) -> TenantOutbox:
    prompts = [{"name": name, "description": "Writes.", "function_id": "mail::letter"} for name in names]
    assert "error" not in stack.call_registry(tenant, "manifest::publish", {"prompts": prompts})
    rows = list(outbox.query_changes(stack.dynamodb, stack.table, tenant, 0, stack.read_head(tenant).version))
    publications = S3ChangeBatchStore(lambda: stack.s3, stack.stack.deployed.outputs["ContentBucketName"])
    told = [one for row in rows for one in outbox.events_of(row, publications)]
    return TenantOutbox(tenant, rows, [{"type": one.type, "payload": {"op": one.op, "name": one.key}} for one in told])


def invoke_relay(stack: SweptStack, outbox_of: TenantOutbox, dies_at: int) -> Any:
    """Again, if the call as a whole failed: a fault of the emulator, say, which is no death at this step."""
    records = [{"dynamodb": {"NewImage": row, "SequenceNumber": str(n)}} for n, row in enumerate(outbox_of.rows)]
    answers = (
        stack.functions.invoke("Relay", {"Records": records, CRASH_STEP: dies_at}) for _ in range(MAX_INVOCATIONS)
    )
    return next(answer for answer in answers if answer is not None)

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
from stage.crashes import BETWEEN, DIED_AT, DIES_AT, MORTAL, PASSED, PROCESS, SANDBOX
from tests.acceptance.bus import Bus
from tests.support.driven_workflows import at_once
from tests.support.effort import is_proof, times
from tests.support.laptop import Laptop
from tests.support.saying import Say
from tests.support.swept import Swept, swept
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

OLD, NEW = "# Old", "# New"
MANY = [f"prompt-{number:03}" for number in range(40)]
"""More changes than a transaction takes."""
RELAYED = {"changes": (MANY[:12], None), "a publication": ([*MANY, *(f"{name}-b" for name in MANY)], 2)}
"""What the relay is shown, more than the bus takes in one call; and at how many of its first steps it dies, where the
rest is what it does of anything else."""
TOLD_AT_ONCE = 10
TIMES, KILLERS = times(1, proof=20), 4
SANDBOXES = 2
"""Of the registry, at the same time: each takes a second of a processor to start."""
NEVER = 10_000
SHOWN_AGAIN = 3
MARKER = "marker"


@dataclass(frozen=True, slots=True)
class Stand:
    """All that readers can see."""

    documents: Mapping[str, str]
    prompts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Writing:
    """Something that a tenant with one document does, and what it leaves."""

    function_id: str
    payload: Mapping[str, Any]
    after: Stand
    events: Sequence[tuple[str, str]]


BEFORE = Stand({"a": OLD}, [])
FIRST = ("register", "a")
WRITINGS = {
    "a registration": Writing(
        "skills::register", {"id": "a", "skill": NEW}, Stand({"a": NEW}, []), [("register", "a")]
    ),
    "a registration of the same": Writing(
        "skills::register", {"id": "a", "skill": OLD}, Stand({"a": OLD}, []), [("register", "a")]
    ),
    "a removal": Writing("skills::unregister", {"id": "a"}, Stand({}, []), [("unregister", "a")]),
    "a publication": Writing(
        "manifest::publish",
        {
            "skills": [{"id": "b", "skill": NEW}],
            "prompts": [{"name": name, "description": "Writes.", "function_id": "mail::letter"} for name in MANY],
            "prune": True,
        },
        Stand({"b": NEW}, MANY),
        [("register", "b"), *(("register", name) for name in MANY), ("unregister", "a")],
    ),
}


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> Swept:
    return swept(laptop)


@pytest.fixture(scope="module")
def bus(laptop: Laptop, stack: Swept) -> Iterator[Bus]:
    with Bus(laptop, stack.stack.deployed.outputs["EventBusName"]) as bus:
        yield bus


@contextmanager
def sweeping(stack: Swept) -> Generator[list[Any]]:
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
def mortal(stack: Swept) -> Iterator[Swept]:
    """The stack, whose registry function is mortal as long as the tests of this module run."""
    yield stack
    stack.let_die(None)


WAYS = [(kind, PROCESS) for kind in WRITINGS] + [
    pytest.param(kind, SANDBOX, marks=[] if kind == "a publication" else [pytest.mark.prove]) for kind in WRITINGS
]
COMMIT = "dynamodb.TransactWriteItems"
"""The first write of this name makes all of a change visible."""


@pytest.mark.invariant(42)
@pytest.mark.parametrize(("kind", "dies"), WAYS)
def test_after_a_kill_at_any_step_a_change_has_happened_with_its_events_or_not_at_all(
    mortal: Swept, bus: Bus, say: Say, kind: str, dies: str
) -> None:
    """A process of its own dies at every step; a sandbox before and after the commit, in `make prove` at every step."""
    began, writing, run, stack = time.monotonic(), WRITINGS[kind], f"t-{uuid.uuid4().hex[:8]}", mortal
    stack.let_die(dies)
    prepare(stack, f"{run}-whole")
    names = stack.steps(f"{run}-whole", writing.function_id, writing.payload)
    is_every_step = dies == PROCESS or is_proof()
    steps = (
        range(len(names)) if is_every_step else [names.index(f"{moment} {COMMIT}") for moment in ("before", "after")]
    )
    with sweeping(stack) as swept_meanwhile:
        happened = at_once(lambda step: killed(stack, writing, f"{run}-{step}", step), steps, SANDBOXES)
    for step, has_happened in zip(steps, happened, strict=True):
        check_events(stack, bus, f"{run}-{step}", writing if has_happened else None)
    assert happened == sorted(happened)  # not at all up to some step, and from there on whole
    assert {*happened} == {False, True}
    # A publisher that dies between the commit and its rows dies after the one or before the other.
    left_unfinished = 2 if is_every_step else 1
    assert sum(answer["completed"] for answer in swept_meanwhile) >= (left_unfinished if kind == "a publication" else 0)
    assert swept_meanwhile
    say(f"registry, {kind}: {len(happened)} times a {dies} killed; {time.monotonic() - began:.0f} s")


def prepare(stack: Swept, tenant: str) -> None:
    stack.without_shipped_content(tenant)
    stack.register(tenant, "a", OLD)


def killed(stack: Swept, writing: Writing, tenant: str, step: int) -> bool:
    """Whether the change has happened although its writer was killed at this step."""
    prepare(stack, tenant)
    assert stack.ask(tenant, writing.function_id, writing.payload, crash_after=step) is None
    seen = Stand(stack.documents(tenant), stack.prompts(tenant))
    assert seen in (BEFORE, writing.after)
    wait_until_finished(stack, tenant)
    assert Stand(stack.documents(tenant), stack.prompts(tenant)) == seen
    stack.register(tenant, MARKER, "# Marker")
    has_happened = stack.head(tenant).version == 2 + len(writing.events)
    assert seen == (writing.after if has_happened else BEFORE)
    return has_happened


def check_events(stack: Swept, bus: Bus, tenant: str, writing: Writing | None) -> None:
    """The bus was told of what has happened, if it has, and of nothing else."""
    events = writing.events if writing is not None else ()
    told = bus.until(tenant, event("register", MARKER))
    assert sorted(names(told)) == sorted([FIRST, *events, ("register", MARKER)])
    after = writing.after if writing is not None else BEFORE
    assert stack.documents(tenant).items() >= after.documents.items()


def wait_until_finished(stack: Swept, tenant: str) -> None:
    """By the sweeper, since nobody else writes."""
    wait_for("a sweep to finish the publication", lambda: stack.head(tenant).overlay, lambda overlay: overlay is None)


def event(op: str, name: str) -> Any:
    return {"type": "skills::on-change", "payload": {"op": op, "id": name}}


def names(events: Sequence[Any]) -> list[tuple[str, str]]:
    payloads = [event["payload"] for event in events]
    return [(payload["op"], payload.get("id") or payload["name"]) for payload in payloads]


@pytest.fixture
def mortal_relay(stack: Swept) -> Iterator[Swept]:
    """Others use the stack as well. Nobody else shows it anything meanwhile, nor when it is started anew: the emulator
    ends with a function also what it is doing."""
    with stack.functions.asleep("Relay"):
        stack.functions.configure("Relay", **{MORTAL: PROCESS})
        yield stack
        stack.functions.configure("Relay", **{MORTAL: None})


@pytest.mark.invariant(44)
@pytest.mark.parametrize("kind", RELAYED)
def test_of_a_relay_that_is_killed_at_any_step_nothing_is_lost(
    mortal_relay: Swept, bus: Bus, say: Say, kind: str
) -> None:
    """Lambda shows a batch again of which nobody heard. The emulator does not, so the test shows it again; what had
    been said before the relay died has arrived by then."""
    stack, (prompts, first) = mortal_relay, RELAYED[kind]
    began, run = time.monotonic(), f"r-{uuid.uuid4().hex[:8]}"
    steps = shown(stack, published(stack, f"{run}-whole", prompts), NEVER)[PASSED].split(BETWEEN)[:first]
    tenants = [(step, f"{run}-{step}-{number}") for step in range(len(steps)) for number in range(TIMES)]
    runs = at_once(lambda one: (one[0], published(stack, one[1], prompts)), tenants, KILLERS)
    answers = at_once(lambda one: shown(stack, one[1], one[0]), runs, KILLERS)
    assert [answer[DIED_AT] for answer in answers] == [steps[step] for step, _ in runs]
    for step, outbox_of in runs:
        told = steps[: step + 1].count("after eventbridge.PutEvents") * TOLD_AT_ONCE
        if told:
            bus.until(outbox_of.tenant, outbox_of.events[:told][-1])
    again = at_once(lambda one: shown(stack, one[1], NEVER), runs, KILLERS)
    assert all(PASSED in answer and answer["batchItemFailures"] == [] for answer in again)
    for _, outbox_of in runs:
        assert bus.until(outbox_of.tenant, outbox_of.events[-1]) == outbox_of.events
    took = time.monotonic() - began
    say(f"relay, {kind}: {len(runs)} killed, {TIMES} each at {', '.join(steps)}; none lost; {took:.0f} s")


@dataclass(frozen=True, slots=True)
class Outbox:
    """What the stream shows of a tenant, and what the bus is to be told of it."""

    tenant: str
    rows: Sequence[Any]
    events: Sequence[Any]


def published(stack: Swept, tenant: str, names: Sequence[str]) -> Outbox:
    prompts = [{"name": name, "description": "Writes.", "function_id": "mail::letter"} for name in names]
    assert "error" not in stack.ask(tenant, "manifest::publish", {"prompts": prompts})
    rows = list(outbox.query_changes(stack.dynamodb, stack.table, tenant, 0, stack.head(tenant).version))
    publications = S3ChangeBatchStore(lambda: stack.s3, stack.stack.deployed.outputs["ContentBucketName"])
    told = [one for row in rows for one in outbox.events_of(row, publications)]
    return Outbox(tenant, rows, [{"type": one.type, "payload": {"op": one.op, "name": one.key}} for one in told])


def shown(stack: Swept, outbox_of: Outbox, dies_at: int) -> Any:
    """Again, if the call as a whole failed: a fault of the emulator, say, which is no death at this step."""
    records = [{"dynamodb": {"NewImage": row, "SequenceNumber": str(n)}} for n, row in enumerate(outbox_of.rows)]
    answers = (stack.functions.invoke("Relay", {"Records": records, DIES_AT: dies_at}) for _ in range(SHOWN_AGAIN))
    return next(answer for answer in answers if answer is not None)

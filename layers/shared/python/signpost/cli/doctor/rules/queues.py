"""The queues of the stack: messages that wait too long, and dead letters with the command that sends them again."""

import json
from collections.abc import Iterator, Mapping, Sequence

from signpost.cli.doctor.findings import REMAKE, Finding, error, warning
from signpost.cli.terminal import format_time
from signpost.model import JsonObject, as_object
from signpost.records import dataclass

PAGE = "docs/operations.md#watch"
LONGEST_WAIT = 900.0
"""Seconds after which a message is late: a worker may take as long for the one before it."""
PUBLIC_MEMBERS = ("tenant", "workflowId", "type", "kind", "detail-type")
"""The members of a message that are shown. Others may have what is secret, such as the URL of a webhook."""


@dataclass(frozen=True, slots=True)
class DeadLetterQueue:
    meaning: str
    command: str
    """Sends its messages again, for a stack that is named by `--stack`."""


DEAD_LETTER_QUEUES: Mapping[str, DeadLetterQueue] = {
    "FailedWork": DeadLetterQueue("workflows that the worker could not continue", "signpost workflow retry"),
    "UndeliveredChanges": DeadLetterQueue("changes and steps that did not reach the bus", "signpost events redrive"),
    "UnheardChanges": DeadLetterQueue("changes that were not passed on to subscribers", "signpost deliveries retry"),
    "FailedDeliveries": DeadLetterQueue("deliveries that failed in every attempt", "signpost deliveries retry"),
}
"""By logical id."""


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    sent_at: float
    body: str


@dataclass(frozen=True, slots=True)
class QueueFacts:
    name: str
    """The logical id."""
    visible: int
    in_flight: int
    """Messages that a receiver has, which become visible again unless it deletes them."""
    oldest_seconds: float | None = None
    """The age of the oldest message; None if it is not known."""
    samples: Sequence[QueuedMessage] = ()
    """Some messages of a dead letter queue."""


def find_missing_queue(name: str) -> Finding:
    return error("queue_missing", name, "The queue does not exist: what is sent to it is lost.", REMAKE)


def judge_queue(queue: QueueFacts, stack: str) -> Iterator[Finding]:
    kind = DEAD_LETTER_QUEUES.get(queue.name)
    if kind is not None:
        if queue.visible + queue.in_flight:
            remedy = f"Mend the cause ({PAGE}), then `{kind.command} --stack {stack}`; --dry-run only counts."
            yield error("dead_letters", queue.name, _describe_letters(queue, kind), remedy)
    elif queue.visible and queue.oldest_seconds is not None and queue.oldest_seconds > LONGEST_WAIT:
        minutes = queue.oldest_seconds / 60
        problem = (
            f"{queue.visible} messages can be received, and the oldest of the queue is {minutes:.0f} minutes old: its "
            "function receives too few, or retries one repeatedly."
        )
        remedy = f"Look for throttles, a disabled event source and failures in the function's log ({PAGE})."
        yield warning("messages_waiting", queue.name, problem, remedy)


def _describe_letters(queue: QueueFacts, kind: DeadLetterQueue) -> str:
    total = queue.visible + queue.in_flight
    problem = f"{total} {'message' if total == 1 else 'messages'}: {kind.meaning}"
    if not queue.samples:
        return f"{problem}."
    oldest = min(message.sent_at for message in queue.samples)
    described = sorted({describe_message(message.body) for message in queue.samples})
    return f"{problem}, {format_time(oldest)} or earlier ({'; '.join(described)})."


def describe_message(body: str) -> str:
    """Return the public members of a message, so that no secret is shown."""
    try:
        message = as_object(json.loads(body))
    except (ValueError, RecursionError):
        message: JsonObject = {}
    shown = [f"{name} {message[name]}" for name in PUBLIC_MEMBERS if isinstance(message.get(name), str)]
    function = as_object(message.get("requestContext")).get("functionArn")
    if isinstance(function, str):
        shown.append(f"of {function.rpartition(':function:')[2]}")
    return ", ".join(shown) or "a message of another form"

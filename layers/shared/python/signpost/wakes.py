"""What is to be looked at again, and when: a hint to load an instance of a workflow, never what to do with it."""

import json
from collections.abc import Sequence
from zlib import crc32

from signpost.records import dataclass

SHARDS = 8
"""Instances that something is due of are spread over so many keys of the index."""


@dataclass(frozen=True, slots=True)
class Wake:
    """An instance that is to be looked at: of the same tenant as the one that asks for it, be it another one."""

    workflow_id: str
    at: float = 0.0
    """Seconds since the epoch; what has passed is now."""


def wakes_text(wakes: Sequence[Wake]) -> str:
    """As the row says it that was written in the same moment as what makes them necessary."""
    return json.dumps([{"workflowId": wake.workflow_id, "at": wake.at} for wake in wakes], separators=(",", ":"))


def wakes_of(text: str) -> Sequence[Wake]:
    return [Wake(fields["workflowId"], fields["at"]) for fields in json.loads(text)]


@dataclass(frozen=True, slots=True)
class Message:
    """What the queue carries to the worker."""

    tenant: str
    workflow_id: str

    @property
    def text(self) -> str:
        return json.dumps({"tenant": self.tenant, "workflowId": self.workflow_id}, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Posted:
    """A message, and for how long the queue keeps it to itself."""

    message: Message
    seconds: int = 0


def message_of(text: str) -> Message:
    fields = json.loads(text)
    return Message(fields["tenant"], fields["workflowId"])


def due_shard_of(workflow_id: str) -> str:
    """The key of the index under which an instance is found when something of it is due."""
    return due_shard(crc32(workflow_id.encode()) % SHARDS)


def due_shards() -> Sequence[str]:
    return [due_shard(number) for number in range(SHARDS)]


def due_shard(number: int) -> str:
    return f"due#{number}"

"""Wakes: hints to load an instance of a workflow at a time. They carry no instruction."""

import json
from collections.abc import Sequence
from zlib import crc32

from signpost.records import dataclass

DUE_SHARDS = 8
"""The number of index keys over which due instances are spread."""


SCHEDULES = "schedules"
"""The id that wakes name for the schedules of a tenant. No instance has it: ids of instances begin with `wf_`."""


@dataclass(frozen=True, slots=True)
class Wake:
    """A hint to load an instance. It may be another instance than the one that causes it, but of the same tenant."""

    workflow_id: str
    at: float = 0.0
    """Seconds since the epoch; a time in the past means now."""


def wakes_text(wakes: Sequence[Wake]) -> str:
    """Return the wakes as the row keeps them that is written together with the change that causes them."""
    return json.dumps([{"workflowId": wake.workflow_id, "at": wake.at} for wake in wakes], separators=(",", ":"))


def wakes_of(text: str) -> Sequence[Wake]:
    return [Wake(fields["workflowId"], fields["at"]) for fields in json.loads(text)]


@dataclass(frozen=True, slots=True)
class WakeMessage:
    """The message in the work queue that names the instance to load."""

    tenant: str
    workflow_id: str

    @property
    def text(self) -> str:
        return json.dumps({"tenant": self.tenant, "workflowId": self.workflow_id}, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class QueuedWake:
    """A wake message, and the seconds for which the queue delays it."""

    message: WakeMessage
    seconds: int = 0


def message_of(text: str) -> WakeMessage:
    fields = json.loads(text)
    return WakeMessage(fields["tenant"], fields["workflowId"])


def due_shard_of(workflow_id: str) -> str:
    """Return the index key under which an instance is found when it is due."""
    return due_shard(crc32(workflow_id.encode()) % DUE_SHARDS)


def due_shards() -> Sequence[str]:
    return [due_shard(number) for number in range(DUE_SHARDS)]


def due_shard(number: int) -> str:
    return f"due#{number}"

"""Measures the rows that a step of a workflow writes: those that the store builds for DynamoDB."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, cast, override

from bench.engine import TENANT, EndlessInstance
from signpost.adapters import keys
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.memory.content import MemoryTextStore
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.instance import InstanceWrite, WriteCondition

UNIT_BYTES = 1_024
UNITS_OF_A_TRANSACTION = 2
"""Write units for each started kilobyte of a row in a transaction."""


@dataclass(frozen=True, slots=True)
class WrittenRow:
    partition: str
    name: str
    size: int
    """Bytes, as DynamoDB counts them."""

    @property
    def units(self) -> int:
        return UNITS_OF_A_TRANSACTION * ceil(self.size / UNIT_BYTES)

    @property
    def is_of_a_list(self) -> bool:
        return self.partition.startswith(keys.runs_of(TENANT, None))


class _MeasuredInstances(MemoryInstanceStore):
    """Keeps instances in memory, and the rows of the last write as the client of DynamoDB gets them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[WrittenRow] = ()
        self._stored = DynamoInstanceStore(cast("Any", self), "workflows", MemoryTextStore())

    @override
    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        self._stored.save(tenant, entry, replacing=replacing)
        return super().save(tenant, entry, replacing=replacing)

    def transact_write_items(self, **request: Any) -> None:
        items = [write["Put"]["Item"] for write in request["TransactItems"] if "Put" in write]
        self.rows = [WrittenRow(item["pk"]["S"], item["sk"]["S"], _size_of(item)) for item in items]


def measure_step() -> Sequence[WrittenRow]:
    """Return the rows of one step without an executor, of an instance with a context of 4 KB."""
    instances = _MeasuredInstances()
    EndlessInstance(instances).time_steps(2)
    return instances.rows


def _size_of(item: Mapping[str, Mapping[str, str]]) -> int:
    return sum(len(name.encode()) + sum(_value_sizes(value)) for name, value in item.items())


def _value_sizes(value: Mapping[str, str]) -> Iterator[int]:
    for kind, text in value.items():
        yield ceil(len(text) / 2) + 1 if kind == "N" else len(text.encode())

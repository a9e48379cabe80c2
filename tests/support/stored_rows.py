"""Rows and objects of a tenant as an earlier release stored them: taken from a stack, and put into another one."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.laptop import Laptop, Stack

FILE = Path(__file__).parents[1] / "data/rows-of-an-earlier-release.json"
"""Written by `tests/e2e/test_upgrade.py` to `.local/releases/rows.json`; copy it from there to renew it."""
TENANT = "default"
"""The tenant of the stored rows."""
TABLES = ("RegistryTableName", "WorkflowsTableName")
LEFT_OUT = ("#outbox", "#functions", "#breakers")
"""The ends of partitions that are not kept: sent changes, and functions, whose executor stays behind."""

type Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StoredTenant:
    tables: Mapping[str, Rows]
    """The rows by the output that names their table."""
    objects: Mapping[str, str]
    """The texts in the content bucket by their keys."""
    key: str
    """An API key of the tenant."""
    runs: Mapping[str, str]
    """The ids of running workflows by their names."""

    @property
    def shape(self) -> set[str]:
        """The kinds of the rows with the names of their attributes."""
        return {
            f"{name} {_kind_of(row)}: {', '.join(sorted(row))}" for name, rows in self.tables.items() for row in rows
        }


def take_tenant(laptop: Laptop, stack: Stack, key: str, runs: Mapping[str, str]) -> StoredTenant:
    """Read all rows and objects of the tenant."""
    outputs, dynamodb = stack.deployed.outputs, laptop.client("dynamodb")
    tables = {name: sorted(_scan(dynamodb, outputs[name]), key=_key_of) for name in TABLES}
    return StoredTenant(tables, dict(_read_objects(laptop.client("s3"), outputs["ContentBucketName"])), key, runs)


def put_tenant(laptop: Laptop, stack: Stack, stored: StoredTenant, tenant: str) -> StoredTenant:
    """Write the rows and objects into the tables and the bucket of a stack, for a tenant of another name. Return them
    as they are then."""
    renamed = _rename(stored, tenant)
    outputs, dynamodb, s3 = stack.deployed.outputs, laptop.client("dynamodb"), laptop.client("s3")
    for key, text in renamed.objects.items():
        s3.put_object(Bucket=outputs["ContentBucketName"], Key=key, Body=text.encode())
    for name, rows in renamed.tables.items():
        for row in rows:
            dynamodb.put_item(TableName=outputs[name], Item=row)
    return renamed


def read_file() -> StoredTenant:
    return StoredTenant(**json.loads(FILE.read_text()))


def write_file(stored: StoredTenant, path: Path) -> None:
    members = {"tables": stored.tables, "objects": stored.objects, "key": stored.key, "runs": stored.runs}
    path.write_text(f"{json.dumps(members, ensure_ascii=False, indent=1)}\n")


def _rename(stored: StoredTenant, tenant: str) -> StoredTenant:
    """Replace the tenant in keys, and in the principals of claims."""
    in_row = _replacer((f"tenant#{TENANT}", f"tenant#{tenant}"), (f'"tenant":"{TENANT}"', f'"tenant":"{tenant}"'))
    tables = {
        name: [{attribute: _map_text(value, in_row) for attribute, value in row.items()} for row in rows]
        for name, rows in stored.tables.items()
    }
    in_key = _replacer((f"/{TENANT}/", f"/{tenant}/"))
    objects = {in_key(key): text for key, text in stored.objects.items()}
    return StoredTenant(tables, objects, stored.key.replace(f"_{TENANT}_", f"_{tenant}_"), stored.runs)


def _replacer(*pairs: tuple[str, str]) -> Callable[[str], str]:
    def replace(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return replace


def _map_text(value: Mapping[str, Any], change: Callable[[str], str]) -> Mapping[str, Any]:
    return {"S": change(value["S"])} if "S" in value else value


def _scan(dynamodb: Any, table: str) -> Iterator[Mapping[str, Any]]:
    for page in dynamodb.get_paginator("scan").paginate(TableName=table):
        yield from (row for row in page["Items"] if _is_kept(row["pk"]["S"]))


def _is_kept(pk: str) -> bool:
    return (pk == f"tenant#{TENANT}" or pk.startswith(f"tenant#{TENANT}#")) and not pk.endswith(LEFT_OUT)


def _read_objects(s3: Any, bucket: str) -> Iterator[tuple[str, str]]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for entry in page.get("Contents", []):
            if f"/{TENANT}/" in entry["Key"]:
                yield entry["Key"], s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read().decode()


def _key_of(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["pk"]["S"], row["sk"]["S"]


def _kind_of(row: Mapping[str, Any]) -> str:
    pk, sk = _key_of(row)
    place = pk.removeprefix(f"tenant#{TENANT}").split("#")
    return f"{place[1] if len(place) > 1 else 'tenant'} {sk.split('#')[0] if '#' in sk else ''}".strip()

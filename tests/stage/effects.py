"""Effects of the functions of the test stage, counted in a table of their own."""

import os
from functools import cache
from typing import TYPE_CHECKING

import boto3

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@cache
def _client() -> "DynamoDBClient":
    return boto3.client("dynamodb")


def build_script_key(tenant: str, function: str) -> str:
    """Return the partition key under which the stub finds its script and records its calls."""
    return f"stub#{tenant}#{function}"


def count(name: str) -> int:
    """Count one more occurrence, and return the new count."""
    answer = _client().update_item(
        TableName=os.environ["EFFECTS_TABLE"],
        Key={"pk": {"S": name}, "sk": {"S": "count"}},
        UpdateExpression="ADD happened :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="UPDATED_NEW",
    )
    return int(answer["Attributes"]["happened"]["N"])  # pyright: ignore[reportTypedDictNotRequiredAccess] - asked for


def write(name: str, key: str, text: str) -> None:
    row = {"pk": {"S": name}, "sk": {"S": key}, "text": {"S": text}}
    _client().put_item(TableName=os.environ["EFFECTS_TABLE"], Item=row)


def read(name: str, key: str) -> str | None:
    key_of = {"pk": {"S": name}, "sk": {"S": key}}
    row = _client().get_item(TableName=os.environ["EFFECTS_TABLE"], Key=key_of, ConsistentRead=True).get("Item")
    return row["text"]["S"] if row else None  # pyright: ignore[reportTypedDictNotRequiredAccess] - as write makes it

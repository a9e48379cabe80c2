"""Which partition keys a request to DynamoDB names, as a policy judges them."""

from collections.abc import Mapping
from typing import Any

import pytest

from local.emulator_policies import NamedKeys

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table"
INDEXES: Mapping[tuple[str, str | None], str] = {("rows", None): "pk", ("other", None): "id", ("rows", "due"): "shard"}


def named_keys(request: Mapping[str, Any]) -> NamedKeys:
    return NamedKeys(request, lambda table, index: INDEXES.get((table, index)))


def row(value: str, attribute: str = "pk") -> Mapping[str, Any]:
    return {attribute: {"S": value}, "sk": {"S": "x"}}


@pytest.mark.parametrize(
    "request_",
    [
        {"TableName": "rows", "Key": row("a")},
        {"TableName": f"{ARN}/rows", "Key": row("a")},
        {"TableName": "rows", "Item": {**row("a"), "text": {"S": "b"}}},
        {
            "TableName": "rows",
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)",
            "ExpressionAttributeValues": {":pk": {"S": "a"}, ":sk": {"S": "b"}},
        },
        {
            "TableName": "rows",
            "KeyConditionExpression": "(#s = :s AND #p=:p)",
            "ExpressionAttributeNames": {"#p": "pk", "#s": "sk"},
            "ExpressionAttributeValues": {":p": {"S": "a"}, ":s": {"S": "b"}},
        },
        {
            "TableName": "rows",
            "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
        },
        {"RequestItems": {"rows": {"Keys": [row("a"), row("a")]}, "other": {"Keys": [row("c", "id")]}}},
        {"RequestItems": {f"{ARN}/rows": [{"PutRequest": {"Item": row("a")}}, {"DeleteRequest": {"Key": row("a")}}]}},
    ],
)
def test_a_request_names_the_partition_keys_of_a_table(request_: Mapping[str, Any]) -> None:
    assert named_keys(request_).of_table(f"{ARN}/rows") == ["a"]
    assert named_keys(request_).of_table(f"{ARN}/strange") == []


def test_a_batch_names_each_key_of_each_table() -> None:
    batch = {"rows": {"Keys": [row("a"), row("b")]}, "other": {"Keys": [row("c", "id")]}}
    assert named_keys({"RequestItems": batch}).of_table(f"{ARN}/rows") == ["a", "b"]
    assert named_keys({"RequestItems": batch}).of_table(f"{ARN}/other") == ["c"]


def test_a_query_of_an_index_names_the_key_of_the_index() -> None:
    query = {
        "TableName": "rows",
        "IndexName": "due",
        "KeyConditionExpression": "shard = :shard AND pk = :pk",
        "ExpressionAttributeValues": {":shard": {"S": "7"}, ":pk": {"S": "a"}},
    }
    assert named_keys(query).of_table(f"{ARN}/rows/index/due") == ["7"]


def test_each_item_of_a_transaction_is_judged_by_its_own_key() -> None:
    items: list[Mapping[str, Any]] = [
        {"ConditionCheck": {"TableName": "rows", "Key": row("a")}},
        {"Put": {"TableName": "rows", "Item": row("b")}},
        {"Update": {"TableName": "other", "Key": row("c", "id")}},
        {"Delete": {"TableName": "rows", "Key": row("d")}},
    ]
    keys = named_keys({"TransactItems": items})
    judged = [("ConditionCheckItem", "rows"), ("PutItem", "rows"), ("UpdateItem", "other"), ("DeleteItem", "rows")]
    found = [keys.of_next_item(f"dynamodb:{action}", f"{ARN}/{table}") for action, table in judged]
    assert found == [["a"], ["b"], ["c"], ["d"]]


def test_an_item_judged_out_of_turn_is_an_error() -> None:
    keys = named_keys({"TransactItems": [{"Put": {"TableName": "rows", "Item": row("a")}}]})
    with pytest.raises(RuntimeError):
        keys.of_next_item("dynamodb:DeleteItem", f"{ARN}/rows")


@pytest.mark.parametrize(
    "request_",
    [
        {"TableName": "rows"},  # a scan
        {"TableName": "rows", "FilterExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "a"}}},
        {"TableName": "strange", "Key": row("a")},
        {"TableName": "rows", "Key": "a"},
        {"TableName": 7, "RequestItems": [], "TransactItems": {}},
        {"RequestItems": {"rows": {"Keys": "a"}, "other": 7}},
        {},
    ],
)
def test_other_requests_name_no_partition_keys(request_: Mapping[str, Any]) -> None:
    assert named_keys(request_).of_table(f"{ARN}/rows") == []

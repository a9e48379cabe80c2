"""Arguments that clients repeat in headers: what a client would drop the tool for is refused at import."""

from typing import Any

import pytest

from signpost.toolkit import Toolkit
from signpost.toolkit.function import DeclarationError


def declare(schema: Any) -> None:
    kit = Toolkit("yard")

    def find(args: Any) -> Any:
        return args

    kit.tool(input_schema={"type": "object", **schema})(find)
    assert kit.functions


def mirrored(name: Any = "Region", kind: str = "string") -> Any:
    return {"type": kind, "x-mcp-header": name}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"region": mirrored(), "size": mirrored("Size", "integer"), "dry": mirrored("Dry", "boolean")}},
        {"properties": {"place": {"type": "object", "properties": {"region": mirrored()}}}},
        {"properties": {"x-mcp-header": {"type": "string"}}},
        {"properties": {"any": {"type": "object", "default": {"x-mcp-header": "Region"}}}},
    ],
    ids=["types", "nested", "name", "value"],
)
def test_s031_an_argument_can_be_mirrored_at_any_depth(schema: Any) -> None:
    declare(schema)


@pytest.mark.invariant(177)
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"properties": {"a": mirrored("A B")}}, "cannot be part of a header's name"),
        ({"properties": {"a": mirrored(7)}}, "cannot be part of a header's name"),
        ({"properties": {"a": mirrored(), "b": mirrored("REGION")}}, "'region' twice"),
        ({"properties": {"a": mirrored(kind="number")}}, "is not of type string, integer, boolean"),
        ({"properties": {"a": {"type": "array", "items": mirrored()}}}, "no chain of `properties` leads"),
        ({"anyOf": [{"properties": {"a": mirrored()}}]}, "no chain of `properties` leads"),
        ({"properties": {}, "$defs": {"a": mirrored()}}, "no chain of `properties` leads"),
    ],
)
def test_s031_a_mirrored_argument_that_clients_refuse_is_refused_at_import(schema: Any, reason: str) -> None:
    with pytest.raises(DeclarationError, match=reason):
        declare(schema)

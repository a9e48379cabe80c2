"""The row of a function that an executor hosts, as it is written and read."""

from dataclasses import fields

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb.directory import LISTING_MEMBERS, attributes_of, hosted_in
from signpost.adapters.dynamodb.rows import Attributes
from signpost.contract import Component, Executor, HostedFunction
from signpost.model import PromptArgument

EXECUTOR = Executor("arn:workshop", "secret:workshop", 60_000)
COMPLETE_FUNCTION = HostedFunction(
    "yard::f",
    5,
    frozenset({"mail"}),
    readable=False,
    description="Does it.",
    input_schema={},
    exposed=True,
    name="f",
    title="F",
    category="Yard",
    output_schema={},
    annotations={"title": "F"},
    icons=({"src": "https://a.test"},),
    meta={"a": 1},
    hidden=True,
    idempotent=True,
    doc="yard/f",
    component=Component(
        "template",
        "yard://{a}",
        "text/plain",
        1,
        {"priority": 1},
        (PromptArgument("b", "B", required=True), PromptArgument("c")),
        {"a": ("x", "y"), "b": None},
        enumerates=True,
    ),
    callees=frozenset({"a::b", "c"}),
    takes_client=True,
    needs=("elicitation.url", "sampling"),
    task="required",
    visible_when={"any": [{"grant": "seen"}, {"claim": {"team": "blue"}}]},
)


def row_of(hosted: HostedFunction) -> Attributes:
    return {**keys.placed_function("acme", hosted.function), **attributes_of(EXECUTOR, hosted)}


@pytest.mark.parametrize(
    "hosted",
    [
        COMPLETE_FUNCTION,
        HostedFunction("f"),
        HostedFunction("f", output_schema={}),
        HostedFunction("f", hidden=True),
        HostedFunction("f", readable=True),
        HostedFunction("f", component=Component("prompt")),
    ],
)
def test_a_hosted_function_is_read_as_it_was_written(hosted: HostedFunction) -> None:
    assert hosted_in(row_of(hosted)) == hosted


def test_every_member_without_an_attribute_of_its_own_is_in_the_listing() -> None:
    own = {"function", "timeout_ms", "permissions", "readable", "description", "input_schema", "exposed", "callees"}
    assert {one.name for one in fields(HostedFunction)} == own | set(LISTING_MEMBERS)


def test_a_row_of_an_earlier_release_has_no_listing_members() -> None:
    row = row_of(COMPLETE_FUNCTION)
    del row["listing"]
    assert hosted_in(row).title is None
    assert hosted_in(row).component is None


@pytest.mark.parametrize(
    ("hosted", "is_readable"),
    [
        (HostedFunction("f", readable=True), False),
        (HostedFunction("f", readable=True, annotations={"readOnlyHint": True}), True),
        (HostedFunction("f", readable=False, annotations={"readOnlyHint": True}), False),
    ],
)
def test_a_row_of_an_earlier_release_makes_only_read_only_functions_readable(
    hosted: HostedFunction, is_readable: bool
) -> None:
    row = row_of(hosted)
    del row["readable_in_sections"]
    assert hosted_in(row).readable is is_readable


def test_unknown_listing_members_are_ignored() -> None:
    assert hosted_in(
        {**row_of(HostedFunction("f")), "listing": {"S": '{"title":"F","colour":"red"}'}}
    ) == HostedFunction("f", title="F")
    assert "listing" not in row_of(HostedFunction("f"))


def test_an_unknown_component_kind_is_read() -> None:
    said = '{"component":{"kind":"app","colour":"red"}}'
    assert hosted_in({**row_of(HostedFunction("f")), "listing": {"S": said}}) == HostedFunction(
        "f", component=Component("app")
    )

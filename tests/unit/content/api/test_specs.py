"""What the registry publishes of itself is what the document it comes from says, and what it does."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.adapters.alarm import alarm
from signpost.cli import main
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.reference import ALL_FUNCTIONS, build_reference
from signpost.content.api.specs import FUNCTIONS, TRIGGERS, FunctionSpec
from signpost.model import JsonObject
from signpost.schema.validation import Validators
from tests.support.loadable_executors import LoadableExecutors
from tests.support.registry import MemoryRegistry

REFERENCE = json.loads((Path(__file__).parent / "api-reference.json").read_text())
BY_ID = {function.id: function for function in FUNCTIONS}
VALIDATORS = Validators(alarm)


def differences(said: Mapping[str, Any], published: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Everything the reference says of a schema has to be so; where it says nothing, we may say more."""
    published = _list_types(published)
    for fact in ("type", "default", "minimum"):
        if fact in said and (fact not in published or said[fact] != published[fact]):
            yield f"{place}/{fact}"
    if said.get("type") == "object" and said.get("required", []) != published.get("required", []):
        yield f"{place}/required"
    if said.get("type") == "object" and set(said.get("properties", {})) != set(published.get("properties", {})):
        yield f"{place}/properties"
    for name, member in said.get("properties", {}).items():
        yield from differences(member, published.get("properties", {}).get(name, {}), f"{place}/{name}")
    if "items" in said:
        yield from differences(said["items"], published.get("items", {}), f"{place}/*")


def _list_types(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write a choice of types as the reference does, which lists them."""
    choices = schema.get("anyOf", [])
    types = [choice.get("type") for choice in choices]
    merged = {name: value for choice in choices for name, value in choice.items()}
    return {**merged, **schema, "type": types} if choices and all(types) else schema


def without_bounds(schema: JsonObject) -> JsonObject:
    """The rules of ids and names answer in words of their own, so only types count before them."""
    return json.loads(json.dumps(schema), object_hook=_without_bound)


def _without_bound(member: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in member.items() if name != "maxLength"}


def test_functions_and_triggers_are_those_of_the_reference_and_known_additions() -> None:
    assert set(BY_ID) == set(REFERENCE["functions"])
    beside = [
        "lists::on-change",
        "policies::on-change",
        "resources::on-change",
        "skills::registry",
        "workflows::on-change",
    ]
    assert sorted(trigger.id for trigger in TRIGGERS) == sorted([*REFERENCE["triggers"], *beside])
    assert set(BY_ID) == set(MemoryRegistry().functions.ids)
    assert {one.id for one in ALL_FUNCTIONS} == {*BY_ID, *LoadableExecutors().functions.ids}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.id)
def test_the_schemas_are_those_of_the_reference(function: FunctionSpec) -> None:
    said = REFERENCE["functions"][function.id]
    assert list(differences(said["request"], function.request)) == []
    assert list(differences(said["response"], function.response)) == []


def test_only_skill_fetch_is_not_hidden() -> None:
    assert [function.id for function in FUNCTIONS if not function.is_hidden] == ["skill::fetch"]


def test_the_schema_allows_ids_of_1024_characters() -> None:
    properties: Any = BY_ID["skills::register"].request["properties"]
    assert properties["id"]["maxLength"] == 1024


@pytest.mark.parametrize("function", ALL_FUNCTIONS, ids=lambda function: function.id)
def test_every_schema_is_valid(function: FunctionSpec) -> None:
    for schema in (function.request, function.response):
        VALIDATORS.find_violation(schema, None)


VALUES = st.none() | st.booleans() | st.integers() | st.text("ab:i/", max_size=8)
ANY_VALUE = VALUES | st.lists(VALUES | st.dictionaries(st.sampled_from(["name", "description", "required"]), VALUES))
PAYLOADS = st.dictionaries(
    st.sampled_from(["id", "skill", "uri", "uris", "name", "description", "function_id", "arguments", "extra"]),
    ANY_VALUE | st.dictionaries(st.text(max_size=2), VALUES),
)


@given(st.sampled_from(FUNCTIONS), PAYLOADS)
def test_a_payload_is_malformed_exactly_if_it_violates_its_schema(
    function: FunctionSpec, payload: dict[str, Any]
) -> None:
    answer = MemoryRegistry().functions.call(function.id, payload, MemoryRegistry().make_caller())
    malformed = (
        isinstance(answer, RegistryRefusal) and answer.code == "invalid_payload" and "Provide uri" not in answer.message
    )
    violation = VALIDATORS.find_violation(without_bounds(function.request), payload)
    assert malformed == (violation is not None)


def test_the_command_prints_the_reference_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == build_reference()


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions"]) == 0
    table = capsys.readouterr().out
    assert "  skill::fetch *\n" in table
    assert "name, description, function_id, arguments?\n" in table
    assert all(f"  {known.id}\n" in table for known in (*ALL_FUNCTIONS, *TRIGGERS) if known.id != "skill::fetch")

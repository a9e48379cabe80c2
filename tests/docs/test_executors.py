"""docs/executors.md says what the code does."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from signpost.calling import wire
from signpost.calling.components import KINDS, component_object, fault_of_component
from signpost.calling.failures import COUNTED_CODES, FAILURES, REPORTED
from signpost.calling.runtime_settings import SETTINGS
from signpost.content.names import INTERNAL_NAMESPACES
from signpost.contract import Component
from signpost.directory.manifest import manifest_message, parse_manifest
from signpost.errors import PlacementCode
from signpost.surfaces.functions.bridge_tools import has_tool_name
from signpost.toolkit import Function

PAGE = (Path(__file__).resolve().parents[2] / "docs/executors.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| (\S.*?) \| (none|unknown) \| .+ \|$", PAGE, flags=re.MULTILINE)


def test_the_table_of_failures_matches_the_code() -> None:
    expected = {(code, row.kind, row.outcome) for code, row in FAILURES.items()}
    assert set(ROWS) == expected | {(REPORTED, "the author's", "none")}


def test_the_page_names_the_counted_failures() -> None:
    sentence = re.search(r"failure opens it again\.(.*?)count; refusals do not", PAGE, flags=re.DOTALL)
    assert sentence
    assert set(re.findall(r"`(\w+)`", sentence[1])) == COUNTED_CODES


def test_the_page_names_every_run_time_setting() -> None:
    assert all(f"`{name}`" in PAGE for name in SETTINGS)


@pytest.mark.parametrize("text", re.findall(r"^\{ \"signpost\".*\}$", PAGE, flags=re.MULTILINE))
def test_the_documented_replies_can_be_parsed(text: str) -> None:
    assert wire.parse_reply(text.encode())


def test_the_documented_call_can_be_parsed() -> None:
    block = re.search(r"```json\n(\{\n.*?\n\})\n```", PAGE, flags=re.DOTALL)
    assert block
    shown: Any = json.loads(block[1])
    call, token = wire.parse_call(shown)
    assert json.loads(json.dumps(wire.call_message(call, token))) == {
        **shown,
        "call": {name: value for name, value in shown["call"].items() if value not in (None, {})},
    }


def test_the_documented_manifest_can_be_parsed() -> None:
    block = re.search(r"```json\n(\{\n  \"signpost\": 1,\n  \"manifest\".*?\n\})\n```", PAGE, flags=re.DOTALL)
    assert block
    said = parse_manifest(block[1].encode())
    assert manifest_message(said.functions, said.version) == json.loads(block[1])
    assert said.version
    assert said.functions[0].exposed
    assert said.functions[0].input_schema


def test_the_page_names_every_placement_code() -> None:
    table = PAGE.partition("<!-- loads")[2].partition("\n\n`ExecutorFunctions`")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert re.findall(r"`(\w+)`", "".join(cells)) == list(get_args(PlacementCode.__value__))


def test_the_documented_component_is_valid_and_every_member_has_a_row() -> None:
    shown = re.search(r"```json\n(\{\n  \"id\".*?\n\})\n```", PAGE, flags=re.DOTALL)
    assert shown
    function: Any = json.loads(shown[1])
    (hosted,) = parse_manifest(json.dumps({"signpost": 1, "manifest": {"functions": [function]}}).encode()).functions
    assert hosted.component is not None
    assert component_object(hosted.component) == function["component"]
    assert fault_of_component(hosted.component) is None
    table = PAGE.partition("<!-- components")[2].partition("\n\n| called")[0]
    members = re.findall(
        r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    )
    assert [member.replace("mimeType", "mime_type") for member in members] == [one.name for one in fields(Component)]
    assert all(f"`{kind}`" in table for kind in KINDS)


def test_the_page_names_internal_namespaces_and_ambiguous_ids() -> None:
    section = PAGE.partition("## Functions as tools")[2].partition("\n## ")[0]
    assert all(f"`{prefix}`" in section for prefix in INTERNAL_NAMESPACES)
    assert "`a__b::c`, `a_::b`" in section
    assert not any(map(has_tool_name, ("a__b::c", "a_::b")))


def test_the_documented_executor_works(monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.search(r"```python\n(.*?)\n```", PAGE, flags=re.DOTALL)
    assert code
    declared: list[Function] = []

    def declare(*functions: Function) -> None:
        declared.extend(functions)

    monkeypatch.setattr("signpost.toolkit.executor", declare)
    exec(compile(code[1], "docs/executors.md", "exec"), {})  # noqa: S102 - the page's own example
    (send,) = declared
    assert (send.id, send.timeout_ms) == ("email::send", 5_000)

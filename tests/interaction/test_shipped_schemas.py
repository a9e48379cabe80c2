"""The schemas that this product ships, on every surface: no list of types, which some hosts do not accept."""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from core_skills.hosted import core_toolkits
from signpost.adapters.memory import MemoryDirectory
from signpost.adapters.source_files import read_values
from signpost.content.api.reference import build_reference
from signpost.contract import Executor
from signpost.model import Json, JsonObject
from signpost.toolkit import Toolkit
from signpost.toolkit.hosting import functions_by_id
from signpost.workflow.authoring.json_schema import manifest_schema
from tests.support.example_workflows import EXAMPLES
from tests.support.manifests import publish
from tests.support.memory_gateway import MemoryGateway

TENANT = "default"
ENDPOINTS = ("/mcp", "/mcp/flat", "/mcp/functions")
SYSTEM_INFO = Path(__file__).parents[2] / "examples/system-info/executor/app.py"
MANIFESTS = {name: read_values(folder / "manifest.yaml") for name, folder in EXAMPLES.items()}

derived = Toolkit("derived")


@derived.tool
def take(name: str | None, size: int | None = None, tags: list[str | None] | None = None) -> dict[str, str | None]:
    """Takes values that may be null."""
    return {"name": name, "size": str(size), "tags": str(tags)}


def load_kit(file: Path) -> Toolkit:
    spec = importlib.util.spec_from_file_location("example_of_a_kit", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kit


def lists_of_types(node: Json, at: str = "$") -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(node.get("type"), list):
            yield f"{at}: {node['type']}"
        for name, member in node.items():
            yield from lists_of_types(member, f"{at}.{name}")
    elif isinstance(node, list):
        for place, member in enumerate(node):
            yield from lists_of_types(member, f"{at}[{place}]")


def gateway_with_everything() -> MemoryGateway:
    """Return a gateway with all that this repository ships and shows: functions, examples and their workflows."""
    gateway = MemoryGateway()
    kits = [*core_toolkits({}), load_kit(SYSTEM_INFO), derived]
    hosted = [function.hosted for function in functions_by_id(kits).values()]
    assert MemoryDirectory(gateway.functions).place(TENANT, Executor("arn:all", "secret:all", 60_000), hosted) == []
    adapters = gateway.adapters
    together: Any = {"version": 1, "workflows": {}}
    for manifest in MANIFESTS.values():
        together["workflows"] |= manifest["workflows"]
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, together)
    return gateway


@pytest.mark.parametrize("path", ENDPOINTS)
def test_no_tool_of_a_surface_has_a_list_of_types(path: str) -> None:
    gateway = gateway_with_everything()
    tools = gateway.request("tools/list", path=path).json["result"]["tools"]
    params: JsonObject = {"name": "catalog", "arguments": {"type": "tools"}}
    catalog = gateway.request("tools/call", params, path="/mcp/flat").json["result"]["structuredContent"]["tools"]
    assert len(tools) >= 7
    assert {"skill:system_info", "skill:take", "catalog", "skill__fetch"} <= {tool["name"] for tool in catalog}
    assert list(lists_of_types([*tools, *catalog])) == []


def test_no_function_of_the_registry_has_a_list_of_types() -> None:
    assert list(lists_of_types(build_reference())) == []


def test_the_schema_of_manifests_has_no_list_of_types() -> None:
    assert list(lists_of_types(manifest_schema())) == []


@pytest.mark.parametrize("name", MANIFESTS)
def test_no_example_has_a_list_of_types(name: str) -> None:
    assert list(lists_of_types(json.loads(json.dumps(MANIFESTS[name], default=str)))) == []

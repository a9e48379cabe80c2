"""docs/flat.md says what the code does."""

import re
from pathlib import Path

from signpost.mcp.names import portable_names
from signpost.model import as_object
from signpost.surfaces.flat.catalog_tool import ALL, CATALOG, SECTIONS
from tests.support.function_tools import FunctionToolClient
from tests.support.memory_gateway import MODERN

PAGE = (Path(__file__).resolve().parents[2] / "docs/flat.md").read_text()


def test_the_page_names_the_arguments_of_the_catalog_and_their_values() -> None:
    table = PAGE.partition("## The catalog")[2]
    arguments = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    assert [name for name, _ in arguments] == list(as_object(CATALOG.input_schema["properties"]))
    assert re.findall(r"`(\w+)`", arguments[0][1]) == [*SECTIONS, ALL]


def test_the_documented_portable_names_are_those_of_the_code() -> None:
    spelled = portable_names(["skill:web_search", "workflow:Tech News Digest"])
    assert all(f"`{name}`" in PAGE for name in spelled.values())


def test_the_documented_tools_and_names_exist() -> None:
    client = FunctionToolClient(MODERN, "/mcp/flat")
    client.host("email::send", "a::send")
    assert client.list_tool_names() == ["skill:email::send", "skill:send", "skill__fetch"]
    for name in ("skill__fetch", "catalog"):
        assert f"| `{name}` |" in PAGE
        assert not client.is_unknown(name)

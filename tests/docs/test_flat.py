"""docs/flat.md says what the code does."""

import re
from pathlib import Path

from signpost.mcp.names import portable_names
from signpost.model import as_object
from signpost.surfaces.flat.catalog_tool import ALL, CATALOG, SECTIONS
from tests.support.function_tools import Client
from tests.support.memory_gateway import MODERN

PAGE = (Path(__file__).resolve().parents[2] / "docs/flat.md").read_text()


def test_it_names_the_arguments_of_the_catalog_and_what_they_may_be() -> None:
    table = PAGE.partition("## The catalog")[2]
    arguments = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    assert [name for name, _ in arguments] == list(as_object(CATALOG.input_schema["properties"]))
    assert re.findall(r"`(\w+)`", arguments[0][1]) == [*SECTIONS, ALL]


def test_it_shows_the_portable_names_that_there_are() -> None:
    spelled = portable_names(["skill:web_search", "workflow:Tech News Digest"])
    assert all(f"`{name}`" in PAGE for name in spelled.values())


def test_its_tools_are_there_and_its_example_of_a_name_is_one() -> None:
    client = Client(MODERN, "/mcp/flat")
    client.host("email::send", "a::send")
    assert client.names() == ["skill:email::send", "skill:send", "skill__fetch"]
    for name in ("skill__fetch", "catalog"):
        assert f"| `{name}` |" in PAGE
        assert not client.is_unknown(name)

"""The catalog at /mcp/flat: what it shows, of what, and to whom."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.content.callers import Caller
from signpost.content.documents import build_skill
from signpost.content.model import SkillChange
from signpost.contract import Executor, HostedFunction
from signpost.mcp.dispatch import LONGEST_ANSWER
from signpost.model import JsonObject, Principal
from signpost.surfaces.flat.catalog_tool import SECTIONS
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from signpost.toolkit import Toolkit
from tests.support.function_tools import LEGACY, TENANT, FunctionToolClient, read_text
from tests.support.memory_gateway import MODERN
from tests.support.toolkits import ServedToolkits

READ: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
KIT = (
    HostedFunction("files::read", name="files.read", category="Files", input_schema=READ, description="Reads a file."),
    HostedFunction("files::list", name="files.list", category="files"),
    HostedFunction("yard::time", name="server_time"),
    HostedFunction("yard::lookup", name="lookup", hidden=True, category="Yard"),
)


def make_client(version: str) -> FunctionToolClient:
    client = FunctionToolClient(version, "/mcp/flat")
    client.host(*KIT)
    functions = client.gateway.composition.documents.functions
    caller = Caller(TENANT, Principal("operator", TENANT, "t"), client.gateway.clock.now() + 20)
    functions.call("skills::register", {"id": "span", "skill": "# Span\n\nIn the FILES.\n"}, caller)
    prompt: JsonObject = {"name": "greet", "description": "Greets.", "function_id": "yard::time"}
    functions.call("prompts::register", prompt, caller)
    client.gateway.clock.advance(REVALIDATION_INTERVAL)
    return client


@pytest.fixture(params=[MODERN, LEGACY])
def client(request: pytest.FixtureRequest) -> FunctionToolClient:
    return make_client(request.param)


def call_catalog(client: FunctionToolClient, **arguments: Any) -> Any:
    result = client.call("catalog", arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


def names(entries: Sequence[Any]) -> list[str]:
    return [entry["name"] for entry in entries]


HIDDEN = ["catalog", *sorted(tool.name for tool in GATEWAY_TOOLS), "skill:lookup"]
VISIBLE = ["skill:files.list", "skill:files.read", "skill:server_time", "skill__fetch"]


def test_n017_n031_the_catalog_is_callable_and_not_listed(client: FunctionToolClient) -> None:
    assert client.list_tool_names() == VISIBLE
    assert call_catalog(client)["tools"]


def test_n027_n032_the_catalog_includes_hidden_entries_and_itself(client: FunctionToolClient) -> None:
    found = call_catalog(client)
    assert tuple(found) == SECTIONS
    assert names(found["tools"]) == sorted([*VISIBLE, *HIDDEN])
    assert {entry["name"] for entry in found["tools"] if entry["hidden"]} == {*HIDDEN}
    assert names(found["prompts"]) == ["greet"]
    overviews = ["signpost://deployment", "signpost://workflows", "signpost://runs", "signpost://config"]
    assert [entry["uri"] for entry in found["resources"]] == ["iii://skills", "iii://span", *overviews]
    assert found["resource_templates"]
    hidden = [entry.get("uri") for section in SECTIONS[1:] for entry in found[section] if entry["hidden"]]
    assert hidden == overviews


def test_n019_an_entry_is_its_listed_form_with_its_category(client: FunctionToolClient) -> None:
    tools = {entry["name"]: entry for entry in call_catalog(client)["tools"]}
    listed = {tool["name"]: tool for tool in client.list_tools()}
    assert tools["skill:files.read"] == {**listed["skill:files.read"], "hidden": False, "category": "Files"}
    assert tools["skill:server_time"] == {**listed["skill:server_time"], "hidden": False}
    assert tools["skill:lookup"]["category"] == "Yard"
    for method, section in (
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resource_templates"),
    ):
        kind = section if section != "resource_templates" else "resourceTemplates"
        shown = call_catalog(client, include_hidden=False)[section]
        assert [{**one, "hidden": False} for one in client.request(method)["result"][kind]] == shown


@pytest.mark.parametrize("category", ["Files", "FILES", "files"])
def test_n020_n021_a_category_filter_matches_the_whole_category_in_any_case(
    client: FunctionToolClient, category: str
) -> None:
    found = call_catalog(client, category=category)
    assert {name: names(section) for name, section in found.items()} == {
        "tools": ["skill:files.list", "skill:files.read"],
        "prompts": [],
        "resources": [],
        "resource_templates": [],
    }
    assert call_catalog(client, category="File")["tools"] == []


def test_n029_n030_n033_hidden_entries_can_be_left_out(client: FunctionToolClient) -> None:
    assert names(call_catalog(client, include_hidden=False)["tools"]) == VISIBLE
    assert names(call_catalog(client, include_hidden=True)["tools"]) == sorted([*VISIBLE, *HIDDEN])


def test_n034_a_query_matches_name_description_and_uri(client: FunctionToolClient) -> None:
    found = call_catalog(client, query="FILE", include_hidden=False)
    assert names(found["tools"]) == ["skill:files.list", "skill:files.read"]
    assert (found["prompts"], [entry["uri"] for entry in found["resources"]]) == ([], ["iii://span"])
    assert names(call_catalog(client, query="greets")["prompts"]) == ["greet"]
    assert call_catalog(client, query="III://", type="resource_templates")["resource_templates"]
    assert names(call_catalog(client, query="files", category="Yard")["tools"]) == []


@pytest.mark.parametrize("section", SECTIONS)
def test_n035_a_type_limits_the_answer_to_one_section(client: FunctionToolClient, section: str) -> None:
    assert call_catalog(client, type=section) == {section: call_catalog(client, type="all")[section]}


@pytest.mark.parametrize(
    ("name", "value"), [("type", "skills"), ("query", 1), ("category", 7), ("include_hidden", "no"), ("kind", "x")]
)
def test_an_invalid_argument_is_refused_by_name(client: FunctionToolClient, name: str, value: Any) -> None:
    refused = client.call("catalog", {name: value})
    assert (refused["isError"], name in read_text(refused)) == (True, True)


def test_the_catalog_shows_only_tools_that_the_caller_can_call(client: FunctionToolClient) -> None:
    client.directory.place("acme", Executor("arn:acme", "secret:acme", 1_000), [HostedFunction("theirs", hidden=True)])
    client.settings.set(TENANT, None, "hidden_prefixes", "files::")
    client.host(*KIT, HostedFunction("state::set", hidden=True))
    client.advance_clock(REVALIDATION_INTERVAL)
    found = [name for name in names(call_catalog(client)["tools"]) if name.startswith("skill:")]
    assert found == ["skill:lookup", "skill:server_time"]
    assert all(not client.is_unknown(name) for name in found)


def test_the_catalog_is_a_tool_of_the_flat_surface_only() -> None:
    client = FunctionToolClient(MODERN, "/mcp/functions")
    assert client.is_unknown("catalog")


def test_portable_names_in_the_catalog_can_be_called() -> None:
    client = FunctionToolClient(MODERN, "/mcp/flat", TOOL_NAMES="portable")
    client.host(*KIT)
    tools = call_catalog(client, type="tools")["tools"]
    assert {*names(client.list_tools())} < {*names(tools)}
    assert "skill_lookup" in names(tools)
    assert client.call("skill_lookup")["isError"] is False
    assert client.calls[-1]["function"] == "yard::lookup"


def library() -> Toolkit:
    kit = Toolkit("library")

    @kit.prompt
    def review() -> str:
        """Reviews."""
        return "Look."

    @kit.prompt(hidden=True)
    def whisper(word: str) -> str:
        """Says it quietly."""
        return word

    @kit.resource("library://rules.md", hidden=True, mime_type="text/markdown")
    def rules() -> str:
        """Of the library."""
        return "# Rules"

    def every() -> list[str]:
        return ["library://shelves/a"]

    @kit.template("library://shelves/{shelf}", hidden=True, enumerate=every)
    def shelf(shelf: str) -> str:
        """What stands there."""
        return shelf

    assert [review, whisper, rules, shelf]
    return kit


def call_served_catalog(served: ServedToolkits, **arguments: Any) -> Any:
    return served.call("catalog", **arguments)["structuredContent"]


BESIDE = SECTIONS[1:]


def library_entries(found: Mapping[str, Any]) -> Mapping[str, Mapping[str, bool]]:
    """What of it is the library's, and whether it is hidden."""
    names = {section: [(one["name"], one["hidden"]) for one in found[section]] for section in BESIDE}
    return {section: {name: hidden for name, hidden in ones if name in NAMES} for section, ones in names.items()}


NAMES = ("review", "whisper", "rules.md", "shelf")


def test_n027_n029_n030_n032_n033_hidden_components_are_shown_unless_left_out() -> None:
    served = ServedToolkits(library(), endpoint="/mcp/flat")
    everything = call_served_catalog(served)
    assert library_entries(everything) == {
        "prompts": {"review": False, "whisper": True},
        "resources": {"rules.md": True},
        "resource_templates": {"shelf": True},
    }
    assert library_entries(call_served_catalog(served, include_hidden=True)) == library_entries(everything)
    assert library_entries(call_served_catalog(served, include_hidden=False)) == {
        "prompts": {"review": False},
        "resources": {},
        "resource_templates": {},
    }
    assert served.called_functions == []  # what a hidden template would list is nobody's business


def test_n019_a_hidden_entry_has_its_listed_form_and_can_be_read() -> None:
    served = ServedToolkits(library(), endpoint="/mcp/flat")
    found = call_served_catalog(served)
    (prompt,) = (one for one in found["prompts"] if one["hidden"])
    assert (prompt["name"], prompt["description"]) == ("whisper", "Says it quietly.")
    assert [(one["name"], one["required"]) for one in prompt["arguments"]] == [("word", True)]
    (resource,) = (one for one in found["resources"] if one["hidden"] and one["uri"].startswith("library:"))
    assert resource == {
        "uri": "library://rules.md",
        "name": "rules.md",
        "description": "Of the library.",
        "mimeType": "text/markdown",
        "hidden": True,
    }
    assert served.request_result("prompts/get", {"name": prompt["name"], "arguments": {"word": "psst"}})["messages"]
    assert served.request_result("resources/read", {"uri": resource["uri"]})["contents"][0]["text"] == "# Rules"


def test_n034_n035_hidden_entries_are_found_by_query_and_type() -> None:
    served = ServedToolkits(library(), endpoint="/mcp/flat")
    assert library_entries(call_served_catalog(served, query="LIBRARY://")) == {
        "prompts": {},
        "resources": {"rules.md": True},
        "resource_templates": {"shelf": True},
    }
    assert list(call_served_catalog(served, type="resource_templates", query="shelves")) == ["resource_templates"]


def test_a_hidden_prompt_behind_a_prompt_of_the_tenant_is_not_shown() -> None:
    served = ServedToolkits(library(), endpoint="/mcp/flat")
    functions = served.gateway.composition.documents.functions
    caller = Caller("default", Principal("operator", "default", "t"), served.gateway.clock.now() + 20)
    said: JsonObject = {"name": "whisper", "description": "Mine.", "function_id": "library::review"}
    functions.call("prompts::register", said, caller)
    served.gateway.clock.advance(REVALIDATION_INTERVAL)
    whispers = [one for one in call_served_catalog(served)["prompts"] if one["name"] == "whisper"]
    assert [(one["description"], one["hidden"]) for one in whispers] == [("Mine.", False)]


DOCUMENTS = 15_000


def store_documents(client: FunctionToolClient, number: int) -> list[str]:
    """Store the rows of skill documents, and return their URIs. Lists need no bodies."""
    said = "It explains a step of the work. " * 6
    bodies = {f"doc/n{index:05}": f"# Number {index}\n\n{said}\n" for index in range(number)}
    rows = [SkillChange(name, build_skill(name, body, "2026-01-01T00:00:00Z")) for name, body in bodies.items()]
    client.gateway.adapters.content.apply(TENANT, rows)
    client.advance_clock(REVALIDATION_INTERVAL)
    return [f"iii://{name}" for name in bodies]


def read_all_pages(client: FunctionToolClient, **arguments: Any) -> list[Any]:
    pages = [call_catalog(client, **arguments)]
    while "nextCursor" in pages[-1]:
        pages.append(call_catalog(client, **arguments, cursor=pages[-1]["nextCursor"]))
    return pages


@pytest.mark.invariant(122)
def test_a_long_catalog_comes_in_pages_that_fit_into_an_answer() -> None:
    client = make_client(MODERN)
    stored = store_documents(client, DOCUMENTS)
    pages = read_all_pages(client)
    assert len(pages) > DOCUMENTS // 1_000
    assert max(len(json.dumps(page)) for page in pages) < LONGEST_ANSWER // 2
    found = [entry["uri"] for page in pages for entry in page["resources"]]
    assert len(found) == len(set(found))
    assert set(stored) <= set(found)
    assert set(names([tool for page in pages for tool in page["tools"]])) == {*VISIBLE, *HIDDEN}


def test_the_pages_of_a_catalog_are_those_of_its_arguments_and_caller(client: FunctionToolClient) -> None:
    store_documents(client, 1_500)
    found = [entry["uri"] for page in read_all_pages(client, query="number 14") for entry in page["resources"]]
    assert found == [f"iii://doc/n{index:05}" for index in (14, *range(140, 150), *range(1400, 1500))]
    cursor = call_catalog(client, type="resources")["nextCursor"]
    assert client.call("catalog", {"type": "all", "cursor": cursor})["isError"] is True
    assert client.call("catalog", {"type": "resources", "cursor": "made up"})["isError"] is True
    client.key = str(client.gateway.make_key())
    refused = client.call("catalog", {"type": "resources", "cursor": cursor})
    assert (refused["isError"], "cursor" in read_text(refused)) == (True, True)

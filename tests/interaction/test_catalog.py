"""The catalog at /mcp/flat: what it shows, of what, and to whom."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.content.callers import Caller
from signpost.contract import Executor, HostedFunction
from signpost.model import JsonObject, Principal
from signpost.surfaces.flat.catalog_tool import SECTIONS
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from signpost.toolkit import Toolkit
from tests.support.function_tools import LEGACY, TENANT, Client, text_of
from tests.support.memory_gateway import MODERN
from tests.support.toolkits import Served

READ: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
KIT = (
    HostedFunction("files::read", name="files.read", category="Files", input_schema=READ, description="Reads a file."),
    HostedFunction("files::list", name="files.list", category="files"),
    HostedFunction("yard::time", name="server_time"),
    HostedFunction("yard::lookup", name="lookup", hidden=True, category="Yard"),
)


@pytest.fixture(params=[MODERN, LEGACY])
def client(request: pytest.FixtureRequest) -> Client:
    client = Client(request.param, "/mcp/flat")
    client.host(*KIT)
    functions = client.gateway.composition.documents.functions
    caller = Caller(TENANT, Principal("operator", TENANT, "t"), client.gateway.clock.now() + 20)
    functions.call("skills::register", {"id": "span", "skill": "# Span\n\nIn the FILES.\n"}, caller)
    prompt: JsonObject = {"name": "greet", "description": "Greets.", "function_id": "yard::time"}
    functions.call("prompts::register", prompt, caller)
    return client


def shown(client: Client, **arguments: Any) -> Any:
    result = client.call("catalog", arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


def names(entries: Sequence[Any]) -> list[str]:
    return [entry["name"] for entry in entries]


HIDDEN = ["catalog", *sorted(tool.name for tool in GATEWAY_TOOLS), "skill:lookup"]
VISIBLE = ["skill:files.list", "skill:files.read", "skill:server_time", "skill__fetch"]


def test_n017_n031_no_list_shows_the_catalog_and_it_can_be_called(client: Client) -> None:
    assert client.names() == VISIBLE
    assert shown(client)["tools"]


def test_n027_n032_it_shows_everything_hidden_or_not_itself_included(client: Client) -> None:
    found = shown(client)
    assert tuple(found) == SECTIONS
    assert names(found["tools"]) == sorted([*VISIBLE, *HIDDEN])
    assert {entry["name"] for entry in found["tools"] if entry["hidden"]} == {*HIDDEN}
    assert names(found["prompts"]) == ["greet"]
    assert [entry["uri"] for entry in found["resources"]] == ["iii://skills", "iii://span"]
    assert found["resource_templates"]
    beside = [entry["hidden"] for section in SECTIONS[1:] for entry in found[section]]
    assert beside == [False] * len(beside)


def test_n019_an_entry_is_what_lists_show_with_its_category_on_top(client: Client) -> None:
    tools = {entry["name"]: entry for entry in shown(client)["tools"]}
    listed = {tool["name"]: tool for tool in client.tools()}
    assert tools["skill:files.read"] == {**listed["skill:files.read"], "hidden": False, "category": "Files"}
    assert tools["skill:server_time"] == {**listed["skill:server_time"], "hidden": False}
    assert tools["skill:lookup"]["category"] == "Yard"
    for method, section in (
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resource_templates"),
    ):
        kind = section if section != "resource_templates" else "resourceTemplates"
        assert [{**one, "hidden": False} for one in client.ask(method)["result"][kind]] == shown(client)[section]


@pytest.mark.parametrize("category", ["Files", "FILES", "files"])
def test_n020_n021_a_category_is_matched_whole_in_capitals_or_not_and_what_has_none_is_left_out(
    client: Client, category: str
) -> None:
    found = shown(client, category=category)
    assert {name: names(section) for name, section in found.items()} == {
        "tools": ["skill:files.list", "skill:files.read"],
        "prompts": [],
        "resources": [],
        "resource_templates": [],
    }
    assert shown(client, category="File")["tools"] == []


def test_n029_n030_n033_hidden_entries_can_be_left_out(client: Client) -> None:
    assert names(shown(client, include_hidden=False)["tools"]) == VISIBLE
    assert names(shown(client, include_hidden=True)["tools"]) == sorted([*VISIBLE, *HIDDEN])


def test_n034_a_query_is_found_in_name_description_and_uri(client: Client) -> None:
    found = shown(client, query="FILE", include_hidden=False)
    assert names(found["tools"]) == ["skill:files.list", "skill:files.read"]
    assert (found["prompts"], [entry["uri"] for entry in found["resources"]]) == ([], ["iii://span"])
    assert names(shown(client, query="greets")["prompts"]) == ["greet"]
    assert shown(client, query="III://", type="resource_templates")["resource_templates"]
    assert names(shown(client, query="files", category="Yard")["tools"]) == []


@pytest.mark.parametrize("section", SECTIONS)
def test_n035_a_type_is_the_only_section(client: Client, section: str) -> None:
    assert shown(client, type=section) == {section: shown(client, type="all")[section]}


@pytest.mark.parametrize(
    ("name", "value"), [("type", "skills"), ("query", 1), ("category", None), ("include_hidden", "no"), ("kind", "x")]
)
def test_an_argument_that_it_does_not_take_is_refused_by_name(client: Client, name: str, value: Any) -> None:
    refused = client.call("catalog", {name: value})
    assert (refused["isError"], name in text_of(refused)) == (True, True)


def test_nothing_is_shown_that_its_caller_could_not_call(client: Client) -> None:
    client.directory.place("acme", Executor("arn:acme", "secret:acme", 1_000), [HostedFunction("theirs", hidden=True)])
    client.settings.set(TENANT, None, "hidden_prefixes", "files::")
    client.host(*KIT, HostedFunction("state::set", hidden=True))
    client.passes(REVALIDATION_INTERVAL)
    found = [name for name in names(shown(client)["tools"]) if name.startswith("skill:")]
    assert found == ["skill:lookup", "skill:server_time"]
    assert all(not client.is_unknown(name) for name in found)


def test_it_is_a_tool_of_the_flat_surface_only() -> None:
    client = Client(MODERN, "/mcp/functions")
    assert client.is_unknown("catalog")


def test_who_asks_for_portable_names_is_shown_names_that_can_be_called() -> None:
    client = Client(MODERN, "/mcp/flat", TOOL_NAMES="portable")
    client.host(*KIT)
    tools = shown(client, type="tools")["tools"]
    assert {*names(client.tools())} < {*names(tools)}
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


def catalogued(served: Served, **arguments: Any) -> Any:
    return served.call("catalog", **arguments)["structuredContent"]


BESIDE = SECTIONS[1:]


def own(found: Mapping[str, Any]) -> Mapping[str, Mapping[str, bool]]:
    """What of it is the library's, and whether it is hidden."""
    names = {section: [(one["name"], one["hidden"]) for one in found[section]] for section in BESIDE}
    return {section: {name: hidden for name, hidden in ones if name in NAMES} for section, ones in names.items()}


NAMES = ("review", "whisper", "rules.md", "shelf")


def test_n027_n029_n030_n032_n033_hidden_prompts_resources_and_templates_are_there_and_can_be_left_out() -> None:
    served = Served(library(), endpoint="/mcp/flat")
    everything = catalogued(served)
    assert own(everything) == {
        "prompts": {"review": False, "whisper": True},
        "resources": {"rules.md": True},
        "resource_templates": {"shelf": True},
    }
    assert own(catalogued(served, include_hidden=True)) == own(everything)
    assert own(catalogued(served, include_hidden=False)) == {
        "prompts": {"review": False},
        "resources": {},
        "resource_templates": {},
    }
    assert served.called == []  # what a hidden template would list is nobody's business


def test_n019_a_hidden_entry_is_what_a_list_would_show_and_can_be_asked_for() -> None:
    served = Served(library(), endpoint="/mcp/flat")
    found = catalogued(served)
    (prompt,) = (one for one in found["prompts"] if one["hidden"])
    assert (prompt["name"], prompt["description"]) == ("whisper", "Says it quietly.")
    assert [(one["name"], one["required"]) for one in prompt["arguments"]] == [("word", True)]
    (resource,) = (one for one in found["resources"] if one["hidden"])
    assert resource == {
        "uri": "library://rules.md",
        "name": "rules.md",
        "description": "Of the library.",
        "mimeType": "text/markdown",
        "hidden": True,
    }
    assert served.ask("prompts/get", {"name": prompt["name"], "arguments": {"word": "psst"}})["messages"]
    assert served.ask("resources/read", {"uri": resource["uri"]})["contents"][0]["text"] == "# Rules"


def test_n034_n035_hidden_entries_are_found_by_query_and_type() -> None:
    served = Served(library(), endpoint="/mcp/flat")
    assert own(catalogued(served, query="LIBRARY://")) == {
        "prompts": {},
        "resources": {"rules.md": True},
        "resource_templates": {"shelf": True},
    }
    assert list(catalogued(served, type="resource_templates", query="shelves")) == ["resource_templates"]


def test_a_hidden_prompt_that_is_not_reached_is_not_shown() -> None:
    served = Served(library(), endpoint="/mcp/flat")
    functions = served.gateway.composition.documents.functions
    caller = Caller("default", Principal("operator", "default", "t"), served.gateway.clock.now() + 20)
    said: JsonObject = {"name": "whisper", "description": "Mine.", "function_id": "library::review"}
    functions.call("prompts::register", said, caller)
    served.gateway.clock.advance(REVALIDATION_INTERVAL)
    whispers = [one for one in catalogued(served)["prompts"] if one["name"] == "whisper"]
    assert [(one["description"], one["hidden"]) for one in whispers] == [("Mine.", False)]

"""What home, search and describe show after changes, to other callers, and of odd names: everything that is found is
described and can be started, and nothing else is."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.contract import Component, HostedFunction
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import JsonObject
from tests.support.capabilities import AUTHOR, CapabilityClient
from tests.support.function_tools import SHELF, TENANT
from tests.support.guest_gateway import GuestGateway
from tests.support.manifests import publish

NEEDS_NUMBER: JsonObject = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
YARD = (
    HostedFunction("yard::dig"),
    HostedFunction("yard::ask", component=Component("prompt")),
    HostedFunction("yard::gate", component=Component("resource", uri="yard://gate")),
)
OF_YARD = {("capability", "dig"), ("prompt", "yard::ask"), ("resource", "yard://gate")}
SHIPPED, DOCUMENT = ("capability", "wait"), ("document", "yard/guide")
DENIED = ["skill:vault*", "iii://vault*", "vault*", "prompt:ask_vault", "vault://*", "open-vault"]


@pytest.fixture
def client() -> CapabilityClient:
    client = CapabilityClient(*YARD)
    assert client.directory.place(None, SHELF, [HostedFunction("core::wait")]) == []
    client.register("yard/guide", "# Guide\n")
    client.advance_clock(REVALIDATION_INTERVAL)
    assert set(client.search(limit=200)) == {*OF_YARD, SHIPPED, DOCUMENT}
    return client


def unregister(client: CapabilityClient) -> None:
    caller = Caller(TENANT, AUTHOR, client.gateway.clock.now() + 20)
    answer = client.gateway.composition.documents.functions.call("skills::unregister", {"id": "yard/guide"}, caller)
    assert not isinstance(answer, RegistryRefusal), answer


def register_map(client: CapabilityClient) -> None:
    client.register("yard/map", "# Map\n")


def host_only(*functions: str) -> Callable[[CapabilityClient], None]:
    return lambda client: client.host(*functions)


def set_for_tenant(name: str, value: str | int) -> Callable[[CapabilityClient], None]:
    return lambda client: client.settings.set(TENANT, None, name, value)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (host_only("yard::fill"), {("capability", "fill"), SHIPPED, DOCUMENT}),
        (host_only(), {SHIPPED, DOCUMENT}),
        (set_for_tenant("hidden_prefixes", "yard::"), {SHIPPED, DOCUMENT}),
        (set_for_tenant("require_expose", 1), {*OF_YARD, DOCUMENT} - {("capability", "dig")}),
        (set_for_tenant("shipped_content", 0), {*OF_YARD, DOCUMENT}),
        (unregister, {*OF_YARD, SHIPPED}),
        (
            register_map,
            {*OF_YARD, SHIPPED, DOCUMENT, ("document", "yard/map")},
        ),
    ],
    ids=["deployed", "unloaded", "hidden", "not exposed", "not shipped", "unregistered", "registered"],
)
def test_a_change_shows_in_every_list_within_two_seconds(
    client: CapabilityClient, change: Callable[[CapabilityClient], None], left: set[tuple[str, str]]
) -> None:
    change(client)
    client.advance_clock(REVALIDATION_INTERVAL)
    found = set(client.search(limit=200))
    assert found == left
    assert {item["id"] for item in client.ask("gateway.home")["items"]} == {
        name for kind, name in found if kind == "capability"
    }
    for kind, name in (*OF_YARD, SHIPPED, DOCUMENT, *found):
        assert ("error" in client.ask("gateway.describe", id=name, kind=kind)) is ((kind, name) not in found)


def test_callers_of_one_gateway_find_what_their_own_roles_allow() -> None:
    rules: JsonObject = {"no": {"kind": "deny", "who": ["role:guest"], "what": DENIED}}
    guest = GuestGateway(with_vault=True, policies=rules)
    for role, is_allowed in (("guest", False), ("staff", True), ("guest", False)):
        guest.log_in_as("ann", role)
        found = {result["item"]["id"] for result in ask(guest, "gateway.search", query="vault", limit=200)["results"]}
        for name in ("vault.open", "vault/manual", "ask_vault", "vault://ledger", "vault.read"):
            assert (name in found) is is_allowed, name
            assert ("error" not in ask(guest, "gateway.describe", id=name)) is is_allowed, name


def test_no_suggestion_names_what_the_default_denies() -> None:
    allowed: JsonObject = {"kind": "allow", "who": ["*"], "what": ["skill:echo"]}
    guest = GuestGateway(with_vault=True, policies={"default": "deny", "echo": allowed})
    assert [item["id"] for item in ask(guest, "gateway.home")["items"]] == ["echo"]
    explained = ask(guest, "workflow.explain", definitionId="proxy_default")
    assert explained["states"]["ready"]["transitions"] == ["echo"]
    asked: Sequence[tuple[str, JsonObject]] = [
        *(("gateway.describe", {"id": name}) for name in ("vault.ope", "tou", "yard/guid", "greetin", "yard://gat")),
        *(("workflow.start", {"input": {"capability": name}}) for name in ("vault.ope", "vault.rea")),
        ("workflow.start", {"definitionId": "tou"}),
        ("workflow.explain", {"definitionId": "tou"}),
        ("workflow.explain", {"definitionId": "proxy_default", "transition": "vault.ope"}),
    ]
    for tool, arguments in asked:
        assert "Did you mean" not in ask(guest, tool, **arguments)["error"]["message"], arguments


def test_a_caller_of_another_tenant_finds_nothing_of_this_one() -> None:
    guest = GuestGateway(with_vault=True)
    assert ask(guest, "gateway.home")["items"] != []
    guest.log_in_as("guest", "guest", tenant="other")
    assert ask(guest, "gateway.home")["items"] == []
    assert ask(guest, "gateway.search", query="")["results"] == []
    for name in ("tour", "echo", "yard/guide", "greeting", "yard://gate"):
        assert ask(guest, "gateway.describe", id=name)["error"]["message"].endswith(
            "Follow the `search` link to find items."
        )


def ask(guest: GuestGateway, tool: str, **arguments: Any) -> Any:
    return guest.call(tool, **arguments)["result"]["structuredContent"]


@pytest.mark.parametrize(
    "name",
    [
        "a b as c",
        "ünïcode ✓",
        "x" * 128,
        "a::b",
        "a/b",
        "proxy_default",
        "capability",
        "ready",
        "*",
        '"q"',
        "{n}",
        "%41",
    ],
)
def test_a_skill_of_any_name_is_found_described_explained_started_and_continued(name: str) -> None:
    client = CapabilityClient(HostedFunction("yard::odd", name=name, input_schema=NEEDS_NUMBER))
    (item,) = client.ask("gateway.home")["items"]
    assert (item["id"], client.ask("gateway.describe", id=name)["id"]) == (name, name)
    assert client.ask("workflow.explain", definitionId="proxy_default", transition=name)["transition"] == name
    (start,) = item["links"]
    run = client.ask(start["method"], **start["args"])
    assert client.take(run["links"][0], n=1)["context"] == {"lastResult": {"n": 1}}
    assert client.start(name, n=2)["context"] == {"lastResult": {"n": 2}}


@pytest.mark.parametrize("name", ["a::b", "a/b", "ü ✓", "%41", "x" * 100, "a?b#c", "{id}", "..", "a+b"])
def test_a_workflow_of_any_id_is_described_started_read_and_completed(name: str) -> None:
    client = CapabilityClient()
    states: JsonObject = {"open": {"transitions": {"go": {"target": "done"}}}, "done": {"terminal": True}}
    adapters = client.gateway.adapters
    manifest: JsonObject = {"version": 1, "workflows": {name: {"initialState": "open", "states": states}}}
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
    client.advance_clock(REVALIDATION_INTERVAL)
    (start,) = client.ask("gateway.describe", id=name)["links"]
    assert client.ask(start["method"], **start["args"])["state"] == "open"
    params: JsonObject = {
        "ref": {"type": "ref/resource", "uri": "signpost://workflows/{id}"},
        "argument": {"name": "id", "value": name[:1]},
    }
    assert client.request("completion/complete", params)["result"]["completion"]["values"] == [name]
    (listed,) = read(client, "signpost://workflows")["workflows"]
    assert read(client, listed["uri"])["id"] == name


def read(client: CapabilityClient, uri: str) -> Any:
    return json.loads(client.request("resources/read", {"uri": uri})["result"]["contents"][0]["text"])


@pytest.mark.parametrize("ranking", ["rule", "fused"])
@pytest.mark.parametrize(
    "query",
    [" ", "\x00", "💥" * 500, "a" * 100_000, " ".join(f"w{n}" for n in range(20_000)), "x " * 50_000, "%s ((( ß"],
)
def test_any_query_is_answered(query: str, ranking: str) -> None:
    client = CapabilityClient(*(f"yard::s{number}" for number in range(50)))
    adapters = client.gateway.adapters
    manifest: JsonObject = {"version": 1, "discovery": {"ranking": ranking}}
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
    client.advance_clock(REVALIDATION_INTERVAL)
    assert len(client.search(query)) <= 10


def test_a_cursor_goes_on_behind_its_item_although_items_were_removed() -> None:
    client = CapabilityClient(*name_skills(range(450)))
    cursor = client.ask("gateway.home")["nextCursor"]
    client.host(*name_skills(range(0, 450, 3)))
    client.advance_clock(REVALIDATION_INTERVAL)
    rest = [item["id"] for item in client.ask("gateway.home", cursor=cursor)["items"]]
    assert rest == [f"s{number:03}" for number in range(201, 450, 3)]


@pytest.mark.parametrize("changed", ["", "é", "x" * 100_000, '["s100", "capability"]'])
def test_a_text_that_is_no_cursor_is_refused(changed: str) -> None:
    client = CapabilityClient(*name_skills(range(250)))
    assert client.ask("gateway.home", cursor=changed)["error"]["code"] == "INPUT_SCHEMA_VIOLATION"


def name_skills(numbers: range) -> Sequence[str]:
    return [f"yard::s{number:03}" for number in numbers]


def test_skills_whose_portable_names_are_alike_are_called_each_by_its_own() -> None:
    names = ["a.b", "a_b", "a:b", "a b", "a/b", "A.b"]
    client = CapabilityClient(*(HostedFunction(f"yard::f{number}", name=name) for number, name in enumerate(names)))

    def send(method: str, **params: Any) -> Any:
        query = {"names": "portable"}
        return client.gateway.request(method, params, credential=client.key, path="/mcp/flat", query=query).json[
            "result"
        ]

    listed = [tool["name"] for tool in send("tools/list")["tools"] if tool["name"].startswith("skill_")]
    assert len(set(listed)) == len(names) + 1
    for name in set(listed) - {"skill__fetch"}:
        send("tools/call", name=name, arguments={})
    assert {call["function"] for call in client.calls} == {f"yard::f{number}" for number in range(6)}

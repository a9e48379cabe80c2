"""gateway.home, gateway.search and gateway.describe with skills, documents, prompts and resources."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from signpost.adapters.memory import MemoryBreakers
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import BreakerState, Component, HostedFunction, Result
from signpost.model import Call, JsonObject, Principal, PromptArgument
from signpost.schema.validation import check_schema
from tests.support.capabilities import CapabilityClient
from tests.support.function_tools import SHELF, TENANT
from tests.support.manifests import publish

PRICE: JsonObject = {
    "type": "object",
    "properties": {"item": {"type": "string", "description": "The ware to appraise."}},
    "required": ["item"],
}
PRICED = HostedFunction(
    "yard::price",
    name="price",
    title="Price an item",
    description="Says what an item costs.",
    category="Shop",
    input_schema=PRICE,
    annotations={"readOnlyHint": True},
    meta={"tags": ["money"], "examples": ["How expensive is a spade?"]},
    doc="yard/pricing",
)
PRICING = "# Pricing\n\nHow prices are made.\n\n## Rebates for regulars\n\nSome.\n"
GREETING = HostedFunction(
    "yard::greet",
    name="greet",
    title="Greet a guest",
    component=Component("prompt", arguments=(PromptArgument("guest"),)),
)
GATE = HostedFunction(
    "yard::gate",
    name="gate",
    description="Whether the gate is open.",
    component=Component("resource", uri="yard://gate"),
)
PAGES = HostedFunction("yard::page", name="pages", component=Component("template", uri="yard://pages/{n}"))
START = {
    "rel": "start",
    "method": "workflow.start",
    "args": {"definitionId": "proxy_default", "input": {"capability": "price"}},
}


@pytest.fixture
def client() -> CapabilityClient:
    client = CapabilityClient(PRICED, GREETING, GATE, PAGES)
    client.register("yard/pricing", PRICING)
    return client


def links_of(item: Any, rel: str) -> list[Any]:
    return [link for link in item["links"] if link["rel"] == rel]


class TestHome:
    def test_a_skill_is_listed_with_the_link_that_starts_it(self, client: CapabilityClient) -> None:
        assert client.ask("gateway.home")["items"] == [
            {
                "id": "price",
                "kind": "capability",
                "title": "Price an item",
                "description": "Says what an item costs. [dynamic]",
                "tags": ["Shop", "money"],
                "category": "Shop",
                "annotations": {"readOnlyHint": True},
                "links": [START],
            }
        ]

    def test_home_links_to_the_lists_of_the_rest(self, client: CapabilityClient) -> None:
        client.register_prompt("brew", "Brews.")
        links = {link["rel"]: link for link in client.ask("gateway.home")["links"]}
        assert list(links) == ["documents", "prompts", "resources", "runs", "requests"]
        found = {
            rel: [result["item"]["id"] for result in client.ask(link["method"], **link["args"])["results"]]
            for rel, link in links.items()
        }
        assert found == {
            "documents": ["yard/pricing"],
            "prompts": ["brew", "greet"],
            "resources": ["yard://gate", "yard://pages/{n}"],
            "runs": [],
            "requests": [],
        }

    def test_hidden_internal_and_unexposed_functions_are_not_listed(self) -> None:
        client = CapabilityClient(HostedFunction("a::hidden", hidden=True), "b::plain", "skill::fetch")
        assert [item["id"] for item in client.ask("gateway.home")["items"]] == ["plain"]
        client.settings.set(TENANT, None, "hidden_prefixes", "b::")
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.ask("gateway.home")["items"] == []

    def test_pages_have_skills_and_published_items_in_one_order(self) -> None:
        client = CapabilityClient(*(f"yard::s{number:03}" for number in range(150)))
        exposed = [{"name": f"s{number:03}x", "executor": {"kind": "noop"}} for number in range(100)]
        publish_manifest(client, {"proxy": {"expose": exposed}})
        first = client.ask("gateway.home")
        second = client.ask("gateway.home", cursor=first["nextCursor"])
        seen = [item["id"] for page in (first, second) for item in page["items"]]
        assert (len(first["items"]), len(seen)) == (200, 250)
        assert seen == sorted(set(seen))

    def test_a_page_that_ends_between_two_items_of_one_id_loses_neither(self) -> None:
        client = CapabilityClient(*(f"yard::a{number:03}" for number in range(199)), "yard::twin")
        states = {"open": {"transitions": {"go": {"target": "done"}}}, "done": {"terminal": True}}
        publish_manifest(client, {"workflows": {"twin": {"initialState": "open", "states": states}}})
        first = client.ask("gateway.home")
        second = client.ask("gateway.home", cursor=first["nextCursor"])
        assert [(item["kind"], item["id"]) for item in second["items"]] == [("workflow", "twin")]

    def test_discovery_without_the_proxy_shows_no_skills(self, client: CapabilityClient) -> None:
        publish_manifest(client, {"discovery": {"include": ["workflows"]}})
        assert client.ask("gateway.home")["items"] == []
        assert ("capability", "price") not in client.search("price")


class TestSearch:
    def test_a_skill_is_found_by_every_field(self, client: CapabilityClient) -> None:
        for query in ("price", "costs", "money", "shop", "spade", "appraise", "yard"):
            assert ("capability", "price") in client.search(query), query

    def test_examples_and_arguments_count_as_text(self, client: CapabilityClient) -> None:
        for query in ("spade", "appraise"):
            (result,) = client.ask("gateway.search", query=query)["results"]
            assert (result["item"]["id"], result["score"]) == ("price", 1)

    def test_a_document_is_found_by_title_description_id_and_headings(self, client: CapabilityClient) -> None:
        scores = {
            query: [result["score"] for result in client.ask("gateway.search", query=query, kind="document")["results"]]
            for query in ("pricing", "made", "regulars")
        }
        assert scores == {"pricing": [11], "made": [2], "regulars": [1]}

    def test_without_a_kind_everything_is_found(self, client: CapabilityClient) -> None:
        client.register_prompt("yard", "The yard.")
        assert set(client.search("yard", limit=20)) == {
            ("capability", "price"),
            ("document", "yard/pricing"),
            ("prompt", "yard"),
            ("resource", "yard://gate"),
            ("resource", "yard://pages/{n}"),
        }

    def test_what_can_be_started_comes_first_among_equal_scores(self, client: CapabilityClient) -> None:
        client.register("a/first", "# First\n")
        assert client.search(limit=3) == [("capability", "price"), ("document", "a/first"), ("prompt", "greet")]

    def test_a_kind_narrows_the_results(self, client: CapabilityClient) -> None:
        assert client.search("yard", kind="resource") == [("resource", "yard://gate"), ("resource", "yard://pages/{n}")]
        assert client.search("greet", kind="capability") == []

    def test_headings_in_code_blocks_do_not_count(self, client: CapabilityClient) -> None:
        client.register("yard/shell", "# Shell\n\n```\n# quux\n```\n\n## Frobnicate\n")
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.search("quux") == []
        assert client.search("frobnicate") == [("document", "yard/shell")]

    def test_a_changed_document_is_found_within_two_seconds(self, client: CapabilityClient) -> None:
        assert client.search("mortgage") == []
        client.register("yard/loans", "# Mortgage\n")
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.search("mortgage") == [("document", "yard/loans")]

    def test_examples_of_published_items_are_found(self) -> None:
        client = CapabilityClient()
        states = {"open": {"transitions": {"go": {"target": "done"}}}, "done": {"terminal": True}}
        workflow = {"initialState": "open", "states": states, "examples": ["Ship the parcel overseas"]}
        exposed = {"name": "look", "examples": ["Peek through the fence"], "executor": {"kind": "noop"}}
        publish_manifest(client, {"workflows": {"send": workflow}, "proxy": {"expose": [exposed]}})
        for query, expected in (("overseas", ("workflow", "send")), ("fence", ("capability", "look"))):
            (result,) = client.ask("gateway.search", query=query)["results"]
            assert ((result["item"]["kind"], result["item"]["id"]), result["score"]) == (expected, 1)

    def test_the_fused_ranking_finds_skills_and_documents(self, client: CapabilityClient) -> None:
        publish_manifest(client, {"discovery": {"ranking": "fused"}})
        assert client.search("prices of wares")[0] in {("capability", "price"), ("document", "yard/pricing")}


class TestDescribe:
    def test_a_skill_has_its_schema_examples_breaker_and_document(self, client: CapabilityClient) -> None:
        described = client.ask("gateway.describe", id="price")
        assert described["links"][0] == {**START, "input_schema": PRICE}
        assert described["examples"] == ["How expensive is a spade?"]
        assert described["breaker"] == {"state": "closed"}
        read, fetch = links_of(described, "doc")
        assert read["method"] == "resources/read"
        (contents,) = client.request(read["method"], read["args"])["result"]["contents"]
        assert contents["text"] == PRICING
        assert PRICING.strip() in client.call(fetch["method"], fetch["args"])["content"][0]["text"]

    def test_a_document_that_does_not_exist_is_not_linked(self) -> None:
        assert links_of(CapabilityClient(PRICED).ask("gateway.describe", id="price"), "doc") == []

    def test_an_open_breaker_says_when_to_try_again(self, client: CapabilityClient) -> None:
        until = client.gateway.clock.now() + 60
        MemoryBreakers(client.gateway.functions).open(TENANT, "yard::price", BreakerState(until, 3, "crashed"))
        breaker = client.ask("gateway.describe", id="price")["breaker"]
        assert breaker == {"state": "open", "retryAfterMs": 60_000}

    def test_a_breaker_that_is_switched_off_is_closed(self, client: CapabilityClient) -> None:
        until = client.gateway.clock.now() + 60
        MemoryBreakers(client.gateway.functions).open(TENANT, "yard::price", BreakerState(until, 3, "crashed"))
        client.settings.set(TENANT, None, "breaker_failures", 0)
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.ask("gateway.describe", id="price")["breaker"] == {"state": "closed"}

    def test_a_skill_without_a_schema_takes_input_and_config(self) -> None:
        schema = CapabilityClient("yard::echo").ask("gateway.describe", id="echo")["links"][0]["input_schema"]
        assert (sorted(schema["properties"]), schema["additionalProperties"]) == (["config", "input"], False)

    @pytest.mark.parametrize("is_published", [False, True])
    def test_an_argument_called_capability_stands_in_an_object_of_its_own(self, *, is_published: bool) -> None:
        schema: JsonObject = {
            "type": "object",
            "properties": {"capability": {"$ref": "#/$defs/right"}},
            "required": ["capability"],
            "$defs": {"right": {"enum": ["read", "write"]}},
        }
        client = CapabilityClient(HostedFunction("yard::grant", input_schema=schema))
        if is_published:
            step: JsonObject = {"kind": "function", "function": "yard::grant"}
            exposed: JsonObject = {"name": "give", "inputSchema": schema, "executor": step}
            publish_manifest(client, {"proxy": {"expose": [exposed]}})
        link = client.ask("gateway.describe", id="give" if is_published else "grant")["links"][0]
        input_schema, given = link["input_schema"], {"arguments": {"capability": "write"}}
        check_schema(input_schema)
        assert list(Draft202012Validator(input_schema).iter_errors(given)) == []
        assert list(Draft202012Validator(input_schema).iter_errors({"arguments": {"capability": "own"}})) != []
        run = client.ask(link["method"], **{**link["args"], "input": {**link["args"]["input"], **given}})
        assert run["context"] == {"lastResult": {"capability": "write"}}

    def test_a_hidden_skill_is_described(self) -> None:
        client = CapabilityClient(HostedFunction("yard::secret", hidden=True, description="Whispers."))
        assert client.search("whispers") == []
        assert client.ask("gateway.describe", id="secret")["description"] == "Whispers. [dynamic]"

    def test_a_resource_and_a_template_are_described_by_their_uris(self, client: CapabilityClient) -> None:
        (read,) = links_of(client.ask("gateway.describe", id="yard://gate"), "read")
        assert (read["method"], read["args"]) == ("resources/read", {"uri": "yard://gate"})
        (read,) = links_of(client.ask("gateway.describe", id="yard://pages/{n}"), "read")
        assert read["uriTemplate"] == "yard://pages/{n}"

    def test_the_kind_tells_items_of_one_id_apart(self, client: CapabilityClient) -> None:
        client.register("price", "# The price of all things\n")
        client.register_prompt("price", "Asks for the price.")
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.ask("gateway.describe", id="price")["kind"] == "capability"
        for kind in ("document", "prompt"):
            (found,) = [
                one
                for one in client.ask("gateway.search", query="price", kind=kind)["results"]
                if one["item"]["id"] == "price"
            ]
            (link,) = links_of(found["item"], "describe")
            assert link["args"] == {"id": "price", "kind": kind}
            assert client.ask(link["method"], **link["args"])["kind"] == kind
        assert client.ask("gateway.describe", id="price", kind="workflow")["error"]["code"] == "NOT_FOUND"

    @pytest.mark.parametrize(
        ("asked", "meant"), [("prise", "price"), ("yard/pricin", "yard/pricing"), ("yard://gates", "yard://gate")]
    )
    def test_an_unknown_id_is_answered_with_a_similar_one_of_any_kind(
        self, client: CapabilityClient, asked: str, meant: str
    ) -> None:
        refused = client.ask("gateway.describe", id=asked)
        assert refused["error"]["message"].endswith(f"Did you mean {meant}?")
        assert client.ask(refused["links"][0]["method"], **refused["links"][0]["args"])["id"] == meant

    def test_a_similar_id_of_the_wanted_kind_is_linked_with_the_kind(self) -> None:
        client = CapabilityClient("yard::pricing")
        client.register("pricing", PRICING)
        refused = client.ask("gateway.describe", id="pricin", kind="document")
        link = refused["links"][0]
        assert client.ask(link["method"], **link["args"])["kind"] == "document"

    @pytest.mark.parametrize("kind", ["document", "workflow", "approval"])
    def test_a_run_is_not_described_as_an_item_of_another_kind(self, client: CapabilityClient, kind: str) -> None:
        run = client.start("price")["workflowId"]
        assert client.ask("gateway.describe", id=run)["kind"] == "run"
        assert client.ask("gateway.describe", id=run, kind="run")["id"] == run
        assert client.ask("gateway.describe", id=run, kind=kind)["error"]["code"] == "NOT_FOUND"

    def test_the_longest_ids_of_a_document_and_of_a_resource_are_described_by_their_links(self) -> None:
        uri, document = f"yard://{'x' * 2_041}", "/".join(["x" * 60] * 16)
        client = CapabilityClient(HostedFunction("yard::gate", component=Component("resource", uri=uri)))
        client.register(document + "/" + "y" * 40, PRICING)
        for kind in ("document", "resource"):
            (found,) = client.ask("gateway.search", kind=kind)["results"]
            assert len(found["item"]["id"]) > 1_000
            (link,) = links_of(found["item"], "describe")
            assert client.ask(link["method"], **link["args"])["id"] == found["item"]["id"]


def publish_manifest(client: CapabilityClient, manifest: JsonObject) -> None:
    adapters = client.gateway.adapters
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, {"version": 1, **manifest})
    client.advance_clock(REVALIDATION_INTERVAL)


def test_lists_are_the_same_objects_until_something_changes(client: CapabilityClient) -> None:
    lists = client.gateway.composition.discovery().lists
    calls = [lists.everything(build_call(client)) for _ in range(2)]
    client.advance_clock(REVALIDATION_INTERVAL)
    calls.append(lists.everything(build_call(client)))
    assert calls[0] is calls[1] is calls[2]
    client.register("yard/other", "# Other\n")
    client.advance_clock(REVALIDATION_INTERVAL)
    later = lists.everything(build_call(client))
    assert later is not calls[0]
    assert later.startable is calls[0].startable


def build_call(client: CapabilityClient) -> Call:
    return Call(Principal("ann", TENANT, "tests"), "request", client.gateway.clock.now() + 20)


@pytest.mark.invariant(116)
def test_home_lists_the_skills_of_the_flat_surface_by_their_names(client: CapabilityClient) -> None:
    assert client.directory.place(None, SHELF, [HostedFunction("core::wait"), HostedFunction("core::price")]) == []
    client.host("a::send", HostedFunction("b::post", name="send"), HostedFunction("c::secret", hidden=True))
    client.advance_clock(REVALIDATION_INTERVAL)
    tools = client.request("tools/list", path="/mcp/flat")["result"]["tools"]
    flat = {tool["name"]: tool["description"] for tool in tools if tool["name"].startswith("skill:")}
    home = {f"skill:{item['id']}": item["description"] for item in client.ask("gateway.home")["items"]}
    assert home == flat
    assert sorted(home) == ["skill:a::send", "skill:price", "skill:send", "skill:wait"]


@pytest.mark.invariant(116)
def test_a_deployment_is_listed_within_two_seconds(client: CapabilityClient) -> None:
    assert len(client.ask("gateway.home")["items"]) == 1
    client.host(PRICED, "yard::echo")
    client.advance_clock(REVALIDATION_INTERVAL)
    assert [item["id"] for item in client.ask("gateway.home")["items"]] == ["echo", "price"]


@pytest.mark.invariant(117)
def test_a_document_is_read_by_each_of_its_links(client: CapabilityClient) -> None:
    described = client.ask("gateway.describe", id="yard/pricing")
    assert (described["kind"], described["title"]) == ("document", "Pricing")
    read, fetch = links_of(described, "read")
    assert (read["method"], read["args"]) == ("resources/read", {"uri": "iii://yard/pricing"})
    assert client.request(read["method"], read["args"])["result"]["contents"][0]["text"] == PRICING
    assert PRICING.strip() in client.call(fetch["method"], fetch["args"])["content"][0]["text"]


@pytest.mark.invariant(117)
def test_a_found_skill_links_its_document(client: CapabilityClient) -> None:
    (found,) = [one["item"] for one in client.ask("gateway.search", query="costs", kind="capability")["results"]]
    described = client.ask("gateway.describe", id="price")
    assert found["links"] == [START, *links_of(described, "doc")]
    (contents,) = client.request(found["links"][1]["method"], found["links"][1]["args"])["result"]["contents"]
    assert contents["text"] == PRICING


@pytest.mark.invariant(117)
def test_a_found_skill_links_no_document_that_its_caller_cannot_read() -> None:
    (found,) = CapabilityClient(PRICED).ask("gateway.search", query="costs", kind="capability")["results"]
    assert found["item"]["links"] == [START]


@pytest.mark.invariant(117)
def test_a_prompt_is_rendered_by_its_link(client: CapabilityClient) -> None:
    described = client.ask("gateway.describe", id="greet")
    (render,) = links_of(described, "render")
    assert (render["method"], render["args"]) == ("prompts/get", {"name": "greet", "arguments": {}})
    assert render["input_schema"] == {
        "type": "object", "properties": {"guest": {"type": "string"}}, "required": [], "additionalProperties": False,
    }  # fmt: skip
    client.replies["yard::greet"] = Result({"messages": [{"role": "user", "content": {"type": "text", "text": "!"}}]})
    assert "result" in client.request(render["method"], {**render["args"], "arguments": {"guest": "Ann"}})


@pytest.mark.invariant(117)
def test_every_item_of_a_search_is_what_its_id_and_kind_describe(client: CapabilityClient) -> None:
    for kind, item_id in client.search(limit=200):
        described = client.ask("gateway.describe", id=item_id, kind=kind)
        assert (described["kind"], described["id"]) == (kind, item_id)

"""Callable skills as capabilities at /mcp: found, described and started like published ones."""

from typing import Any

import pytest

from signpost.calling.failures import reported_failure
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import HostedFunction, Result
from signpost.model import InputRequired, JsonObject
from tests.support.asking_steps import accept, form
from tests.support.capabilities import CapabilityClient
from tests.support.function_tools import TENANT
from tests.support.guest_gateway import GuestGateway
from tests.support.manifests import publish

PRICE: JsonObject = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["item"],
}
PRICED = HostedFunction("yard::price", name="price", description="Prices an item.", input_schema=PRICE)


@pytest.fixture
def client() -> CapabilityClient:
    return CapabilityClient(PRICED)


class TestStart:
    @pytest.mark.parametrize("given", [{}, {"item": 7}, {"item": "spade", "amount": "two"}])
    def test_a_start_without_valid_arguments_is_ready_with_the_schema_of_the_function(
        self, client: CapabilityClient, given: dict[str, Any]
    ) -> None:
        run = client.start("price", **given)
        assert (run["state"], run["version"], run["context"], client.calls) == ("ready", 1, {}, [])
        (link,) = run["links"]
        assert link["args"]["transition"] == "price"
        assert link["inputSchema"] == PRICE
        assert link["title"] == "price"
        assert link["description"] == "Prices an item."
        done = client.take(link, item="spade", amount=2)
        assert done["context"] == {"lastResult": {"item": "spade", "amount": 2}}

    def test_a_skill_without_a_schema_takes_input_and_config(self) -> None:
        client = CapabilityClient("yard::echo")
        assert client.start("echo", input="hi", config={"loud": True})["version"] == 2
        assert client.calls[0]["arguments"] == {"input": "hi", "config": {"loud": True}}
        (link,) = client.start("echo", volume=3)["links"]
        assert sorted(link["inputSchema"]["properties"]) == ["config", "input"]
        assert link["inputSchema"]["additionalProperties"] is False

    def test_arguments_may_stand_in_an_object_of_their_own(self, client: CapabilityClient) -> None:
        assert client.start("price", arguments={"item": "spade"})["version"] == 2
        assert client.calls[0]["arguments"] == {"item": "spade"}

    def test_a_start_with_a_client_token_runs_the_function_once(self, client: CapabilityClient) -> None:
        start = {"definitionId": "proxy_default", "input": {"capability": "price", "item": "spade"}}
        first, second = (client.ask("workflow.start", **start, clientToken="monday") for _ in range(2))
        assert first["workflowId"] == second["workflowId"]
        assert len(client.calls) == 1

    def test_a_failure_of_the_function_is_a_refusal_with_the_way_on(self, client: CapabilityClient) -> None:
        client.replies["yard::price"] = reported_failure("permanent_error", "There are no spades.")
        refused = client.start("price", item="spade")
        assert refused["error"]["code"] == "EXECUTOR_FAILED"
        assert "There are no spades." in refused["error"]["message"]
        assert [link["args"].get("transition") for link in refused["links"]] == [None, "price", "$cancel"]

    def test_a_skill_that_asks_is_parked_and_goes_on_with_the_answers(self, client: CapabilityClient) -> None:
        client.replies["yard::price"] = InputRequired({"size": form()})
        parked = client.start("price", item="spade")
        assert (parked["waitingFor"], parked["questions"]) == ("answers", {"size": form()})
        assert [link["args"].get("transition") for link in parked["links"]] == [None, "$answer", "$cancel"]
        client.replies["yard::price"] = Result(7)
        done = client.take(parked["links"][1], **parked["links"][1]["args"]["arguments"], size=accept(size=2))
        assert (done["version"], done["context"]) == (2, {"lastResult": 7})
        assert client.calls[1]["answers"] == {"size": accept(size=2)}

    def test_a_hidden_skill_is_started_by_its_name(self) -> None:
        client = CapabilityClient(HostedFunction("yard::secret", hidden=True))
        assert client.start("secret", input="x")["version"] == 2

    def test_a_skill_that_takes_long_is_left_to_the_worker(self) -> None:
        client = CapabilityClient(HostedFunction("yard::build", timeout_ms=40_000, input_schema={"type": "object"}))
        run = client.start("build", what="ship")
        assert (run["pending"]["on"], client.calls) == ("executor", [])
        client.run_worker()
        assert client.calls[0]["arguments"] == {"what": "ship"}
        seen = client.ask("workflow.get", workflowId=run["workflowId"])
        assert seen["context"] == {"lastResult": {"what": "ship"}}


class TestUnknownNames:
    def test_an_unknown_capability_is_answered_with_a_similar_skill(self, client: CapabilityClient) -> None:
        error = client.start("prise")["error"]
        assert error["code"] == "NOT_FOUND"
        assert error["message"] == "There is no capability prise that you can start. Did you mean price?"

    @pytest.mark.parametrize("capability", [7, ["price"], ""])
    def test_a_capability_that_no_skill_can_have_is_unknown(self, client: CapabilityClient, capability: Any) -> None:
        assert client.start(capability)["error"]["code"] == "NOT_FOUND"

    def test_a_start_without_a_capability_asks_for_one(self, client: CapabilityClient) -> None:
        error = client.ask("workflow.start", input={})["error"]
        assert error["code"] == "INPUT_SCHEMA_VIOLATION"
        assert "its input has to name a capability as `capability`" in error["message"]
        assert error["message"].endswith("Follow the `home` link to see the available ones.")

    def test_a_skill_started_as_a_workflow_is_explained(self, client: CapabilityClient) -> None:
        error = client.ask("workflow.start", definitionId="price")["error"]
        assert error["message"] == ("price is a capability: start proxy_default with it as `capability` of the input.")

    def test_a_similar_capability_is_linked_although_a_workflow_has_its_id(self, client: CapabilityClient) -> None:
        states: JsonObject = {"open": {"transitions": {"go": {"target": "done"}}}, "done": {"terminal": True}}
        adapters = client.gateway.adapters
        manifest: JsonObject = {"version": 1, "workflows": {"price": {"initialState": "open", "states": states}}}
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
        client.advance_clock(REVALIDATION_INTERVAL)
        for asked, kind in (
            ({"input": {"capability": "prise"}}, "capability"),
            ({"definitionId": "prise"}, "workflow"),
        ):
            link = client.ask("workflow.start", **asked)["links"][0]
            assert client.ask(link["method"], **link["args"])["kind"] == kind

    @pytest.mark.parametrize("name", ["$cancel", "$retry", "$anything"])
    def test_a_name_that_is_reserved_for_overrides_is_replaced_by_that_of_the_function(self, name: str) -> None:
        client = CapabilityClient(HostedFunction("yard::odd", name=name), "yard::plain")
        assert [item["id"] for item in client.ask("gateway.home")["items"]] == ["odd", "plain"]
        explained = client.ask("workflow.explain", definitionId="proxy_default")
        assert explained["states"]["ready"]["transitions"] == ["odd", "plain"]
        assert client.start("odd", input="x")["context"] == {"lastResult": {"input": "x"}}
        assert client.start(name)["error"]["code"] == "NOT_FOUND"


class TestExplanations:
    def test_the_skills_are_transitions_of_the_explained_workflow(self) -> None:
        client = CapabilityClient(PRICED, HostedFunction("yard::secret", hidden=True), "yard::echo")
        explained = client.ask("workflow.explain", definitionId="proxy_default")
        assert explained["states"]["ready"]["transitions"] == ["echo", "price"]

    def test_one_skill_is_explained_in_detail_also_if_it_is_hidden(self) -> None:
        hidden = HostedFunction("yard::secret", hidden=True, description="Whispers.", input_schema=PRICE)
        client = CapabilityClient(hidden)
        explained = client.ask("workflow.explain", definitionId="proxy_default", transition="secret")
        assert explained["inputSchema"] == PRICE
        assert explained["executor"]["function"] == "yard::secret"

    def test_an_unknown_transition_is_answered_with_a_similar_skill(self, client: CapabilityClient) -> None:
        error = client.ask("workflow.explain", definitionId="proxy_default", transition="prise")["error"]
        assert "Did you mean price?" in error["message"]


class TestPublishedCapabilities:
    @pytest.fixture
    def published(self, client: CapabilityClient) -> CapabilityClient:
        adapters = client.gateway.adapters
        exposed = [
            {"name": name, "title": f"Published {name}", "executor": {"kind": "noop"}} for name in ("price", "look")
        ]
        publish(
            adapters.content,
            adapters.values,
            adapters.definitions,
            TENANT,
            {"version": 1, "proxy": {"expose": exposed}},
        )
        client.host(PRICED, "yard::echo")
        return client

    def test_a_published_capability_takes_precedence_over_the_skill_of_its_name(
        self, published: CapabilityClient
    ) -> None:
        published.start("price", item="spade")
        assert published.calls == []
        published.start("echo", input="hi")
        assert len(published.calls) == 1

    def test_both_are_explained_together(self, published: CapabilityClient) -> None:
        explained = published.ask("workflow.explain", definitionId="proxy_default")
        assert explained["states"]["ready"]["transitions"] == ["price", "look", "echo"]
        detail = published.ask("workflow.explain", definitionId="proxy_default", transition="price")
        assert detail["title"] == "Published price"

    def test_an_unknown_capability_is_compared_with_both(self, published: CapabilityClient) -> None:
        assert "Did you mean echo?" in published.start("ecko")["error"]["message"]
        assert "Did you mean look?" in published.start("loog")["error"]["message"]


class TestChanges:
    def test_a_run_shows_the_schema_that_the_function_has_now(self, client: CapabilityClient) -> None:
        run = client.start("price")
        wider: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        client.host(HostedFunction("yard::price", name="price", title="Price it", input_schema=wider))
        client.advance_clock(REVALIDATION_INTERVAL)
        link, cancel = client.ask("workflow.get", workflowId=run["workflowId"])["links"]
        assert cancel["args"]["transition"] == "$cancel"
        assert (link["title"], link["inputSchema"]) == ("Price it", wider)

    def test_a_run_of_an_unloaded_skill_says_that_the_function_is_unknown(self, client: CapabilityClient) -> None:
        (link,) = client.start("price")["links"]
        client.host()
        client.advance_clock(REVALIDATION_INTERVAL)
        error = client.take(link, item="spade")["error"]
        assert (error["code"], client.calls) == ("EXECUTOR_FAILED", [])

    def test_the_setting_for_undeclared_arguments_does_not_close_a_skill(self, client: CapabilityClient) -> None:
        client.settings.set(TENANT, None, "undeclared_arguments", "refuse")
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.start("price", item="spade")["version"] == 2


class TestOthers:
    def test_a_principal_that_may_resolve_runs_sees_it(self, client: CapabilityClient) -> None:
        run = client.start("price")["workflowId"]
        client.key = client.gateway.make_token(tenant=TENANT, sub="keeper", scope="workflow.resolve")
        assert client.ask("workflow.get", workflowId=run)["workflowId"] == run


class TestPolicy:
    @pytest.fixture
    def guest(self) -> GuestGateway:
        return GuestGateway(with_vault=True)

    @pytest.mark.parametrize("kind", [None, "capability"])
    def test_a_denied_skill_is_answered_as_an_unknown_one(self, guest: GuestGateway, kind: str | None) -> None:
        assert ask(guest, "gateway.describe", id="vault.open")["id"] == "vault.open"
        guest.publish_policies(DENY_VAULT)
        guest.gateway.clock.advance(REVALIDATION_INTERVAL)
        about = {} if kind is None else {"kind": kind}
        for name in ("vault.open", "vault.opening"):
            assert ask(guest, "gateway.describe", id=name, **about)["error"]["code"] == "NOT_FOUND"
            assert ask(guest, "workflow.start", input={"capability": name})["error"]["code"] == "NOT_FOUND"
            assert (
                ask(guest, "workflow.explain", definitionId="proxy_default", transition=name)["error"]["code"]
                == "NOT_FOUND"
            )
        listed = [item["id"] for item in ask(guest, "gateway.home")["items"]]
        assert "vault.open" not in listed
        assert "echo" in listed

    def test_a_hidden_skill_that_policy_shows_is_listed(self, guest: GuestGateway) -> None:
        rule = {"kind": "show", "who": ["*"], "what": ["vault::whisper"]}
        assert "whisper" not in [item["id"] for item in ask(guest, "gateway.home")["items"]]
        guest.publish_policies({"beta": rule})
        guest.gateway.clock.advance(REVALIDATION_INTERVAL)
        assert "whisper" in [item["id"] for item in ask(guest, "gateway.home")["items"]]


DENY_VAULT: JsonObject = {"no": {"kind": "deny", "who": ["*"], "what": ["skill:vault.*"]}}


def ask(guest: GuestGateway, tool: str, **arguments: Any) -> Any:
    return guest.call(tool, **arguments)["result"]["structuredContent"]


@pytest.mark.invariant(116)
def test_a_skill_of_a_tenant_without_a_catalogue_runs_in_the_answer_of_its_start(client: CapabilityClient) -> None:
    client.replies["yard::price"] = Result({"euros": 7})
    run = client.start("price", item="spade")
    assert (run["definitionId"], run["state"], run["version"]) == ("proxy_default", "ready", 2)
    assert run["context"] == {"lastResult": {"euros": 7}}
    assert [(call["function"], call["arguments"]) for call in client.calls] == [("yard::price", {"item": "spade"})]


@pytest.mark.invariant(116)
def test_a_deployed_skill_can_be_started_within_two_seconds(client: CapabilityClient) -> None:
    assert client.start("echo")["error"]["code"] == "NOT_FOUND"
    client.host(PRICED, "yard::echo")
    client.advance_clock(REVALIDATION_INTERVAL)
    assert client.start("echo", input="hi")["version"] == 2
    client.host(PRICED)
    client.advance_clock(REVALIDATION_INTERVAL)
    assert client.start("echo", input="hi")["error"]["code"] == "NOT_FOUND"


@pytest.mark.invariant(142)
@pytest.mark.parametrize(("setting", "value"), [("hidden_prefixes", "yard::"), ("require_expose", 1)])
def test_a_function_that_is_withheld_after_the_start_is_not_run(
    client: CapabilityClient, setting: str, value: str | int
) -> None:
    run = client.start("price")
    client.settings.set(TENANT, None, setting, value)
    client.advance_clock(REVALIDATION_INTERVAL)
    refused = client.take(run["links"][0], item="spade")
    assert (refused["error"]["code"], client.calls) == ("INVALID_TRANSITION", [])
    (left,) = client.ask("workflow.get", workflowId=run["workflowId"])["links"]
    assert left["args"]["transition"] == "$cancel"


@pytest.mark.invariant(118)
def test_a_run_of_a_skill_is_visible_to_its_starter_alone(client: CapabilityClient) -> None:
    run = client.start("price")["workflowId"]
    client.key = str(client.gateway.make_key())
    assert client.ask("workflow.get", workflowId=run)["error"]["code"] == "NOT_FOUND"


@pytest.mark.invariant(118)
def test_a_skill_that_policy_denies_after_its_start_is_not_run() -> None:
    guest = GuestGateway(with_vault=True)
    run = ask(guest, "workflow.start", input={"capability": "vault.open", "volume": 3})
    assert [link["args"]["transition"] for link in run["links"]] == ["vault.open"]
    guest.publish_policies(DENY_VAULT)
    guest.gateway.clock.advance(REVALIDATION_INTERVAL)
    (link,) = run["links"]
    args = {**link["args"], "arguments": {"input": "x"}}
    refused = ask(guest, link["method"], **args)
    assert refused["error"]["code"] == "INVALID_TRANSITION"
    assert [message["call"]["function"] for message in guest.received_messages] == []
    (left,) = ask(guest, "workflow.get", workflowId=run["workflowId"])["links"]
    assert left["args"]["transition"] == "$cancel"

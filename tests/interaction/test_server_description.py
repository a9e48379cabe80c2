"""The name, title and instructions by which a deployment introduces itself to the clients of each tenant."""

from typing import Any

import pytest

from signpost.adapters.memory import MemoryRevisionRows, MemoryRuntimeSettings
from signpost.errors import Unavailable
from signpost.list_revisions import REVALIDATION_INTERVAL, ListRevisions
from signpost.model import JsonObject
from signpost.settings import ENDPOINTS
from tests.support.memory_gateway import MODERN, MemoryGateway

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
HANDSHAKE: JsonObject = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Introductions:
    """A gateway whose clients ask which server it is. Reads of the revisions are counted, and can fail."""

    def __init__(self, version: str = MODERN) -> None:
        self.version = version
        self.gateway = MemoryGateway()
        self.settings = MemoryRuntimeSettings(self.gateway.functions)
        self.reads = 0
        self.is_down = False
        content: Any = self.gateway.adapters.content
        self._rows = MemoryRevisionRows(content)
        self.gateway.replace_adapters(revisions=self)
        self.key = str(self.gateway.make_key("harbour"))

    def read(self, tenant: str) -> ListRevisions:
        if self.is_down:
            raise Unavailable("The table does not answer.")
        self.reads += 1
        return self._rows.read(tenant)

    def set(self, tenant: str | None, **settings: str) -> None:
        for name, value in settings.items():
            self.settings.set(tenant, None, name, value)
        self.gateway.clock.advance(REVALIDATION_INTERVAL)

    def ask(self, method: str, params: JsonObject | None = None, path: str = "/mcp", key: str | None = None) -> Any:
        if self.version == MODERN:
            answer = self.gateway.request(method, params, credential=key or self.key, path=path)
        else:
            answer = self.gateway.request_legacy(method, params, self.version, key or self.key, path)
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def introduce(self, path: str = "/mcp", key: str | None = None) -> tuple[Any, str]:
        """Return server info and instructions as a client gets them when it connects."""
        if self.version == MODERN:
            found = self.ask("server/discover", path=path, key=key)
            return found["_meta"][SERVER_INFO], found["instructions"]
        found = self.ask("initialize", HANDSHAKE, path, key)
        return found["serverInfo"], found["instructions"]


@pytest.fixture(params=[MODERN, "2025-11-25"])
def introductions(request: pytest.FixtureRequest) -> Introductions:
    return Introductions(request.param)


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_tenant_sets_the_name_the_title_and_further_instructions(introductions: Introductions, path: str) -> None:
    shipped_info, shipped = introductions.introduce(path)
    assert (shipped_info["name"], shipped_info["title"]) == ("signpost", "Signpost")
    introductions.set("harbour", server_name="harbour-tools", server_title="Hafenbüro")
    introductions.set("harbour", server_instructions="Tools of the harbour office.\nBerths have numbers.")
    info, instructions = introductions.introduce(path)
    assert info == {"name": "harbour-tools", "title": "Hafenbüro", "version": shipped_info["version"]}
    assert instructions == f"{shipped}\n\nTools of the harbour office.\nBerths have numbers."


@pytest.mark.invariant(125)
def test_the_added_instructions_stand_behind_the_shipped_ones_which_nothing_replaces() -> None:
    introductions = Introductions()
    _, shipped = introductions.introduce()
    assert "Follow links instead of guessing names." in shipped
    introductions.set(None, server_instructions="For everyone.")
    assert introductions.introduce()[1] == f"{shipped}\n\nFor everyone."
    introductions.set("harbour", server_instructions="For the harbour.")
    assert introductions.introduce()[1] == f"{shipped}\n\nFor the harbour."
    introductions.set("harbour", server_instructions="")
    assert introductions.introduce()[1] == shipped


@pytest.mark.invariant(125)
def test_a_setting_of_all_tenants_holds_for_tenants_that_set_nothing(introductions: Introductions) -> None:
    introductions.set(None, server_name="acme", server_title="Acme")
    introductions.set("harbour", server_title="Hafenbüro")
    other = str(introductions.gateway.make_key("office"))
    titles = {key: introductions.introduce(key=key)[0] for key in (introductions.key, other)}
    assert {info["name"] for info in titles.values()} == {"acme"}
    assert [info["title"] for info in titles.values()] == ["Hafenbüro", "Acme"]


def test_every_answer_names_the_server_as_it_was_read_last() -> None:
    introductions = Introductions()
    introductions.set("harbour", server_name="harbour-tools")
    assert introductions.ask("tools/list")["_meta"][SERVER_INFO]["name"] == "signpost"  # nothing was read yet
    introductions.introduce()
    for method in ("tools/list", "prompts/list", "resources/templates/list"):
        assert introductions.ask(method)["_meta"][SERVER_INFO]["name"] == "harbour-tools", method
    other = str(introductions.gateway.make_key("office"))
    assert introductions.ask("prompts/list", key=other)["_meta"][SERVER_INFO]["name"] == "signpost"


def test_connecting_and_listing_read_the_revisions_once(introductions: Introductions) -> None:
    introductions.introduce()
    introductions.ask("prompts/list")
    introductions.ask("tools/list")
    introductions.introduce()
    assert introductions.reads == 1


def test_the_name_in_an_answer_costs_no_read() -> None:
    introductions = Introductions()
    introductions.ask("tools/list")
    introductions.gateway.clock.advance(10 * REVALIDATION_INTERVAL)
    introductions.ask("tools/list")
    assert introductions.reads == 0


def test_a_client_can_connect_while_the_settings_cannot_be_read(introductions: Introductions) -> None:
    introductions.is_down = True
    assert introductions.introduce()[0]["name"] == "signpost"
    introductions.is_down = False
    introductions.set("harbour", server_name="harbour-tools")
    assert introductions.introduce()[0]["name"] == "harbour-tools"
    introductions.is_down = True
    introductions.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert introductions.introduce()[0]["name"] == "harbour-tools"

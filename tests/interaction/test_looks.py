"""What lists cost: one look at how far everything has changed, for all who list anything, in two seconds."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from signpost.adapters.memory import MemoryDirectory, MemoryRevisionRows
from signpost.content.documents import build_skill
from signpost.content.model import PromptChange, SkillChange, StoredPrompt
from signpost.contract import PROMPT, Component, Executor, HostedFunction
from signpost.errors import Unavailable
from signpost.list_revisions import REVALIDATION_INTERVAL, ListRevisions
from signpost.model import CatalogueItem, JsonObject
from tests.support.memory_gateway import Answer, MemoryGateway

TENANT = "default"
EXECUTOR = Executor("arn:tools", "secret:tools", 30_000)
HOME: JsonObject = {"name": "gateway.home", "arguments": {}}
LISTS: list[tuple[str, str, JsonObject]] = [
    ("/mcp", "resources/list", {}),
    ("/mcp", "resources/templates/list", {}),
    ("/mcp", "prompts/list", {}),
    ("/mcp", "skills/list", {}),
    ("/mcp", "resources/read", {"uri": "iii://skills"}),
    ("/mcp", "tools/call", HOME),
    ("/mcp/flat", "tools/list", {}),
    ("/mcp/flat", "tools/call", {"name": "catalog", "arguments": {}}),
    ("/mcp/functions", "tools/list", {}),
]


class Desk:
    """A gateway for a tenant that has something of everything, with every look counted."""

    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.looks = 0
        self._is_down = False
        content = self.gateway.adapters.content
        content.apply(TENANT, [SkillChange("a", build_skill("a", "# A", "2026-01-01T00:00:00Z"))])
        content.apply(TENANT, [PromptChange("p", StoredPrompt("p", "P", "f", (), "2026-01-01T00:00:00Z"))])
        self.gateway.offer(TENANT, CatalogueItem("walk", "workflow", "Walk", definition="0" * 64))
        self.place(HostedFunction("t"), HostedFunction("c", name="c", component=Component(PROMPT)))
        self._rows = MemoryRevisionRows(content)  # pyright: ignore[reportArgumentType] - it is the one in memory
        self.gateway.exchange(revisions=self)
        self._key = str(self.gateway.make_key(TENANT))

    def place(self, *hosted: HostedFunction) -> None:
        assert MemoryDirectory(self.gateway.functions).place(TENANT, EXECUTOR, hosted) == []

    def read(self, tenant: str) -> ListRevisions:
        if self._is_down:
            raise Unavailable("The table does not answer.")
        self.looks += 1
        return self._rows.read(tenant)

    def ask(self, path: str, method: str, params: JsonObject) -> Answer:
        return self.gateway.ask(method, params, credential=self._key, path=path)

    @contextmanager
    def down(self) -> Generator[None]:
        self._is_down = True
        yield
        self._is_down = False


@pytest.mark.parametrize(("path", "method", "params"), LISTS)
def test_a_list_costs_one_look_after_two_seconds_and_none_within(path: str, method: str, params: JsonObject) -> None:
    desk = Desk()
    assert desk.ask(path, method, params).status == 200
    assert desk.looks == 1
    desk.gateway.clock.advance(REVALIDATION_INTERVAL - 0.1)
    desk.ask(path, method, params)
    assert desk.looks == 1
    desk.gateway.clock.advance(0.1)
    desk.ask(path, method, params)
    assert desk.looks == 2


def test_all_lists_of_a_tenant_share_a_look_and_follow_it_together() -> None:
    desk = Desk()
    for asked in LISTS:
        desk.ask(*asked)
    assert desk.looks == 1
    desk.place(HostedFunction("later"))
    desk.gateway.adapters.content.apply(TENANT, [SkillChange("b", build_skill("b", "# B", "2026-01-01T00:00:00Z"))])
    desk.gateway.clock.advance(REVALIDATION_INTERVAL)
    listed = desk.ask("/mcp/functions", "tools/list", {}).json["result"]["tools"]
    resources = desk.ask("/mcp", "resources/list", {}).json["result"]["resources"]
    assert {"later"} <= {tool["name"] for tool in listed}
    assert {"iii://a", "iii://b"} <= {resource["uri"] for resource in resources}
    assert desk.looks == 2


def test_a_start_looks_itself_and_lists_go_on_from_there() -> None:
    desk = Desk()
    assert "walk" in desk.ask("/mcp", "tools/call", HOME).text
    desk.gateway.offer(TENANT)
    assert "walk" in desk.ask("/mcp", "tools/call", HOME).text
    start: JsonObject = {"name": "workflow.start", "arguments": {"definitionId": "walk"}}
    refused = desk.ask("/mcp", "tools/call", start).json["result"]["structuredContent"]
    assert refused["error"]["code"] == "NOT_FOUND"
    looks = desk.looks
    assert "walk" not in desk.ask("/mcp", "tools/call", HOME).text
    assert desk.looks == looks


def test_a_look_that_failed_is_no_look() -> None:
    desk = Desk()
    with desk.down():
        assert desk.ask("/mcp", "resources/list", {}).status == 503
    assert desk.ask("/mcp", "resources/list", {}).status == 200

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
from tests.support.memory_gateway import GatewayAnswer, MemoryGateway

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
    ("/mcp", "tools/call", {"name": "gateway.search", "arguments": {"query": "a"}}),
    ("/mcp", "tools/call", {"name": "gateway.describe", "arguments": {"id": "t"}}),
    ("/mcp/flat", "tools/list", {}),
    ("/mcp/flat", "tools/call", {"name": "catalog", "arguments": {}}),
    ("/mcp/functions", "tools/list", {}),
]


class CountedGateway:
    """A gateway for a tenant that has something of everything, with every look counted."""

    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.looks = 0
        self._is_down = False
        content = self.gateway.adapters.content
        content.apply(TENANT, [SkillChange("a", build_skill("a", "# A", "2026-01-01T00:00:00Z"))])
        content.apply(TENANT, [PromptChange("p", StoredPrompt("p", "P", "f", (), "2026-01-01T00:00:00Z"))])
        self.gateway.store_catalogue(TENANT, CatalogueItem("walk", "workflow", "Walk", definition="0" * 64))
        self.place(HostedFunction("t"), HostedFunction("c", name="c", component=Component(PROMPT)))
        self._rows = MemoryRevisionRows(content)  # pyright: ignore[reportArgumentType] - it is the one in memory
        self.gateway.replace_adapters(revisions=self)
        self._key = str(self.gateway.make_key(TENANT))

    def place(self, *hosted: HostedFunction) -> None:
        assert MemoryDirectory(self.gateway.functions).place(TENANT, EXECUTOR, hosted) == []

    def read(self, tenant: str) -> ListRevisions:
        if self._is_down:
            raise Unavailable("The table does not answer.")
        self.looks += 1
        return self._rows.read(tenant)

    def ask(self, path: str, method: str, params: JsonObject) -> GatewayAnswer:
        return self.gateway.request(method, params, credential=self._key, path=path)

    @contextmanager
    def down(self) -> Generator[None]:
        self._is_down = True
        yield
        self._is_down = False


@pytest.mark.parametrize(("path", "method", "params"), LISTS)
def test_a_list_reads_the_revisions_once_in_two_seconds(path: str, method: str, params: JsonObject) -> None:
    desk = CountedGateway()
    assert desk.ask(path, method, params).status == 200
    assert desk.looks == 1
    desk.gateway.clock.advance(REVALIDATION_INTERVAL - 0.1)
    desk.ask(path, method, params)
    assert desk.looks == 1
    desk.gateway.clock.advance(0.1)
    desk.ask(path, method, params)
    assert desk.looks == 2


def test_all_lists_of_a_tenant_share_one_read_of_the_revisions() -> None:
    desk = CountedGateway()
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


def test_a_start_reads_the_revisions_and_lists_reuse_them() -> None:
    desk = CountedGateway()
    assert "walk" in desk.ask("/mcp", "tools/call", HOME).text
    desk.gateway.store_catalogue(TENANT)
    assert "walk" in desk.ask("/mcp", "tools/call", HOME).text
    start: JsonObject = {"name": "workflow.start", "arguments": {"definitionId": "walk"}}
    refused = desk.ask("/mcp", "tools/call", start).json["result"]["structuredContent"]
    assert refused["error"]["code"] == "NOT_FOUND"
    looks = desk.looks
    assert "walk" not in desk.ask("/mcp", "tools/call", HOME).text
    assert desk.looks == looks


def test_a_failed_read_of_the_revisions_is_not_cached() -> None:
    desk = CountedGateway()
    with desk.down():
        assert desk.ask("/mcp", "resources/list", {}).status == 503
    assert desk.ask("/mcp", "resources/list", {}).status == 200

"""Prompts, resources and templates of a toolkit in a deployed stack, for the official client over HTTP."""

import asyncio
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference, ResourceTemplateReference

from signpost.toolkit import Toolkit
from tests.support.executors import Executors

pytestmark = pytest.mark.cloud

BOOK = "yard://books/{book}"


def build_yard_toolkit() -> Toolkit:
    """What is declared; the stub plays what is answered."""
    kit = Toolkit("yard")

    def review(code: str, tone: str = "kind") -> str:
        """Reviews code."""
        return code + tone

    def readme() -> str:
        return "# A"

    def book(book: str) -> str:
        return book

    kit.prompt(title="Review", complete={"tone": ["kind", "keen", "dry"], "code": lambda: ["x"]})(review)
    kit.resource("yard://readme.md", mime_type="text/markdown", size=3)(readme)
    kit.template(BOOK, hidden=True)(book)
    return kit


SCRIPTS: Any = {
    "yard::review": {"template": "Review {code}."},
    "yard::review::complete": {"output": {"values": ["x = 1"]}},
    "yard::readme": {"output": {"contents": [{"mimeType": "text/markdown", "text": "# A"}]}},
    "yard::book": {"output": {"contents": [{"mimeType": "application/pdf", "blob": "AA=="}]}},
}


async def use_official_client(url: str, credential: str, mode: str) -> dict[str, Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        prompt = PromptReference(type="ref/prompt", name="review")
        template = ResourceTemplateReference(type="ref/resource", uri=BOOK)
        return {
            "prompts": (await client.list_prompts()).prompts,
            "resources": (await client.list_resources()).resources,
            "templates": (await client.list_resource_templates()).resource_templates,
            "rendered": await client.get_prompt("review", {"code": "x"}),
            "readme": await client.read_resource("yard://readme.md"),
            "book": await client.read_resource("yard://books/my%20atlas"),
            "tone": (await client.complete(prompt, {"name": "tone", "value": "k"})).completion.values,
            "code": (await client.complete(prompt, {"name": "code", "value": ""}, {"tone": "dry"})).completion.values,
            "any book": (await client.complete(template, {"name": "book", "value": "a"})).completion.values,
        }


@pytest.mark.parametrize(("mode", "path"), [("auto", ""), ("legacy", "/functions")])
def test_the_official_client_finds_reads_and_completes_components(
    executors: Executors, tenant: str, key: str, mode: str, path: str
) -> None:
    executors.set_settings(tenant, shipped_content=0)
    for function, script in SCRIPTS.items():
        executors.write_script(tenant, function, [script])
    executors.place("stub", [function.hosted for function in build_yard_toolkit().functions], tenant)
    found = asyncio.run(use_official_client(f"{executors.gateway.url}{path}", key, mode))
    (prompt,) = found["prompts"]
    assert (prompt.name, prompt.title, [one.name for one in prompt.arguments]) == ("review", "Review", ["code", "tone"])
    assert [(one.uri, one.size) for one in found["resources"][1:]] == [("yard://readme.md", 3)]
    assert BOOK not in [one.uri_template for one in found["templates"]]
    assert (found["rendered"].messages[0].content.text, found["rendered"].description) == ("Review x.", "Reviews code.")
    assert found["readme"].contents[0].text == "# A"
    assert found["book"].contents[0].blob == "AA=="
    assert (found["tone"], found["code"], found["any book"]) == (["kind", "keen"], ["x = 1"], [])
    (called,) = executors.list_calls(tenant, "yard::book")
    assert called["arguments"] == {"book": "my atlas"}
    (completed,) = executors.list_calls(tenant, "yard::review::complete")
    assert completed["arguments"] == {"argument": "code", "value": "", "given": {"tone": "dry"}}

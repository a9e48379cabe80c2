"""The whole way through the product, from an empty tenant: an author deploys a toolkit by the commands of the pages; an
agent finds it, reads its document, starts it, loses its context and goes on; a person decides. All of them follow only
links that answers offer, and know nothing but the URL and their credential."""

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from local.emulator import PROJECT
from local.sam import SAM
from signpost.mcp.names import simplify_name
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

STACK, TENANT = "signpost", "default"
"""The defaults of the commands."""
QUESTION, WISH = "How much does an oak cost?", "I want to order trees"
PROTOCOL_METHODS = ("resources/read", "prompts/get")
HIDDEN_TOOLS = ("skill__fetch",)


def read_blocks(page: str, section: str, language: str) -> Sequence[str]:
    """Return the blocks of a language in a section of a page, up to the next heading outside of a block."""
    text = (PROJECT / page).read_text().partition(f"\n### {section}\n")[2]
    parts = re.split(r"^(```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    # Every second part is a block.
    ends = [place for place, part in enumerate(parts) if place % 2 == 0 and re.search("^#", part, re.MULTILINE)]
    blocks = [part for part in parts[1 : ends[0] if ends else None : 2] if part.startswith(f"```{language}\n")]
    assert blocks, (page, section, language)
    return [block.partition("\n")[2].removesuffix("```") for block in blocks]


TOOL, EXTENSION = "A tool of your own", "A document and a workflow beside the functions"
APP, TEST = read_blocks("README.md", TOOL, "python")
DEPLOY_TOOL = read_blocks("README.md", TOOL, "bash")[0].partition("AT=")[0]
(EXPLAINED_TOOL,) = read_blocks("docs/toolkits.md", EXTENSION, "python")
(DOCUMENT,) = read_blocks("docs/toolkits.md", EXTENSION, "markdown")
(MANIFEST,) = read_blocks("docs/toolkits.md", EXTENSION, "yaml")
(DEPLOY_ALL,) = read_blocks("docs/toolkits.md", EXTENSION, "bash")


class Conversation:
    """What a client knows in one conversation: the tools that are listed, and the links of the answers."""

    def __init__(self, client: Client, listed: Sequence[str]) -> None:
        self._client = client
        self._listed = {simplify_name(name): name for name in listed}

    async def look(self) -> Any:
        return await self._call(self._listed["gateway_home"], {})

    async def search(self, sentence: str) -> Sequence[Any]:
        found = await self._call(self._listed["gateway_search"], {"query": sentence})
        return [result["item"] for result in found["results"]]

    async def follow(self, answer: Mapping[str, Any], rel: str, transition: str = "", **filled: Any) -> Any:
        """Follow the first such link of the answer, with what is filled into its input or its arguments."""
        offered = [link for link in answer["links"] if link["rel"] == rel]
        chosen = [link for link in offered if link["args"].get("transition", "") == transition]
        assert chosen, f"{rel} {transition} is not offered by {answer}"
        method, args = chosen[0]["method"], dict(chosen[0]["args"])
        for member in {"input", "arguments"} & args.keys():
            args[member] = {**args[member], **filled}
        if method == "resources/read":
            return (await self._client.read_resource(**args)).contents[0]
        return await self._call(method, args)

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        result = await self._client.call_tool(tool, arguments)
        answer: Any = result.structured_content
        assert result.is_error is False, answer
        known = {*self._listed.values(), *PROTOCOL_METHODS, *HIDDEN_TOOLS}
        for holder in (answer, *answer.get("items", []), *(found["item"] for found in answer.get("results", []))):
            assert {link["method"] for link in holder["links"]} <= known if "links" in holder else True, holder
        return answer


@dataclass(frozen=True, slots=True)
class Participant:
    """A principal at a URL. Each conversation is a new one, without memory of those before it."""

    url: str
    credential: str
    mode: str = "auto"

    def converse[Told](self, talk: Callable[[Conversation], Awaitable[Told]]) -> Told:
        async def run() -> Told:
            async with self._connect() as conversation:
                return await talk(conversation)

        return asyncio.run(run())

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[Conversation]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.credential}"}) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=self.mode) as client,
        ):
            yield Conversation(client, [tool.name for tool in (await client.list_tools()).tools])


@dataclass(frozen=True, slots=True)
class Author:
    """An author at a terminal of the laptop cloud."""

    laptop: Laptop
    home: Path

    def write_tool(self) -> None:
        """Write the files of the README."""
        folder = self.home / "yard"
        folder.mkdir()
        (folder / "app.py").write_text(APP)
        (folder / "test_app.py").write_text(TEST)

    def write_document_and_workflow(self) -> None:
        """Change the folder as the page on toolkits says."""
        folder, (decorated, declared) = self.home / "yard", EXPLAINED_TOOL.splitlines()
        before = f"@kit.tool\n{declared}\n"
        assert before in APP
        (folder / "app.py").write_text(APP.replace(before, f"{decorated}\n{declared}\n"))
        (folder / "skills/yard").mkdir(parents=True)
        (folder / "skills/yard/prices.md").write_text(DOCUMENT)
        (folder / "manifest.yaml").write_text(MANIFEST)

    def paste(self, block: str) -> str:
        """Run a block in the environment that `make env` sets."""
        path = os.pathsep.join([str(PROJECT / ".venv/bin"), os.environ["PATH"], str(SAM.parent)])
        environment = {**self.laptop.emulator.environment(), "PATH": path, "HOME": str(self.home)}
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(
            command, cwd=self.home, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> Stack:
    """A stack as `make run` deploys it."""
    allowed = "arn:aws:lambda:us-east-1:000000000000:function:signpost-executor-*"
    return laptop.deploy(STACK, AuthMode="both", ExecutorFunctions=allowed)


async def list_everything(conversation: Conversation) -> Mapping[str, Any]:
    """List what there is beside the shipped functions."""
    home = await conversation.look()
    runs, requests = await conversation.follow(home, "runs"), await conversation.follow(home, "requests")
    return {
        "own items": [item["id"] for item in home["items"] if "[dynamic]" in item["description"]],
        "workflows": [item["id"] for item in home["items"] if item["kind"] == "workflow"],
        "found": [item["id"] for item in await conversation.search(QUESTION) if "yard" in str(item)],
        "runs": runs["results"],
        "requests": requests["results"],
    }


@pytest.fixture(scope="module")
def deployed(laptop: Laptop, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """Deploy the toolkit by the commands of the pages into a tenant that has nothing."""
    before = Participant(stack.url, laptop.make_key(stack, TENANT)).converse(list_everything)
    assert not any(before.values()), before
    author = Author(laptop, tmp_path_factory.mktemp("author"))
    author.write_tool()
    assert "1 passed" in author.paste(DEPLOY_TOOL)
    author.write_document_and_workflow()
    assert '"published": {"added": 2, "changed": 0, "same": 0, "removed": 0}' in author.paste(DEPLOY_ALL)
    return stack


async def ask_for_the_price(conversation: Conversation) -> str:
    """Find the skill by a question, read its document, and start it without an argument."""
    found = await conversation.search(QUESTION)
    skill = next(item for item in found if item["kind"] == "capability")
    document = await conversation.follow(skill, "doc")
    assert document.text == DOCUMENT
    started = await conversation.follow(skill, "start")
    assert (started["state"], started["version"], started["context"]) == ("ready", 1, {}), started
    return skill["id"]


async def learn_the_price(conversation: Conversation) -> str:
    """Find the run of the skill that a conversation before has left, and go on."""
    run = await find_open_run(conversation)
    (transition,) = [link["args"]["transition"] for link in run["links"] if link["args"]["transition"] != "$cancel"]
    done = await conversation.follow(run, "transition", transition, tree="oak", count=2)
    seen = await find_open_run(conversation)
    ended = await conversation.follow(seen, "transition", "$cancel")
    assert ended["terminal"] is True, ended
    return done["context"]["lastResult"]


async def order(conversation: Conversation) -> str:
    """Find the workflow, start it, order at its price, and return what it waits for."""
    workflow = next(item for item in await conversation.search(WISH) if item["kind"] == "workflow")
    priced = await conversation.follow(workflow, "start", tree="willow", count=4)
    assert (priced["state"], priced["context"]) == ("priced", {"euros": 100}), priced
    ordered = await conversation.follow(priced, "transition", "order")
    return ordered["waitingFor"]


async def find_open_run(conversation: Conversation) -> Any:
    """Find the one run of the principal that has not ended, by the link of the first answer."""
    listed = await conversation.follow(await conversation.look(), "runs")
    (item,) = [one["item"] for one in listed["results"] if "mine" in one["item"] and "terminal" not in one["item"]]
    return await conversation.follow(item, "self")


async def decide(conversation: Conversation) -> Sequence[str]:
    """Find the request that waits for a decision, and accept."""
    listed = await conversation.follow(await conversation.look(), "requests")
    (found,) = listed["results"]
    run = await conversation.follow(found["item"], "self")
    shown = {name: run["context"][name] for name in run["approval"]["shows"]}
    assert shown == {"euros": 100}, run
    decided = await conversation.follow(run, "transition", "accept")
    left = await conversation.follow(await conversation.look(), "requests")
    assert left["results"] == []
    return [*found["item"]["decisions"], decided["state"]]


async def read_the_state(conversation: Conversation) -> tuple[str, str | None]:
    run = await find_open_run(conversation)
    return run["state"], run.get("waitingFor")


async def pick_up(conversation: Conversation) -> tuple[str, bool]:
    done = await conversation.follow(await find_open_run(conversation), "transition", "pick_up")
    return done["state"], done["terminal"]


@pytest.mark.invariant(116)
@pytest.mark.invariant(140)
@pytest.mark.parametrize(("query", "mode"), [("", "auto"), ("?names=portable", "legacy")], ids=["as named", "portable"])
def test_a_toolkit_of_the_pages_is_found_read_started_left_found_again_and_finished(
    laptop: Laptop, deployed: Stack, query: str, mode: str
) -> None:
    agent = Participant(deployed.url + query, laptop.make_key(deployed, TENANT), mode)
    ada = laptop.issuer.access_token("approver", deployed.url, sub="ada", tenant=TENANT)
    assert agent.converse(ask_for_the_price) == "price"
    assert agent.converse(learn_the_price) == 80
    assert agent.converse(order) == "human"
    assert agent.converse(read_the_state) == ("ordered", "human")
    assert Participant(deployed.url + query, ada, mode).converse(decide) == ["accept", "decline", "accepted"]
    assert agent.converse(pick_up) == ("picked_up", True)

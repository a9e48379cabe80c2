"""A function that asks in rounds and writes in between, driven by the official clients while its process is killed."""

import asyncio
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client import ClientRequestContext, ClientSession
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    Result,
    TextContent,
)

from stage.interview import AFTER, BEFORE, CLAIMED, WRITTEN
from tests.support.client_programs import NODE_MODULES, run_program
from tests.support.executors import Executors

pytestmark = pytest.mark.cloud

TOOL, KILLER = "interview__order", "interview__die"
NEVER, BETWEEN = "never", "between"
ANSWERS = {"name": "Ada", "size": 3, "confirm": True}
DONE = "Order 1: 3 for Ada, sent."
IN_DOUBT = "It is not known whether 'note'"
MOST_ATTEMPTS = 60
"""Attempts of one round. A write that may still be under way is asked for again, until its time is over."""
PAUSE_SECONDS = 0.2
TYPESCRIPT = """
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { url, tool, killer, effect, dies, answers, attempts, pause, doubt } = JSON.parse(process.argv[2]);
const options = {
    capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" }, inputRequired: { autoFulfill: false },
};
const client = new Client({ name: "example", version: "1.0.0" }, options);
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
let more = {}, rounds = 0, left = attempts, result;
while (left-- > 0) {
    const params = { name: tool, arguments: { effect, dies }, ...more };
    result = await client.callTool(params, { allowInputRequired: true });
    if (result.resultType === "input_required") {
        const given = Object.keys(result.inputRequests).map((key) =>
            [key, { action: "accept", content: { [key]: answers[key] } }]);
        more = { inputResponses: Object.fromEntries(given), requestState: result.requestState };
        rounds += 1;
        if (dies === "between") await client.callTool({ name: killer, arguments: {} });
    } else if (!result.isError || result.content[0].text.includes(doubt)) {
        break;
    } else {
        await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
}
console.log(JSON.stringify({ rounds, text: result.content[0].text }));
await client.close();
process.exit(0);
"""

type Interview = tuple[int, str]
"""The number of rounds with questions, and the last text."""


def accept(key: str) -> ElicitResult:
    return ElicitResult(action="accept", content={key: ANSWERS[key]})


async def decline(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Declare the capability. The rounds are driven by hand, as by a client that repeats them."""
    del context, params
    return ElicitResult(action="decline")


def read_text(result: Result) -> str:
    assert isinstance(result, CallToolResult)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def take_part(session: ClientSession, effect: str, dies: str) -> Interview:
    more: dict[str, Any] = {}
    rounds, text = 0, ""
    for _ in range(MOST_ATTEMPTS):
        result = await session.call_tool(TOOL, {"effect": effect, "dies": dies}, allow_input_required=True, **more)
        if isinstance(result, InputRequiredResult):
            responses = {key: accept(key) for key in result.input_requests or {}}
            more = {"input_responses": responses, "request_state": result.request_state}
            rounds += 1
            if dies == BETWEEN:
                await session.call_tool(KILLER, {})
            continue
        text = read_text(result)
        if DONE in text or IN_DOUBT in text:
            break
        await asyncio.sleep(PAUSE_SECONDS)
    return rounds, text


def play_in_python(url: str, effect: str, dies: str, _folder: Path) -> Interview:
    async def play() -> Interview:
        async with Client(url, elicitation_callback=decline) as client:
            return await take_part(client.session, effect, dies)

    return asyncio.run(play())


def play_in_typescript(url: str, effect: str, dies: str, folder: Path) -> Interview:
    (folder / "node_modules").symlink_to(NODE_MODULES)
    (folder / "client.mjs").write_text(TYPESCRIPT)
    settings = {
        "url": url,
        "tool": TOOL,
        "killer": KILLER,
        "effect": effect,
        "dies": dies,
        "answers": ANSWERS,
        "attempts": MOST_ATTEMPTS,
        "pause": PAUSE_SECONDS,
        "doubt": IN_DOUBT,
    }
    printed = run_program(["node", folder / "client.mjs", json.dumps(settings)], folder)
    played = json.loads(printed.splitlines()[-1])
    return played["rounds"], played["text"]


PLAYERS: dict[str, Callable[[str, str, str, Path], Interview]] = {
    "Python": play_in_python,
    "TypeScript": play_in_typescript,
}


@pytest.mark.parametrize("client", PLAYERS)
@pytest.mark.parametrize("dies", [NEVER, BEFORE, AFTER, BETWEEN])
def test_an_interview_whose_process_is_killed_writes_once(
    fixture_executors: Executors, tmp_path: Path, client: str, dies: str
) -> None:
    effect = f"order-{uuid.uuid4().hex}"
    played = PLAYERS[client](f"{fixture_executors.gateway.url}/functions", effect, dies, tmp_path)
    assert (played, fixture_executors.count_effect(effect)) == ((2, DONE), 1)
    # Of the passes that came to this place, the first one died there.
    assert (fixture_executors.count_effect(f"{effect}.{dies}") > 1) == (dies in (BEFORE, AFTER))


@pytest.mark.parametrize("client", PLAYERS)
@pytest.mark.parametrize(("dies", "written"), [(CLAIMED, 0), (WRITTEN, 1)])
def test_a_write_whose_process_was_killed_is_in_doubt_and_not_repeated(
    fixture_executors: Executors, tmp_path: Path, client: str, dies: str, written: int
) -> None:
    effect = f"order-{uuid.uuid4().hex}"
    rounds, text = PLAYERS[client](f"{fixture_executors.gateway.url}/functions", effect, dies, tmp_path)
    assert (rounds, fixture_executors.count_effect(effect)) == (1, written)
    assert IN_DOUBT in text


def test_the_official_python_client_plays_the_rounds_by_itself(fixture_executors: Executors) -> None:
    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context
        assert isinstance(params, ElicitRequestFormParams)
        (key,) = params.requested_schema["properties"]
        return accept(key)

    async def play(effect: str) -> str:
        async with Client(f"{fixture_executors.gateway.url}/functions", elicitation_callback=answer) as client:
            return read_text(await client.call_tool(TOOL, {"effect": effect, "dies": NEVER}))

    assert asyncio.run(play(f"order-{uuid.uuid4().hex}")) == DONE

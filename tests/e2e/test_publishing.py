"""An author's folder in a deployed stack: one command deploys its functions and publishes its content, and a function
of it publishes documents by itself."""

import json
import uuid
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.identity.permissions import ADMINISTRATION
from tests.support.commands import ProcessRunner, build_process_runner
from tests.support.laptop import Laptop, Stack
from tests.support.load_listener import LoadListener, build_load_listener
from tests.support.waiting import wait_for, wait_within

pytestmark = pytest.mark.cloud

STACK = "publishing"
TENANT = "default"
APP = '''
import asyncio

from signpost.toolkit import CallFailed, Context, Toolkit, assistant, executor

kit = Toolkit("notes", calls=["skills::list", "skill::fetch", "skills::register"])


@kit.tool(permissions=["signpost.admin"])
def keep(name: str, text: str, ctx: Context) -> list[str]:
    """Keeps a note as a skill document, and lists all notes."""
    try:
        ctx.call("skills::register", {"id": f"notes/{name}", "skill": f"# {name}\\n\\n{text}\\n"})
    except CallFailed as failed:
        return [failed.failure.code, failed.failure.message]
    return [entry["id"] for entry in ctx.call("skills::list")["skills"] if entry["id"].startswith("notes/")]


@kit.tool
async def read_both(first: str, second: str, ctx: Context) -> list[str]:
    """Reads two documents at once."""
    reading = (asyncio.to_thread(ctx.call, "skill::fetch", {"uri": f"iii://{name}"}) for name in (first, second))
    return list(await asyncio.gather(*reading))


@kit.tool
def remove(name: str, ctx: Context) -> None:
    """Declares neither the permission nor the function that it calls."""
    ctx.call("skills::unregister", {"id": f"notes/{name}"})


@kit.prompt
async def summarize(topic: str):
    """Asks for a summary of the notes."""
    return [assistant(f"Read iii://notes and summarize {topic}.")]


handler = executor(kit)
'''
GUIDE = "# Notes\n\nKeep a note with the tool `keep`.\n"
PROMPTS = """
- name: sum-up
  description: Sums up the notes.
  function_id: notes::summarize
  arguments: [{ name: topic, required: true }]
"""
MANIFEST = """
version: 1
workflows:
  note_taking:
    title: Take a note
    initialState: open
    states:
      open: { transitions: { close: { target: closed } } }
      closed: { terminal: true }
"""


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> Stack:
    allowed = f"arn:aws:lambda:us-east-1:000000000000:function:{STACK}-executor-*"
    return laptop.deploy(STACK, AuthMode="both", ExecutorFunctions=allowed)


@pytest.fixture(scope="module")
def load_listener(laptop: Laptop, stack: Stack) -> LoadListener:
    return build_load_listener(laptop, stack)


@pytest.fixture(scope="module")
def deploy(laptop: Laptop) -> ProcessRunner:
    runner = build_process_runner(laptop, seconds=300)

    def deploy(folder: Path, *options: str) -> CompletedProcess[str]:
        return runner("executors", "deploy", str(folder), "--stack", STACK, *options)

    return deploy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("author") / "notes"
    (made / "skills").mkdir(parents=True)
    for name, text in (("app.py", APP), ("skills/notes.md", GUIDE), ("prompts.yaml", PROMPTS), ("flow.yaml", MANIFEST)):
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def deployed(stack: Stack, load_listener: LoadListener, deploy: ProcessRunner, folder: Path) -> Any:
    """What the command has printed. Its prompt names a function that no executor hosts before it."""
    del stack, load_listener  # they must be there
    done = deploy(folder, "--strict")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def administrator(laptop: Laptop, stack: Stack, deployed: Any) -> str:
    del deployed
    return laptop.make_key(stack, TENANT, permissions=[ADMINISTRATION])


def call(stack: Stack, key: str, tool: str, **arguments: str) -> Any:
    answer = stack.request(key, "tools/call", {"name": f"skill:{tool}", "arguments": arguments}, path="/mcp/flat")
    assert "result" in answer.json, answer.text
    return answer.json["result"]


def read(stack: Stack, key: str, uri: str) -> str:
    answer = stack.request(key, "resources/read", {"uri": uri})
    assert "result" in answer.json, answer.text
    return answer.json["result"]["contents"][0]["text"]


@pytest.mark.invariant(132)
def test_one_command_deploys_functions_and_publishes_their_documents(
    stack: Stack, deployed: Any, administrator: str, load_listener: LoadListener, deploy: ProcessRunner, folder: Path
) -> None:
    assert deployed == {
        "tenant": TENANT,
        "functions": ["notes::keep", "notes::read_both", "notes::remove", "notes::summarize"],
        "published": {"added": 3, "changed": 0, "same": 0, "removed": 0},
    }
    wait_within(
        REVALIDATION_INTERVAL,
        "the tool to be listed",
        lambda: stack.request(administrator, "tools/list", path="/mcp/flat").text,
        lambda listed: "skill:keep" in listed,
    )
    assert read(stack, administrator, "iii://notes") == GUIDE
    asked = stack.request(administrator, "prompts/get", {"name": "sum-up", "arguments": {"topic": "trees"}})
    assert "summarize trees" in asked.text
    assert "note_taking" in stack.request(administrator, "tools/call", {"name": "gateway.home", "arguments": {}}).text
    names = ("keep", "read_both", "remove")
    _wait_for_events(load_listener, [("load", name) for name in names])
    again = deploy(folder)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["published"] == {"added": 0, "changed": 0, "same": 3, "removed": 0}
    _wait_for_events(load_listener, [(op, name) for op in ("load", "reload") for name in names])


def _wait_for_events(load_listener: LoadListener, expected: list[tuple[str, str]]) -> None:
    events = [sorted(({"op": op, "name": name} for op, name in expected), key=str)]
    wait_for(f"{expected}", lambda: load_listener.read_events(TENANT), lambda found: found == events)


@pytest.mark.invariant(130)
def test_a_deployed_function_registers_a_document_that_clients_read(
    laptop: Laptop, stack: Stack, administrator: str
) -> None:
    name = f"n{uuid.uuid4().hex[:8]}"
    kept = call(stack, administrator, "keep", name=name, text="An oak costs 40.")
    assert kept["isError"] is False, kept
    assert f"notes/{name}" in kept["content"][0]["text"]
    assert read(stack, administrator, f"iii://notes/{name}") == f"# {name}\n\nAn oak costs 40.\n"
    both = call(stack, administrator, "read_both", first="notes", second=f"notes/{name}")
    assert both["isError"] is False, both
    assert "Keep a note" in both["content"][0]["text"]
    assert "An oak costs 40." in both["content"][0]["text"]
    refused = call(stack, administrator, "remove", name=name)
    assert refused["isError"] is True
    assert "does not declare that it calls" in refused["content"][0]["text"]
    reader = laptop.make_key(stack, TENANT)
    forbidden = call(stack, reader, "keep", name=name, text="An oak costs 50.")
    assert json.loads(forbidden["content"][0]["text"])[0] == "forbidden", forbidden
    assert "An oak costs 40." in read(stack, reader, f"iii://notes/{name}")


@pytest.mark.invariant(132)
def test_a_folder_with_invalid_content_is_not_deployed(
    stack: Stack, laptop: Laptop, deploy: ProcessRunner, tmp_path: Path
) -> None:
    del stack
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "app.py").write_text(APP)
    (broken / "flow.yaml").write_text(MANIFEST.replace("target: closed", "target: nowhere"))
    done = deploy(broken)
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert f"{STACK}-executor-broken" not in laptop.list_stacks()
    foreign = deploy(broken, "--no-publish", "--tenant", "No Tenant")
    assert foreign.returncode == 2

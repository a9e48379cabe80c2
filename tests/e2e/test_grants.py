"""Grants and announcements of functions in a deployed stack: the lists of clients that stay connected, the events that
subscribers get, and what lists cost."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from signpost.contract import HostedFunction
from signpost.identity.permissions import ADMINISTRATION
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import Json, JsonObject
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.counted_gateway import counted_gateway
from tests.support.executors import Executors
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

GATEWAY = "calling"
DIG = HostedFunction("yard::dig", name="dig", visible_when={"grant": "unlocked"})
HEAR = HostedFunction("yard::hear")


@asynccontextmanager
async def connect(executors: Executors, credential: str, surface: str = "/flat") -> AsyncGenerator[Client]:
    """Connect the official client, which stays connected."""
    url = f"{executors.gateway.url}{surface}"
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode="auto") as client,
    ):
        yield client


async def lists_dig(client: Client) -> bool:
    return "skill:dig" in {tool.name for tool in (await client.list_tools()).tools}


def change(executors: Executors, key: str, does: str, what: str) -> Any:
    """Let a function call a method of its context, in a call of the owner of the key."""
    reply = executors.call(key, "trials::change", {"does": does, "what": what})
    assert "result" in reply, reply
    return reply["result"]


async def follow_grant(executors: Executors, ann: str, bob: str, revoke: Callable[[], object]) -> Mapping[str, Any]:
    """Grant and revoke while two callers stay connected, and return what their lists had."""
    seen: dict[str, Any] = {}
    async with connect(executors, ann) as first, connect(executors, ann) as second, connect(executors, bob) as other:
        clients = {"first": first, "second": second, "other": other}
        for moment in ("before", "granted", "revoked"):
            if moment == "granted":
                await asyncio.to_thread(change, executors, ann, "grant", "unlocked")
            elif moment == "revoked":
                await asyncio.to_thread(revoke)
            await asyncio.sleep(REVALIDATION_INTERVAL)  # the promise: nothing that was read before is used longer
            seen[moment] = {name: await lists_dig(client) for name, client in clients.items()}
    return seen


@pytest.mark.invariant(170)
def test_s010_a_grant_changes_the_lists_of_one_principal_on_every_connection(
    executors: Executors, signpost: ProcessRunner, tenant: str
) -> None:
    executors.place("stub", [DIG], tenant)
    ann, bob = (executors.laptop.make_key(executors.gateway, tenant, name) for name in ("ann", "bob"))

    def revoke() -> None:
        listed = signpost("grants", "list", "--tenant", tenant, "--stack", GATEWAY)
        (held,) = parse_json_lines(listed.stdout)
        assert (held["grant"], held["by"], held["until"]) == ("unlocked", "trials::change", None)
        revoked = signpost(
            "grants", "revoke", "unlocked", "--subject", held["subject"], "--tenant", tenant, "--stack", GATEWAY
        )
        assert json.loads(revoked.stdout)["was_held"] is True, revoked.stderr

    assert asyncio.run(follow_grant(executors, ann, bob, revoke)) == {
        "before": {"first": False, "second": False, "other": False},
        "granted": {"first": True, "second": True, "other": False},
        "revoked": {"first": False, "second": False, "other": False},
    }


async def publish_and_list(executors: Executors, author: str, reader: str, uri: str, payload: JsonObject) -> bool:
    async with connect(executors, reader, "") as client:
        before = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert uri not in before
        reply = await asyncio.to_thread(executors.call, author, "trials::register", payload)
        assert "result" in reply, reply
        await asyncio.sleep(REVALIDATION_INTERVAL)  # as above
        return uri in {str(resource.uri) for resource in (await client.list_resources()).resources}


def test_a_connected_client_sees_what_another_client_publishes_within_two_seconds(
    executors: Executors, tenant: str, key: str
) -> None:
    author = executors.laptop.make_key(executors.gateway, tenant, "author", permissions=[ADMINISTRATION])
    payload: JsonObject = {"id": "yard/guide", "skill": "# Guide\n\nHow to dig.\n"}
    assert asyncio.run(publish_and_list(executors, author, key, "iii://yard/guide", payload))


@pytest.mark.invariant(175)
def test_triggers_get_what_functions_announce(
    executors: Executors, signpost: ProcessRunner, tmp_path: Path, tenant: str, key: str
) -> None:
    executors.place("stub", [HEAR], tenant)
    triggers: list[Json] = [
        {"trigger_type": kind, "function_id": HEAR.function} for kind in ("lists::on-change", "resources::on-change")
    ]
    (tmp_path / "manifest.json").write_text(json.dumps({"version": 1, "triggers": triggers}))
    author = executors.laptop.make_key(executors.gateway, tenant, "author", permissions=[ADMINISTRATION])
    published = signpost("publish", str(tmp_path / "manifest.json"), "--stack", GATEWAY, SIGNPOST_AUTHORIZATION=author)
    assert published.returncode == 0, published.stderr
    change(executors, key, "changed", "tools")
    change(executors, key, "resource_updated", "yard://map")

    calls = wait_for(
        "both announcements",
        lambda: [call["arguments"] for call in executors.list_calls(tenant, HEAR.function)],
        lambda calls: len(calls) >= len(triggers),
        patience=60,
    )
    assert sorted(map(json.dumps, calls)) == [
        '{"op": "change", "list": "tools"}',
        '{"op": "update", "uri": "yard://map"}',
    ]


@pytest.mark.invariant(173)
@pytest.mark.parametrize(
    ("function", "costs"),
    [(HostedFunction("yard::dig"), {}), (DIG, {"GetItem": 1})],
    ids=["none is visible by a grant", "one is"],
)
def test_lists_read_grants_only_where_functions_are_visible_by_them(
    executors: Executors, tenant: str, function: HostedFunction, costs: Mapping[str, int]
) -> None:
    executors.place("stub", [function], tenant)
    key = executors.make_key(tenant)
    home: JsonObject = {"name": "gateway.home", "arguments": {}}
    with counted_gateway(executors.laptop, executors.gateway) as gateway:
        gateway.request(key, "tools/call", home)
        assert gateway.request(key, "tools/call", home)[1] == {}
        gateway.clock.advance(REVALIDATION_INTERVAL)
        _, calls = gateway.request(key, "tools/call", home)
        others = {"GetItem": 1, "BatchGetItem": 1}  # the key's row, and what has changed
        assert calls == {name: others.get(name, 0) + costs.get(name, 0) for name in others}

"""`signpost schedules`: what is listed of schedules, and how they are switched."""

import json
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from signpost.adapters.memory.run_lists import MemoryRunLists
from signpost.cli import main, remote, stack
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.upload import RegistryCall
from signpost.cli.runs.store import WorkflowReader
from signpost.cli.terminal import ShowLine
from signpost.content.api.errors import RegistryRefusal
from signpost.model import JsonObject, as_object
from tests.support.scheduled_gateway import TENANT, ScheduledGateway

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATES: Mapping[str, Any] = {"open": {"terminal": True}}
SCHEDULES: Mapping[str, Any] = {
    "nightly": {"workflow": "report", "cron": "30 1 * * *", "timezone": "Europe/Berlin"},
    "often": {"workflow": "report", "rate": "90 minutes"},
    "paused": {"workflow": "report", "rate": "1 hour", "enabled": False},
    "barred": {"workflow": "secret", "cron": "0 * * * *"},
}

type Command = Callable[..., str]


@pytest.fixture
def world() -> ScheduledGateway:
    world = ScheduledGateway(NOON)
    workflow = {"initialState": "open", "states": STATES}
    rule = {"kind": "deny", "who": ["subject:schedule:*"], "what": ["workflow:secret"]}
    world.publish(workflows={"report": workflow, "secret": workflow}, schedules=SCHEDULES, policies={"no": rule})
    world.sweep_and_work()
    return world


@pytest.fixture
def signpost(world: ScheduledGateway, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    adapters = world.gateway.adapters

    @contextmanager
    def open_reader(_stack: str) -> Generator[WorkflowReader]:
        yield WorkflowReader(
            instances=world.instances,
            records=world.instances,
            run_lists=MemoryRunLists(world.instances),
            definitions=adapters.definitions,
            timetables=world.timetables,
            catalogue=world.gateway.composition.catalogue,
            clock=world.clock,
            mcp_url="https://gateway.test/mcp",
        )

    def ask(function_id: str, payload: JsonObject) -> JsonObject:
        answer = world.call(function_id, payload)
        if isinstance(answer, RegistryRefusal):
            raise CommandFailed(answer.message)
        return as_object(answer)

    @contextmanager
    def registry(_stack: str, _url: str | None, _say: ShowLine) -> Generator[RegistryCall]:
        yield ask

    monkeypatch.setattr(stack, "open_workflows", open_reader)
    monkeypatch.setattr(remote, "connect_registry", registry)

    def run(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()  # drop the log of the worker
        assert main(["schedules", *arguments]) == code
        captured = capsys.readouterr()
        return captured.out or captured.err

    return run


def columns(text: str) -> list[list[str]]:
    return [re.split(r"  +", line) for line in text.splitlines()]


def test_schedules_are_listed_with_their_next_occasions_in_their_zones(signpost: Command) -> None:
    assert columns(signpost("list", "--tenant", TENANT)) == [
        ["ID", "WORKFLOW", "WHEN", "STATE", "NEXT", "LAST"],
        ["barred", "secret", "0 * * * *", "on", "2026-06-01T13:00:00+00:00", "-"],
        ["nightly", "report", "30 1 * * * Europe/Berlin", "on", "2026-06-02T01:30:00+02:00", "-"],
        ["often", "report", "every 90 minutes", "on", "2026-06-01T13:30:00+00:00", "-"],
        ["paused", "report", "every 1 hour", "disabled by its author", "-", "-"],
    ]


def test_the_last_result_is_the_run_or_the_code_of_the_refusal(world: ScheduledGateway, signpost: Command) -> None:
    world.clock.advance(2 * 3_600)
    world.sweep_and_work()
    rows = {row["id"]: row for row in map(json.loads, signpost("list", "--json", "--tenant", TENANT).splitlines())}
    (run,) = world.runs
    assert rows["often"]["last"] == {
        "occasion": "2026-06-01T13:30:00+00:00",
        "outcome": "started",
        "workflowId": run.id,
    }
    refused = rows["barred"]["last"]
    assert (refused["outcome"], refused["code"]) == ("refused", "NOT_FOUND")
    assert rows["often"]["publishedBy"] == "operator"
    assert f"2026-06-01T14:00:00+00:00 {refused['code']}" in signpost("list", "--tenant", TENANT)
    assert f"2026-06-01T13:30:00+00:00 {run.id}" in signpost("list", "--tenant", TENANT)


def test_a_tenant_without_schedules_is_told_so(signpost: Command) -> None:
    assert signpost("list", "--tenant", "other") == "Tenant other has published no schedules.\n"


def test_a_schedule_is_switched_off_and_on(world: ScheduledGateway, signpost: Command) -> None:
    assert "often is switched off" in signpost("disable", "often")
    world.clock.advance(3)  # the lists of the reader lag by two seconds
    assert ["often", "report", "every 90 minutes", "switched off", "-", "-"] in columns(
        signpost("list", "--tenant", TENANT)
    )
    assert "often is switched on" in signpost("enable", "often")
    assert "Did you mean 'often'?" in signpost("disable", "ofte", code=1)

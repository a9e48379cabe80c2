"""Schedules start workflows by themselves: each occasion once, as a principal of their own, if policy allows it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from typing import Any, override
from zoneinfo import ZoneInfo

import pytest

from signpost.adapters.memory import MemoryRuntimeSettings
from signpost.adapters.memory.timetables import MemoryTimetables
from signpost.errors import Unavailable
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Principal
from signpost.workflow.schedules import MOST_SCHEDULES
from signpost.workflow.timetable import Timetable, results_of, results_text
from signpost.workflow.wakes import SCHEDULES, WakeMessage
from tests.support.memory_gateway import ManualClock
from tests.support.scheduled_gateway import OPERATOR, TENANT, ScheduledGateway

NEW_YORK = ZoneInfo("America/New_York")
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
INPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string"}},
    "required": ["region"],
    "additionalProperties": False,
}
STATES: Mapping[str, Any] = {"open": {"transitions": {"close": {"target": "done"}}}, "done": {"terminal": True}}
REPORT: Mapping[str, Any] = {"initialState": "open", "inputSchema": INPUT_SCHEMA, "states": STATES}
PLAIN: Mapping[str, Any] = {"initialState": "open", "states": STATES}
HOURLY: Mapping[str, Any] = {"workflow": "report", "cron": "0 * * * *", "input": {"region": "north"}}


def schedule_report(now: datetime = NOON, **fields: Any) -> ScheduledGateway:
    world = ScheduledGateway(now)
    world.publish(workflows={"report": REPORT}, schedules={"hourly": {**HOURLY, **fields}})
    world.sweep_and_work()
    return world


def advance(world: ScheduledGateway, **delta: float) -> None:
    world.clock.advance(timedelta(**delta).total_seconds())


def test_a_schedule_starts_its_workflow_with_its_input_and_its_principal() -> None:
    world = schedule_report()
    assert world.runs == []
    advance(world, hours=1)
    world.sweep_and_work()
    (run,) = world.runs
    assert (run.definition_id, run.input) == ("report", {"region": "north"})
    assert (run.started_by, run.starter_issuer) == ("schedule:hourly", "signpost:schedules")
    result = world.result_of("hourly")
    assert (result.outcome, result.workflow_id) == ("started", run.id)
    assert result.occasion == (NOON + timedelta(hours=1)).timestamp()


class TestDescription:
    @pytest.fixture
    def world(self) -> ScheduledGateway:
        world = ScheduledGateway(NOON)
        exposed = {"name": "look", "executor": {"kind": "noop"}}
        world.publish(
            workflows={"report": REPORT, "plain": PLAIN},
            proxy={"expose": [exposed]},
            schedules={
                "hourly": {**HOURLY, "description": "Before the shift."},
                "daily": {**HOURLY, "cron": "30 1 * * *", "timezone": "America/New_York"},
                "off": {**HOURLY, "enabled": False},
                "steady": {"workflow": "proxy_default", "rate": "12 hours", "input": {"capability": "look"}},
            },
        )
        world.clock.advance(60)
        return world

    def test_a_workflow_is_described_with_the_schedules_that_start_it(self, world: ScheduledGateway) -> None:
        expected = [
            {"id": "daily", "cron": "30 1 * * *", "timezone": "America/New_York", "nextAt": "2026-06-02T05:30:00Z"},
            {
                "id": "hourly",
                "description": "Before the shift.",
                "cron": "0 * * * *",
                "timezone": "UTC",
                "nextAt": "2026-06-01T13:00:00Z",
            },
        ]
        assert describe(world, "report")["schedules"] == expected
        assert read_workflow(world, "report")["schedules"] == expected
        assert "schedules" not in describe(world, "plain")

    def test_a_capability_is_described_with_the_schedules_that_start_it(self, world: ScheduledGateway) -> None:
        (schedule,) = describe(world, "look")["schedules"]
        assert schedule == {"id": "steady", "rate": "12 hours", "nextAt": "2026-06-02T00:00:00Z"}

    def test_neither_input_nor_rights_nor_publisher_are_shown(self, world: ScheduledGateway) -> None:
        world.publish(schedules={"hourly": {**HOURLY, "input": {"region": "the-secret-region"}}})
        world.clock.advance(3)
        shown = json.dumps([describe(world, "report"), read_workflow(world, "report")])
        assert "hourly" in shown
        assert [word for word in ("the-secret-region", "publishedBy", "operator", "roles") if word in shown] == []

    def test_a_schedule_that_is_switched_off_is_not_shown(self, world: ScheduledGateway) -> None:
        world.switch("hourly", enabled=False)
        world.clock.advance(3)
        assert [schedule["id"] for schedule in describe(world, "report")["schedules"]] == ["daily"]


def describe(world: ScheduledGateway, item: str) -> Any:
    params: Any = {"name": "gateway.describe", "arguments": {"id": item}}
    return send(world, "tools/call", params)["structuredContent"]


def read_workflow(world: ScheduledGateway, workflow: str) -> Any:
    return json.loads(send(world, "resources/read", {"uri": f"signpost://workflows/{workflow}"})["contents"][0]["text"])


def send(world: ScheduledGateway, method: str, params: Any) -> Any:
    return world.gateway.request(method, params, credential=str(world.gateway.make_key(TENANT))).json["result"]


@pytest.mark.invariant(135)
def test_two_sweeps_start_one_run() -> None:
    world = schedule_report()
    advance(world, hours=1)
    assert (world.sweep(), world.sweep()) == (1, 1)
    assert world.work() == []
    assert len(world.runs) == 1


@pytest.mark.invariant(135)
def test_a_message_that_is_received_again_starts_no_second_run() -> None:
    world = schedule_report()
    advance(world, minutes=61)
    for _ in range(5):
        assert world.look() == []
        advance(world, minutes=1)
    assert len(world.runs) == 1


class MeetingTimetables(MemoryTimetables):
    """Lets two workers load the same timetable before either of them goes on."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.barrier: Barrier | None = None

    @override
    def load(self, tenant: str) -> Timetable | None:
        loaded = super().load(tenant)
        if self.barrier is not None:
            self.barrier.wait(10)
        return loaded


@pytest.mark.invariant(135)
def test_two_workers_at_the_same_time_start_one_run() -> None:
    timetables = MeetingTimetables(ManualClock())
    world = ScheduledGateway(NOON, timetables)
    world.publish(workflows={"report": REPORT}, schedules={"hourly": HOURLY})
    advance(world, hours=1)
    timetables.barrier = Barrier(2)
    workers = [world.build_worker() for _ in range(2)]
    record = {"messageId": "m", "receiptHandle": "r", "body": WakeMessage(TENANT, SCHEDULES).text}
    record |= {"attributes": {"ApproximateReceiveCount": "1"}}
    answers: list[Any] = []

    def handle(number: int) -> None:
        answers.append(workers[number].handle({"Records": [record]}, 900_000, "r"))

    threads = [Thread(target=handle, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [{"batchItemFailures": []}] * 2
    timetables.barrier = None
    assert len(world.runs) == 1
    assert world.result_of("hourly").outcome == "started"


class DyingTimetables(MemoryTimetables):
    """Raises instead of saving, as a worker that dies after its starts and before it has saved them."""

    is_dying = False

    @override
    def save(self, tenant: str, timetable: Timetable, *, replacing: int) -> bool:
        if self.is_dying:
            raise Unavailable("The worker died.")
        return super().save(tenant, timetable, replacing=replacing)


@pytest.mark.invariant(135)
def test_a_worker_that_dies_after_the_start_is_repeated_without_a_second_run() -> None:
    timetables = DyingTimetables(ManualClock())
    world = ScheduledGateway(NOON, timetables)
    world.publish(workflows={"report": REPORT}, schedules={"hourly": HOURLY})
    world.sweep_and_work()
    advance(world, hours=1)
    timetables.is_dying = True
    assert len(world.look()) == 1
    assert len(world.runs) == 1
    timetables.is_dying = False
    advance(world, minutes=1)
    world.sweep_and_work()
    assert len(world.runs) == 1
    assert world.result_of("hourly").workflow_id == world.runs[0].id


@pytest.mark.invariant(135)
def test_a_republication_between_start_and_save_starts_no_second_run() -> None:
    world = schedule_report()
    advance(world, hours=1)
    before = world.timetables.load(TENANT)
    assert before is not None
    world.look()
    world.publish(schedules={"nightly": {**HOURLY, "cron": "0 0 * * *"}})
    after = world.timetables.load(TENANT)
    assert after is not None
    assert after.due_at == world.clock.now()
    assert not world.timetables.save(TENANT, replace(before, due_at=None), replacing=before.revision)
    world.sweep_and_work()
    assert len(world.runs) == 1


@pytest.mark.invariant(135)
@pytest.mark.parametrize(
    ("cron", "day", "runs"),
    [
        ("30 1 * * *", datetime(2026, 11, 1, tzinfo=NEW_YORK), 1),  # occurs twice
        ("0,30 1 * * *", datetime(2026, 11, 1, tzinfo=NEW_YORK), 2),
        ("30 2 * * *", datetime(2026, 3, 8, tzinfo=NEW_YORK), 1),  # is skipped
        ("0,30 2,3 * * *", datetime(2026, 3, 8, tzinfo=NEW_YORK), 2),  # at 3:00, as three of them, and at 3:30
    ],
)
def test_a_schedule_fired_twice_starts_one_run_over_a_change_of_the_clock(cron: str, day: datetime, runs: int) -> None:
    world = schedule_report(day, cron=cron, timezone="America/New_York")
    for _ in range(6 * 12):
        advance(world, minutes=5)
        world.sweep()
        world.sweep()
        assert world.work() == []
    assert len(world.runs) == runs


def test_only_the_last_of_the_missed_occasions_is_made_up_for() -> None:
    world = schedule_report()
    advance(world, hours=5, minutes=20)
    world.sweep_and_work()
    assert len(world.runs) == 1
    assert world.result_of("hourly").occasion == (NOON + timedelta(hours=5)).timestamp()
    advance(world, minutes=40)
    world.sweep_and_work()
    assert len(world.runs) == 2


def test_a_rate_counts_from_the_publication() -> None:
    world = ScheduledGateway(NOON)
    world.publish(workflows={"report": PLAIN}, schedules={"often": {"workflow": "report", "rate": "90 minutes"}})
    for _ in range(18):
        advance(world, minutes=10)
        world.sweep_and_work()
    assert [run.started_at for run in world.runs] == [
        (NOON + timedelta(minutes=minutes)).timestamp() for minutes in (90, 180)
    ]
    world.publish(schedules={"often": {"workflow": "report", "rate": "90 minutes"}})
    advance(world, minutes=90)
    world.sweep_and_work()
    assert len(world.runs) == 3, "an unchanged schedule keeps its rhythm when it is published again"


def test_a_worker_without_work_writes_nothing() -> None:
    world = schedule_report()
    before = world.timetables.load(TENANT)
    assert before is not None
    assert before.due_at == (NOON + timedelta(hours=1)).timestamp()
    world.look()
    assert world.timetables.load(TENANT) == before, "each write wakes the worker again"
    assert world.sweep() == 0


def test_a_tenant_without_schedules_is_not_looked_at() -> None:
    world = ScheduledGateway(NOON)
    world.publish(workflows={"report": REPORT})
    assert world.timetables.load(TENANT) is None
    assert world.look() == []


def test_a_new_publication_changes_the_occasions_at_once() -> None:
    world = schedule_report()
    world.publish(schedules={"hourly": {**HOURLY, "cron": "*/10 * * * *"}})
    world.sweep_and_work()
    advance(world, minutes=10)
    world.sweep_and_work()
    assert len(world.runs) == 1
    world.publish(prune=True, schedules={})
    advance(world, hours=2)
    world.sweep_and_work()
    assert len(world.runs) == 1
    timetable = world.timetables.load(TENANT)
    assert timetable is not None
    assert (timetable.due_at, timetable.results) == (None, {})


def test_a_disabled_schedule_starts_nothing_and_makes_up_for_nothing() -> None:
    world = schedule_report(enabled=False)
    advance(world, hours=3)
    world.sweep_and_work()
    world.publish(schedules={"hourly": HOURLY})
    advance(world, minutes=30)
    world.sweep_and_work()
    assert world.runs == []
    advance(world, minutes=30)
    world.sweep_and_work()
    assert len(world.runs) == 1


def test_an_operator_switches_a_schedule_off_and_on() -> None:
    world = schedule_report()
    assert world.switch("hourly", enabled=False)["changed"]
    assert not world.switch("hourly", enabled=False)["changed"]
    world.publish(schedules={"hourly": {**HOURLY, "cron": "30 * * * *"}})
    advance(world, hours=3)
    world.sweep_and_work()
    assert world.runs == []
    assert world.switch("hourly", enabled=True)["changed"]
    world.sweep_and_work()
    assert world.runs == [], "what passed while it was off is not made up for"
    advance(world, hours=1)
    world.sweep_and_work()
    assert len(world.runs) == 1
    assert "Did you mean 'hourly'?" in world.switch("hourle", enabled=True).message


def test_a_schedule_that_is_on_loses_no_occasion_by_being_switched_on() -> None:
    world = ScheduledGateway(NOON)
    steady = {"workflow": "report", "rate": "1 hour", "input": {"region": "north"}}
    world.publish(workflows={"report": REPORT}, schedules={"hourly": HOURLY, "steady": steady})
    world.sweep_and_work()
    advance(world, minutes=61)
    assert not world.switch("hourly", enabled=True)["changed"]
    assert not world.switch("steady", enabled=True)["changed"]
    world.sweep_and_work()
    assert sorted(run.started_by for run in world.runs) == ["schedule:hourly", "schedule:steady"]
    advance(world, minutes=59)
    world.sweep_and_work()
    assert len(world.runs) == 4, "the rate goes on in its rhythm"


@pytest.mark.invariant(136)
def test_a_schedule_starts_nothing_that_policy_denies_its_principal() -> None:
    world = schedule_report()
    world.publish(
        workflows={"other": PLAIN},
        schedules={"allowed": {"workflow": "other", "cron": "0 * * * *"}},
        policies={"no": {"kind": "deny", "who": ["subject:schedule:hourly"], "what": ["workflow:report"]}},
    )
    world.sweep_and_work()
    advance(world, hours=1)
    world.sweep_and_work()
    assert [run.definition_id for run in world.runs] == ["other"]
    result = world.result_of("hourly")
    assert (result.outcome, result.code) == ("refused", "NOT_FOUND")
    (event,) = world.refusals
    assert (event.record.type, event.subject) == ("schedule.refused", "schedule:hourly")
    assert event.record.payload["definitionId"] == "report"
    world.publish(prune=True, policies={})
    world.look()
    assert len(world.runs) == 1, "an occasion that was refused is over"
    advance(world, hours=1)
    world.sweep_and_work()
    assert sorted(run.definition_id for run in world.runs) == ["other", "other", "report"]


LARGEST_ROW = 400 * 1024
"""Bytes of an item of DynamoDB."""


def test_refusals_of_all_schedules_of_a_tenant_fit_into_its_row() -> None:
    """Each of them quotes a name that its author chose."""
    world = ScheduledGateway(NOON)
    daily = {"workflow": "plain", "cron": "0 * * * *", "input": {"\N{ELEPHANT}" * 1_300: 1}}
    world.publish(workflows={"plain": PLAIN}, schedules={f"s{number}": daily for number in range(MOST_SCHEDULES)})
    MemoryRuntimeSettings(world.gateway.functions).set(TENANT, None, "undeclared_arguments", "refuse")
    world.sweep_and_work()
    advance(world, hours=1)
    world.sweep_and_work()
    timetable = world.timetables.load(TENANT)
    assert timetable is not None
    assert {result.code for result in timetable.results.values()} == {"INPUT_SCHEMA_VIOLATION"}
    text = results_text(timetable.results)
    assert results_of(text) == timetable.results
    assert len(text.encode()) < LARGEST_ROW * 0.6


def test_a_workflow_that_is_switched_off_is_not_started() -> None:
    world = schedule_report()
    world.call("manifest::switch", {"id": "report", "enabled": False})
    advance(world, hours=1)
    world.sweep_and_work()
    assert world.runs == []
    assert world.result_of("hourly").outcome == "refused"


GUARDED: Mapping[str, Any] = {
    "initialState": "open",
    "states": {
        "open": {
            "transitions": {
                "close": {
                    "target": "done",
                    "actor": "deterministic",
                    "guards": [{"kind": "permission", "permission": "reports.close"}],
                }
            }
        },
        "done": {"terminal": True},
    },
}


@pytest.mark.invariant(136)
def test_a_schedule_has_the_rights_that_it_declares_and_its_publisher_has() -> None:
    publisher = Principal(
        "api-key:1", TENANT, "signpost:api-keys", permissions=frozenset({ADMINISTRATION, "reports.close"})
    )
    fields = {"workflow": "guarded", "cron": "0 * * * *"}
    world = ScheduledGateway(NOON)
    asking = {**fields, "permissions": ["reports.close"]}
    message = world.refuse(workflows={"guarded": GUARDED}, schedules={"strong": asking})
    assert "Its publisher (operator) does not have the permission 'reports.close'" in message
    assert "role 'chief'" in world.refuse(schedules={"strong": {**fields, "roles": ["chief"]}})
    world.publish(publisher, workflows={"guarded": GUARDED}, schedules={"strong": asking, "weak": fields})
    world.publish(OPERATOR, schedules={"strong": asking})  # unchanged: it gets nothing new
    world.sweep_and_work()
    advance(world, hours=1)
    world.sweep_and_work()
    states = {run.started_by: run.state for run in world.runs}
    assert states == {"schedule:strong": "done", "schedule:weak": "open"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"workflow": "reprot"}, "There is no workflow 'reprot' after this publication. Did you mean 'report'?"),
        ({"workflow": None}, "It has no `workflow`"),
        ({"cron": None}, "It needs either `cron` or `rate`."),
        ({"rate": "1 hour"}, "It needs either `cron` or `rate`, not both."),
        ({"cron": "61 * * * *"}, "`cron` has '61' as minute, which takes 0 to 59."),
        ({"cron": None, "rate": "30 seconds"}, "`rate` must be at least 1 minute."),
        ({"cron": None, "rate": "1 hour", "timezone": "Europe/Berlin"}, "`timezone` has no effect on a rate"),
        ({"timezone": "Europe/Berln"}, "no IANA name of a time zone; did you mean Europe/Berlin?"),
        ({"timezone": "../../etc/passwd"}, "no IANA name of a time zone"),
        ({"input": {"region": 1}}, "'report' could not be started: `input.region` does not satisfy its input schema"),
        ({"input": None}, "does not satisfy its input schema"),
        ({"input": []}, "`input` must be a mapping."),
        ({"enabled": "yes"}, "`enabled` must be true or false."),
        ({"roles": "admin"}, "`roles` must be a list of texts."),
        ({"crom": "x"}, "It has the unknown member 'crom'; did you mean cron?"),
        ({"since": "2020-01-01T00:00:00+00:00"}, "It has the unknown member 'since'"),
    ],
)
def test_a_schedule_that_cannot_work_is_not_published(fields: Mapping[str, Any], message: str) -> None:
    world = ScheduledGateway(NOON)
    entry = {name: value for name, value in {**HOURLY, **fields}.items() if value is not None}
    assert message in world.refuse(workflows={"report": REPORT}, schedules={"hourly": entry})
    assert world.timetables.load(TENANT) is None


@pytest.mark.parametrize("name", ["", "a b", "*", "x" * 65, "é"])
def test_an_id_of_a_schedule_fits_into_a_subject(name: str) -> None:
    world = ScheduledGateway(NOON)
    assert "1 to 64 letters" in world.refuse(workflows={"report": REPORT}, schedules={name: HOURLY})


def test_a_workflow_that_a_schedule_starts_cannot_be_removed_or_changed_away() -> None:
    world = schedule_report()
    world.publish(workflows={"other": PLAIN})
    message = world.refuse(prune=True, workflows={"other": PLAIN})
    assert "schedule 'hourly': There is no workflow 'report' after this publication." in message
    stricter = {**INPUT_SCHEMA, "required": ["region", "day"]}
    assert "schedule 'hourly'" in world.refuse(workflows={"report": {**REPORT, "inputSchema": stricter}})


def test_a_schedule_starts_a_capability() -> None:
    world = ScheduledGateway(NOON)
    manifest: Mapping[str, Any] = {"proxy": {"expose": [{"name": "ping", "executor": {"kind": "noop"}}]}}
    entry = {"workflow": "proxy_default", "rate": "1 hour", "input": {"capability": "pong"}}
    assert "must be one of the published capabilities. Did you mean 'ping'?" in world.refuse(
        **manifest, schedules={"ping": entry}
    )
    world.publish(**manifest, schedules={"ping": {**entry, "input": {"capability": "ping"}}})
    advance(world, hours=1)
    world.sweep_and_work()
    assert [run.input for run in world.runs] == [{"capability": "ping"}]


def test_a_tenant_has_a_limited_number_of_schedules() -> None:
    world = ScheduledGateway(NOON)
    many = {f"s{number}": {"workflow": "report", "rate": "1 hour"} for number in range(MOST_SCHEDULES + 1)}
    assert f"{MOST_SCHEDULES} schedules at most" in world.refuse(workflows={"report": PLAIN}, schedules=many)


def test_the_plan_of_a_publication_names_its_schedules() -> None:
    world = schedule_report()
    changed = {**HOURLY, "cron": "5 * * * *"}
    planned = world.plan(prune=True, schedules={"hourly": HOURLY, "nightly": changed})["schedules"]
    assert planned == {"added": ["nightly"], "changed": [], "same": ["hourly"], "removed": []}
    planned = world.plan(prune=True, schedules={"nightly": changed})["schedules"]
    assert planned["removed"] == ["hourly"]
    assert world.plan(schedules={"hourly": changed})["schedules"]["changed"] == ["hourly"]


def test_a_schedule_that_cannot_be_started_now_keeps_no_other_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    world = schedule_report()
    world.publish(workflows={"other": PLAIN}, schedules={"also": {"workflow": "other", "cron": "0 * * * *"}})
    world.sweep_and_work()
    advance(world, hours=1)
    save = world.instances.save

    def fail(tenant: str, entry: Any, *, replacing: Any) -> bool:
        if entry.instance.definition_id == "report":
            raise Unavailable("The table is overloaded.")
        return save(tenant, entry, replacing=replacing)

    with monkeypatch.context() as patch:
        patch.setattr(world.instances, "save", fail)
        world.sweep()
        assert len(world.work()) == 1
    assert [run.definition_id for run in world.runs] == ["other"]
    advance(world, minutes=1)
    world.sweep_and_work()
    assert sorted(run.definition_id for run in world.runs) == ["other", "report"]

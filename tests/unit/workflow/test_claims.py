"""Who owns what comes next: how a claim stands, who may go on with it, when it is due, and what may be said of it."""

from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters.alarm import alarm
from signpost.adapters.ids import RandomIds
from signpost.adapters.memory import MemoryApiKeys
from signpost.errors import StepRefusalCode
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.model import JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.workflow.deadlines import due_at
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_definition
from signpost.workflow.engine.engine import Engine, NewInstance
from signpost.workflow.engine.links import build_links
from signpost.workflow.engine.permissions import CANCEL, MAY_CANCEL, MAY_RESOLVE, RESOLVE, RETRY
from signpost.workflow.engine.steps import HUMAN_KIND, Submission, WakeUp
from signpost.workflow.instance import (
    CHILD_CHECK_INTERVAL,
    ApprovalRequest,
    Cancellation,
    Claim,
    Instance,
    Job,
    WriteCondition,
    child_id_of,
)
from signpost.workflow.running.attempts import ExecutionServices
from signpost.workflow.running.executors.human import HumanExecutor
from signpost.workflow.running.overrides import apply_override, is_override
from signpost.workflow.running.resume import StepResumer
from signpost.workflow.running.step_rights import RightsOfRequest
from tests.support.memory_gateway import ManualClock

NOW, LEASE = 1_000.0, 1_030.0
AGENT = Principal("agent", "acme", "t")
STRANGER = Principal("stranger", "acme", "t")
RESOLVER = Principal("rosa", "acme", "t", permissions=frozenset({MAY_RESOLVE}))
CANCELLER = Principal("carl", "acme", "t", permissions=frozenset({MAY_CANCEL}))
ENGINE = Engine(Validators(alarm))
CLOCK = ManualClock()
EXECUTORS = {HUMAN_KIND: HumanExecutor(clock=CLOCK, ids=RandomIds())}
SERVICES = ExecutionServices(
    step_executors=EXECUTORS,
    clock=CLOCK,
    pause=CLOCK.advance,
    lease_margin=0.0,
    rights=RightsOfRequest(ApiKeyAuthenticator(keys=MemoryApiKeys(), clock=CLOCK)),
)
RESUMER = StepResumer(ENGINE, SERVICES)


def definition(**fields: Any) -> Definition:
    go = {"target": "b", "executor": {"kind": "stub"}, "output": {"went": "$.output"}}
    states = {"a": {"transitions": {"go": go}}, "b": {"terminal": True}, "late": {"terminal": True}}
    found = parse_definition("demo", {"initialState": "a", "states": states, **fields})
    assert isinstance(found, Definition), found
    return found


DEMO = definition()


def claim(standing: Any = "running", *, until: float = LEASE, **fields: Any) -> Claim:
    return Claim("t", standing, Job("go", {}, AGENT), since=NOW, until=until, **fields)


def instance(held: Claim | None = None, by: Definition = DEMO, **fields: Any) -> Instance:
    begun = ENGINE.start(by, NewInstance("wf_1", "digest", {}), AGENT, NOW).instance
    return replace(begun, claim=held, **fields)


def test_a_running_claim_is_held_until_its_lease_ends() -> None:
    running = claim()
    assert running.is_held(LEASE - 0.001)
    assert not running.is_held(LEASE)
    for standing in ("waiting", "in_doubt"):
        assert not claim(standing).is_held(NOW)


def test_a_claim_after_its_lease_is_in_doubt_unless_it_is_resumable() -> None:
    assert not claim().is_in_doubt(LEASE - 0.001)
    assert claim().is_in_doubt(LEASE)
    assert not claim(resumable=True).is_in_doubt(LEASE)
    assert claim(repeatable=True, resumable=False).is_in_doubt(LEASE)
    assert claim("in_doubt", repeatable=True).is_in_doubt(NOW)
    assert not claim("waiting").is_in_doubt(LEASE)


@pytest.mark.parametrize(
    ("held", "at", "is_free"),
    [
        (claim(), LEASE - 1, False),
        (claim(), LEASE, False),
        (claim(resumable=True), LEASE - 1, False),
        (claim(resumable=True), LEASE, True),
        (claim("waiting"), LEASE - 1, False),
        (claim("waiting"), LEASE, True),
        (claim("waiting", awaits="answers"), LEASE + 99, False),
        (claim("in_doubt"), LEASE + 99, False),
        (claim("in_doubt", repeatable=True), LEASE + 99, False),
    ],
)
def test_a_claim_is_free_after_its_time_unless_it_is_in_doubt(held: Claim, at: float, is_free: bool) -> None:
    assert held.is_free(at) is is_free


@pytest.mark.parametrize(
    ("held", "at", "milliseconds"),
    [
        (claim(), NOW, 1_000),
        (claim("waiting", awaits="retry"), LEASE - 5, 5_000),
        (claim("waiting", awaits="retry"), LEASE - 500, 60_000),
        (claim("waiting", awaits="retry"), LEASE + 5, 200),
        (claim("waiting", awaits="workflow", until=NOW - 50), NOW, 1_000),
        (claim("waiting", awaits="answers"), LEASE + 5, 60_000),
    ],
)
def test_the_retry_time_of_a_claim_follows_its_end_within_limits(held: Claim, at: float, milliseconds: int) -> None:
    assert held.retry_after_ms(at) == milliseconds


def test_each_attempt_has_a_child_id_of_its_own() -> None:
    one = claim(child="wf_c")
    names = {child_id_of(replace(one, candidate=c, attempt=t)) for c in range(3) for t in range(3)}
    assert len(names) == 9


TIMED = definition(timeoutMs=60_000, onTimeout={"target": "late"})
REQUEST = ApprovalRequest("hr_1", "q", "agent", NOW, expires_at=NOW + 10, state="a")


@pytest.mark.parametrize(
    ("one", "at"),
    [
        (instance(), None),
        (instance(claim()), LEASE),
        (instance(claim("waiting", until=NOW + 7)), NOW + 7),
        (instance(claim("in_doubt")), None),
        (instance(claim("waiting", awaits="answers")), None),
        (instance(claim("waiting", awaits="workflow", gives_up_at=NOW + 9)), NOW + 9),
        (instance(claim("waiting", awaits="workflow")), LEASE + CHILD_CHECK_INTERVAL),
        (instance(claim("running", awaits="executor", gives_up_at=NOW + 9)), LEASE),
        (instance(claim("waiting", tainted=True, awaits="retry", until=NOW + 3)), NOW + 3),
        (instance(request=REQUEST), NOW + 10),
        (instance(request=replace(REQUEST, lapsed=True)), None),
        (instance(request=replace(REQUEST, state="b")), None),
        (instance(request=replace(REQUEST, expires_at=None)), None),
        (instance(claim(), request=REQUEST), NOW + 10),
    ],
)
def test_an_instance_is_due_at_the_earliest_of_its_ends(one: Instance, at: float | None) -> None:
    assert due_at(DEMO, one) == at


def test_a_deadline_is_due_unless_the_instance_has_ended_or_is_in_doubt() -> None:
    assert due_at(TIMED, instance(by=TIMED)) == NOW + 60
    assert due_at(TIMED, instance(claim(), TIMED)) == LEASE
    assert due_at(TIMED, instance(claim(until=NOW + 90), TIMED)) == NOW + 90  # what is executed is not interrupted
    assert due_at(TIMED, instance(claim("waiting", until=NOW + 90), TIMED)) == NOW + 60
    assert due_at(TIMED, instance(claim("waiting", until=NOW + 90, tainted=True), TIMED)) == NOW + 90
    assert due_at(TIMED, instance(claim("waiting", awaits="answers"), TIMED)) == NOW + 60
    assert due_at(TIMED, instance(claim("waiting", awaits="answers", tainted=True), TIMED)) is None
    assert due_at(TIMED, instance(claim("in_doubt"), TIMED)) is None  # it is resolved first
    assert due_at(TIMED, instance(by=TIMED, state="b")) is None
    assert due_at(TIMED, instance(claim(), TIMED, cancelled=Cancellation("carl", NOW))) is None


def test_a_write_condition_names_the_version_and_the_claim_token() -> None:
    assert instance().write_condition == WriteCondition(1)
    assert instance(claim()).write_condition == WriteCondition(1, "t")


# Orders.


def run_override(
    held: Claim | None, order: str, by: Principal, arguments: JsonObject | None = None, *, at: float = NOW, **more: Any
) -> Any:
    version = more.pop("version", 1)
    named: JsonObject = {} if order == CANCEL else {"claim": "t"}
    submitted = Submission(version, order, {**named, **(arguments or {})}, by)
    return apply_override(RESUMER, DEMO, instance(held, **more), submitted, at)


def refusal_code(found: Any) -> StepRefusalCode | None:
    return found.step.refusal.code if found.step.refusal is not None else None


IN_DOUBT = claim("in_doubt", attempt=2, until=NOW)


def test_only_reserved_transition_names_are_overrides() -> None:
    assert [is_override(Submission(1, name, {}, AGENT)) for name in (RETRY, RESOLVE, CANCEL, "go", "$go")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("order", [RETRY, RESOLVE])
def test_resolving_a_claim_in_doubt_needs_a_permission(order: str) -> None:
    said: JsonObject = {"happened": True} if order == RESOLVE else {}
    for by in (AGENT, STRANGER, CANCELLER):
        refused = run_override(IN_DOUBT, order, by, said)
        assert (refusal_code(refused), refused.repeated_claim) == ("GUARD_REJECTED", None)
        assert refused.step.instance.claim == IN_DOUBT
        assert [record.type for record in refused.step.records] == ["transition.rejected"]
    assert refusal_code(run_override(IN_DOUBT, order, RESOLVER, said)) is None


@pytest.mark.parametrize("order", [RETRY, RESOLVE])
def test_consent_allows_a_retry_without_the_permission_but_no_resolution(order: str) -> None:
    said: JsonObject = {"happened": True} if order == RESOLVE else {}
    found = run_override(replace(IN_DOUBT, repeatable=True), order, AGENT, said)
    assert refusal_code(found) == (None if order == RETRY else "GUARD_REJECTED")


@pytest.mark.parametrize("order", [RETRY, RESOLVE])
def test_an_execution_that_may_be_running_cannot_be_resolved(order: str) -> None:
    refused = run_override(replace(IN_DOUBT, until=NOW + 5), order, RESOLVER, {"happened": True})
    assert (refusal_code(refused), refused.step.refusal.retry_after_ms) == ("STALE_WORKFLOW_VERSION", 5_000)


@pytest.mark.parametrize("order", [RETRY, RESOLVE])
def test_an_override_of_another_claim_is_stale(order: str) -> None:
    refused = run_override(IN_DOUBT, order, RESOLVER, {"happened": True, "claim": "another"})
    assert refusal_code(refused) == "STALE_WORKFLOW_VERSION"


@pytest.mark.parametrize("order", [RETRY, RESOLVE])
def test_a_claim_that_is_not_in_doubt_cannot_be_resolved(order: str) -> None:
    said: JsonObject = {"happened": True} if order == RESOLVE else {}
    for held in (None, claim(), claim("waiting"), claim("running", resumable=True, until=NOW)):
        assert refusal_code(run_override(held, order, RESOLVER, said)) == "INVALID_TRANSITION"
    assert refusal_code(run_override(claim(), order, RESOLVER, said, at=LEASE)) is None


def test_an_override_of_another_version_is_stale() -> None:
    for order in (RETRY, RESOLVE, CANCEL):
        by = Principal("all", "acme", "t", permissions=frozenset({MAY_RESOLVE, MAY_CANCEL}))
        assert (
            refusal_code(run_override(IN_DOUBT, order, by, {"happened": True}, version=2)) == "STALE_WORKFLOW_VERSION"
        )


def test_a_retry_takes_the_claim_over_and_can_be_executed_at_once() -> None:
    found = run_override(IN_DOUBT, RETRY, RESOLVER, at=NOW + 5)
    taken = found.claim_with("new")
    assert taken == replace(IN_DOUBT, token="new", standing="waiting", since=NOW + 5, until=NOW + 5, tainted=True)
    assert found.step.pending.executor.kind == "stub"
    assert found.step.principal == AGENT  # whose step it is
    assert found.step.records[0].payload == {"by": "rosa"}


def test_an_execution_resolved_as_happened_continues_with_its_output() -> None:
    found = run_override(IN_DOUBT, RESOLVE, RESOLVER, {"happened": True, "output": {"id": 7}})
    after = found.step.instance
    assert (after.state, after.version, after.context, after.claim) == ("b", 2, {"went": {"id": 7}}, None)
    assert found.claim_with("new") is None


def test_an_execution_resolved_as_not_happened_only_releases_the_claim() -> None:
    found = run_override(IN_DOUBT, RESOLVE, RESOLVER, {"happened": False})
    after = found.step.instance
    assert (refusal_code(found), after) == (None, replace(instance(), claim=None))
    assert found.step.records[0].type == "executor.resolved"


@pytest.mark.parametrize("said", [{}, {"happened": "yes"}, {"happened": None}, {"output": 1}])
def test_a_resolution_needs_the_argument_happened(said: JsonObject) -> None:
    assert refusal_code(run_override(IN_DOUBT, RESOLVE, RESOLVER, said)) == "INPUT_SCHEMA_VIOLATION"


def test_starter_and_permitted_principal_can_cancel_an_instance() -> None:
    for by in (STRANGER, RESOLVER):
        assert refusal_code(run_override(None, CANCEL, by)) == "GUARD_REJECTED"
    for by in (AGENT, CANCELLER):
        for held in (None, claim("waiting"), claim("waiting", awaits="workflow")):
            after = run_override(held, CANCEL, by).step.instance
            assert (after.state, after.version, after.claim) == ("a", 2, None)
            left = None if held is None else "go"  # and nobody knows what comes of it
            assert after.cancelled == Cancellation(by.subject, NOW, left)


def test_an_instance_with_an_uncertain_execution_cannot_be_cancelled() -> None:
    for held, expected in (
        (claim(), "STALE_WORKFLOW_VERSION"),
        (claim("waiting", tainted=True), "STALE_WORKFLOW_VERSION"),
        (IN_DOUBT, "IN_DOUBT"),
    ):
        refused = run_override(held, CANCEL, AGENT)
        assert (refusal_code(refused), refused.step.instance.claim) == (expected, held)


def test_an_instance_that_has_ended_cannot_be_cancelled() -> None:
    assert refusal_code(run_override(None, CANCEL, AGENT, state="b")) == "INVALID_TRANSITION"
    assert refusal_code(run_override(None, CANCEL, AGENT, cancelled=Cancellation("carl", NOW))) == "INVALID_TRANSITION"


def test_a_claimed_instance_links_only_to_permitted_overrides_of_a_doubt() -> None:
    def shown(held: Claim | None, by: Principal, at: float = NOW) -> list[Any]:
        found: Any = build_links(DEMO, instance(held), by, at)
        return [link["args"]["transition"] for link in found]

    assert shown(None, AGENT) == ["go"]
    for by in (AGENT, RESOLVER):
        assert shown(claim(), by) == []
        assert shown(claim("waiting"), by) == []
    for held, at in ((IN_DOUBT, NOW), (claim(), LEASE)):
        assert shown(held, AGENT, at) == []
        assert shown(held, RESOLVER, at) == [RETRY, RESOLVE]


def test_an_approval_request_lapses_only_while_no_claim_is_held() -> None:
    """Whoever executes writes what there was when it began."""
    running, woken = instance(claim(), request=REQUEST), WakeUp(AGENT)
    assert ENGINE.advance(DEMO, running, woken, NOW + 20).instance is running
    after = ENGINE.advance(DEMO, replace(running, claim=None), woken, NOW + 20).instance
    assert after.request is not None
    assert after.request.lapsed

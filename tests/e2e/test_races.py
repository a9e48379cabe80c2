"""Many callers, one version: whatever is executed for a step is executed once, and everybody else is told so."""

import json
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from stage.faults import FAULTS_HEADER, LOST_ANSWER, LOST_REQUEST
from tests.support.effort import count_repetitions
from tests.support.executors import Executors
from tests.support.gateway_sandboxes import start_gateways
from tests.support.line_output import ShowLine
from tests.support.memory_gateway import GatewayAnswer
from tests.support.scripted_tenant import (
    ScriptedTenant,
    build_function_executor,
    build_submission,
    define_one_step,
    make_scripted_tenant,
)

pytestmark = pytest.mark.cloud

CALLERS, ROUNDS, MOST_ROUNDS = 16, count_repetitions(10, proof=50), 100
UNWRITTEN_MESSAGE = "It is unknown whether the submission was stored."
"""So begins the answer to a caller whose writes, or the answers to them, were lost until it had no time left."""
EXPECTED_FAULTS: Mapping[str, Sequence[str]] = {
    "UpdateItem": (LOST_REQUEST, LOST_ANSWER, "refused"),
    "PutItem": (LOST_REQUEST, LOST_ANSWER, "refused"),
    "TransactWriteItems": (LOST_REQUEST, LOST_ANSWER, "refused", "cancelled"),
}
"""What happened to the writes of a claim, of a refusal and of a settlement."""
STALE = "STALE_WORKFLOW_VERSION"


@pytest.fixture(scope="module")
def scripted_tenant(executors: Executors) -> ScriptedTenant:
    scripted_tenant = make_scripted_tenant(executors)
    counted = {"effect": "$.arguments.effect", "seconds": "$.arguments.seconds"}
    counting = define_one_step(
        executor=build_function_executor("trials::slow", arguments=counted), output={"by": "$.arguments.by"}
    )
    scripted_tenant.publish(workflows={"counting": counting})
    start_gateways(executors.gateway, scripted_tenant.key, CALLERS)
    return scripted_tenant


@pytest.fixture(scope="module")
def caller_threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(CALLERS) as threads:
        yield threads


def submit_concurrently(
    there: ScriptedTenant, callers: ThreadPoolExecutor, effect: str, seeds: Sequence[str]
) -> Sequence[GatewayAnswer]:
    """All of them want to take the same step, at the same time."""
    at, together = there.start("counting"), Barrier(CALLERS)

    def submit(caller: int) -> GatewayAnswer:
        arguments = {"effect": effect, "seconds": 0.02, "by": caller}
        headers = {FAULTS_HEADER: seeds[caller]} if seeds else {}
        together.wait()
        return there.send("workflow.submit", headers=headers, **build_submission(at, "go"), arguments=arguments)

    return list(callers.map(submit, range(CALLERS)))


def read_states(answers: Sequence[GatewayAnswer]) -> Sequence[Mapping[str, Any]]:
    """Those that were refused know where to look."""
    for answer in answers:
        assert answer.status == 200, answer.text
        assert "result" in answer.json, answer.text
    seen: Sequence[Mapping[str, Any]] = [answer.json["result"]["structuredContent"] for answer in answers]
    for one in seen:
        if "error" in one:
            assert "self" in [link["rel"] for link in one["links"]], one
    return seen


def check_one_winner(there: ScriptedTenant, seen: Sequence[Mapping[str, Any]], effect: str) -> None:
    """One has taken the step, and what it came to is what was kept."""
    codes = Counter(one.get("error", {}).get("code") for one in seen)
    refusals = Counter(one["error"]["message"] for one in seen if "error" in one)
    stand = there.get(seen[0]["workflowId"])
    assert codes == {None: 1, STALE: CALLERS - 1}, f"refusals {dict(refusals)}; it stands at {json.dumps(stand)}"
    (winner,) = [caller for caller, one in enumerate(seen) if "error" not in one]
    after = there.get(seen[winner]["workflowId"])
    assert (after["state"], after["version"], after["context"]) == ("done", 2, {"by": winner})
    assert there.executors.count_effect(effect) == 1


@pytest.mark.invariant(55)
def test_one_of_many_concurrent_submissions_takes_the_step(
    scripted_tenant: ScriptedTenant, caller_threads: ThreadPoolExecutor, show_line: ShowLine
) -> None:
    began = time.monotonic()
    for _ in range(ROUNDS):
        effect = f"race-{uuid.uuid4().hex}"
        check_one_winner(
            scripted_tenant, read_states(submit_concurrently(scripted_tenant, caller_threads, effect, ())), effect
        )
    show_line(f"{ROUNDS} rounds of {CALLERS} callers in {time.monotonic() - began:.1f} s")


@pytest.mark.invariant(55)
def test_one_submission_takes_the_step_while_the_table_has_faults(
    scripted_tenant: ScriptedTenant, caller_threads: ThreadPoolExecutor, show_line: ShowLine
) -> None:
    began, seed, happened = time.monotonic(), secrets.token_hex(4), Counter[str]()
    unwritten: dict[str, str] = {}
    show_line(f"seed {seed}")
    expected = {f"{write} {what}" for write, kinds in EXPECTED_FAULTS.items() for what in kinds}
    number = 0
    while number < ROUNDS or (number < MOST_ROUNDS and not expected <= happened.keys()):
        number += 1
        effect = f"race-{uuid.uuid4().hex}"
        seeds = [f"{seed}-{number}-{caller}" for caller in range(CALLERS)]
        answers = submit_concurrently(scripted_tenant, caller_threads, effect, seeds)
        seen = read_states(answers)
        if is_unwritten(seen):
            unwritten[effect] = seen[0]["workflowId"]
        else:
            check_one_winner(scripted_tenant, seen, effect)
        happened.update(
            fault for answer in answers for fault in answer.headers.get(FAULTS_HEADER, "").split(", ") if fault
        )
    rounds = f"{number} rounds of {CALLERS} callers with faults in {time.monotonic() - began:.1f} s"
    show_line(f"{rounds}, {len(unwritten)} of them unwritten: {dict(happened)}")
    assert set(happened) == expected
    assert len(unwritten) <= number / 2
    for effect, workflow_id in unwritten.items():
        check_unwritten(scripted_tenant, workflow_id, effect)


def is_unwritten(seen: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no caller was told that it took the step, and one was told that it may have: a slow machine retries
    seldom in the time that a claim has."""
    errors = [one["error"] for one in seen if "error" in one]
    return len(errors) == CALLERS and any(error["message"].startswith(UNWRITTEN_MESSAGE) for error in errors)


def check_unwritten(there: ScriptedTenant, workflow_id: str, effect: str) -> None:
    """It is shown whether the step was taken, may have been, or was not."""
    after, effects = there.wait_until_settled(workflow_id), there.executors.count_effect(effect)
    if "inDoubt" in after:
        assert effects <= 1
    else:
        assert (after["state"], effects) in {("done", 1), ("open", 0)}

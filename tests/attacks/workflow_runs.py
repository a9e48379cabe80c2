"""Workflows of a target: published past the checks, driven over HTTP, with steps whose effects are counted."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from signpost.adapters.s3 import S3Values
from signpost.directory.manifest import MANIFEST_REQUEST
from signpost.model import Principal
from stage.faults import FAULTS_HEADER
from tests.acceptance.callers import Credentials
from tests.attacks.attack import UnplayedError
from tests.attacks.target import Target
from tests.support.scripted_tenant import ScriptedTenant, WorkflowAnswer, build_function_executor, build_submission
from tests.support.tool_answers import read_tool_answer
from tests.support.waiting import wait_for

PAY = "shop::pay"
"""The function whose calls are the effects of a run."""
PATIENT_MS = 12_000
"""The timeout of `shop::pay` where an attack is not about time: a busy machine starts a sandbox in seconds."""
STALE, INVALID, REJECTED, VIOLATION = (
    "STALE_WORKFLOW_VERSION",
    "INVALID_TRANSITION",
    "GUARD_REJECTED",
    "INPUT_SCHEMA_VIOLATION",
)
ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
PAYMENT: Mapping[str, Any] = build_function_executor(PAY, arguments={})
DONE: Mapping[str, Any] = {"terminal": True}


def connect_workflows(target: Target) -> ScriptedTenant:
    bucket = target.stack.deployed.outputs["ContentBucketName"]
    return ScriptedTenant(target.executors, target.tenant, target.key, S3Values(lambda: target.on.s3, bucket))


def host_payments(there: ScriptedTenant, *, delay_ms: int = 0, timeout_ms: int = PATIENT_MS) -> None:
    """Host the function `shop::pay`, and start its sandbox: the first start takes longer than some of its timeouts."""
    there.executors.invoke("stub", json.loads(MANIFEST_REQUEST))
    there.host_scripts({PAY: [{"delayMs": delay_ms, "output": {"receipt": "R-1"}}]}, timeout_ms=timeout_ms)


def count_payments(there: ScriptedTenant) -> int:
    return len(there.list_calls(PAY))


def make_person(target: Target, subject: str, *roles: str) -> str:
    """Return the credential of a person who has logged in, with these roles."""
    principal = Principal(subject, target.tenant, "an attack", human=True, roles=frozenset(roles))
    return Credentials(target.laptop, target.stack).of(principal)


def make_name(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def define_loop(**transition: Any) -> Mapping[str, Any]:
    """Return a workflow whose transition `go` comes back to its state, so that it can be taken at every version."""
    return {"initialState": "open", "states": {"open": {"transitions": {"go": {"target": "open", **transition}}}}}


def read_code(seen: WorkflowAnswer) -> str | None:
    """Return the code of a refusal; None if the request was not refused."""
    return seen["error"]["code"] if "error" in seen else None


def expect_code(seen: WorkflowAnswer, *codes: str | None) -> None:
    """Raise UnplayedError unless the answer has one of these codes; None stands for an answer without a refusal."""
    if read_code(seen) not in codes:
        raise UnplayedError(f"expected {', '.join(map(str, codes))}, got {seen}")


def read_position(there: ScriptedTenant, workflow_id: str, key: str = "") -> tuple[str, int, Mapping[str, Any]]:
    """Return the state, version and context of a run."""
    seen = there.get(workflow_id, key)
    expect_code(seen, None)
    return seen["state"], seen["version"], seen["context"]


def find_transition(seen: WorkflowAnswer, name: str) -> WorkflowAnswer:
    """Return the link to a transition, as the answer gives it."""
    for link in seen["links"]:
        if link["args"].get("transition") == name:
            return link
    raise UnplayedError(f"expected a link to {name}, got {seen}")


def follow(there: ScriptedTenant, link: WorkflowAnswer, key: str = "", **changed: Any) -> Any:
    """Follow a link with its arguments, some of which are changed."""
    return there.call_tool(link["method"], key, **{**link["args"], **changed})


def submit_with_faults(there: ScriptedTenant, at: WorkflowAnswer, seed: str, **arguments: Any) -> tuple[Any, list[str]]:
    """Submit `go` while the writes of the gateway fail at random. Return the answer, and the faults that happened."""
    answer = there.send(
        "workflow.submit", headers={FAULTS_HEADER: seed}, **build_submission(at, "go"), arguments=arguments
    )
    if answer.status != 200:
        raise UnplayedError(f"expected an answer, got {answer.status} {answer.text[:500]}")
    return read_tool_answer(answer), [fault for fault in answer.headers.get(FAULTS_HEADER, "").split(", ") if fault]


def run_together[Answer](work: Callable[[int], Answer], callers: int) -> Sequence[Answer]:
    """Let each caller do its work at the same moment."""
    together = Barrier(callers)

    def run(caller: int) -> Answer:
        together.wait()
        return work(caller)

    with ThreadPoolExecutor(callers) as threads:
        return list(threads.map(run, range(callers)))


def wait_for_payment(there: ScriptedTenant, number: int = 1) -> None:
    wait_for(f"{number} payments", lambda: count_payments(there), lambda calls: calls >= number)


def wait_until_known(there: ScriptedTenant, workflow_id: str) -> Any:
    """Wait until the last step of a run is settled or in doubt. Sweep meanwhile, as the schedule does."""

    def look() -> Any:
        there.sweep()
        return there.get(workflow_id)

    return wait_for("the step to be settled or in doubt", look, lambda seen: "pending" not in seen)

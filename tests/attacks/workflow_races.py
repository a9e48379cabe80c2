"""Attacks on the execution of steps: races, retries, crashes, clocks and faults of the table."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from signpost.adapters import keys
from signpost.workflow.engine.permissions import MAY_RESOLVE
from signpost.workflow.wakes import WakeMessage
from stage.crashes import CRASH_STEP
from tests.attacks.attack import Attack, Outcome, UnplayedError, held, succeeded
from tests.attacks.defence import Defence, Removal
from tests.attacks.target import Target
from tests.attacks.workflow_removals import (
    ADMISSION,
    INSTANCE,
    INSTANCE_STORE,
    ROWS,
    RUNS,
    SERVICE,
    STEP_WRITER,
    STEPS,
    WAKEUPS,
)
from tests.attacks.workflow_runs import (
    PAYMENT,
    STALE,
    connect_workflows,
    count_payments,
    define_loop,
    expect_code,
    find_transition,
    follow,
    host_payments,
    make_name,
    read_code,
    read_position,
    run_together,
    submit_with_faults,
    wait_for_payment,
    wait_until_known,
)
from tests.support.gateway_sandboxes import start_gateways
from tests.support.scripted_tenant import ScriptedTenant, build_submission, define_one_step

CALLERS, ROUNDS, MOST_SEEDS = 6, 5, 40
SHORT_MS, FOR_WORKER_MS = 4_000, 40_000
"""Timeouts of a step whose lease ends soon, and of one that the worker executes."""
IN_FLIGHT_MS, IN_FLIGHT_TIMEOUT_MS = 8_000, 12_000
"""The duration and the timeout of a step that is attacked while it executes: a busy machine has time for the attack."""
TIMEOUT_MS, OVERRUN_MS = 3_000, 6_000
"""The timeout of a step, and the time that its function takes after it has acted."""


def race_for_one_step(target: Target) -> Outcome:
    there = connect_workflows(target)
    host_payments(there, delay_ms=300)
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT)})
    start_gateways(there.executors.gateway, there.key, CALLERS)
    for done in range(ROUNDS):
        at = there.start("paying")
        seen = run_together(lambda _, at=at: there.submit(at, "go"), CALLERS)
        codes = Counter(map(read_code, seen))
        payments = count_payments(there) - done
        if payments > 1 or codes[None] > 1:
            return succeeded(f"one step was executed {payments} times; the answers: {dict(codes)}")
        if payments != 1 or codes != {None: 1, STALE: CALLERS - 1}:
            raise UnplayedError(f"expected one winner, got {payments} executions and {dict(codes)}")
    return held(f"{ROUNDS} times {CALLERS} callers: one executed the step, the others got {STALE}")


def submit_during_execution(target: Target) -> Outcome:
    there = connect_workflows(target)
    host_payments(there, delay_ms=IN_FLIGHT_MS, timeout_ms=IN_FLIGHT_TIMEOUT_MS)
    paying = define_one_step(executor=PAYMENT)
    paying["states"]["open"]["transitions"]["leave"] = {"target": "done"}
    there.publish(workflows={"paying": paying})
    at = there.start("paying")
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(there.submit, at, "go")
        wait_for_payment(there)
        meanwhile = [there.submit(at, "go")]
        if first.done() and count_payments(there) == 1:
            raise UnplayedError("the step had ended before it was submitted again")
        meanwhile += [there.submit(at, move) for move in ("leave", "$cancel", "$retry")]
        first.result()
    codes, payments = [read_code(seen) for seen in meanwhile], count_payments(there)
    if payments > 1 or None in codes:
        return succeeded(f"{payments} executions; moves during the first one were answered {codes}")
    state, version, _ = read_position(there, at["workflowId"])
    if (state, version) != ("done", 2):
        raise UnplayedError(f"expected the step to be done, got {state}, {version}")
    return held(f"1 execution; moves during it were answered {codes}")


def submit_again_after_a_timeout(target: Target) -> Outcome:
    """The function acts, and then takes longer than its caller waits."""
    there = connect_workflows(target)
    host_payments(there, delay_ms=OVERRUN_MS, timeout_ms=OVERRUN_MS)
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT, reliability={"timeoutMs": TIMEOUT_MS})})
    at = there.start("paying")
    expect_code(there.submit(at, "go"), "EXECUTOR_FAILED")
    again = there.submit(at, "go")
    payments = count_payments(there)
    if payments > 1:
        return succeeded(f"{payments} executions: a timeout was taken for a step without effect")
    expect_code(again, "IN_DOUBT")
    return held("1 execution; the second submission was answered IN_DOUBT")


def start_again_after_a_lost_answer(target: Target) -> Outcome:
    """The gateway executes the first step of a start and dies; the client, or a proxy, sends the same request again."""
    there = connect_workflows(target)
    host_payments(there)
    there.publish(workflows={"paying": define_one_step(actor="deterministic", executor=PAYMENT)})
    there.get("wf_none")
    request: dict[str, Any] = {"definitionId": "paying", "input": {}, "clientToken": make_name("token")}
    died = there.send("workflow.start", headers={CRASH_STEP: "after lambda.Invoke"}, **request)
    if died.status < 500:
        raise UnplayedError(f"expected the gateway to die, got {died.status} {died.text[:300]}")
    again = [there.call_tool("workflow.start", **request) for _ in range(2)]
    payments, runs = count_payments(there), {seen.get("workflowId") for seen in again}
    if payments > 1 or len(runs) > 1:
        return succeeded(f"{payments} executions in {len(runs) + 1} runs, of one start that was sent three times")
    if payments != 1:
        raise UnplayedError(f"expected one execution, got {payments}")
    return held("1 execution, in one run, of a start that was sent three times")


def kill_between_effect_and_commit(target: Target) -> Outcome:
    there = connect_workflows(target)
    host_payments(there, timeout_ms=SHORT_MS)
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT)})
    at = there.start("paying")
    kill_submission(there, at, "before dynamodb.TransactWriteItems")
    seen = wait_until_known(there, at["workflowId"])
    again = there.submit(at, "go")
    payments = count_payments(there)
    if payments > 1:
        return succeeded(f"{payments} executions: the lost one was repeated without the author's consent")
    if "inDoubt" not in seen or payments != 1:
        raise UnplayedError(f"expected a step in doubt after one execution, got {payments} and {seen}")
    expect_code(again, "IN_DOUBT")
    return held("1 execution; the step is in doubt, and was not repeated by worker or client")


def kill_submission(there: ScriptedTenant, at: Mapping[str, Any], step: str) -> None:
    died = there.send("workflow.submit", headers={CRASH_STEP: step}, **build_submission(at, "go"))
    if died.status < 500:
        raise UnplayedError(f"expected the gateway to die {step}, got {died.status} {died.text[:300]}")


def write_late_over_a_resolution(target: Target) -> Outcome:
    """A clock that is ahead ends the lease of a running step. A person resolves it, and then its result arrives."""
    there = connect_workflows(target)
    host_payments(there, delay_ms=IN_FLIGHT_MS, timeout_ms=IN_FLIGHT_TIMEOUT_MS)
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT)})
    may_resolve = target.make_key("resolver", permissions=[MAY_RESOLVE])
    at = there.start("paying")
    there.get(at["workflowId"], may_resolve)
    with ThreadPoolExecutor(1) as threads:
        late = threads.submit(there.submit, at, "go")
        wait_for_payment(there)
        end_lease(target, at["workflowId"])
        resolved = follow(there, find_transition(there.get(at["workflowId"], may_resolve), "$resolve"), may_resolve)
        expect_code(resolved, None)
        if late.done():
            raise UnplayedError("the step had ended before it was resolved")
        answered = late.result()
    state, version, _ = read_position(there, at["workflowId"])
    if (state, version) != ("open", 1):
        return succeeded(f"a late result was written over the resolution: {state}, version {version}")
    expect_code(answered, STALE)
    return held(f"the late result was refused ({STALE}); the run stands as it was resolved")


def end_lease(target: Target, workflow_id: str) -> None:
    """Store the claim as a clock that is ahead sees it: its lease is over."""
    table = target.stack.deployed.outputs["WorkflowsTableName"]
    key = keys.workflow_row(target.tenant, workflow_id, keys.HEAD)
    head = target.on.dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]
    claim = json.loads(head["claim"]["S"]) | {"until": time.time() - 1, "busy_until": 0.0}
    target.on.dynamodb.update_item(
        TableName=table,
        Key=key,
        UpdateExpression="SET claim = :claim",
        ConditionExpression="claimed_by = :token",
        ExpressionAttributeValues={":claim": {"S": json.dumps(claim)}, ":token": head["claimed_by"]},
    )


def wake_twice_and_late(target: Target) -> Outcome:
    """The worker gets the message of a run again while it executes the step, and once more after the end."""
    there = connect_workflows(target)
    host_payments(there, delay_ms=IN_FLIGHT_MS, timeout_ms=FOR_WORKER_MS)
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT)})
    at = there.start("paying")
    expect_code(there.submit(at, "go"), None)
    wait_for_payment(there)
    record = build_wake_record(target, at["workflowId"])
    for _ in range(2):
        target.on.functions.invoke("Worker", {"Records": [record]})
    there.wait_until_settled(at["workflowId"])
    target.on.functions.invoke("Worker", {"Records": [record]})
    payments = count_payments(there)
    if payments > 1:
        return succeeded(f"{payments} executions of a step whose message was delivered again")
    state, version, _ = read_position(there, at["workflowId"])
    if (state, version) != ("done", 2):
        raise UnplayedError(f"expected the step to be done, got {state}, {version}")
    return held("1 execution, although its message was delivered four times, twice during the execution")


def build_wake_record(target: Target, workflow_id: str) -> Mapping[str, Any]:
    """Build the record of the queue that wakes a run."""
    body = WakeMessage(target.tenant, workflow_id).text
    attributes = {"ApproximateReceiveCount": "1"}
    return {"messageId": "again", "receiptHandle": "again", "body": body, "attributes": attributes}


def cancel_transactions(target: Target) -> Outcome:
    """Transactions are cancelled because of one of their rows, by a conflict or by throttling."""
    there = connect_workflows(target)
    there.publish(workflows={"counting": define_loop()})
    at, seen_kinds = there.start("counting"), Counter[str]()
    for number in range(MOST_SEEDS):
        answered, faults = submit_with_faults(there, at, make_name(f"cancel-{number}"))
        seen_kinds.update(faults)
        now = there.get(at["workflowId"])
        moved = now["version"] - at["version"]
        is_told_otherwise = read_code(answered) == STALE and answered["error"].get("outcome") != "unknown"
        if moved not in (0, 1) or is_told_otherwise or (read_code(answered) is None and moved != 1):
            return succeeded(f"{faults}: {moved} steps were stored, and the caller was told {answered}")
        at = now
        if seen_kinds["TransactWriteItems cancelled"] >= ROUNDS:
            return held(f"each step was stored once or reported as unknown, with {dict(seen_kinds)}")
    raise UnplayedError(f"too few transactions were cancelled: {dict(seen_kinds)}")


def throttle_the_settlement(target: Target) -> Outcome:
    """The table throttles the writes around an execution."""
    there = connect_workflows(target)
    host_payments(there, timeout_ms=SHORT_MS)
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT)})
    there.submit(there.start("paying"), "go")
    happened, before = Counter[str](), 1
    for number in range(MOST_SEEDS):
        at = there.start("paying")
        _, faults = submit_with_faults(there, at, make_name(f"throttle-{number}"))
        seen, payments = wait_until_known(there, at["workflowId"]), count_payments(there)
        executions, before = payments - before, payments
        if executions > 1 or (executions == 1 and seen["state"] != "done"):
            return succeeded(f"{faults}: {executions} executions, and the run is {seen['state']}")
        happened.update(fault for fault in faults if fault.startswith("TransactWriteItems"))
        if len(happened) >= 3 and happened["TransactWriteItems refused"]:
            return held(f"every result was stored, and no step repeated, with {dict(happened)}")
    raise UnplayedError(f"too few writes were throttled: {dict(happened)}")


RACE_ATTACKS = (
    Attack(
        "F1",
        f"Submit one step {CALLERS} times at the same version, at the same moment",
        race_for_one_step,
        (
            Defence(
                "condition-of-claims",
                "the condition of claims",
                (Removal(INSTANCE_STORE, " AND attribute_not_exists(claimed_by)", ""),),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F2",
        "Submit while the step is executed: the same move, another one, `$cancel`, `$retry`",
        submit_during_execution,
        (
            Defence(
                "refusal-during-execution",
                "the refusal of moves during an execution",
                (
                    Removal(
                        ADMISSION,
                        "    if instance.claim is not None:\n",
                        "    if instance.claim is not None and not name:\n",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F3",
        "Submit again after the function acted and then timed out",
        submit_again_after_a_timeout,
        (
            Defence(
                "claim-kept-in-doubt",
                "the claim that is kept while a result is unknown",
                (
                    Removal(
                        STEP_WRITER,
                        "if refusal is not None and refusal.in_doubt:",
                        "if refusal is not None and refusal.in_doubt and self._executed_claim is None:",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F4",
        "Send a start again whose answer was lost, as clients and proxies do",
        start_again_after_a_lost_answer,
        (
            Defence(
                "run-id-of-client-token",
                "the id of a run that follows from the client's token",
                (
                    Removal(
                        SERVICE,
                        "        if request.client_token is None:\n",
                        "        if request.workflow_id is None:\n",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F5",
        "Kill the gateway between the effect and the write of its result",
        kill_between_effect_and_commit,
        (
            Defence(
                "consent-to-repetition",
                "the author's consent to repetition",
                (
                    Removal(
                        INSTANCE,
                        'self.standing == "running" and not self.resumable and not self.is_held(now)',
                        'self.standing == "running" and not self.resumable and not self.job',
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F21",
        "End a lease by a clock that is ahead, and write the late result over a resolution",
        write_late_over_a_resolution,
        (
            Defence(
                "token-of-the-claim",
                "the token of the claim in every write",
                (
                    Removal(
                        INSTANCE_STORE,
                        '"version = :version AND claimed_by = :token"',
                        '"version = :version AND (claimed_by = :token OR attribute_exists(pk))"',
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F24",
        "Deliver the message of a run again, during its execution and after its end",
        wake_twice_and_late,
        (
            Defence(
                "lease-of-the-worker",
                "the lease that a worker respects",
                (Removal(WAKEUPS, "if claim is None or not claim.is_free(now) or not", "if claim is None or not"),),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F28",
        "Cancel transactions because of one of their rows",
        cancel_transactions,
        (
            Defence(
                "reasons-of-cancellations",
                "the reading of each reason of a cancellation",
                (Removal(ROWS, 'if "ConditionalCheckFailed" in reasons:', "if reasons:"),),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F29",
        "Throttle the table between the effect and the write of its result",
        throttle_the_settlement,
        (
            Defence(
                "repeated-settlement",
                "the repetition of a write that the table does not take",
                (
                    Removal(
                        STEP_WRITER,
                        "if self._clock.now() + WRITE_RETRY_PAUSE >= until:",
                        "if self._clock.now() + WRITE_RETRY_PAUSE >= 0:",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
)

"""Attacks on the record of a run: steps without audit or event, and a bus that refuses events."""

import json
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from signpost.adapters import keys
from tests.attacks.attack import Attack, Outcome, UnplayedError, held, succeeded
from tests.attacks.defence import Defence, Removal
from tests.attacks.target import Target
from tests.attacks.workflow_races import kill_submission
from tests.attacks.workflow_removals import EVENT_BUS, INSTANCE_STORE, RUNS, STEPS
from tests.attacks.workflow_runs import (
    INVALID,
    connect_workflows,
    define_loop,
    expect_code,
    make_name,
    submit_with_faults,
)
from tests.support.deployed_workflows import EventListener
from tests.support.scripted_tenant import define_one_step

MOVED = "workflow.transitioned"
ARRIVAL_SECONDS = 60.0
MOST_SEEDS, WANTED_FAULTS = 40, 4
BUS_VARIABLE, ANY_BUS = "EVENT_BUS", "any-bus"
NO_BUS = "arn:aws:events:us-east-1:000000000000:rule/none"
"""No name of a bus. EventBridge answers it with an error for each event, in an answer that succeeds."""

AUDIT_IN_THE_TRANSACTION = Defence(
    "audit-in-the-transaction",
    "the audit in the transaction of the step",
    (
        Removal(
            INSTANCE_STORE,
            "*(rows.build_put(self._table, row) for row in audit),",
            "",
        ),
    ),
    STEPS,
)


def kill_between_commit_and_event(target: Target) -> Outcome:
    there = connect_workflows(target)
    there.publish(workflows={"moving": define_one_step()})
    listener = EventListener(target.workflows)
    at = there.start("moving")
    kill_submission(there, at, "after dynamodb.TransactWriteItems")
    now = there.get(at["workflowId"])
    if now["version"] != 2:
        raise UnplayedError(f"expected the step to be stored, got {now}")
    expect_code(there.submit(now, "later"), INVALID)  # recorded after the step, in a write of its own
    audit = target.workflows.list_bus_events(at["workflowId"])
    if missing := listener.find_missing(audit, ARRIVAL_SECONDS):
        raise UnplayedError(f"events of the audit have not arrived: {missing}")
    types = Counter(event for workflow_id, _, event, _ in listener.received_events if workflow_id == at["workflowId"])
    if types[MOVED] != 1:
        return succeeded(f"the step is stored, and the bus was told only of {dict(types)}")
    return held(f"the bus was told of the step although the gateway died after it: {dict(types)}")


def fail_the_write_of_the_audit(target: Target) -> Outcome:
    """Transactions fail because of the row of the audit, or because of all rows, or their answer is lost."""
    there = connect_workflows(target)
    there.publish(workflows={"counting": define_loop()})
    at, happened = there.start("counting"), Counter[str]()
    for number in range(MOST_SEEDS):
        _, faults = submit_with_faults(there, at, make_name(f"audit-{number}"))
        happened.update(faults)
        at = there.get(at["workflowId"])
        steps, written = at["version"] - 1, there.list_audit_types(at["workflowId"]).count(MOVED)
        if steps != written:
            return succeeded(f"{steps} steps are stored, and {written} are in the audit, after {faults}")
        if happened["TransactWriteItems cancelled"] >= WANTED_FAULTS and steps:
            return held(f"{steps} steps and {written} records, with {dict(happened)}")
    raise UnplayedError(f"too few transactions failed: {dict(happened)}")


def refuse_events_at_the_bus(target: Target) -> Outcome:
    """The bus answers the call, and says of each event that it was not taken. Lambda asks which records to repeat."""
    there = connect_workflows(target)
    there.publish(workflows={"moving": define_one_step()})
    at = there.start("moving")
    event = _build_stream_event(target, at["workflowId"])
    functions = target.on.functions
    with functions.disable_event_sources("Herald"), _refusing_bus(target):
        answer = functions.invoke("Herald", event)
    if answer is None:
        raise UnplayedError("the function failed as a whole")
    failures: Sequence[Mapping[str, str]] = answer["batchItemFailures"]
    if not failures:
        return succeeded("events that the bus refused were reported as delivered, so they are lost")
    if failures != [{"itemIdentifier": event["Records"][0]["dynamodb"]["SequenceNumber"]}]:
        raise UnplayedError(f"expected the first record to be repeated, got {failures}")
    listener = EventListener(target.workflows)
    if functions.invoke("Herald", event) is None:
        raise UnplayedError("the repeated batch failed")
    if missing := listener.find_missing(target.workflows.list_bus_events(at["workflowId"]), ARRIVAL_SECONDS):
        raise UnplayedError(f"events have not arrived: {missing}")
    return held("the batch is repeated from the first refused event, and nothing is lost")


@contextmanager
def _refusing_bus(target: Target) -> Generator[None]:
    """Name a bus to the workflow relay that does not exist, and allow its role to use it: the call succeeds, and its
    answer has an error for each event."""
    functions, iam = target.on.functions, target.laptop.client("iam")
    configuration = functions.lambdas.get_function_configuration(FunctionName=functions.find_name("Herald"))
    bus, role = configuration["Environment"]["Variables"][BUS_VARIABLE], configuration["Role"].rpartition("/")[2]
    statement = {"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=role, PolicyName=ANY_BUS, PolicyDocument=policy)
    functions.configure("Herald", **{BUS_VARIABLE: NO_BUS})
    try:
        yield
    finally:
        functions.configure("Herald", **{BUS_VARIABLE: bus})
        iam.delete_role_policy(RoleName=role, PolicyName=ANY_BUS)


def _build_stream_event(target: Target, workflow_id: str) -> Mapping[str, Any]:
    """Build the records that the stream of the table delivers of the run's audit."""
    found: Sequence[Any] = target.on.dynamodb.query(
        TableName=target.stack.deployed.outputs["WorkflowsTableName"],
        KeyConditionExpression="pk = :pk AND begins_with(sk, :audit)",
        ExpressionAttributeValues={
            ":pk": {"S": keys.workflow(target.tenant, workflow_id)},
            ":audit": {"S": keys.AUDIT},
        },
    )["Items"]
    if not found:
        raise UnplayedError(f"the run {workflow_id} has no audit")
    return json.loads(
        json.dumps(
            {"Records": [{"dynamodb": {"NewImage": row, "SequenceNumber": str(n)}} for n, row in enumerate(found)]}
        )
    )


RECORD_ATTACKS = (
    Attack(
        "F6",
        "Kill the gateway between the write of a step and its event",
        kill_between_commit_and_event,
        (AUDIT_IN_THE_TRANSACTION,),
    ),
    Attack(
        "F24.1",
        "Have the bus refuse events in an answer that succeeds",
        refuse_events_at_the_bus,
        (
            Defence(
                "result-of-each-event",
                "the reading of the result of each event",
                (
                    Removal(
                        EVENT_BUS,
                        'return ["EventId" in entry and "ErrorCode" not in entry for entry in answer["Entries"]]',
                        'return [True for _ in answer["Entries"]]',
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F30",
        "Make the write of the audit fail",
        fail_the_write_of_the_audit,
        (AUDIT_IN_THE_TRANSACTION,),
    ),
)

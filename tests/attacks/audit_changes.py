"""Attacks on the entries of the audit: changes in the table, past every function, and times that go backwards.

The attacker writes rows of the table. An attack has succeeded if the operator's command `signpost workflow verify`
accepts the run afterwards.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from signpost.adapters import keys
from signpost.adapters.dynamodb.run_records import DynamoRunRecords
from signpost.workflow.hash_links import hash_link
from signpost.workflow.instance import AuditEvent
from signpost.workflow.running.linked_writes import build_record
from signpost.workflow.running.serialization import audit_of, link_of
from signpost.workflow.running.verification import RunRecord
from stage.clocks import CLOCK_BEHIND
from tests.attacks.attack import Attack, Outcome, UnplayedError, held, succeeded
from tests.attacks.defence import APART, Defence, Removal
from tests.attacks.target import Target
from tests.attacks.workflow_removals import HASH_LINKS, LINKED_WRITES, RUNS, VERIFICATION
from tests.attacks.workflow_runs import connect_workflows, define_loop, expect_code

ENTRIES = 3
HOUR = 3600
INNOCENT = "an-innocent-caller"

type Row = Mapping[str, Any]


def change_an_entry(target: Target) -> Outcome:
    run = _record_run(target)
    entry = _list_entries(target, run)[1]
    _store(target, {**entry, "subject": {"S": INNOCENT}})
    return _judge(target, run, "the entry names another caller")


def write_without_a_hash(target: Target) -> Outcome:
    run = _record_run(target)
    entry = _list_entries(target, run)[-1]
    (event, *_) = _read_events(entry)
    key = keys.workflow_row(target.tenant, run, keys.audit(event.at + 1.0, "cor_forged"))
    _store(target, {**{name: value for name, value in entry.items() if name != "link"}, **key})
    return _judge(target, run, "an entry was added that has no hash")


def move_letters_between_fields(target: Target) -> Outcome:
    """`open` and `go` become `openg` and `o`: written one after the other, both read the same."""
    run = _record_run(target)
    entry = _list_entries(target, run)[1]
    events: Sequence[Any] = json.loads(entry["text"]["S"])
    (payload,) = (event["payload"] for event in events if event["type"] == "workflow.transitioned")
    letter, rest = payload["transition"][0], payload["transition"][1:]
    payload.update(state=payload["state"] + letter, transition=rest)
    _store(target, {**entry, "text": {"S": json.dumps(events)}})
    return _judge(target, run, f"the entry says {payload['state']} and {payload['transition']}")


def break_the_link(target: Target) -> Outcome:
    """Let an entry follow another one than it does, and give it the hash that fits."""
    run = _record_run(target)
    entry = _list_entries(target, run)[1]
    link = link_of(entry["link"]["S"])
    written = _list_rows(target, run, keys.history(link.version))
    history = json.loads(written[0]["text"]["S"])
    forged = replace(link, previous="0" * len(link.hash))
    forged = replace(forged, hash=hash_link(forged, build_record(target.tenant, run, history, _read_events(entry))))
    for row in (*written, entry):
        _store(target, {**row, "link": {"S": json.dumps(asdict(forged))}})
    return _judge(target, run, "the entry names no entry before it")


def let_times_go_backwards(target: Target) -> Outcome:
    """Two steps are taken by a gateway whose clock is right, the next one by a gateway whose clock is behind."""
    there = connect_workflows(target)
    there.publish(workflows={"counting": define_loop()})
    at = there.submit(there.start("counting"), "go")
    target.on.functions.configure("Gateway", **{CLOCK_BEHIND: str(HOUR)})
    try:
        expect_code(there.submit(at, "go"), None)
    finally:
        target.on.functions.configure("Gateway", **{CLOCK_BEHIND: None})
    times = [event.at for row in _read_record(target, at["workflowId"]).audit for event in row.events]
    by_number = _list_times_by_number(_read_record(target, at["workflowId"]))
    if len(by_number) != len(times):
        raise UnplayedError(f"expected entries with links only, got {times}")
    if by_number != sorted(by_number):
        return succeeded(f"the times of the entries go backwards: {by_number}")
    _expect_verified(target, at["workflowId"])
    return held("an entry of a gateway whose clock is an hour behind has the time of the entry before it")


def _list_times_by_number(record: RunRecord) -> Sequence[float]:
    """Return the times of the events in the order in which they were written."""
    linked = [(row.link.number, row.events) for row in record.audit if row.link is not None]
    return [event.at for _, events in sorted(linked, key=lambda write: write[0]) for event in events]


def _record_run(target: Target) -> str:
    """Return the id of a run with three entries, which the command accepts."""
    there = connect_workflows(target)
    there.publish(workflows={"counting": define_loop()})
    at = there.start("counting")
    for _ in range(ENTRIES - 1):
        at = there.submit(at, "go")
        expect_code(at, None)
    if len(_list_entries(target, at["workflowId"])) != ENTRIES:
        raise UnplayedError(f"expected {ENTRIES} entries in the audit")
    _expect_verified(target, at["workflowId"])
    return at["workflowId"]


def _expect_verified(target: Target, run: str) -> None:
    done = target.run_command("workflow", "verify", run)
    if done.returncode != 0:
        raise UnplayedError(f"the run was not accepted as it was written: {done.stderr}")


def _judge(target: Target, run: str, change: str) -> Outcome:
    done = target.run_command("workflow", "verify", run)
    if done.returncode == 0:
        return succeeded(f"{change}, and the command accepts the run: {done.stdout.strip()}")
    if "does not agree with its hashes" not in done.stderr:
        raise UnplayedError(f"expected the place that does not agree, got {done.stderr}")
    return held(f"{change}: {done.stderr.splitlines()[0]}")


def _list_entries(target: Target, run: str) -> Sequence[Row]:
    return _list_rows(target, run, keys.AUDIT)


def _list_rows(target: Target, run: str, prefix: str) -> Sequence[Row]:
    return target.on.dynamodb.query(
        TableName=_table_of(target),
        ConsistentRead=True,
        KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
        ExpressionAttributeValues={":pk": {"S": keys.workflow(target.tenant, run)}, ":sk": {"S": prefix}},
    )["Items"]


def _store(target: Target, row: Row) -> None:
    target.on.dynamodb.put_item(TableName=_table_of(target), Item=row)


def _read_events(entry: Row) -> Sequence[AuditEvent]:
    return audit_of(entry["text"]["S"], entry["correlation"]["S"], entry["subject"]["S"])


def _read_record(target: Target, run: str) -> RunRecord:
    records = DynamoRunRecords(target.on.dynamodb, _table_of(target), target.workflows.instances)
    record = records.read_record(target.tenant, run)
    if record is None:
        raise UnplayedError(f"there is no run {run}")
    return record


def _table_of(target: Target) -> str:
    return target.stack.deployed.outputs["WorkflowsTableName"]


AUDIT_ATTACKS = (
    Attack(
        "A8.1",
        "Change an entry of the audit",
        change_an_entry,
        (
            Defence(
                "hash-of-a-write",
                "the comparison of each write with its hash",
                (
                    Removal(
                        VERIFICATION,
                        "if link.hash != hash_link(link, _build_write_record(record, write)):",
                        "if not link.hash:",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "A8.2",
        "Write an entry without a hash",
        write_without_a_hash,
        (
            Defence(
                "hash-of-every-row",
                "the refusal of rows without a hash",
                (Removal(VERIFICATION, "    yield from _find_rows_without_link(record, writes[1])\n", ""),),
                RUNS,
            ),
        ),
    ),
    Attack(
        "A8.3",
        "Find two entries with the same hash by moving letters between fields",
        move_letters_between_fields,
        (
            Defence(
                "names-and-ends-in-the-hash",
                "the names and ends of values in the hashed text",
                (
                    Removal(
                        HASH_LINKS,
                        "    return sha256(text.encode()).hexdigest()",
                        "    join: object = lambda members: ''.join(str(value) for _, value in members)\n"
                        "    text = str(json.loads(text, object_pairs_hook=join))\n"
                        "    return sha256(text.encode()).hexdigest()",
                    ),
                ),
                APART,  # without the comparison of hashes, any two entries would do
            ),
        ),
    ),
    Attack(
        "A8.5",
        "Break the link of an entry to the one before",
        break_the_link,
        (
            Defence(
                "hash-of-the-write-before",
                "the comparison with the hash of the write before",
                (
                    Removal(
                        VERIFICATION,
                        'if link.previous != ("" if before is None else before.link.hash):',
                        "if link.previous == link.hash:",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "A8.7",
        "Write entries whose times go backwards",
        let_times_go_backwards,
        (
            Defence(
                "times-after-the-last-write",
                "the time of the last write as the earliest of the next",
                (
                    Removal(
                        LINKED_WRITES, "    earliest = 0.0 if newest is None else newest.at\n", "    earliest = 0.0\n"
                    ),
                ),
                RUNS,
            ),
        ),
    ),
)

"""The page on events names every event of a step, and what becomes of everything that is recorded of one."""

import ast
import json
import re

import pytest

from local.stack import PROJECT
from signpost.cli.runs.timeline import SENTENCES
from signpost.workflow import audit_events
from signpost.workflow.audit_events import PUBLISHED_FIELDS, TRANSITIONED, WITHHELD_FIELDS
from signpost.workflow.instance import AuditEvent, AuditRecord
from signpost.workflow.running.bus_events import WorkflowAuditEvent, build_bus_event

PAGE = (PROJECT / "docs/events.md").read_text()
PACKAGE = PROJECT / "layers/shared/python/signpost"
MODULE = PACKAGE / "workflow/audit_events.py"
READS_STORED_RECORDS = PACKAGE / "workflow/running/serialization.py"
TYPES = {value for name, value in vars(audit_events).items() if name.isupper() and isinstance(value, str)}


def test_the_table_lists_exactly_the_events() -> None:
    (table,) = re.findall(r"^\| detail-type \| what happened .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    described = {name for row in table.strip().splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    assert len(TYPES) > 25
    assert described == TYPES


def test_only_the_module_of_audit_events_makes_records() -> None:
    makers = {path for path in PACKAGE.rglob("*.py") if re.search(r"\bAuditRecord\(", path.read_text())}
    assert makers == {MODULE, READS_STORED_RECORDS}


def test_every_event_has_a_sentence_in_the_timeline() -> None:
    assert TYPES - {TRANSITIONED} <= SENTENCES.keys() <= TYPES


@pytest.mark.invariant(53)
def test_every_recorded_field_is_either_published_or_withheld() -> None:
    nodes = [node for node in ast.walk(ast.parse(MODULE.read_text())) if isinstance(node, ast.Dict)]
    fields = {key.value for node in nodes for key in node.keys if isinstance(key, ast.Constant)}
    assert len(fields) > 20
    assert fields == PUBLISHED_FIELDS | WITHHELD_FIELDS
    assert not PUBLISHED_FIELDS & WITHHELD_FIELDS
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert named >= PUBLISHED_FIELDS


def test_the_documented_event_is_the_event_that_is_sent() -> None:
    (shown,) = [
        json.loads(block)
        for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        if '"workflow.transitioned"' in block
    ]
    record = AuditRecord("workflow.transitioned", {"transition": "approve", "state": "released", "version": 3})
    event = build_bus_event(
        WorkflowAuditEvent("acme", "wf_2c9f", AuditEvent(record, 1_795_003_200.25, "cor_81d0", "ann"), "5fd0…")
    )
    sent = {"source": event.source, "detail-type": event.type, "detail": json.loads(event.detail)}
    assert {**sent, "resources": list(event.resources)} == shown


def test_the_documented_rule_matches_an_event() -> None:
    (rule,) = [
        json.loads(block)
        for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        if '"workflow.completed"' in block
    ]
    ended = AuditRecord("workflow.completed", {"state": "released"})
    event = build_bus_event(WorkflowAuditEvent("acme", "wf_1", AuditEvent(ended, 1.0, "cor_1", "ann")))
    assert event.source in rule["source"]
    assert event.type in rule["detail-type"]
    assert set(rule["resources"]) <= set(event.resources)

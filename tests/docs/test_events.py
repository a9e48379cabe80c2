"""The page on events names every event of a step, and what becomes of everything that is recorded of one."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence

import pytest

from local.stack import PROJECT
from signpost.workflow.instance import AuditEvent, AuditRecord
from signpost.workflow.running.bus_events import (
    PUBLISHED_FIELDS,
    WITHHELD_FIELDS,
    WorkflowAuditEvent,
    build_bus_event,
)

PAGE = (PROJECT / "docs/events.md").read_text()
SOURCES = PROJECT / "layers/shared/python/signpost"
type Nodes = Sequence[ast.AST]
"""All of a module."""
FILES = sorted([*SOURCES.glob("workflow/**/*.py"), *SOURCES.glob("*.py")])
TREES: Sequence[Nodes] = [list(ast.walk(ast.parse(path.read_text()))) for path in FILES]
RECORDING = {"_record", "AuditRecord", "record_event"}


def recorded() -> Iterator[tuple[Nodes, ast.Call]]:
    for tree in TREES:
        for node in tree:
            if isinstance(node, ast.Call) and name_of(node.func) in RECORDING and node.args:
                yield tree, node


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def meanings(tree: Nodes, node: ast.expr) -> Iterator[ast.expr]:
    """Itself, what a name stands for, and each of several."""
    if isinstance(node, ast.Name):
        for one in tree:
            if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign) and one.value is not None:
                targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                if node.id in map(name_of, targets):
                    yield from either(one.value)
        yield from passed(tree, node.id)
    else:
        yield from either(node)


def either(node: ast.expr) -> Sequence[ast.expr]:
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def passed(tree: Nodes, parameter: str) -> Iterator[ast.expr]:
    """To functions that have a parameter of this name."""
    for function in (one for one in tree if isinstance(one, ast.FunctionDef)):
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args) if one.arg != "self"]
        for call in (one for one in tree if isinstance(one, ast.Call)):
            if name_of(call.func) == function.name and parameter in names[: len(call.args)]:
                yield call.args[names.index(parameter)]


def types_of(tree: Nodes, call: ast.Call) -> Iterator[str]:
    """A constant may be another module's."""
    named = call.args[0]
    if isinstance(named, ast.JoinedStr):
        before, after = named.values
        assert isinstance(before, ast.Constant)
        assert isinstance(after, ast.FormattedValue)
        yield from (f"{before.value}{text}" for text in texts(meanings(tree, after.value)))
    for place in (tree, *TREES):
        yield from (text for text in texts(meanings(place, named)) if "." in text)


def texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def members_of(tree: Nodes, call: ast.Call) -> Iterator[str]:
    yield from (keyword.arg for keyword in call.keywords if keyword.arg is not None)
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg is None)]
    for one in (one for argument in given for one in meanings(tree, argument)):
        if isinstance(one, ast.Dict):
            yield from texts(key for key in one.keys if key is not None)


def test_every_event_is_in_the_table_and_nothing_else() -> None:
    types = {kind for tree, call in recorded() for kind in types_of(tree, call)}
    (table,) = re.findall(r"^\| detail-type \| what happened .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    described = {name for row in table.strip().splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    assert len(types) > 10
    assert described == types


@pytest.mark.invariant(53)
def test_of_everything_that_is_recorded_somebody_has_decided_whether_the_bus_is_told() -> None:
    members = {member for tree, call in recorded() for member in members_of(tree, call)}
    assert len(members) > 20
    assert members <= PUBLISHED_FIELDS | WITHHELD_FIELDS
    assert not PUBLISHED_FIELDS & WITHHELD_FIELDS
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert named >= PUBLISHED_FIELDS


def test_the_event_that_it_shows_is_the_event_that_is_sent() -> None:
    (shown,) = [
        json.loads(block)
        for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        if '"workflow.transitioned"' in block
    ]
    record = AuditRecord("workflow.transitioned", {"transition": "approve", "state": "released", "version": 3})
    event = build_bus_event(
        WorkflowAuditEvent("acme", "wf_2c9f", AuditEvent(record, 1_795_003_200.25, "cor_81d0", "ann"))
    )
    sent = {"source": event.source, "detail-type": event.type, "detail": json.loads(event.detail)}
    assert {**sent, "resources": list(event.resources)} == shown


def test_the_rule_that_it_shows_hears_of_events_that_there_are() -> None:
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

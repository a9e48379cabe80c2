"""What becomes of an instance, with executors played by the test."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, override

import pytest

from signpost.adapters.alarm import alarm
from signpost.errors import StepRefusalCode
from signpost.model import Json, JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_definition
from signpost.workflow.engine import size_limits
from signpost.workflow.engine.actors import MAY_ACT_AS_SYSTEM
from signpost.workflow.engine.argument_schemas import ANY_ARGUMENTS, NO_ARGUMENTS
from signpost.workflow.engine.engine import Engine, NewInstance
from signpost.workflow.engine.links import build_links
from signpost.workflow.engine.steps import (
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorReport,
    PendingExecution,
    StatusCheck,
    Step,
    Submission,
)
from signpost.workflow.instance import ApprovalRequest, EvidenceItem, Instance

AGENT = Principal("agent-1", "acme", "test")
PERSON = Principal("carol", "acme", "test", permissions=frozenset({"approve"}), human=True)
NOW = 1_000.0
DONE: JsonObject = {"terminal": True}


def definition(**fields: Any) -> Definition:
    found = parse_definition("demo", fields)
    assert isinstance(found, Definition), found
    return found


def step(target: str, **fields: Any) -> JsonObject:
    return {"target": target, **fields}


def automatic(target: str, **fields: Any) -> JsonObject:
    return step(target, actor="deterministic", **fields)


def state(**transitions: JsonObject) -> JsonObject:
    return {"transitions": transitions}


def expression_guards(expression: str) -> Any:
    return [{"kind": "expr", "expr": expression}]


def stub(name: str) -> JsonObject:
    return {"kind": "stub", "id": name}


class ScriptedRun:
    """An instance and its executors, which answer one script entry after the other."""

    def __init__(
        self, definition: Definition, scripts: Mapping[str, Sequence[ExecutorOutcome | ExecutorFailure]] | None = None
    ) -> None:
        self._definition = definition
        self._scripts = {name: list(script) for name, script in (scripts or {}).items()}
        self._engine = Engine(Validators(alarm))
        self.ran: list[str] = []
        self.last = self._played(
            self._engine.start(definition, NewInstance("wf_1", "digest", {"region": "eu"}), AGENT, NOW)
        )

    @property
    def instance(self) -> Instance:
        return self.last.instance

    @property
    def code(self) -> StepRefusalCode | None:
        return self.last.refusal.code if self.last.refusal else None

    @property
    def linked(self) -> list[str]:
        return [link["args"]["transition"] for link in self.links()]

    def links(self, principal: Principal = AGENT) -> Sequence[Any]:
        return build_links(self._definition, self.instance, principal, self.last.at)

    def submit(
        self,
        transition: str,
        arguments: JsonObject | None = None,
        *,
        version: int | None = None,
        principal: Principal = AGENT,
        now: float = NOW,
    ) -> Step:
        expected = self.instance.version if version is None else version
        event = Submission(expected, transition, arguments or {}, principal)
        self.last = self._played(self._engine.advance(self._definition, self.instance, event, now))
        return self.last

    def look(self, now: float, principal: Principal = AGENT) -> Step:
        self.last = self._played(self._engine.advance(self._definition, self.instance, StatusCheck(principal), now))
        return self.last

    def _played(self, step: Step) -> Step:
        while step.pending is not None:
            outcome = self._perform(step.pending)
            step = self._engine.advance(self._definition, step.instance, ExecutorReport(step.pending, outcome), NOW)
        return step

    def _perform(self, doing: PendingExecution) -> ExecutorOutcome | ExecutorFailure:
        name = str(doing.executor.settings["id"])
        self.ran.append(name)
        return self._scripts[name].pop(0)


def records(step: Step) -> list[str]:
    return [record.type for record in step.records]


def test_an_instance_starts_at_version_one_and_each_hop_adds_one() -> None:
    run = ScriptedRun(
        definition(initialState="a", states={"a": state(go=step("b")), "b": state(end=step("c")), "c": DONE})
    )
    assert (run.instance.state, run.instance.version) == ("a", 1)
    run.submit("go")
    assert (run.instance.state, run.instance.version, run.linked) == ("b", 2, ["end"])
    run.submit("end")
    assert (run.instance.state, run.instance.version, run.linked) == ("c", 3, [])


TWO_STATES = definition(
    initialState="open",
    states={
        "open": state(
            go=step("mid", inputSchema={"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
            sign=step("mid", actor="human", guards=[{"kind": "permission", "permission": "approve"}]),
            locked=step("mid", guards=expression_guards("1 == 2"), executor=stub("never")),
        ),
        "mid": {"terminal": True, "transitions": {"out": {"target": "open"}}},
    },
)


@pytest.mark.parametrize(
    ("transition", "arguments", "version", "code"),
    [
        ("nowhere", {}, 0, "STALE_WORKFLOW_VERSION"),
        ("nowhere", {}, 2, "STALE_WORKFLOW_VERSION"),
        ("nowhere", {}, 1, "INVALID_TRANSITION"),
        ("sign", {}, 1, "ACTOR_MISMATCH"),
        ("go", {"n": "x"}, 1, "INPUT_SCHEMA_VIOLATION"),
        ("locked", {}, 1, "GUARD_REJECTED"),
    ],
)
def test_a_submission_is_checked_in_order_and_a_refusal_changes_nothing(
    transition: str, arguments: JsonObject, version: int, code: StepRefusalCode
) -> None:
    run = ScriptedRun(TWO_STATES)
    before = run.instance
    refused = run.submit(transition, arguments, version=version)
    assert run.code == code
    assert run.instance == before
    assert run.ran == []
    assert records(refused)[-1] == "transition.rejected"
    assert run.linked == ["go", "sign", "locked"]


def test_a_person_can_take_a_human_transition() -> None:
    run = ScriptedRun(TWO_STATES)
    run.submit("sign", principal=PERSON)
    assert run.instance.state == "mid"


def test_a_terminal_state_cannot_be_left() -> None:
    run = ScriptedRun(TWO_STATES)
    run.submit("go", {"n": 1})
    assert run.linked == []
    run.submit("out")
    assert run.code == "INVALID_TRANSITION"


def test_an_executor_output_is_mapped_and_selects_the_branch() -> None:
    branches = [{"when": {"kind": "expr", "expr": "$.context.kg > 5"}, "target": "heavy"}]
    weigh = step("light", executor=stub("scale"), output={"kg": "$.output.kg"}, branches=branches)
    shape = definition(initialState="a", states={"a": state(weigh=weigh), "heavy": DONE, "light": DONE})
    run = ScriptedRun(shape, {"scale": [ExecutorOutcome({"kg": 9}, (EvidenceItem("weighed", "scale"),))]})
    run.submit("weigh")
    assert (run.instance.state, run.instance.context) == ("heavy", {"kg": 9})
    assert run.instance.evidence["weighed"].count == 1
    assert "transition.branched" in records(run.last)


def test_a_failed_executor_changes_nothing_and_the_version_can_be_used_again() -> None:
    shape = definition(
        initialState="a", initialContext={"x": 1}, states={"a": state(go=step("b", executor=stub("e"))), "b": DONE}
    )
    run = ScriptedRun(shape, {"e": [ExecutorFailure("permanent_error", "boom"), ExecutorOutcome({})]})
    before = run.instance
    run.submit("go")
    assert (run.code, run.instance) == ("EXECUTOR_FAILED", before)
    assert run.last.refusal is not None
    assert (run.last.refusal.error_class, run.last.refusal.message) == ("permanent_error", "boom")
    run.submit("go")
    assert run.instance.state == "b"


def chain(**fields: Any) -> Definition:
    states = {
        "a": state(s1=automatic("b", executor=stub("e1"), output={"one": "$.output"})),
        "b": state(s2=automatic("c", executor=stub("e2"))),
        "c": state(s3=automatic("d")),
        "d": DONE,
    }
    return definition(initialState="a", states=states, **fields)


def test_deterministic_transitions_follow_and_are_recorded() -> None:
    run = ScriptedRun(chain(), {"e1": [ExecutorOutcome(1)], "e2": [ExecutorOutcome(2)]})
    assert (run.instance.state, run.instance.version) == ("d", 4)
    assert [(hop.from_state, hop.to_state, hop.version) for hop in run.last.chain] == [
        ("a", "b", 2),
        ("b", "c", 3),
        ("c", "d", 4),
    ]
    assert records(run.last).count("chain.step") == 3
    assert records(run.last)[-2:] == ["workflow.completed", "chain.completed"]


def test_a_failed_chain_keeps_its_hops_and_can_be_continued() -> None:
    run = ScriptedRun(
        chain(), {"e1": [ExecutorOutcome(1)], "e2": [ExecutorFailure("timeout", "slow"), ExecutorOutcome(2)]}
    )
    assert (run.code, run.instance.state, run.instance.context) == ("CHAIN_FAILED", "b", {"one": 1})
    assert run.linked == ["s2"]
    run.submit("s2")
    assert (run.code, run.instance.state) == (None, "d")


def test_a_chain_ends_at_its_configured_depth_and_can_be_continued() -> None:
    run = ScriptedRun(chain(maxChainDepth=2), {"e1": [ExecutorOutcome(1)], "e2": [ExecutorOutcome(2)]})
    assert (run.code, run.instance.state, run.linked) == (None, "c", ["s3"])
    run.submit("s3")
    assert run.instance.state == "d"


def test_an_endless_chain_ends_after_fifty_hops() -> None:
    run = ScriptedRun(definition(initialState="a", states={"a": state(go=automatic("a"))}))
    assert len(run.last.chain) == 50
    assert run.linked == ["go"]


@pytest.mark.parametrize(("first", "second", "fits"), [("1 == 2", "1 == 2", 0), ("1 == 1", "1 == 1", 2)])
def test_a_chain_continues_only_if_exactly_one_transition_is_open(first: str, second: str, fits: int) -> None:
    ways = state(x=automatic("d", guards=expression_guards(first)), y=automatic("d", guards=expression_guards(second)))
    run = ScriptedRun(definition(initialState="a", states={"a": ways, "d": DONE}))
    assert (run.code, run.instance.version) == ("CHAIN_FAILED", 1)
    assert len(run.linked) == fits


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("1 == 1", "The choice is ambiguous: 2 automatic transitions of the state a are possible (x, y)."),
        ("1 == 2", "No automatic transition of the state a is possible, since the guards of each reject it (x, y)."),
    ],
)
def test_a_broken_chain_says_whether_the_choice_is_ambiguous_or_empty(expression: str, says: str) -> None:
    guarded = {name: automatic("d", guards=expression_guards(expression)) for name in ("x", "y")}
    run = ScriptedRun(definition(initialState="a", states={"a": state(**guarded), "d": DONE}))
    assert run.last.refusal is not None
    assert run.last.refusal.message == f"{says} The engine continues only if exactly one is."


def test_the_guard_of_the_only_deterministic_transition_is_evaluated() -> None:
    run = ScriptedRun(
        definition(
            initialState="a", states={"a": state(x=automatic("d", guards=expression_guards("1 == 2"))), "d": DONE}
        )
    )
    assert (run.code, run.instance.state) == ("CHAIN_FAILED", "a")


def test_a_state_with_a_decision_ends_the_chain_and_hides_automatic_links() -> None:
    mixed = state(auto=automatic("d"), decide=step("d"))
    run = ScriptedRun(definition(initialState="a", states={"a": mixed, "d": DONE}))
    assert (run.instance.state, run.linked) == ("a", ["decide"])
    run.submit("auto")
    assert (run.code, run.instance.state) == ("ACTOR_MISMATCH", "a")


@pytest.mark.invariant(93)
def test_a_stopped_chain_is_continued_without_arguments_and_by_its_guards_only() -> None:
    guarded = automatic("d", guards=expression_guards("$.arguments.force == true"))
    run = ScriptedRun(definition(initialState="a", states={"a": state(stuck=guarded, go=guarded), "d": DONE}))
    assert (run.code, run.linked) == ("CHAIN_FAILED", [])
    run.submit("go", {"force": True})
    assert (run.code, run.instance.state) == ("INPUT_SCHEMA_VIOLATION", "a")
    run.submit("go")
    assert (run.code, run.instance.state) == ("GUARD_REJECTED", "a")


ROBOT = replace(AGENT, permissions=frozenset({MAY_ACT_AS_SYSTEM}))


@pytest.mark.invariant(93)
@pytest.mark.parametrize(
    ("principal", "is_system"), [(AGENT, False), (replace(ROBOT, human=True), False), (ROBOT, True)]
)
def test_only_a_program_with_the_permission_takes_transitions_of_systems(principal: Principal, is_system: bool) -> None:
    run = ScriptedRun(definition(initialState="a", states={"a": state(tick=step("d", actor="system")), "d": DONE}))
    assert len(run.links(principal)) == is_system
    run.submit("tick", principal=principal)
    assert run.code == (None if is_system else "ACTOR_MISMATCH")
    assert is_system or MAY_ACT_AS_SYSTEM in str(run.last.refusal)


@pytest.mark.invariant(92)
@pytest.mark.parametrize("refuses", [False, True])
def test_a_transition_without_a_schema_takes_what_its_link_says(refuses: bool) -> None:
    shape = definition(initialState="a", states={"a": state(go=step("d", prefill={"n": 1})), "d": DONE})
    run = ScriptedRun(replace(shape, refuses_undeclared=refuses))
    (link,) = run.links()
    assert link["inputSchema"] == (NO_ARGUMENTS if refuses else ANY_ARGUMENTS)
    assert link["args"]["arguments"] == ({} if refuses else {"n": 1})
    run.submit("go", {"confirm": True})
    assert run.code == ("INPUT_SCHEMA_VIOLATION" if refuses else None)
    if refuses:
        run.submit("go")
    assert run.instance.state == "d"


ENTRY = {"onEnter": {"executor": stub("enter"), "output": {"entered": "$.output"}}, **state(again=step("b"))}


def test_the_entry_executor_of_a_state_runs_on_entering_it() -> None:
    go = step("b", executor=stub("go"), output={"went": "$.output"})
    shape = definition(initialState="a", states={"a": state(go=go), "b": ENTRY})
    run = ScriptedRun(shape, {"go": [ExecutorOutcome(1)], "enter": [ExecutorOutcome(2), ExecutorOutcome(3)]})
    run.submit("go")
    assert (run.instance.version, run.instance.context) == (3, {"went": 1, "entered": 2})
    run.submit("again")
    assert (run.instance.version, run.instance.context["entered"]) == (4, 3)


def test_a_failed_entry_undoes_a_move_without_an_executor() -> None:
    shape = definition(initialState="a", states={"a": state(go=step("b")), "b": ENTRY})
    run = ScriptedRun(shape, {"enter": [ExecutorFailure("permanent_error", "no luck")]})
    before = run.instance
    run.submit("go")
    assert (run.code, run.instance, run.last.hops) == ("EXECUTOR_FAILED", before, ())


def test_a_failed_entry_keeps_a_move_with_an_executor_and_stays_pending() -> None:
    shape = definition(initialState="a", states={"a": state(go=step("b", executor=stub("go"))), "b": ENTRY})
    seen = EvidenceItem("seen", "go")
    run = ScriptedRun(
        shape,
        {
            "go": [ExecutorOutcome(1, (seen,))],
            "enter": [ExecutorFailure("permanent_error", "no luck"), ExecutorOutcome(2)],
        },
    )
    run.submit("go")
    assert (run.code, run.instance.state, run.instance.version) == ("EXECUTOR_FAILED", "b", 2)
    assert (run.instance.entering, run.linked, run.last.evidence) == (True, ["on_enter"], (seen,))
    run.submit("again")
    assert run.code == "INVALID_TRANSITION"
    run.submit("on_enter")
    assert (run.code, run.instance.version, run.instance.entering, run.linked) == (None, 3, False, ["again"])
    assert (run.instance.context, run.ran) == ({"entered": 2}, ["go", "enter", "enter"])


def timed_definition(**late: Any) -> Definition:
    states = {"open": state(go=step("done")), "late": late, "done": DONE, "closed": DONE}
    return definition(initialState="open", states=states, timeoutMs=5_000, onTimeout={"target": "late"})


def test_a_deadline_is_applied_by_the_first_status_check_or_submission() -> None:
    for event in ("look", "submit"):
        run = ScriptedRun(timed_definition(terminal=True))
        run.look(NOW + 4.9)
        assert run.instance.state == "open"
        if event == "look":
            run.look(NOW + 5)
        else:
            run.submit("go", now=NOW + 5)
        assert (run.code, run.instance.state, run.instance.version) == (None, "late", 2)
        assert records(run.last)[0] == "workflow.timed_out"
        assert "transition.requested" not in records(run.last)


def test_a_workflow_that_continues_after_its_deadline_has_no_other() -> None:
    run = ScriptedRun(timed_definition(**state(close=step("closed"))))
    run.look(NOW + 6)
    run.submit("close", version=1, now=NOW + 7)
    assert run.code == "STALE_WORKFLOW_VERSION"
    run.submit("close", now=NOW + 60)
    assert run.instance.state == "closed"
    assert run.look(NOW + 90).hops == ()


def test_deterministic_transitions_follow_a_deadline() -> None:
    run = ScriptedRun(timed_definition(**state(close=automatic("closed"))))
    run.look(NOW + 6)
    assert (run.instance.state, run.instance.version) == ("closed", 3)


def test_links_have_prefilled_arguments_and_name_their_actor() -> None:
    prefill: dict[str, Json] = {"region": "$.workflow.input.region", "round": {"add": ["$.context.rounds", 1]}}
    quote = step("done", title="Send quote", actor="human", prefill=prefill)
    run = ScriptedRun(
        definition(initialState="a", initialContext={"rounds": 1}, states={"a": state(quote=quote), "done": DONE})
    )
    (link,) = run.links()
    assert link["args"] == {
        "workflowId": "wf_1",
        "expectedVersion": 1,
        "transition": "quote",
        "arguments": {"region": "eu", "round": 2},
    }
    assert (link["rel"], link["method"], link["title"]) == ("transition", "workflow.submit", "Send quote")
    assert link["actor"] == "human"


def test_links_filtered_by_guards_depend_on_principal_context_and_evidence() -> None:
    ways: dict[str, Any] = {
        "sign": step("done", guards=[{"kind": "permission", "permission": "approve"}]),
        "low": step("done", guards=expression_guards("$.context.risk < 50")),
        "high": step("done", guards=expression_guards("$.context.risk >= 50")),
        "proven": step("done", guards=[{"kind": "evidence", "requires": ["scan"]}]),
        "told": step("done", guards=expression_guards("$.arguments.ok == true")),
    }
    shape = definition(
        initialState="a",
        linkFilter="byGuards",
        initialContext={"risk": 30},
        states={"a": state(**ways), "done": DONE},
    )
    run = ScriptedRun(shape)
    assert run.linked == ["low"]
    assert [link["args"]["transition"] for link in run.links(PERSON)] == ["sign", "low"]
    run.submit("told", {"ok": True})
    assert run.instance.state == "done"


BOB, DAN = (Principal(name, "acme", "test", human=True) for name in ("bob", "dan"))
QUORUM = [{"kind": "evidence", "requires": [{"kind": "human_approval", "count": 2, "distinct": True}]}]


def review_definition(**executor: Any) -> Definition:
    ask = step("review", executor={"kind": "human", "queue": "editors", **executor}, output={"req": "$.output.id"})
    review = state(
        sign=step("review", actor="human", decision="approve", output={"signedBy": "$.arguments.name"}),
        amend=step("review", output={"draft": "$.arguments.draft"}),
        back=step("draft", actor="human", decision="reject"),
        publish=step("out", guards=QUORUM),
    )
    states = {"draft": state(ask=ask), "review": review, "out": DONE}
    return definition(initialState="draft", initialContext={"draft": "v1"}, states=states)


def entry_request_definition() -> Definition:
    sign = step("review", actor="human", decision="approve")
    amend = step("review", output={"draft": "$.arguments.draft"})
    review = {
        "onEnter": {"executor": {"kind": "human"}},
        **state(sign=sign, amend=amend, publish=step("out", guards=QUORUM)),
    }
    states = {"draft": state(ask=step("review")), "review": review, "out": DONE}
    return definition(initialState="draft", initialContext={"draft": "v1"}, states=states)


class ReviewRun(ScriptedRun):
    def __init__(self, definition: Definition | None = None, **executor: Any) -> None:
        self._asked = 0
        super().__init__(definition or review_definition(**executor))

    def _perform(self, doing: PendingExecution) -> ExecutorOutcome | ExecutorFailure:
        self._asked += 1
        settings: Mapping[str, Any] = doing.executor.settings
        expires = settings.get("expiresMs")
        ends = NOW + expires / 1000 if isinstance(expires, int) else None
        name = f"hr_{self._asked}"
        shown = tuple(settings.get("shows", ()))
        request = ApprovalRequest(name, "editors", doing.step.principal.subject, NOW, ends, shown=shown)
        return ExecutorOutcome({"id": name}, (EvidenceItem("human_request", "bob"),), request)

    def asked(self) -> "ReviewRun":
        """By bob."""
        self.submit("ask", principal=BOB)
        return self


class SendingReviewRun(ReviewRun):
    @override
    def _perform(self, doing: PendingExecution) -> ExecutorOutcome | ExecutorFailure:
        return ExecutorOutcome() if doing.executor.kind == "stub" else super()._perform(doing)


def test_approvals_are_counted_by_person() -> None:
    run = ReviewRun().asked()
    assert run.instance.open_request is not None
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"
    for person in (PERSON, PERSON):
        run.submit("sign", {"name": person.subject}, principal=person)
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"
    run.submit("sign", principal=DAN)
    run.submit("publish")
    assert (run.code, run.instance.state) == (None, "out")


@pytest.mark.invariant(52)
def test_the_requester_of_an_approval_does_not_count_as_approver() -> None:
    run = ReviewRun().asked()
    for person in (BOB, DAN):
        run.submit("sign", principal=person)
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"


@pytest.mark.invariant(52)
def test_an_approval_counts_only_for_the_values_that_were_shown() -> None:
    run = ReviewRun().asked()
    for person in (PERSON, DAN):
        run.submit("sign", principal=person)
    run.submit("amend", {"draft": "v2"})
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"
    run.submit("sign", principal=Principal("eve", "acme", "test", human=True))
    assert "human_approval" not in [item.kind for item in run.last.evidence]


def test_a_new_request_discards_earlier_approvals() -> None:
    run = ReviewRun().asked()
    for person in (PERSON, DAN):
        run.submit("sign", principal=person)
    run.submit("back", principal=DAN)
    assert run.instance.open_request is None
    run.asked()
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"


def test_neither_a_request_nor_a_rejection_is_an_approval() -> None:
    run = ReviewRun().asked()
    run.submit("back", principal=PERSON)
    assert run.instance.evidence["human_request"].count == 1
    assert [item.kind for item in run.last.evidence] == []
    assert "human.approval.resolved" in records(run.last)


def test_an_entry_request_stays_open_when_its_state_is_entered_again() -> None:
    run = ReviewRun(entry_request_definition()).asked()
    assert run.instance.open_request is not None
    assert "human.approval.requested" in records(run.last)
    for person in (PERSON, DAN):
        run.submit("sign", principal=person)
    assert run.instance.open_request.id == "hr_1"
    run.submit("publish")
    assert (run.code, run.instance.state) == (None, "out")


def test_an_entry_request_is_renewed_when_the_context_has_changed() -> None:
    run = ReviewRun(entry_request_definition()).asked()
    run.submit("sign", principal=PERSON)
    run.submit("amend", {"draft": "v2"})
    run.submit("sign", principal=DAN)
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"


def test_an_approval_request_expires() -> None:
    run = ReviewRun(expiresMs=1_000).asked()
    assert run.linked == ["sign", "amend", "back", "publish"]
    run.submit("sign", principal=PERSON, now=NOW + 1)
    assert run.code == "GUARD_REJECTED"
    assert run.linked == ["amend", "publish"]
    run.submit("sign", principal=PERSON, now=NOW + 0.9)
    assert run.code is None


@pytest.mark.invariant(97)
@pytest.mark.parametrize("shows", [(), ("draft",)])
def test_an_approval_is_refused_once_the_values_to_approve_have_changed(shows: Sequence[str]) -> None:
    run = ReviewRun(shows=shows).asked()
    assert [link["args"]["transition"] for link in run.links(PERSON)] == ["sign", "amend", "back", "publish"]
    run.submit("amend", {"draft": "v2"})
    assert [link["args"]["transition"] for link in run.links(PERSON)] == ["amend", "back", "publish"]
    run.submit("sign", principal=PERSON)
    assert (run.code, run.last.evidence) == ("GUARD_REJECTED", ())
    assert "Ask for approval again" in str(run.last.refusal)


@pytest.mark.invariant(97)
def test_a_value_added_after_the_request_is_not_approved_without_a_list_of_values() -> None:
    add = step("review", output={"iban": "$.arguments.iban"})
    ask, sign = step("review", executor={"kind": "human"}), step("done", actor="human", decision="approve")
    states = {"draft": state(ask=ask), "review": state(sign=sign, add=add, ask=ask), "done": DONE}
    run = ReviewRun(definition(initialState="draft", initialContext={"draft": "v1"}, states=states)).asked()
    run.submit("add", {"iban": "XX00"})
    run.submit("sign", principal=PERSON)
    assert (run.code, run.instance.state) == ("GUARD_REJECTED", "review")
    run.submit("ask")
    run.submit("sign", principal=PERSON)
    assert (run.code, run.instance.state) == (None, "done")


@pytest.mark.invariant(97)
def test_a_person_that_approves_other_values_approves_them_alone() -> None:
    sign = step("review", actor="human", decision="approve", output={"amount": "$.arguments.amount"})
    ask, pay = step("review", executor={"kind": "human"}), step("done", guards=QUORUM)
    states = {"draft": state(ask=ask), "review": state(sign=sign, pay=pay), "done": DONE}
    run = ReviewRun(definition(initialState="draft", initialContext={"amount": 5}, states=states)).asked()
    run.submit("sign", {"amount": 5}, principal=PERSON)
    run.submit("sign", {"amount": 1_000_000}, principal=DAN)
    run.submit("pay")
    assert (run.code, run.instance.state) == ("GUARD_REJECTED", "review")
    run.submit("sign", {"amount": 1_000_000}, principal=PERSON)
    run.submit("pay")
    assert (run.code, run.instance.state) == (None, "done")


def test_an_approval_may_cover_only_a_part_of_the_context() -> None:
    run = ReviewRun(shows=["title"])
    run.asked()
    for person in (PERSON, DAN):
        run.submit("sign", principal=person)
    run.submit("amend", {"draft": "v2"})
    run.submit("publish")
    assert run.code is None


@pytest.mark.invariant(52)
def test_a_rejection_discards_approvals_and_the_next_requester_cannot_approve() -> None:
    run = ReviewRun(shows=["draft"]).asked()
    run.submit("sign", principal=PERSON)
    run.submit("back", principal=DAN)
    run.submit("ask", principal=DAN)
    for person in (DAN, BOB):
        run.submit("sign", principal=person)
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"
    assert run.instance.request is not None
    assert run.instance.request.tally.subjects == frozenset()


@pytest.mark.invariant(52)
def test_a_requester_cannot_approve_the_repeated_request_of_another() -> None:
    run = ReviewRun(shows=["draft"]).asked()
    run.submit("back", principal=PERSON)
    run.submit("ask")
    for person in (BOB, DAN):
        run.submit("sign", principal=person)
    run.submit("publish")
    assert run.code == "GUARD_REJECTED"


def test_an_entry_request_that_stays_open_is_not_recorded_again() -> None:
    run = ReviewRun(entry_request_definition()).asked()
    run.submit("sign", principal=PERSON)
    assert [item.kind for item in run.last.evidence] == ["human_approval"]


def test_a_context_has_a_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "LARGEST_CONTEXT", 100)
    run = ReviewRun().asked()
    run.submit("amend", {"draft": "x" * 100})
    assert (run.code, run.instance.context["draft"]) == ("EXECUTOR_FAILED", "v1")


@pytest.mark.invariant(52)
def test_a_status_check_that_applies_a_deadline_requests_no_approval() -> None:
    review = {
        "onEnter": {"executor": {"kind": "human"}},
        **state(sign=step("review", actor="human", decision="approve")),
    }
    states = {"open": state(wait=step("open")), "review": review}
    run = ReviewRun(definition(initialState="open", states=states, timeoutMs=1000, onTimeout={"target": "review"}))
    run.look(NOW + 2, principal=DAN)
    assert run.instance.open_request is not None
    assert run.instance.open_request.asked_by == run.instance.started_by != "dan"


def test_an_open_request_leaves_no_pending_entry_if_the_entry_guard_fails() -> None:
    """What was done for the move cannot be taken back, and people look at the same as before."""
    asking = {"executor": {"kind": "human", "shows": ["draft"]}, "guards": expression_guards("$.context.ok == true")}
    shape = definition(
        initialState="edit",
        initialContext={"draft": "x", "ok": True},
        states={
            "edit": state(send=step("review", executor=stub("send"))),
            "review": {"onEnter": asking, **state(back=step("edit", output={"ok": False}))},
        },
    )
    run = SendingReviewRun(shape)
    run.submit("send")
    asked = run.instance.open_request
    run.submit("back")
    run.submit("send")
    assert (run.code, run.instance.state, run.instance.entering) == (None, "review", False)
    assert (run.instance.open_request, run.linked) == (asked, ["back"])

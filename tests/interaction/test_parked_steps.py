"""Steps whose function asks questions: they are parked, and continue when their questions are answered."""

from collections.abc import Mapping
from typing import Any

import pytest

from signpost.calling.failures import reported_failure
from signpost.contract import CLIENT_CAPABILITIES, Result
from signpost.model import InputRequired, Json, JsonObject, Principal
from signpost.workflow.engine.permissions import ANSWER, CANCEL
from signpost.workflow.engine.questions import ANSWERED_PAUSE, LARGEST_QUESTIONS, MOST_ROUNDS, QUESTIONS
from signpost.workflow.instance import child_id_of
from signpost.workflow.running.service import StepResult, WorkflowRefusal
from tests.support.asking_steps import (
    CALL,
    MESSAGE,
    PAGE,
    ROOTS,
    SAMPLE,
    AskingWorkflow,
    accept,
    ask,
    form,
    one_step,
)
from tests.support.memory_workflows import CALL_SECONDS, TENANT, check_verified
from tests.support.step_cases import AGENT, RESOLVER, STRANGER, list_link_names

OTHER_ISSUER = Principal(AGENT.subject, TENANT, "another issuer")
DONE = Result({"made": True})
MEDIUM = accept(size=2)


def names_of_links(answer: Any) -> list[str]:
    return [link["args"].get("transition", link["rel"]) for link in answer["links"]]


def program_answers(run: AskingWorkflow, by: Principal = AGENT, seconds: float = CALL_SECONDS, **answers: Json) -> Any:
    """Answer as a program does that has no links."""
    result = run.shop.workflows.answer_questions(run.id, answers, by, run.shop.clock.now() + seconds)
    assert isinstance(result, StepResult), result
    return result.step


@pytest.mark.invariant(159)
def test_a_step_whose_function_asks_is_parked_and_runs_again_with_the_answers() -> None:
    run = AskingWorkflow(ask("size", state={"basket": 7}), DONE)
    parked = run.go()
    assert (parked["state"], parked["version"], parked["waitingFor"]) == ("a", 1, "answers")
    assert (parked["pending"]["on"], parked["questions"]) == ("answers", {"size": form()})
    assert names_of_links(parked) == ["self", ANSWER, CANCEL]
    done = run.answer(size=MEDIUM)
    assert (done["state"], done["version"], done["context"]) == ("b", 2, {"went": {"made": True}})
    assert "questions" not in done
    assert "waitingFor" not in done
    first, second = run.requests
    assert (first.answers, first.state) == ({}, None)
    assert (second.answers, second.state) == ({"size": MEDIUM}, {"basket": 7})
    check_verified(run.shop.instances, run.id)


@pytest.mark.invariant(159)
def test_the_rounds_of_a_step_have_one_thread_and_one_idempotency_key() -> None:
    key = {**CALL, "idempotencyKey": True}
    run = AskingWorkflow(ask("size"), ask("colour"), DONE, document=one_step(executor=key))
    run.go()
    run.answer(size=MEDIUM)
    run.answer(colour=MEDIUM)
    assert {request.client.thread for request in run.requests if request.client} == {f"{run.id}.go.1"}
    assert {request.idempotency_key for request in run.requests} == {f"{run.id}.go.1"}
    assert [request.answers.keys() for request in run.requests] == [set(), {"size"}, {"size", "colour"}]


def test_a_function_of_a_step_may_ask_all_that_clients_can_answer() -> None:
    run = AskingWorkflow(DONE)
    run.go()
    client = run.requests[0].client
    assert client is not None
    assert (client.can_answer, client.capabilities.keys()) == (True, CLIENT_CAPABILITIES.keys())


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (form(), accept(size=1)),
        (form(), {"action": "decline"}),
        (form(), {"action": "cancel"}),
        (PAGE, {"action": "accept"}),
        (PAGE, {"action": "decline"}),
        (SAMPLE, MESSAGE),
        (ROOTS, {"roots": [{"uri": "file:///srv"}]}),
    ],
)
def test_questions_of_every_kind_are_answered_by_their_link(question: JsonObject, answer: JsonObject) -> None:
    run = AskingWorkflow(InputRequired({"it": question}), DONE)
    run.go()
    assert run.answer(it=answer)["state"] == "b"
    assert run.requests[1].answers == {"it": answer}


@pytest.mark.invariant(161)
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (form(), accept(size=0)),
        (form(), accept(size="large")),
        (form(), accept()),
        (form(), accept(size=1, colour="red")),
        (form(), {"action": "perhaps"}),
        (form(), {"content": {"size": 1}}),
        (form(), "1"),
        (form(day={"type": "string", "format": "date"}), accept(day="tomorrow")),
        (PAGE, {"action": "signed"}),
        (SAMPLE, {"role": "assistant", "model": "m"}),
        (SAMPLE, {"role": "assistant", "model": "m", "content": []}),
        (ROOTS, {"roots": [{"name": "srv"}]}),
    ],
)
def test_an_answer_that_does_not_fit_its_question_changes_nothing(question: JsonObject, answer: Json) -> None:
    run = AskingWorkflow(InputRequired({"it": question}), DONE)
    run.go()
    before = run.shop.load_instance(run.id)
    refused = run.answer(it=answer)
    assert refused["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert "`it" in refused["error"]["message"]
    assert names_of_links(refused) == ["self", ANSWER, CANCEL]
    program_answers(run, it=answer)
    assert run.shop.load_instance(run.id) == before
    assert len(run.requests) == 1


def test_a_submission_answers_all_open_questions_and_no_other() -> None:
    run = AskingWorkflow(ask("size", "colour"), DONE)
    run.go()
    missing = run.answer(size=MEDIUM)
    assert (missing["error"]["code"], "`colour` is missing" in missing["error"]["message"]) == (
        "INPUT_SCHEMA_VIOLATION",
        True,
    )
    unasked = run.answer(size=MEDIUM, colour=MEDIUM, weight=MEDIUM)
    assert "`weight` is no open question" in unasked["error"]["message"]
    assert run.answer(size=MEDIUM, colour=MEDIUM)["state"] == "b"


def test_a_program_may_answer_one_question_after_the_other_and_unasked_answers_are_dropped() -> None:
    run = AskingWorkflow(ask("size", "colour"), DONE)
    run.go()
    step = program_answers(run, size=MEDIUM, weight=MEDIUM)
    assert step.instance.claim.questions.requests.keys() == {"colour"}
    assert run.get()["questions"].keys() == {"colour"}
    assert program_answers(run, size=accept(size=9), colour=MEDIUM).instance.state == "b"
    assert run.requests[1].answers == {"size": MEDIUM, "colour": MEDIUM}


@pytest.mark.invariant(160)
def test_each_write_of_answers_gives_the_claim_another_token() -> None:
    """A request that has read the questions before them cannot write over them."""
    tokens: list[str] = []

    def look(_request: object) -> Result:
        tokens.append(run.claim.token)
        return DONE

    run = AskingWorkflow(ask("size", "colour"), look)
    run.go()
    tokens.append(run.claim.token)
    program_answers(run, size=MEDIUM)
    tokens.append(run.claim.token)
    program_answers(run, seconds=2.0, colour=MEDIUM)
    tokens.append(run.claim.token)
    run.shop.run_until_idle()
    assert len(set(tokens)) == len(tokens) == 4


def test_answers_without_an_open_question_are_refused() -> None:
    run = AskingWorkflow(DONE)
    assert run.shop.submit(run.id, ANSWER, AGENT, {})["error"]["code"] == "INVALID_TRANSITION"
    assert program_answers(run, size=MEDIUM).refusal.code == "INVALID_TRANSITION"
    unknown = run.shop.workflows.answer_questions("wf_unknown", {}, AGENT, run.shop.clock.now() + 1)
    assert isinstance(unknown, WorkflowRefusal)
    assert unknown.code == "NOT_FOUND"


def test_an_answer_to_an_old_version_or_to_other_questions_is_stale() -> None:
    run = AskingWorkflow(ask("size"), ask("colour"), DONE)
    run.go()
    old = run.find_link()["args"]["arguments"]
    stale = run.shop.submit(run.id, ANSWER, AGENT, {"size": MEDIUM}, version=7)
    assert stale["error"]["code"] == "STALE_WORKFLOW_VERSION"
    run.answer(size=MEDIUM)
    late = run.shop.submit(run.id, ANSWER, AGENT, {**old, "colour": MEDIUM})
    assert late["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert run.answer(colour=MEDIUM)["state"] == "b"


@pytest.mark.invariant(161)
def test_questions_of_another_submission_at_the_same_version_have_another_name() -> None:
    """An agent that was shown the questions of the first submission must not consent to the second one."""
    failed = InputRequired({}, "nothing to ask")
    run = AskingWorkflow(ask("sure"), failed, ask("sure"), DONE)
    run.go()
    old = run.find_link()["args"]["arguments"]
    assert run.answer(sure=MEDIUM)["error"]["code"] == "EXECUTOR_FAILED"
    assert run.go()["version"] == 1
    late = run.shop.submit(run.id, ANSWER, AGENT, {**old, "sure": MEDIUM})
    assert late["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert run.answer(sure=MEDIUM)["state"] == "b"


@pytest.mark.invariant(161)
@pytest.mark.parametrize("by", [STRANGER, OTHER_ISSUER])
def test_only_the_principal_that_took_a_step_answers_its_questions(by: Principal) -> None:
    run = AskingWorkflow(ask("size"), DONE)
    run.go()
    seen = run.get(by)
    assert (seen["waitingFor"], "questions" in seen, ANSWER in list_link_names(seen)) == ("answers", False, False)
    refused = run.answer(by, size=MEDIUM)
    assert refused["error"]["code"] == "GUARD_REJECTED"
    assert program_answers(run, by, size=MEDIUM).refusal.code == "GUARD_REJECTED"
    assert run.answer(size=MEDIUM)["state"] == "b"


def test_a_principal_that_may_resolve_answers_the_questions_of_others() -> None:
    run = AskingWorkflow(ask("size"), DONE)
    run.go()
    assert run.get(RESOLVER)["questions"] == {"size": form()}
    assert run.answer(RESOLVER, size=MEDIUM)["state"] == "b"
    assert {request.principal for request in run.requests} == {AGENT}
    assert run.shop.list_payloads(run.id, "executor.answered") == [
        {"transition": "go", "by": RESOLVER.subject, "round": 1, "questions": 1}
    ]


def test_a_step_that_the_engine_takes_asks_the_starter() -> None:
    document = {
        **one_step(),
        "states": {
            "a": {"timeoutMs": 1_000, "onTimeout": {"target": "late"}, "transitions": {"go": {"target": "b"}}},
            "late": {"onEnter": {"executor": CALL}, "transitions": {"stop": {"target": "b"}}},
            "b": {"terminal": True},
        },
    }
    run = AskingWorkflow(ask("size"), DONE, document=document)
    run.shop.clock.advance(2)
    run.shop.run_until_idle()
    assert run.claim.job.principal.subject == "signpost"
    assert ANSWER not in list_link_names(run.get(STRANGER))
    assert run.answer(STRANGER, size=MEDIUM)["error"]["code"] == "GUARD_REJECTED"
    done = run.answer(size=MEDIUM)
    assert (done["state"], "pending" in done, "entering" in done) == ("late", False, False)


@pytest.mark.invariant(159)
@pytest.mark.parametrize("place", ["hop", "onEnter", "initial onEnter"])
def test_a_hop_and_the_entry_of_a_state_are_parked_too(place: str) -> None:
    entered = {"onEnter": {"executor": CALL, "output": {"went": "$.output"}}, "transitions": {"end": {"target": "c"}}}
    hop = {"transitions": {"on": {"actor": "deterministic", "target": "c", "executor": CALL}}}
    states: Mapping[str, Any] = {
        "a": {"transitions": {"go": {"target": "b"}}},
        "b": hop if place == "hop" else entered,
        "c": {"terminal": True},
    }
    initial = "b" if place == "initial onEnter" else "a"
    run = AskingWorkflow(ask("size"), DONE, document={"initialState": initial, "states": states})
    parked = run.started if initial == "b" else run.go()
    assert (parked["state"], parked["waitingFor"]) == ("a" if place == "onEnter" else "b", "answers")
    done = run.answer(size=MEDIUM)
    assert done["state"] == ("c" if place == "hop" else "b")
    assert "pending" not in done
    assert len(run.requests) == 2
    check_verified(run.shop.instances, run.id)


def test_other_transitions_wait_for_the_answers() -> None:
    run = AskingWorkflow(ask("size"), DONE)
    run.go()
    refused = run.shop.submit(run.id, "other", AGENT)
    assert refused["error"]["code"] == "INVALID_TRANSITION"
    assert names_of_links(refused) == ["self", ANSWER, CANCEL]
    assert "retryAfterMs" not in refused["error"]


def test_a_parked_step_can_be_cancelled_and_is_not_run_again() -> None:
    run = AskingWorkflow(ask("size"), DONE)
    run.go()
    cancelled = run.shop.submit(run.id, CANCEL, AGENT)
    assert (cancelled["terminal"], cancelled["version"]) == (True, 2)
    assert run.shop.submit(run.id, ANSWER, AGENT, {"size": MEDIUM})["error"]["code"] == "INVALID_TRANSITION"
    assert len(run.requests) == 1


@pytest.mark.invariant(160)
@pytest.mark.parametrize("is_of_state", [True, False])
def test_a_timeout_ends_a_parked_step(is_of_state: bool) -> None:
    timeout = {"timeoutMs": 60_000, "onTimeout": {"target": "b"}}
    document = dict(one_step())
    if is_of_state:
        states: Any = document["states"]
        document["states"] = {**states, "a": {**states["a"], **timeout}}
    else:
        document |= timeout
    run = AskingWorkflow(ask("size"), DONE, document=document)
    run.go()
    run.shop.clock.advance(61)
    run.shop.run_until_idle()
    assert (run.get()["state"], run.claim, len(run.requests)) == ("b", None, 1)


@pytest.mark.invariant(160)
def test_an_answer_after_the_timeout_runs_nothing() -> None:
    timeout = {"timeoutMs": 60_000, "onTimeout": {"target": "b"}}
    run = AskingWorkflow(ask("size"), DONE, document={**one_step(), **timeout})
    run.go()
    run.shop.clock.advance(61)
    late = run.shop.submit(run.id, ANSWER, AGENT, {"size": MEDIUM})
    assert (late["timedOut"], late["state"], len(run.requests)) == (True, "b", 1)


@pytest.mark.invariant(159)
def test_a_parked_step_waits_for_no_time_and_no_worker_runs_it() -> None:
    run = AskingWorkflow(ask("size"), DONE)
    run.go()
    run.shop.clock.advance(10_000_000)
    run.shop.run_until_idle()
    run.shop.wake(run.id)
    assert (run.get()["waitingFor"], len(run.requests)) == ("answers", 1)


def test_answers_that_leave_no_time_for_the_step_are_kept_and_a_worker_runs_it() -> None:
    run = AskingWorkflow(ask("size"), DONE)
    run.go()
    answered = run.shop.submit(run.id, ANSWER, AGENT, {"size": MEDIUM}, seconds=2.0)
    assert (answered["pending"]["on"], "waitingFor" in answered, len(run.requests)) == ("executor", False, 1)
    run.shop.run_until_idle()
    assert run.get()["state"] == "b"
    assert run.requests[1].answers == {"size": MEDIUM}


def test_a_worker_leaves_a_step_to_the_caller_that_has_answered() -> None:
    def look(_request: object) -> Result:
        run.shop.wake(run.id)
        return DONE

    run = AskingWorkflow(ask("size"), look)
    run.go()
    assert run.answer(size=MEDIUM)["state"] == "b"
    assert len(run.requests) == 2
    assert ANSWERED_PAUSE < CALL_SECONDS


@pytest.mark.invariant(161)
def test_a_question_that_is_asked_again_replaces_its_answer() -> None:
    run = AskingWorkflow(ask("size"), ask("size"), DONE)
    run.go()
    assert run.answer(size=MEDIUM)["waitingFor"] == "answers"
    other = accept(size=9)
    assert run.answer(size=other)["state"] == "b"
    assert run.requests[2].answers == {"size": other}


def test_a_question_is_asked_again_if_its_answer_does_not_fit_the_new_form() -> None:
    larger = InputRequired({"size": form(size={"type": "integer", "minimum": 5})})
    run = AskingWorkflow(ask("size", "colour"), larger, DONE)
    run.go()
    assert run.answer(size=MEDIUM, colour=MEDIUM)["questions"] == larger.requests
    assert run.answer(size=accept(size=6))["state"] == "b"
    assert run.requests[2].answers == {"size": accept(size=6), "colour": MEDIUM}


def test_a_step_asks_in_ten_rounds_at_most() -> None:
    run = AskingWorkflow(*(ask(f"q{number}") for number in range(MOST_ROUNDS + 1)))
    run.go()
    for number in range(MOST_ROUNDS - 1):
        assert run.answer(AGENT, **{f"q{number}": MEDIUM})["waitingFor"] == "answers"
    failed = run.answer(AGENT, **{f"q{MOST_ROUNDS - 1}": MEDIUM})
    assert "more than 10 rounds" in failed["error"]["message"]


@pytest.mark.parametrize(
    ("required", "part"),
    [
        (InputRequired({}, state=1), "state without a question"),
        (InputRequired({"it": form()}, state="s" * LARGEST_QUESTIONS), f"at most {LARGEST_QUESTIONS}"),
    ],
)
def test_a_function_that_cannot_be_answered_fails(required: InputRequired, part: str) -> None:
    run = AskingWorkflow(required)
    failed = run.go()
    assert (failed["error"]["code"], part in failed["error"]["message"]) == ("EXECUTOR_FAILED", True)
    assert run.claim is None


def test_answers_have_a_largest_size() -> None:
    run = AskingWorkflow(InputRequired({"it": SAMPLE}), DONE)
    run.go()
    long = {**MESSAGE, "content": {"type": "text", "text": "a" * 250_000}}
    refused = run.answer(it=long)
    assert (refused["error"]["code"], "at most" in refused["error"]["message"]) == ("INPUT_SCHEMA_VIOLATION", True)
    assert program_answers(run, it=long).refusal.code == "INPUT_SCHEMA_VIOLATION"


def test_answers_are_kept_for_a_repeated_attempt_and_not_for_a_fallback() -> None:
    late = reported_failure("rate_limited", "Later.")
    reliability = {
        "retry": {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": 60_000, "retryOn": ["rate_limited"]},
        "fallback": {"executors": [CALL]},
    }
    run = AskingWorkflow(ask("size"), late, late, DONE, document=one_step(reliability=reliability))
    run.go()
    assert run.answer(size=MEDIUM)["pending"]["on"] == "retry"
    run.shop.clock.advance(61)
    run.shop.run_until_idle()
    assert run.get()["state"] == "b"
    assert [request.answers for request in run.requests] == [{}, {"size": MEDIUM}, {"size": MEDIUM}, {}]


def test_a_parent_waits_while_its_child_is_parked() -> None:
    parent = {
        "initialState": "a",
        "states": {
            "a": {"transitions": {"go": {"target": "b", "executor": {"kind": "workflow", "definitionId": "child"}}}},
            "b": {"terminal": True},
        },
    }
    run = AskingWorkflow(ask("size"), DONE, document=parent)
    run.shop.publish("child", {"initialState": "a", "states": hopping_states()})
    assert run.go()["pending"]["on"] == "workflow"
    child_id = child_id_of(run.claim)
    asked = run.shop.get(child_id, AGENT)
    assert asked["waitingFor"] == "answers"
    assert run.shop.submit(child_id, ANSWER, AGENT, {"size": MEDIUM})["terminal"] is True
    run.shop.run_until_idle()
    assert run.get()["state"] == "b"


def test_a_parked_child_is_cancelled_when_its_parent_waits_no_more() -> None:
    parent = {
        "initialState": "a",
        "states": {
            "a": {
                "transitions": {
                    "go": {
                        "target": "b",
                        "executor": {"kind": "workflow", "definitionId": "child", "timeoutMs": 60_000},
                    }
                }
            },
            "b": {"terminal": True},
        },
    }
    run = AskingWorkflow(ask("size"), DONE, document=parent)
    run.shop.publish("child", {"initialState": "a", "states": hopping_states()})
    run.go()
    child_id = child_id_of(run.claim)
    run.shop.clock.advance(61)
    run.shop.run_until_idle()
    assert run.shop.load_instance(child_id).cancelled is not None
    assert (run.get()["inDoubt"]["transition"], len(run.requests)) == ("go", 1)


def test_a_child_that_asks_after_its_parent_was_cancelled_is_cancelled() -> None:
    def cancel_parent(_request: object) -> InputRequired:
        assert "error" not in run.shop.submit(run.id, CANCEL, AGENT)
        run.shop.wake(child_id)  # the wake of the cancellation meets the step that is executed
        run.shop.instances.wakes.clear()
        return ask("size")

    parent = one_step(executor={"kind": "workflow", "definitionId": "child"})
    run = AskingWorkflow(cancel_parent, document=parent)
    states = hopping_states(reliability={"timeoutMs": 60_000})  # longer than a call, so the worker executes it
    run.shop.publish("child", {"initialState": "a", "states": states})
    run.go()
    child_id = child_id_of(run.claim)
    run.shop.run_until_idle()
    assert run.shop.load_instance(child_id).cancelled is not None


def hopping_states(**transition: Any) -> JsonObject:
    on = {"actor": "deterministic", "target": "b", "executor": CALL, **transition}
    return {"a": {"transitions": {"on": on}}, "b": {"terminal": True}}


@pytest.mark.invariant(161)
def test_the_audit_has_the_rounds_and_neither_questions_nor_answers() -> None:
    run = AskingWorkflow(ask("size"), DONE)
    run.go()
    run.answer(size=accept(size=4711))
    assert list(run.events) == [
        "workflow.started",
        "transition.requested",
        "executor.started",
        "executor.asked",
        "executor.answered",
        "executor.started",
        "executor.succeeded",
        "workflow.transitioned",
    ]
    assert run.shop.list_payloads(run.id, "executor.asked") == [
        {"transition": "go", "candidate": 0, "attempt": 1, "kind": "function", "round": 1, "questions": 1}
    ]
    record = run.shop.instances.read_record(TENANT, run.id)
    assert record is not None
    assert "4711" not in str(record.audit)
    assert "Which size" not in str(record.audit)


def test_the_link_names_the_questions_and_shows_their_forms() -> None:
    run = AskingWorkflow(InputRequired({"size": form(), "sign": PAGE}), DONE)
    run.go()
    link = run.find_link()
    properties = link["inputSchema"]["properties"]
    assert link["args"]["arguments"] == {QUESTIONS: properties[QUESTIONS]["const"]}
    assert properties["size"]["description"] == "Which size?"
    assert "https://sign.example/1" in properties["sign"]["description"]
    assert (link["inputSchema"]["required"], link["title"]) == (["size", "sign"], "Answer the questions of go")

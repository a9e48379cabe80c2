"""Builds the answer of an approver to an approval request, and describes the request, the decision and its outcome."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.cli import terminal
from signpost.cli.failure import CommandFailed
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.workflow.instance import HUMAN_APPROVAL, digest_of

if TYPE_CHECKING:
    from signpost.workflow.definition import ApprovalDecision

DECISION_VERBS: Mapping[str, str] = {"approve": "approves", "reject": "rejects"}
DEFAULT_SCHEMA: JsonObject = {"type": "string"}


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """An approval request as the approver may see it, with the links that answer it."""

    workflow_id: str
    definition_id: str
    state: str
    version: int
    request_id: str
    queue: str
    digest: str
    shown: JsonObject
    """The values to approve, by their names in the context of the workflow instance."""
    approved_by: Sequence[str]
    links: Sequence[JsonObject]
    """The links to all transitions that the approver may submit next."""

    @property
    def is_unchanged(self) -> bool:
        """Whether the values are still those of the request. An approval of other values does not count."""
        return digest_of(self.shown) == self.digest


def parse_approval(status: JsonObject, request_id: str | None) -> ApprovalQuestion:
    """Parse the answer of `workflow.get`. Raises CommandFailed if the request is not open there.

    With None for `request_id`, any open request of the workflow instance is accepted."""
    if status.get("timedOut"):
        raise CommandFailed(_timeout_message(status))
    if error := as_object(status.get("error")):
        raise CommandFailed(terminal.make_printable(str(error.get("message"))))
    approval, context = as_object(status.get("approval")), as_object(status.get("context"))
    if not approval:
        state = terminal.make_printable(str(status.get("state")))
        raise CommandFailed(f"This run has no open approval request; it is in state {state}.")
    if request_id not in (None, approval["requestId"]):
        message = f"{request_id} was answered already. The open request of this run is {approval['requestId']}."
        raise CommandFailed(terminal.make_printable(message))
    version = status["version"]
    return ApprovalQuestion(
        workflow_id=str(status["workflowId"]),
        definition_id=str(status["definitionId"]),
        state=str(status["state"]),
        version=version if isinstance(version, int) else 0,
        request_id=str(approval["requestId"]),
        queue=str(approval["queue"]),
        digest=str(approval["digest"]),
        shown={name: context.get(name) for name in _texts(approval["shows"])},
        approved_by=_texts(approval["approvedBy"]),
        links=[link for link in map(as_object, _entries(status["links"])) if link.get("rel") == "transition"],
    )


def choose_link(question: ApprovalQuestion, decision: "ApprovalDecision", transition: str | None) -> JsonObject:
    """Return the link of the transition that makes this decision. Raises CommandFailed unless there is exactly one."""
    if decision == "approve" and not question.is_unchanged:
        message = "The values have changed since approval was requested, so no approval counts"
        raise CommandFailed(f"{message}. Request approval again.")
    by_name = {_transition_of(link): link for link in question.links if link.get("decision") == decision}
    if transition is not None and transition in by_name:
        return by_name[transition]
    if transition is not None:
        raise CommandFailed(_unknown_transition_message(transition, question, decision, by_name))
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    raise CommandFailed(_choice_message(decision, by_name) if by_name else _no_transition_message(question, decision))


def build_submission(question: ApprovalQuestion, link: JsonObject, texts: Sequence[str]) -> JsonObject:
    """Build the arguments of `workflow.submit`.

    The transition gets the arguments of the link. Those that the approver wrote as `name=value` replace them."""
    schema = as_object(link.get("inputSchema"))
    properties = as_object(schema.get("properties"))
    written_arguments = dict(_parse_argument(text, properties) for text in texts)
    arguments: JsonObject = {**as_object(as_object(link["args"]).get("arguments")), **written_arguments}
    missing = [name for name in _texts(schema.get("required")) if arguments.get(name) is None]
    if missing:
        options = " ".join(f"--argument {name}=…" for name in missing)
        raise CommandFailed(f"{_transition_of(link)} needs {terminal.make_printable(options)}")
    return {
        "workflowId": question.workflow_id,
        "expectedVersion": question.version,
        "transition": _transition_of(link),
        "arguments": arguments,
    }


def question_row(question: ApprovalQuestion) -> JsonObject:
    """Return the request as JSON, with the values to approve and the transitions that the approver may take."""
    return {
        "request": question.request_id,
        "queue": question.queue,
        "workflow": question.workflow_id,
        "definition": question.definition_id,
        "state": question.state,
        "approvedBy": list(question.approved_by),
        "shows": list(question.shown),
        "digest": question.digest,
        "version": question.version,
        "values": question.shown,
        "transitions": [
            {"transition": _transition_of(link), "decision": link.get("decision"), "title": link.get("title")}
            for link in question.links
        ],
    }


def describe_question(question: ApprovalQuestion) -> Iterator[str]:
    """Yield the request, the values to approve, and the transitions by which the approver may answer."""
    yield from _question_lines(question)
    if not question.is_unchanged:
        yield "The values have changed since approval was requested, so no approval counts. Request approval again."
    yield ""
    for link in question.links:
        verb = DECISION_VERBS.get(str(link.get("decision")), "does not answer it")
        yield terminal.make_printable(f"{_transition_of(link)} ({verb}): {link.get('title')}")


def _question_lines(question: ApprovalQuestion) -> Iterator[str]:
    yield terminal.make_printable(
        f"{question.definition_id}, {question.workflow_id}: in state {question.state}, {_version(question)}"
    )
    yield from request_lines(question.request_id, question.queue, question.digest, question.approved_by)
    yield ""
    yield from (line for name, value in question.shown.items() for line in terminal.format_value(name, value))


def describe_decision(question: ApprovalQuestion, link: JsonObject, submitted: JsonObject) -> Iterator[str]:
    """Yield everything that the approver has to know before the decision is sent."""
    yield from _question_lines(question)
    yield ""
    yield terminal.make_printable(
        f"{submitted['transition']} {DECISION_VERBS[str(link['decision'])]} this: {link.get('title')}"
    )
    for name, value in as_object(submitted["arguments"]).items():
        yield from (f"{terminal.GAP}{line}" for line in terminal.format_value(name, value))


def request_lines(request_id: str, queue: str, digest: str, approved_by: Sequence[str]) -> Iterator[str]:
    yield terminal.make_printable(f"request {request_id} in the queue {queue}")
    yield terminal.make_printable(f"digest {digest}")
    yield terminal.make_printable(f"approved by {', '.join(approved_by)}" if approved_by else "not approved yet")


def describe_outcome(question: ApprovalQuestion, link: JsonObject, answer: JsonObject) -> Iterator[str]:
    """Yield the result of a decision. Raises CommandFailed if it was not recorded, or if a later step failed."""
    if answer.get("timedOut"):
        raise CommandFailed(_timeout_message(answer))
    error = as_object(answer.get("error"))
    if error and not _has_moved(question, answer, error):
        raise CommandFailed(_refusal_message(error))
    is_approval = link.get("decision") == "approve"
    if is_approval and not _is_confirmed(question, answer):
        raise CommandFailed(_unconfirmed_message(question, answer))
    if error:
        raise CommandFailed(
            _failure_message(_approval_message(question, answer) if is_approval else REJECTED, question, answer)
        )
    if is_approval:
        yield _approval_message(question, answer)
    yield _state_sentence(answer)
    approval = as_object(answer.get("approval"))
    if approval.get("requestId") == question.request_id:
        names = ", ".join(_texts(approval.get("approvedBy")))
        approvals = f"approved so far by {names}" if names else "not approved yet"
        yield terminal.make_printable(f"The request stays open in the queue {question.queue}; {approvals}.")


STALE_VERSION = "STALE_WORKFLOW_VERSION"
REJECTED = "Your rejection is recorded."
ADVICE: Mapping[str, str] = {
    STALE_VERSION: "The run has changed since it was shown to you. Look at it again, and then decide.",
    "ACTOR_MISMATCH": "The credential is not a person's: log in with `signpost login --url`, with the server's URL.",
    "INPUT_SCHEMA_VIOLATION": "Give it with `--argument NAME=VALUE`.",
    "GUARD_REJECTED": "See `signpost approvals show` for the conditions and the deadline.",
}


def _has_moved(question: ApprovalQuestion, answer: JsonObject, error: JsonObject) -> bool:
    """Return whether the instance took the decision before an error occurred.

    With a stale version it did not: another request has changed the instance first."""
    version = answer.get("version")
    return error.get("code") != STALE_VERSION and isinstance(version, int) and version > question.version


def _is_confirmed(question: ApprovalQuestion, answer: JsonObject) -> bool:
    evidence = map(as_object, _entries(answer.get("evidence")))
    return any(item.get("kind") == HUMAN_APPROVAL and item.get("id") == question.request_id for item in evidence)


def _approval_message(question: ApprovalQuestion, answer: JsonObject) -> str:
    """Return the confirmation of an approval.

    An approver counts once. If the list of approvers is unchanged, this approver was in it before."""
    approval = as_object(answer.get("approval"))
    is_same_request = approval.get("requestId") == question.request_id
    if is_same_request and set(_texts(approval.get("approvedBy"))) == set(question.approved_by):
        return terminal.make_printable(f"You had approved {question.digest} already.")
    return terminal.make_printable(f"Your approval of {question.digest} is recorded.")


def _refusal_message(error: JsonObject) -> str:
    return " ".join(filter(None, (f"Nothing was decided. {_error_text(error)}", ADVICE.get(str(error.get("code"))))))


def _timeout_message(answer: JsonObject) -> str:
    error = as_object(answer.get("error"))
    failure = f" A step after the timeout failed: {_error_text(error)}" if error else ""
    return f"Nothing was decided: the run timed out before your decision arrived.{failure} {_state_sentence(answer)}"


def _failure_message(recorded: str, question: ApprovalQuestion, answer: JsonObject) -> str:
    reason = _error_text(as_object(answer.get("error")))
    message = f"{recorded} A later step failed: {reason} {_state_sentence(answer)}"
    return f"{message} {_timeline_hint(question)}."


def _unconfirmed_message(question: ApprovalQuestion, answer: JsonObject) -> str:
    error = as_object(answer.get("error"))
    failure = f" A step failed: {_error_text(error)}" if error else ""
    message = f"The answer does not confirm your approval.{failure} {_state_sentence(answer)}"
    return f"{message} {_timeline_hint(question)}."


def _error_text(error: JsonObject) -> str:
    return terminal.make_printable(f"{str(error.get('message')).rstrip('.')}.")


def _state_sentence(answer: JsonObject) -> str:
    ending = ", and has ended" if answer.get("terminal") else ""
    state, version = answer.get("state"), answer.get("version")
    return terminal.make_printable(f"The run is in state {state} now, version {version}{ending}.")


def _timeline_hint(question: ApprovalQuestion) -> str:
    return terminal.make_printable(f"See `signpost workflow timeline {question.workflow_id}`")


def _parse_argument(argument: str, properties: JsonObject) -> tuple[str, Json]:
    name, equals, text = argument.partition("=")
    if not equals or not name:
        raise CommandFailed(f"Write an argument as NAME=VALUE, not {argument!r}.")
    if as_object(properties.get(name, DEFAULT_SCHEMA)).get("type") == "string":
        return name, text
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


def _unknown_transition_message(
    name: str, question: ApprovalQuestion, decision: "ApprovalDecision", by_name: Mapping[str, JsonObject]
) -> str:
    decisions = {_transition_of(link): link.get("decision") for link in question.links}
    if name in decisions:
        verb = DECISION_VERBS.get(str(decisions[name]), "does not answer")
        return f"{terminal.make_printable(name)} {verb} the request. {_choice_message(decision, by_name)}"
    close = suggest_name(name, by_name)
    advice = f"Did you mean {terminal.make_printable(close)}?" if close else _choice_message(decision, by_name)
    return f"There is no transition {terminal.make_printable(name)} that you may take here. {advice}"


def _choice_message(decision: "ApprovalDecision", by_name: Mapping[str, JsonObject]) -> str:
    if not by_name:
        return f"None of the transitions that you may take {DECISION_VERBS[decision]} it."
    choices = ", ".join(f"{name} ({link.get('title')})" for name, link in by_name.items())
    message = f"Choose a transition that {DECISION_VERBS[decision]} it with --transition: {choices}."
    return terminal.make_printable(message)


def _no_transition_message(question: ApprovalQuestion, decision: "ApprovalDecision") -> str:
    open_to_you = ", ".join(map(_transition_of, question.links)) or "none"
    message = f"None of the transitions that you may take {DECISION_VERBS[decision]} it (you may take: {open_to_you})"
    return f"{terminal.make_printable(message)}. See `signpost approvals show` for the conditions and the deadline."


def _version(question: ApprovalQuestion) -> str:
    return f"version {question.version}"


def _transition_of(link: JsonObject) -> str:
    return str(as_object(link.get("args")).get("transition"))


def _entries(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _texts(value: Json) -> Sequence[str]:
    return [text for text in _entries(value) if isinstance(text, str)]

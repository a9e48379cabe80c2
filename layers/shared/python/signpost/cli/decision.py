"""What a person says to what people were asked: exactly what is to be approved, and which transition says so."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.cli import terminal
from signpost.cli.failure import CommandFailed
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.spelling import meant
from signpost.workflow.instance import HUMAN_APPROVAL, digest_of

if TYPE_CHECKING:
    from signpost.workflow.definition import Decision

DOES: Mapping[str, str] = {"approve": "approves", "reject": "rejects"}
LEFT_OPEN: JsonObject = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Asked:
    """As whoever is to answer may see it."""

    workflow_id: str
    definition_id: str
    state: str
    version: int
    request_id: str
    queue: str
    digest: str
    shown: JsonObject
    """What is to be approved, by its names in the context."""
    approved_by: Sequence[str]
    links: Sequence[JsonObject]
    """All that they may do next."""

    @property
    def is_as_it_was_asked(self) -> bool:
        """Whether what is there now is what people were asked about. No other approval counts."""
        return digest_of(self.shown) == self.digest


def asked_in(stand: JsonObject, request_id: str | None) -> Asked:
    """From what `workflow.get` answered; with None whatever is asked there."""
    if stand.get("timedOut"):
        raise CommandFailed(_timed_out(stand))
    if error := as_object(stand.get("error")):
        raise CommandFailed(terminal.visible(str(error.get("message"))))
    approval, context = as_object(stand.get("approval")), as_object(stand.get("context"))
    if not approval:
        state = terminal.visible(str(stand.get("state")))
        raise CommandFailed(f"Nobody is asked to approve anything there: it stands in {state}.")
    if request_id not in (None, approval["requestId"]):
        message = f"{request_id} is answered already. What is open there now is {approval['requestId']}."
        raise CommandFailed(terminal.visible(message))
    version = stand["version"]
    return Asked(
        workflow_id=str(stand["workflowId"]),
        definition_id=str(stand["definitionId"]),
        state=str(stand["state"]),
        version=version if isinstance(version, int) else 0,
        request_id=str(approval["requestId"]),
        queue=str(approval["queue"]),
        digest=str(approval["digest"]),
        shown={name: context.get(name) for name in _texts(approval["shows"])},
        approved_by=_texts(approval["approvedBy"]),
        links=[link for link in map(as_object, _entries(stand["links"])) if link.get("rel") == "transition"],
    )


def chosen(asked: Asked, decision: "Decision", transition: str | None) -> JsonObject:
    """The link that says it."""
    if decision == "approve" and not asked.is_as_it_was_asked:
        message = "What is there now is not what people were asked to approve, so that no approval would count"
        raise CommandFailed(f"{message}. It has to be asked for again.")
    by_name = {_name(link): link for link in asked.links if link.get("decision") == decision}
    if transition is not None and transition in by_name:
        return by_name[transition]
    if transition is not None:
        raise CommandFailed(_no_such(transition, asked, decision, by_name))
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    raise CommandFailed(_several(decision, by_name) if by_name else _none(asked, decision))


def submission(asked: Asked, link: JsonObject, written: Sequence[str]) -> JsonObject:
    """With the arguments that the link carries, and over them those of the form `name=value`."""
    schema = as_object(link.get("inputSchema"))
    properties = as_object(schema.get("properties"))
    given = dict(_argument(one, properties) for one in written)
    arguments: JsonObject = {**as_object(as_object(link["args"]).get("arguments")), **given}
    missing = [name for name in _texts(schema.get("required")) if arguments.get(name) is None]
    if missing:
        needed = " ".join(f"--argument {name}=…" for name in missing)
        raise CommandFailed(f"{_name(link)} needs {terminal.visible(needed)}")
    return {
        "workflowId": asked.workflow_id,
        "expectedVersion": asked.version,
        "transition": _name(link),
        "arguments": arguments,
    }


def shown(asked: Asked, link: JsonObject, submitted: JsonObject) -> Iterator[str]:
    """Everything that somebody has to know who is about to say it."""
    yield terminal.visible(f"{asked.definition_id}, {asked.workflow_id}: stands in {asked.state}, {_version(asked)}")
    yield from request_lines(asked.request_id, asked.queue, asked.digest, asked.approved_by)
    yield ""
    yield from (line for name, found in asked.shown.items() for line in terminal.value(name, found))
    yield ""
    yield terminal.visible(f"{submitted['transition']} {DOES[str(link['decision'])]} this: {link.get('title')}")
    for name, found in as_object(submitted["arguments"]).items():
        yield from (f"{terminal.GAP}{line}" for line in terminal.value(name, found))


def request_lines(request_id: str, queue: str, digest: str, approved_by: Sequence[str]) -> Iterator[str]:
    yield terminal.visible(f"request {request_id} in the queue {queue}")
    yield terminal.visible(f"digest {digest}")
    yield terminal.visible(f"approved by {', '.join(approved_by) if approved_by else 'nobody so far'}")


def outcome(asked: Asked, link: JsonObject, answer: JsonObject) -> Iterator[str]:
    """What came of it. Raises CommandFailed if it did not count, or if what follows it failed."""
    if answer.get("timedOut"):
        raise CommandFailed(_timed_out(answer))
    error = as_object(answer.get("error"))
    if error and not _has_moved(asked, answer, error):
        raise CommandFailed(_refused(error))
    approves = link.get("decision") == "approve"
    if approves and not _is_evident(asked, answer):
        raise CommandFailed(_unconfirmed(asked, answer))
    if error:
        raise CommandFailed(_stopped(_approved(asked, answer) if approves else REJECTED, asked, answer))
    if approves:
        yield _approved(asked, answer)
    yield _standing(answer)
    approval = as_object(answer.get("approval"))
    if approval.get("requestId") == asked.request_id:
        approved_by = ", ".join(_texts(approval.get("approvedBy"))) or "nobody"
        yield terminal.visible(f"It goes on waiting in the queue {asked.queue}; approved so far by {approved_by}.")


STALE = "STALE_WORKFLOW_VERSION"
REJECTED = "Your rejection is recorded."
ADVICE: Mapping[str, str] = {
    STALE: "Something has happened since it was shown to you. Look at it again, and then decide.",
    "ACTOR_MISMATCH": "The credential is not a person's: log in with `signpost login --url`, with the server's URL.",
    "INPUT_SCHEMA_VIOLATION": "Say it with `--argument NAME=VALUE`.",
    "GUARD_REJECTED": "`signpost approvals show` says who may, and until when.",
}


def _has_moved(asked: Asked, answer: JsonObject, error: JsonObject) -> bool:
    """Whether the decision was taken before something failed. If it came too late, others have moved it."""
    version = answer.get("version")
    return error.get("code") != STALE and isinstance(version, int) and version > asked.version


def _is_evident(asked: Asked, answer: JsonObject) -> bool:
    evidence = map(as_object, _entries(answer.get("evidence")))
    return any(item.get("kind") == HUMAN_APPROVAL and item.get("id") == asked.request_id for item in evidence)


def _approved(asked: Asked, answer: JsonObject) -> str:
    """Nobody counts twice: where the same persons have approved as before, this one was among them."""
    approval = as_object(answer.get("approval"))
    is_the_same = approval.get("requestId") == asked.request_id
    if is_the_same and set(_texts(approval.get("approvedBy"))) == set(asked.approved_by):
        return terminal.visible(f"You had approved {asked.digest} already.")
    return terminal.visible(f"Your approval of {asked.digest} is recorded.")


def _refused(error: JsonObject) -> str:
    return " ".join(filter(None, (f"Nothing was decided. {_why(error)}", ADVICE.get(str(error.get("code"))))))


def _timed_out(answer: JsonObject) -> str:
    error = as_object(answer.get("error"))
    failed = f" What follows a timeout failed: {_why(error)}" if error else ""
    return f"Nothing was decided: the time was over before the decision came.{failed} {_standing(answer)}"


def _stopped(recorded: str, asked: Asked, answer: JsonObject) -> str:
    why = _why(as_object(answer.get("error")))
    return f"{recorded} What follows it failed: {why} {_standing(answer)} {_see(asked)} what happened."


def _unconfirmed(asked: Asked, answer: JsonObject) -> str:
    error = as_object(answer.get("error"))
    failed = f" Something failed: {_why(error)}" if error else ""
    message = f"The server does not say that your approval is recorded.{failed} {_standing(answer)}"
    return f"{message} {_see(asked)} whether it is."


def _why(error: JsonObject) -> str:
    return terminal.visible(f"{str(error.get('message')).rstrip('.')}.")


def _standing(answer: JsonObject) -> str:
    ended = ", and has ended there" if answer.get("terminal") else ""
    return terminal.visible(f"It stands in {answer.get('state')} now, version {answer.get('version')}{ended}.")


def _see(asked: Asked) -> str:
    return terminal.visible(f"`signpost workflow timeline {asked.workflow_id}` says")


def _argument(written: str, properties: JsonObject) -> tuple[str, Json]:
    name, equals, text = written.partition("=")
    if not equals or not name:
        raise CommandFailed(f"Write an argument as NAME=VALUE, not {written!r}.")
    if as_object(properties.get(name, LEFT_OPEN)).get("type") == "string":
        return name, text
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


def _no_such(name: str, asked: Asked, decision: "Decision", by_name: Mapping[str, JsonObject]) -> str:
    others = {_name(link): link.get("decision") for link in asked.links}
    if name in others:
        does = DOES.get(str(others[name]), "decides nothing about")
        return f"{terminal.visible(name)} {does} what was asked. {_several(decision, by_name)}"
    close = meant(name, by_name)
    advice = f"Did you mean {terminal.visible(close)}?" if close else _several(decision, by_name)
    return f"There is no transition {terminal.visible(name)} here that is open to you. {advice}"


def _several(decision: "Decision", by_name: Mapping[str, JsonObject]) -> str:
    if not by_name:
        return f"Nothing that is open to you {DOES[decision]} it."
    named = ", ".join(f"{name} ({link.get('title')})" for name, link in by_name.items())
    return terminal.visible(f"Choose what {DOES[decision]} it with --transition: {named}.")


def _none(asked: Asked, decision: "Decision") -> str:
    open_to_you = ", ".join(map(_name, asked.links)) or "nothing"
    message = f"Nothing that is open to you {DOES[decision]} it (open: {open_to_you})"
    return f"{terminal.visible(message)}. `signpost approvals show` says who may, and until when."


def _version(asked: Asked) -> str:
    return f"version {asked.version}"


def _name(link: JsonObject) -> str:
    return str(as_object(link.get("args")).get("transition"))


def _entries(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _texts(value: Json) -> Sequence[str]:
    return [text for text in _entries(value) if isinstance(text, str)]

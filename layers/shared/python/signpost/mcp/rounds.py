"""The rounds of one request, as they travel with the client: what was asked and answered so far, sealed.

Import this module on first use: few requests are asked back.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from signpost.calling.client_answers import LARGEST_ANSWERS, AnswerSorter
from signpost.errors import INVALID_PARAMS, Rejection
from signpost.mcp.retry_state import ATTEMPT_KEYS, SEAL_PURPOSE, STATE_LIFETIME
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.mcp.request import McpRequest

_INVALID_STATE = Rejection(
    INVALID_PARAMS,
    "This requestState is not valid for this caller and request, or it has expired. Send the request without it.",
)
_USED_STATE = Rejection(
    INVALID_PARAMS,
    "This answer counts once, and it was used before; its request may have taken effect. Check that first, then send "
    "the request without requestState to be asked again.",
)
_TOO_LARGE = Rejection(
    INVALID_PARAMS, f"The inputResponses have more than {LARGEST_ANSWERS} characters. Send shorter answers."
)


@dataclass(frozen=True, slots=True)
class Rounds:
    """What was asked and answered in the rounds of one request so far."""

    thread: str
    number: int = 0
    """How often the client was asked."""
    asked: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """The questions of the last round, by key."""
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The answers of all rounds that fitted their questions, by key."""
    state: Json = None
    """The provider's state."""
    nonce: str = ""
    """The name under which the answers are used up; empty if they may be used again until they expire."""

    def ask(self, required: InputRequired) -> "Rounds":
        """Return the rounds with the next one. An answer to a key that is asked again counts no more. Once a function
        has asked for an answer that counts once, all later rounds carry that answer and count once too."""
        number = self.number + 1
        return Rounds(
            self.thread,
            number,
            required.requests,
            {key: answer for key, answer in self.answers.items() if key not in required.requests},
            required.state,
            f"{self.thread}/{number}" if required.single_use or self.nonce else "",
        )

    def ask_again(self, still_open: Mapping[str, JsonObject], accepted: Mapping[str, JsonObject]) -> "Rounds":
        """Return the rounds with one that repeats the questions without a fitting answer."""
        return replace(self, number=self.number + 1, asked=still_open, answers={**self.answers, **accepted})


def seal(rounds: Rounds, request: "McpRequest", subject: str) -> str:
    payload: JsonObject = {
        "about": _digest_of_request(request, subject),
        "expires": request.services.clock.now() + STATE_LIFETIME,
        "thread": rounds.thread,
        "round": rounds.number,
        "asked": rounds.asked,
        "answers": rounds.answers,
        "state": rounds.state,
        "nonce": rounds.nonce,
    }
    return request.services.sealer.seal(SEAL_PURPOSE, payload, request.call.principal)


def resume(
    request: "McpRequest", subject: str, sealed: str, responses: JsonObject
) -> "McpRequest | Rounds | Rejection":
    """Return the request with the answers of all rounds; the rounds to ask again if a question has no fitting answer;
    or a rejection."""
    opened = as_object(request.services.sealer.open(SEAL_PURPOSE, sealed, request.call.principal))
    if opened.get("about") != _digest_of_request(request, subject):
        return _INVALID_STATE
    expires, rounds = opened.get("expires"), _rounds_of(opened)
    if not isinstance(expires, int | float) or expires <= request.services.clock.now() or rounds is None:
        return _INVALID_STATE
    if len(json.dumps(responses)) > LARGEST_ANSWERS:
        return _TOO_LARGE
    answers = AnswerSorter(request.services.validators).sort(rounds.asked, responses)
    if answers.open:
        return rounds.ask_again(answers.open, answers.accepted)
    if rounds.nonce and not _use_up(request, rounds.nonce, expires):
        return _USED_STATE
    return request.with_rounds(replace(rounds, asked={}, answers={**rounds.answers, **answers.accepted}))


def _use_up(request: "McpRequest", nonce: str, expires: float) -> bool:
    used = request.services.used_nonces
    return used is not None and used().use(request.call.principal, nonce, expires)


def _rounds_of(opened: JsonObject) -> Rounds | None:
    """Read the rounds of a seal; None if an earlier release sealed it."""
    thread, number = opened.get("thread"), opened.get("round")
    if not isinstance(thread, str) or not isinstance(number, int):
        return None
    asked = {key: as_object(request) for key, request in as_object(opened.get("asked")).items()}
    return Rounds(
        thread, number, asked, as_object(opened.get("answers")), opened.get("state"), str(opened.get("nonce", ""))
    )


def _digest_of_request(request: "McpRequest", subject: str) -> str:
    arguments = {
        name: value
        for name, value in request.params.items()
        if name not in (*ATTEMPT_KEYS, "name", "uri") and value not in (None, {})
    }
    text = json.dumps([request.surface.name, request.method, subject, arguments], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

"""Requests in several rounds: the gateway asks the client, and the client sends the request again with its answers.

The gateway stores none of it. Questions, answers and the provider's state travel with the client, sealed: bound to its
principal, to the tool or document and to the arguments, for ten minutes. What most requests do not need is in
`rounds.py` and `input_requests.py`.
"""

from collections.abc import Mapping, Sequence

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.mcp.request import McpRequest
from signpost.model import InputRequired, JsonObject
from signpost.records import dataclass

SEAL_PURPOSE = "request-state"
STATE_LIFETIME = 600.0
MOST_ROUNDS = 10
"""The times that one request asks its client, repeated questions included."""
LONGEST_STATE = 256 * 1024
"""Characters of sealed state. It comes back in a body, which has a limit of its own."""
ATTEMPT_KEYS = ("_meta", "inputResponses", "requestState")
"""The params that differ between the attempts of a request; all others must stay as they were."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """Questions that are not sent, with the sentence for the caller."""

    message: str
    code: int = INVALID_PARAMS
    """The code of the error, where the answer has no other place for the sentence."""

    @property
    def rejection(self) -> Rejection:
        return Rejection(self.code, self.message)


type AskedBack = JsonObject | Rejection | Unasked
"""A result that asks the client, or the reason why it is not asked."""


def resume(request: McpRequest, subject: str) -> McpRequest | AskedBack:
    """Return the request with the client's answers of all rounds, or the result that asks again for those missing.

    `subject` is the canonical name of the tool, prompt or resource that the request is about. Answers without the state
    that came with their questions answer nothing and count as not given.
    """
    if not request.revision.is_modern:
        return request
    responses, sealed = request.params.get("inputResponses", {}), request.params.get("requestState")
    if not isinstance(responses, Mapping) or not (sealed is None or isinstance(sealed, str)):
        return Rejection(
            INVALID_PARAMS, "inputResponses must be an object, and requestState the text of the answer before."
        )
    if sealed is None:
        return request
    from signpost.mcp import input_requests, rounds  # noqa: PLC0415 - few requests are asked back

    resumed = rounds.resume(request, subject, sealed, responses)
    return input_requests.ask_client(request, resumed, subject) if isinstance(resumed, rounds.Rounds) else resumed


def ask_back(request: McpRequest, required: InputRequired, subject: str, arguments: Sequence[str] = ()) -> AskedBack:
    """Return the result that asks the client for input. `arguments` are the names of those that the request takes."""
    from signpost.mcp.input_requests import ask_required  # noqa: PLC0415 - as above

    return ask_required(request, required, subject, arguments)

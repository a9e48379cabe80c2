"""State between the attempts of a request: the gateway asks the client for input, and the client sends the request
again with its answers.

The gateway stores none of it. A provider's state travels with the client, sealed: bound to its principal, to the tool
or document and to the arguments, for ten minutes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from signpost.errors import CAPABILITY_MISSING, INVALID_PARAMS, Rejection
from signpost.mcp.request import McpRequest
from signpost.model import InputRequired, Json, JsonObject, as_object

SEAL_PURPOSE = "request-state"
STATE_LIFETIME = 600.0
ATTEMPT_KEYS = ("_meta", "inputResponses", "requestState")
"""The params that differ between the attempts of a request; all others must stay as they were."""

_INVALID_STATE = Rejection(
    INVALID_PARAMS,
    "This requestState is not valid for this caller and request, or it has expired. Send the request without it.",
)


def resume(request: McpRequest, subject: str) -> McpRequest | Rejection:
    """Returns the request with the client's answers and the state that came back.

    `subject` is the canonical name of the tool, prompt or resource that the request is about.
    """
    if not request.revision.is_modern:
        return request
    answers, sealed = request.params.get("inputResponses", {}), request.params.get("requestState")
    if not isinstance(answers, Mapping) or not (sealed is None or isinstance(sealed, str)):
        return Rejection(
            INVALID_PARAMS, "inputResponses must be an object, and requestState the text of the answer before."
        )
    if sealed is None:
        return request.with_answers(answers, None)
    opened = request.services.sealer.open(SEAL_PURPOSE, sealed, request.call.principal)
    if not isinstance(opened, dict) or opened.get("about") != _digest_of_request(request, subject):
        return _INVALID_STATE
    expires = opened.get("expires")
    if not isinstance(expires, int | float) or expires <= request.services.clock.now():
        return _INVALID_STATE
    return request.with_answers(answers, opened.get("state"))


def build_input_required(request: McpRequest, required: InputRequired, subject: str) -> JsonObject | Rejection:
    """Builds the result that asks the client for input, or a rejection if the client lacks a capability for that."""
    # Imported on first use: few requests are answered by a question.
    from signpost.calling.questions import find_question_fault  # noqa: PLC0415

    # Questions of functions were checked with their reply, so this one is of a provider inside the gateway.
    if (fault := find_question_fault(required)) is not None:
        raise ValueError(f"An InputRequired for {subject}: {fault}")
    missing = _missing_capabilities(required.requests, request.call.client.capabilities)
    if missing:
        message = "This request needs a capability that the client did not declare."
        return Rejection(CAPABILITY_MISSING, message, {"requiredCapabilities": missing})
    result: dict[str, Json] = {"resultType": "input_required"}
    if required.requests:
        result["inputRequests"] = required.requests
    if required.state is not None:
        result["requestState"] = _seal_state(request, required.state, subject)
    return result


def _seal_state(request: McpRequest, state: Json, subject: str) -> str:
    expires = request.services.clock.now() + STATE_LIFETIME
    payload: JsonObject = {"state": state, "expires": expires, "about": _digest_of_request(request, subject)}
    return request.services.sealer.seal(SEAL_PURPOSE, payload, request.call.principal)


def _digest_of_request(request: McpRequest, subject: str) -> str:
    arguments = {
        name: value
        for name, value in request.params.items()
        if name not in (*ATTEMPT_KEYS, "name", "uri") and value not in (None, {})
    }
    text = json.dumps([request.surface.name, request.method, subject, arguments], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _missing_capabilities(requests: Mapping[str, JsonObject], declared: JsonObject) -> JsonObject:
    missing: dict[str, dict[str, Json]] = {}
    for request in requests.values():
        name, parts = CAPABILITY_OF[str(request.get("method"))](as_object(request.get("params")))
        declaration = declared.get(name)
        lacking = [part for part in parts if not _is_declared(part, as_object(declaration))]
        if not isinstance(declaration, Mapping) or lacking:
            missing.setdefault(name, {}).update({part: {} for part in lacking if part != FORM})
    return missing


FORM = "form"


def _is_declared(part: str, declared: JsonObject) -> bool:
    """Whether the client declared this part of a capability. An empty declaration of elicitation means forms."""
    return part in declared or (part == FORM and not declared)


type NeededCapability = Callable[[JsonObject], tuple[str, Sequence[str]]]


def _elicitation_capability(params: JsonObject) -> tuple[str, Sequence[str]]:
    return "elicitation", [str(params.get("mode", FORM))]


def _sampling_capability(params: JsonObject) -> tuple[str, Sequence[str]]:
    with_context = params.get("includeContext", "none") != "none"
    return "sampling", ["tools"] * ("tools" in params) + ["context"] * with_context


CAPABILITY_OF: Mapping[str, NeededCapability] = {
    "elicitation/create": _elicitation_capability,
    "sampling/createMessage": _sampling_capability,
    "roots/list": lambda _params: ("roots", ()),
}
"""The capability, and its parts, that each request to a client needs. Other requests cannot be made."""

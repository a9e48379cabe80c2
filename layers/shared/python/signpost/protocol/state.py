"""Rounds of a request: the client is asked something, answers, and asks again with the answers.

Nothing of it is kept here. What a provider put aside travels with the client, sealed: bound to its holder, to the tool
or document it is about and to the arguments, for ten minutes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from signpost.errors import CAPABILITY_MISSING, INVALID_PARAMS, Rejection
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.protocol.exchange import Exchange

PURPOSE = "request-state"
LASTS = 600.0
ROUND_KEYS = ("_meta", "inputResponses", "requestState")
"""What changes from round to round; all else must stay as it was."""

_REFUSED = Rejection(INVALID_PARAMS, "The requestState is not one of yours for this request, or it is too old.")


def resumed(exchange: Exchange, subject: str) -> Exchange | Rejection:
    """The exchange with the answers and the state that came back. `subject` is what the request is about, in its
    canonical spelling."""
    if not exchange.era.modern:
        return exchange
    answers, sealed = exchange.params.get("inputResponses", {}), exchange.params.get("requestState")
    if not isinstance(answers, Mapping) or not (sealed is None or isinstance(sealed, str)):
        return Rejection(INVALID_PARAMS, "inputResponses is an object, and requestState the text we gave.")
    if sealed is None:
        return exchange.resumed_with(answers, None)
    opened = exchange.services.sealer.open(PURPOSE, sealed, exchange.call.principal)
    if not isinstance(opened, dict) or opened.get("about") != _about(exchange, subject):
        return _REFUSED
    expires = opened.get("expires")
    if not isinstance(expires, int | float) or expires <= exchange.services.clock.now():
        return _REFUSED
    return exchange.resumed_with(answers, opened.get("state"))


def asked(exchange: Exchange, required: InputRequired, subject: str) -> JsonObject | Rejection:
    """The result that asks the client, if it said that it can be asked that."""
    if not required.requests and required.state is None:
        raise ValueError("an InputRequired that requires nothing")
    missing = _missing_capabilities(required.requests, exchange.call.client.capabilities)
    if missing:
        message = "This needs a capability that the client did not declare."
        return Rejection(CAPABILITY_MISSING, message, {"requiredCapabilities": missing})
    result: dict[str, Json] = {"resultType": "input_required"}
    if required.requests:
        result["inputRequests"] = required.requests
    if required.state is not None:
        result["requestState"] = _sealed(exchange, required.state, subject)
    return result


def _sealed(exchange: Exchange, state: Json, subject: str) -> str:
    expires = exchange.services.clock.now() + LASTS
    payload: JsonObject = {"state": state, "expires": expires, "about": _about(exchange, subject)}
    return exchange.services.sealer.seal(PURPOSE, payload, exchange.call.principal)


def _about(exchange: Exchange, subject: str) -> str:
    bound = exchange.params.items()
    named = {
        name: value for name, value in bound if name not in (*ROUND_KEYS, "name", "uri") and value not in (None, {})
    }
    text = json.dumps([exchange.surface.name, exchange.method, subject, named], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _missing_capabilities(requests: Mapping[str, JsonObject], declared: JsonObject) -> JsonObject:
    missing: dict[str, dict[str, Json]] = {}
    for request in requests.values():
        name, parts = CAPABILITY_OF[str(request.get("method"))](as_object(request.get("params")))
        has = declared.get(name)
        lacking = [part for part in parts if not _has(part, as_object(has))]
        if not isinstance(has, Mapping) or lacking:
            missing.setdefault(name, {}).update({part: {} for part in lacking if part != FORM})
    return missing


FORM = "form"


def _has(part: str, declared: JsonObject) -> bool:
    """An empty declaration of elicitation means forms."""
    return part in declared or (part == FORM and not declared)


type Needed = Callable[[JsonObject], tuple[str, Sequence[str]]]


def _elicitation(params: JsonObject) -> tuple[str, Sequence[str]]:
    return "elicitation", [str(params.get("mode", FORM))]


def _sampling(params: JsonObject) -> tuple[str, Sequence[str]]:
    with_context = params.get("includeContext", "none") != "none"
    return "sampling", ["tools"] * ("tools" in params) + ["context"] * with_context


CAPABILITY_OF: Mapping[str, Needed] = {
    "elicitation/create": _elicitation,
    "sampling/createMessage": _sampling,
    "roots/list": lambda _params: ("roots", ()),
}
"""What a client must have declared to be asked this, and which parts of it. Nothing else can be asked."""

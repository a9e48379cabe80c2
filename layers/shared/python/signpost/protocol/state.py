"""Rounds of a request: the client is asked something, answers, and asks again with the answers.

Nothing of it is kept here. What a provider put aside travels with the client, sealed: bound to its holder, to the tool
or document it is about and to the arguments, for ten minutes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping

from signpost.errors import CAPABILITY_MISSING, INVALID_PARAMS, Rejection
from signpost.model import InputRequired, Json, JsonObject
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
    named = {name: value for name, value in exchange.params.items() if name not in (*ROUND_KEYS, "name", "uri")}
    text = json.dumps([exchange.method, subject, named], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _missing_capabilities(requests: Mapping[str, JsonObject], declared: JsonObject) -> JsonObject:
    missing: dict[str, Json] = {}
    for request in requests.values():
        rule = CAPABILITY_OF.get(str(request.get("method")))
        needed = rule(request, declared) if rule else None
        missing |= needed or {}
    return missing


def _elicitation(request: JsonObject, declared: JsonObject) -> JsonObject | None:
    """An empty declaration means forms; other modes are named."""
    has, params = declared.get("elicitation"), request.get("params")
    mode = params.get("mode", "form") if isinstance(params, Mapping) else "form"
    if isinstance(has, Mapping) and (mode in has or (mode == "form" and not has)):
        return None
    return {"elicitation": {} if mode == "form" else {str(mode): {}}}


def _plain(name: str) -> Callable[[JsonObject, JsonObject], JsonObject | None]:
    def needed(request: JsonObject, declared: JsonObject) -> JsonObject | None:
        del request
        return None if isinstance(declared.get(name), Mapping) else {name: {}}

    return needed


CAPABILITY_OF: Mapping[str, Callable[[JsonObject, JsonObject], JsonObject | None]] = {
    "elicitation/create": _elicitation,
    "sampling/createMessage": _plain("sampling"),
    "roots/list": _plain("roots"),
}
"""What a client must have declared to be asked this."""

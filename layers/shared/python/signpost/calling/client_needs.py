"""Decides whether a client can be asked: the capabilities that questions and functions need, and those it declared.

A need is the name of a capability of clients, such as `elicitation`, or of a part of one, such as `elicitation.url`.
`elicitation` alone means forms."""

from collections.abc import Iterable, Mapping, Sequence

from signpost.contract import CallClient, HostedFunction
from signpost.errors import CAPABILITY_MISSING, INVALID_PARAMS, Rejection
from signpost.model import Json, JsonObject, as_object

FORM = "form"
CANNOT_ASK = (
    "{subject} first needs an answer from you or your user, and this connection cannot carry its question. {advice}"
)
NEWER_CLIENT = "use a client that speaks MCP 2026-07-28"


def needs_of(request: JsonObject) -> Sequence[str]:
    """Return what a client must have declared to be asked this question."""
    params = as_object(request.get("params"))
    match request.get("method"):
        case "elicitation/create":
            return [f"elicitation.{params.get('mode', FORM)}"]
        case "sampling/createMessage":
            context = ["sampling.context"] * (params.get("includeContext", "none") != "none")
            return ["sampling", *["sampling.tools"] * ("tools" in params), *context]
        case _:
            return ["roots"]


def is_declared(need: str, declared: JsonObject) -> bool:
    name, _, part = need.partition(".")
    declaration = declared.get(name)
    if not isinstance(declaration, Mapping):
        return False
    if name == "elicitation" and part in ("", FORM):
        return FORM in declaration or not declaration  # an empty declaration means forms
    return not part or part in declaration


def declare(needs: Iterable[str]) -> JsonObject:
    """Return the capabilities of a client that has all that is needed, in the form of MCP."""
    declared: dict[str, dict[str, Json]] = {}
    for need in needs:
        name, _, part = need.partition(".")
        parts: JsonObject = {part: {}} if part else {FORM: {}} if name == "elicitation" else {}
        declared.setdefault(name, {}).update(parts)
    return declared


def find_missing_capabilities(needs: Iterable[str], declared: JsonObject) -> JsonObject:
    """Return the capabilities that the client did not declare, in the form of MCP; empty if none is missing."""
    missing: dict[str, dict[str, Json]] = {}
    for need in needs:
        if not is_declared(need, declared):
            name, _, part = need.partition(".")
            missing.setdefault(name, {}).update({} if part in ("", FORM) else {part: {}})
    return missing


def reject_lacking_client(function: HostedFunction, client: CallClient | None) -> Rejection | None:
    """Return the rejection of a client that did not declare a capability which the function needs; None if it declared
    all of them."""
    if not function.needs:
        return None
    if client is None or not client.can_answer:
        return Rejection(INVALID_PARAMS, explain_no_question("This request"))
    missing = find_missing_capabilities(function.needs, client.capabilities)
    return reject_missing(missing) if missing else None


def reject_missing(missing: JsonObject) -> Rejection:
    message = "This request needs a capability that the client did not declare."
    return Rejection(CAPABILITY_MISSING, message, {"requiredCapabilities": missing})


def explain_no_question(subject: str, arguments: Sequence[str] = ()) -> str:
    """Build the sentence for a client that cannot be asked. `arguments` are those that take the answers."""
    if arguments:
        names = " and ".join(f"`{name}`" for name in arguments)
        plural = "s" * (len(arguments) > 1)
        advice = f"Send the request again with the answer in the argument{plural} {names}, or {NEWER_CLIENT}."
    else:
        advice = f"If it takes an argument for the answer, pass it; otherwise {NEWER_CLIENT}."
    return CANNOT_ASK.format(subject=subject, advice=advice)

"""Builds the results that ask a client for input, for clients that can be asked.

Import this module on first use: few requests are asked back.
"""

from collections.abc import Mapping, Sequence

from signpost.calling.client_needs import explain_no_question, find_missing_capabilities, needs_of, reject_missing
from signpost.calling.questions import find_question_fault
from signpost.errors import INTERNAL_ERROR
from signpost.mcp.request import McpRequest
from signpost.mcp.retry_state import LONGEST_STATE, MOST_ROUNDS, AskedBack, Unasked
from signpost.mcp.rounds import Rounds, seal
from signpost.model import InputRequired, Json, JsonObject, as_object


def ask_required(request: McpRequest, required: InputRequired, subject: str, arguments: Sequence[str]) -> AskedBack:
    """Return the result that asks for what a provider requires."""
    # Questions of functions were checked with their reply, so this one is of a provider inside the gateway.
    if (fault := find_question_fault(required)) is not None:
        raise ValueError(f"An InputRequired for {subject}: {fault}")
    if not request.revision.is_modern:
        return Unasked(explain_no_question(_word_of(request), _find_answerable(required, arguments)))
    if required.single_use and request.services.used_nonces is None:
        message = f"{subject} asks for an answer that counts once, and this deployment has no record of used answers."
        return Unasked(f"{message} Tell its operator.", INTERNAL_ERROR)
    return ask_client(request, (request.rounds or Rounds(request.call.thread)).ask(required), subject)


def ask_client(request: McpRequest, rounds: Rounds, subject: str) -> AskedBack:
    """Return the result that asks the questions of the last round."""
    needs = [need for question in rounds.asked.values() for need in needs_of(question)]
    missing = find_missing_capabilities(needs, request.call.client.capabilities)
    if missing:
        return reject_missing(missing)
    if rounds.number > MOST_ROUNDS:
        return Unasked(
            f"{subject} asked {MOST_ROUNDS} times and was ended, because it asked once more. Send the request anew, "
            "without requestState, if you have what it asks for.",
            INTERNAL_ERROR,
        )
    state = seal(rounds, request, subject)
    if len(state) > LONGEST_STATE:
        message = f"The questions of {subject}, with the answers so far, have more than {LONGEST_STATE} characters"
        return Unasked(
            f"{message} and were not sent. Its author shortens them, or asks for less at once.", INTERNAL_ERROR
        )
    questions: JsonObject = {"inputRequests": rounds.asked} if rounds.asked else {}
    return {"resultType": "input_required", **questions, "requestState": state}


def _word_of(request: McpRequest) -> str:
    return "This tool" if request.method == "tools/call" else "This request"


def _find_answerable(required: InputRequired, arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments that have the name of a question or of a field of its form: they take the answer."""
    asked = {*required.requests, *(field for request in required.requests.values() for field in _fields_of(request))}
    return [name for name in arguments if name in asked]


def _fields_of(request: JsonObject) -> Mapping[str, Json]:
    schema = as_object(as_object(request.get("params")).get("requestedSchema"))
    return as_object(schema.get("properties"))

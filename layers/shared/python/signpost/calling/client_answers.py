"""Sorts the answers of a client to questions: those that fit, and the questions that stay open.

Nothing that was not asked gets through. Import this module on first use: few functions ask.
"""

from collections.abc import Callable, Mapping

from signpost.calling.form_values import find_format_fault
from signpost.calling.questions import is_model_block
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.validation import SchemaRefusal, Validators

LARGEST_ANSWERS = 200_000
"""Characters of JSON of all answers to the questions of one function."""
ACTIONS = ("accept", "decline", "cancel")


@dataclass(frozen=True, slots=True)
class SortedAnswers:
    accepted: Mapping[str, JsonObject]
    """The answers that fit, by the key of their question."""
    open: Mapping[str, JsonObject]
    """The questions without an answer, or with one that does not fit."""


class AnswerSorter:
    """Compares answers with the questions that were asked."""

    def __init__(self, validators: Validators) -> None:
        self._validators = validators

    def sort(self, requests: Mapping[str, JsonObject], responses: Mapping[str, Json]) -> SortedAnswers:
        accepted = {
            key: fitted
            for key, request in requests.items()
            if key in responses and (fitted := self._fit(request, as_object(responses[key]))) is not None
        }
        return SortedAnswers(accepted, {key: request for key, request in requests.items() if key not in accepted})

    def _fit(self, request: JsonObject, response: JsonObject) -> JsonObject | None:
        """Return the answer without members that no function may see; None if it does not fit the question."""
        fit = _FITS.get(str(request.get("method")))
        return None if fit is None else fit(self._validators, as_object(request.get("params")), response)


def _fit_elicitation(validators: Validators, params: JsonObject, response: JsonObject) -> JsonObject | None:
    action = response.get("action")
    if action not in ACTIONS:
        return None
    if action != "accept" or params.get("mode") == "url":
        return {"action": action}
    given, schema = response.get("content", {}), as_object(params.get("requestedSchema"))
    if not isinstance(given, Mapping) or not given.keys() <= as_object(schema.get("properties")).keys():
        return None
    # Some clients write null for a field that was left empty, and no field of a form takes null.
    content = {name: value for name, value in given.items() if value is not None}
    try:
        violation = validators.find_violation(schema, content)
    except SchemaRefusal:
        return None
    is_fitting = violation is None and find_format_fault(schema, content) is None
    return {"action": action, "content": content} if is_fitting else None


def _fit_sampling(_validators: Validators, params: JsonObject, response: JsonObject) -> JsonObject | None:
    content = response.get("content")
    blocks = [as_object(block) for block in content] if isinstance(content, list) else [as_object(content)]
    has_texts = isinstance(response.get("model"), str) and isinstance(response.get("stopReason", ""), str)
    is_message = response.get("role") in ("user", "assistant") and has_texts
    has_blocks = bool(blocks) and all(is_model_block(block, has_tools="tools" in params) for block in blocks)
    members = ("role", "content", "model", "stopReason")
    return {name: response[name] for name in members if name in response} if is_message and has_blocks else None


def _fit_roots(_validators: Validators, _params: JsonObject, response: JsonObject) -> JsonObject | None:
    roots = response.get("roots")
    if not isinstance(roots, list) or not all(isinstance(as_object(root).get("uri"), str) for root in roots):
        return None
    return {"roots": roots}


_FITS: Mapping[str, Callable[[Validators, JsonObject, JsonObject], JsonObject | None]] = {
    "elicitation/create": _fit_elicitation,
    "sampling/createMessage": _fit_sampling,
    "roots/list": _fit_roots,
}
"""How an answer to each method is compared with its question."""

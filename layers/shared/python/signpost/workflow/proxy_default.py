"""The definition `proxy_default`: one state, and a transition for each capability that is exposed."""

from collections.abc import Mapping

from signpost.model import JsonObject, as_object

READY = "ready"


RESULT = "lastResult"


FIXED_FIELDS: JsonObject = {"title": "Capabilities", "initialState": READY}


def transitions_in(document: JsonObject) -> Mapping[str, JsonObject]:
    """Return the transitions of the document by the name of their capability."""
    ready = as_object(as_object(document.get("states")).get(READY))
    return {name: as_object(transition) for name, transition in as_object(ready.get("transitions")).items()}


def document_of(transitions: Mapping[str, JsonObject]) -> JsonObject:
    """Build the document from compiled transitions, which may have been compiled at different times."""
    return {**FIXED_FIELDS, "states": {READY: {"transitions": transitions}}}

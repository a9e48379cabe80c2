"""Keeps apart the questions of several functions that serve one request: a resource can be at the URIs of several
templates, and each of their functions may ask before it leaves the URI to the next.

The keys of a function's questions have its name in front of them, except those of the first function that asks. The
states of all functions travel together, sealed as one state is.
"""

from collections.abc import Mapping
from dataclasses import replace

from signpost.model import Call, InputRequired, Json, JsonObject, as_object

FIRST, STATES = "first", "states"


def name_function(required: InputRequired, function: str, call: Call) -> InputRequired:
    """Return the questions of a function as the client gets them."""
    kept = as_object(call.state)
    first = kept.get(FIRST, function)
    states = {**as_object(kept.get(STATES)), function: required.state}
    prefix = _prefix_of(function, first)
    requests = {f"{prefix}{key}": request for key, request in required.requests.items()}
    return replace(required, requests=requests, state={FIRST: first, STATES: states})


def give_answers(function: str, call: Call) -> Call:
    """Return the call as a function may see it: with the answers to its own questions, and with its own state."""
    kept = as_object(call.state)
    if FIRST not in kept:
        return call
    states: JsonObject = as_object(kept.get(STATES))
    prefix, others = _prefix_of(function, kept[FIRST]), tuple(f"{other}:" for other in states if other != kept[FIRST])
    answers: Mapping[str, Json] = {
        key.removeprefix(prefix): answer
        for key, answer in call.answers.items()
        if function in states and (key.startswith(prefix) if prefix else not key.startswith(others))
    }
    return replace(call, answers=answers, state=states.get(function))


def _prefix_of(function: str, first: Json) -> str:
    return "" if function == first else f"{function}:"

"""Everything that the registry publishes of itself, in the form of the API reference that most of it comes from."""

from collections.abc import Sequence

from signpost.model import JsonObject
from signpost.registry.published import (
    FUNCTIONS,
    OPTIONAL_STRING,
    STRING,
    TRIGGERS,
    PublishedFunction,
    list_of,
    schema,
    text,
)

LOADING: JsonObject = schema(
    "ExecutorInput", {"executor": text("The Lambda function, by its ARN or its name; the deployment must allow it.")}
)
NAMES: JsonObject = {"type": "array", "items": STRING}
LOADED: JsonObject = schema(
    "ExecutorOutput",
    {
        "executor": text("Its ARN."),
        "version": OPTIONAL_STRING,
        "functions": list_of({"id": STRING, "name": STRING, "permissions": NAMES}),
        "loaded": NAMES,
        "reloaded": NAMES,
        "unloaded": NAMES,
    },
)

ALL_FUNCTIONS: Sequence[PublishedFunction] = (
    *FUNCTIONS,
    PublishedFunction(
        "skills::load",
        "Makes the functions of an executor the tenant's own. One that is loaded is replaced by a higher version.",
        LOADING,
        LOADED,
    ),
    PublishedFunction(
        "skills::unload",
        "Takes an executor away: its functions cannot be called any more.",
        LOADING,
        LOADED,
    ),
    PublishedFunction(
        "skills::reload",
        "Asks a loaded executor again what it hosts. Another contract needs a higher version.",
        LOADING,
        LOADED,
    ),
)


def as_document() -> JsonObject:
    return {
        "functions": [
            {
                "name": function.id,
                "description": function.description,
                "hidden": function.hidden,
                "metadata": {},
                "request_schema": function.request,
                "response_schema": function.response,
            }
            for function in ALL_FUNCTIONS
        ],
        "triggers": [
            {
                "name": trigger.id,
                "description": trigger.description,
                "metadata": {},
                "invocation_schema": trigger.payload,
                "return_schema": {},
            }
            for trigger in TRIGGERS
        ],
    }

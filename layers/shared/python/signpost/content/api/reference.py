"""Builds the API reference of the registry: its functions and triggers, in the form of the published reference that
most of them come from."""

from collections.abc import Sequence

from signpost.content.api.specs import (
    FUNCTIONS,
    OPTIONAL_STRING,
    STRING,
    TRIGGERS,
    FunctionSpec,
    list_schema,
    schema,
    text_schema,
)
from signpost.model import JsonObject

LOAD_REQUEST: JsonObject = schema(
    "ExecutorInput",
    {"executor": text_schema("The Lambda function, by its ARN or its name; the deployment must allow it.")},
)
NAME_LIST: JsonObject = {"type": "array", "items": STRING}
LOAD_RESPONSE: JsonObject = schema(
    "ExecutorOutput",
    {
        "executor": text_schema("Its ARN."),
        "version": OPTIONAL_STRING,
        "functions": list_schema({"id": STRING, "name": STRING, "permissions": NAME_LIST}),
        "loaded": NAME_LIST,
        "reloaded": NAME_LIST,
        "unloaded": NAME_LIST,
    },
)

ALL_FUNCTIONS: Sequence[FunctionSpec] = (
    *FUNCTIONS,
    FunctionSpec(
        "skills::load",
        "Makes the functions of an executor the tenant's own. One that is loaded is replaced by a higher version.",
        LOAD_REQUEST,
        LOAD_RESPONSE,
    ),
    FunctionSpec(
        "skills::unload",
        "Takes an executor away: its functions cannot be called any more.",
        LOAD_REQUEST,
        LOAD_RESPONSE,
    ),
    FunctionSpec(
        "skills::reload",
        "Asks a loaded executor again what it hosts. Another contract needs a higher version.",
        LOAD_REQUEST,
        LOAD_RESPONSE,
    ),
)


def build_reference() -> JsonObject:
    return {
        "functions": [
            {
                "name": function.id,
                "description": function.description,
                "hidden": function.is_hidden,
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

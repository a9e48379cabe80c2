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
    {
        "executor": text_schema("The Lambda function, by its ARN or its name; the deployment must allow it."),
        "strict": {"type": "boolean", "description": "Whether warnings refuse the load.", "default": False},
    },
    optional=("strict",),
)
NAME_LIST: JsonObject = {"type": "array", "items": STRING}
LOAD_RESPONSE: JsonObject = schema(
    "ExecutorOutput",
    {
        "executor": text_schema("The ARN of the executor."),
        "version": OPTIONAL_STRING,
        "functions": list_schema({"id": STRING, "name": STRING, "permissions": NAME_LIST, "calls": NAME_LIST}),
        "loaded": NAME_LIST,
        "reloaded": NAME_LIST,
        "unloaded": NAME_LIST,
        "warnings": list_schema({"code": STRING, "kind": STRING, "id": STRING, "message": STRING}),
    },
    optional=("warnings",),
)

ALL_FUNCTIONS: Sequence[FunctionSpec] = (
    *FUNCTIONS,
    FunctionSpec(
        "skills::load",
        "Loads the functions of an executor for the tenant. A loaded executor is replaced only by a higher version.",
        LOAD_REQUEST,
        LOAD_RESPONSE,
    ),
    FunctionSpec(
        "skills::unload",
        "Unloads an executor: its functions can no longer be called.",
        LOAD_REQUEST,
        LOAD_RESPONSE,
    ),
    FunctionSpec(
        "skills::reload",
        "Reads the manifest of a loaded executor again. A changed contract needs a higher version.",
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

"""The nested calls function: answers executor functions that call other functions."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

nested_calls = import_module(f"{os.environ['WIRING']}.nested_calls").build_nested_calls(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return nested_calls.handle(event, context.get_remaining_time_in_millis())

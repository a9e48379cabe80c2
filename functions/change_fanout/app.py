"""The change fanout function: turns a change on the event bus into a delivery for each trigger and webhook."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

change_fanout = import_module(f"{os.environ['WIRING']}.change_fanout").build_change_fanout(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return change_fanout.handle(event, context.aws_request_id)

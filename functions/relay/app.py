"""The relay function: from the stream of the registry table to the event bus."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

relay = import_module(f"{os.environ['WIRING']}.relay").relay(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return relay.handle(event, context.aws_request_id)

"""The herald function: from the stream of the workflows table to the event bus, and to the queue of the worker."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

herald = import_module(f"{os.environ['WIRING']}.herald").herald(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return herald.handle(event, context.aws_request_id)

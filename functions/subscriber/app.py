"""The subscriber function: from a change on the bus to a delivery for each trigger and webhook."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

subscriber = import_module(f"{os.environ['WIRING']}.subscriber").subscriber(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return subscriber.handle(event, context.aws_request_id)

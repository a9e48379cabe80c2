"""The delivery function: calls the function of a trigger, or posts to a webhook."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

delivery = import_module(f"{os.environ['WIRING']}.delivery").build_delivery(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return delivery.handle(event, context.get_remaining_time_in_millis(), context.aws_request_id)

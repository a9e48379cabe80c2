"""The sweeper function: finishes what was left half done, and collects what nothing names any more."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

sweeper = import_module(f"{os.environ['WIRING']}.sweeper").sweeper(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    del event  # that it is time is all that it says
    return sweeper.handle(context.get_remaining_time_in_millis, context.aws_request_id)

"""The sweeper function: finishes interrupted work, deletes unreferenced objects, and wakes workflows that are due."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

sweeper = import_module(f"{os.environ['WIRING']}.sweeper").build_sweeper(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return sweeper.handle(event, context.get_remaining_time_in_millis, context.aws_request_id)

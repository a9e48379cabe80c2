"""The workflow worker function: continues workflows that no client waits for."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

worker = import_module(f"{os.environ['WIRING']}.workflow_worker").build_worker(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return worker.handle(event, context.get_remaining_time_in_millis(), context.aws_request_id)

"""The workflow relay function: sends changes of the workflows table's stream to the event bus and to the worker's
queue."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

relay = import_module(f"{os.environ['WIRING']}.workflow_relay").build_workflow_relay(os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> "JsonObject":
    return relay.handle(event, context.aws_request_id)

"""The gateway function: HTTPS to MCP."""

import gc
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# Collecting garbage while modules load finds none, and takes a twentieth of a cold start.
gc.disable()
gateway = import_module(f"{os.environ['WIRING']}.gateway").gateway(os.environ)
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    return gateway.handle(event, context.get_remaining_time_in_millis())

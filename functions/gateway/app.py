"""The gateway function: serves MCP over HTTPS."""

import gc
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from signpost.frame_room import with_frame_room

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@with_frame_room
def build() -> Any:
    return import_module(f"{os.environ['WIRING']}.gateway").build_gateway(os.environ)


# Garbage collection finds nothing while modules load, and takes a twentieth of a cold start.
gc.disable()
gateway = build()
gc.freeze()
gc.enable()


@with_frame_room
def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    return gateway.handle(event, context.get_remaining_time_in_millis())

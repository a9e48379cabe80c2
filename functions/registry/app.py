"""The registry function: handles {function_id, payload}, and CloudFormation's custom resource for the content that the
stack ships."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from signpost.frame_room import with_frame_room

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import Json


@with_frame_room
def build() -> Any:
    return import_module(f"{os.environ['WIRING']}.registry").build_registry(os.environ)


registry = build()


@with_frame_room
def handler(event: dict[str, Any], context: "LambdaContext") -> "Json":
    return registry.handle(event, context.get_remaining_time_in_millis(), context.aws_request_id)

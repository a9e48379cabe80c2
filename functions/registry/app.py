"""The registry function: what a deployment ships, published by CloudFormation's custom resource."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.model import JsonObject

deployment = import_module(f"{os.environ['WIRING']}.registry").deployment(os.environ)


def handler(event: dict[str, Any], _context: "LambdaContext") -> "JsonObject":
    return deployment.handle(event)

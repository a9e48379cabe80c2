"""The one line that makes a Lambda function an executor."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from signpost.model import JsonObject
from signpost.toolkit.function import DeclarationError, Function

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.toolkit.harness import Harness

type Handler = Callable[[dict[str, Any], LambdaContext], JsonObject]


def executor(*functions: Function) -> Handler:
    """The Lambda handler that hosts these functions. Raises DeclarationError."""
    hosted = by_id(functions)

    @cache
    def harness() -> "Harness":
        # Here and not above: whoever tests functions needs no AWS for it.
        from signpost.toolkit.production import harness_of  # noqa: PLC0415

        return harness_of(hosted, os.environ)

    def handler(event: dict[str, Any], context: "LambdaContext") -> JsonObject:
        return harness().handle(event, context.get_remaining_time_in_millis())

    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        harness()  # at init; a test that imports the module has neither keys nor a use for them
    return handler


def by_id(functions: Sequence[Function]) -> Mapping[str, Function]:
    twice = sorted(name for name, times in Counter(function.id for function in functions).items() if times > 1)
    if twice:
        raise DeclarationError(f"Two functions are called {twice[0]}.")
    return {function.id: function for function in functions}

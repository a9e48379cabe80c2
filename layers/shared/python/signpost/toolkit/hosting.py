"""The `executor` function, which makes a Lambda function an executor in one line."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from signpost.frame_room import with_frame_room
from signpost.model import JsonObject
from signpost.toolkit.function import (
    DeclarationError,
    ExecutorFunctions,
    Function,
    check_distinct,
    check_version,
    functions_of,
)

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.toolkit.harness import Harness
    from signpost.toolkit.kit import Toolkit
    from signpost.toolkit.registration import RegisteredToolkit

type Handler = Callable[[dict[str, Any], LambdaContext], JsonObject]


def executor(*hosts: "Function | Toolkit | RegisteredToolkit", version: str | None = None) -> Handler:
    """Build the Lambda handler that hosts these functions. Without `version`, the version is that of the toolkits.
    Raises DeclarationError."""
    hosting = ExecutorFunctions(functions_by_id(hosts), version_of(hosts, version))

    @cache
    @with_frame_room
    def get_harness() -> "Harness":
        # Imported on first use: tests of functions need no AWS libraries.
        from signpost.toolkit.production import build_harness  # noqa: PLC0415

        return build_harness(hosting, os.environ)

    @with_frame_room
    def handler(event: dict[str, Any], context: "LambdaContext") -> JsonObject:
        return get_harness().handle(event, context.get_remaining_time_in_millis())

    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        get_harness()  # at init; outside of Lambda, as in tests, there are no keys
    return handler


def functions_by_id(hosts: "Sequence[Function | Toolkit | RegisteredToolkit]") -> Mapping[str, Function]:
    functions = [function for host in hosts for function in functions_of(host)]
    check_distinct(functions)
    return {function.id: function for function in functions}


def version_of(hosts: "Sequence[Function | Toolkit | RegisteredToolkit]", version: str | None) -> str | None:
    """Return the executor's version: the given one, else that of its toolkits. Raises DeclarationError if those
    differ."""
    if version is not None:
        return check_version("executor", version)
    declared = {toolkit_version for host in hosts if (toolkit_version := getattr(host, "version", None)) is not None}
    if len(declared) > 1:
        versions = ", ".join(sorted(map(str, declared)))
        raise DeclarationError(
            f"The toolkits of this executor have different versions ({versions}). Set one by executor(…, version=…)."
        )
    return next(iter(declared), None)

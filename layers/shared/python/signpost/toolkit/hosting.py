"""The one line that makes a Lambda function an executor."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from signpost.model import JsonObject
from signpost.toolkit.function import (
    DeclarationError,
    Function,
    Hosting,
    check_distinct,
    checked_version,
    functions_of,
)

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from signpost.toolkit.harness import Harness
    from signpost.toolkit.kit import Toolkit
    from signpost.toolkit.registration import Registered

type Handler = Callable[[dict[str, Any], LambdaContext], JsonObject]


def executor(*hosts: "Function | Toolkit | Registered", version: str | None = None) -> Handler:
    """The Lambda handler that hosts these functions, in this version or that of its toolkits. Raises
    DeclarationError."""
    hosting = Hosting(by_id(hosts), version_of(hosts, version))

    @cache
    def harness() -> "Harness":
        # Here and not above: whoever tests functions needs no AWS for it.
        from signpost.toolkit.production import harness_of  # noqa: PLC0415

        return harness_of(hosting, os.environ)

    def handler(event: dict[str, Any], context: "LambdaContext") -> JsonObject:
        return harness().handle(event, context.get_remaining_time_in_millis())

    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        harness()  # at init; a test that imports the module has neither keys nor a use for them
    return handler


def by_id(hosted: "Sequence[Function | Toolkit | Registered]") -> Mapping[str, Function]:
    functions = [function for one in hosted for function in functions_of(one)]
    check_distinct(functions)
    return {function.id: function for function in functions}


def version_of(hosted: "Sequence[Function | Toolkit | Registered]", version: str | None) -> str | None:
    """What is said of the whole goes before what toolkits say of themselves."""
    if version is not None:
        return checked_version("executor", version)
    said = {of_toolkit for one in hosted if (of_toolkit := getattr(one, "version", None)) is not None}
    if len(said) > 1:
        versions = ", ".join(sorted(map(str, said)))
        raise DeclarationError(f"The toolkits of an executor have the versions {versions}. Say executor(…, version=…).")
    return next(iter(said), None)

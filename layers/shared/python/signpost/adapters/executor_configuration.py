"""Reads an executor's configuration and tags from Lambda."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters.aws import call, code_of
from signpost.contract import Executor

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_lambda.type_defs import FunctionConfigurationResponseTypeDef

KEY_SECRET = "EXECUTOR_KEY_SECRET_ARN"  # noqa: S105 - the name of a variable


class LambdaConfiguration:
    def __init__(self, client: "Callable[[], LambdaClient]") -> None:
        self._make_client = client

    @cached_property
    def _client(self) -> "LambdaClient":
        return self._make_client()

    def inspect(self, lambda_function: str) -> Executor | str:
        try:
            configuration = call(self._client.get_function_configuration, FunctionName=lambda_function)
        except ClientError as fault:
            if code_of(fault) == "ResourceNotFoundException":
                return f"There is no Lambda function {lambda_function}."
            if code_of(fault) == "AccessDeniedException":
                return (
                    f"The configuration of the Lambda function {lambda_function} may not be read. "
                    "Check its name, and allow lambda:GetFunctionConfiguration."
                )
            raise
        return self._executor_of(lambda_function, configuration)

    def read_tag(self, executor_arn: str, name: str) -> str | None:
        try:
            return self.find_tag(executor_arn, name)
        except ClientError as fault:
            # Without a tag the executor is for the operator's tenant only, so a tag that may not be read opens nothing.
            if code_of(fault) == "AccessDeniedException":
                return None
            raise

    def find_tag(self, executor_arn: str, name: str) -> str | None:
        """Return the text of a tag; None without the tag or without the function. Raises ClientError if it may not be
        read: a command that writes the tag must know what it replaces."""
        try:
            return call(self._client.list_tags, Resource=executor_arn)["Tags"].get(name)
        except ClientError as fault:
            if code_of(fault) == "ResourceNotFoundException":
                return None
            raise

    def _executor_of(
        self, lambda_function: str, configuration: "FunctionConfigurationResponseTypeDef"
    ) -> Executor | str:
        secret = configuration.get("Environment", {}).get("Variables", {}).get(KEY_SECRET)
        if not secret:
            return f"{lambda_function} is not an executor: its environment has no variable {KEY_SECRET}."
        # Lambda itself always sets the time-out and the ARN; the defaults satisfy the types.
        return Executor(configuration.get("FunctionArn", ""), secret, configuration.get("Timeout", 3) * 1000)

"""The key of the search provider, in a secret of the deployment."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters.aws import call, code_of
from signpost.errors import Unavailable
from signpost.ports import Clock
from signpost.toolkit import ToolError

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

CACHE_SECONDS = 300.0
"""Seconds after which the key is read again, because it may have been rotated."""


class SearchKey:
    """Reads and caches the key of the search provider."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]", secret_arn: str, clock: Clock) -> None:
        self._make_client = client
        self._secret_arn = secret_arn
        self._clock = clock
        self._cache: tuple[float, str] = (0.0, "")

    @cached_property
    def _client(self) -> "SecretsManagerClient":
        return self._make_client()

    def read(self) -> str:
        """Read the key; empty if the deployment names no secret. Raises ToolError."""
        if not self._secret_arn:
            return ""
        until, key = self._cache
        if self._clock.now() >= until:
            key = self._fetch().strip()
            self._cache = (self._clock.now() + CACHE_SECONDS, key)
        return key

    def forget(self) -> None:
        self._cache = (0.0, "")

    def _fetch(self) -> str:
        try:
            return call(self._client.get_secret_value, SecretId=self._secret_arn).get("SecretString", "")
        except Unavailable as fault:
            raise ToolError(
                f"The key of the search provider cannot be read. {fault} Try again.", "transient_error"
            ) from None
        except ClientError as fault:
            message = f"The secret of SearchKeySecretArn cannot be read ({code_of(fault)}); the operator must check it."
            raise ToolError(message) from None

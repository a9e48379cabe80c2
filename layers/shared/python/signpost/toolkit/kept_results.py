"""The content bucket of the stack, as an executor writes to it."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.adapters.aws import call

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3KeptResults:
    """Takes a function that makes the client: hardly any result is long enough to need one."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make_client = client
        self._bucket = bucket

    @cached_property
    def _client(self) -> "S3Client":
        return self._make_client()

    def keep(self, key: str, body: bytes) -> None:
        call(self._client.put_object, Bucket=self._bucket, Key=key, Body=body, ContentType="application/json")

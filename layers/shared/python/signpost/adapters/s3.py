"""The content bucket of the stack."""

import uuid
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.adapters.aws import call

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

READABLE_FOR = 300


class S3Answers:
    """Takes a function that makes the client: hardly any answer is long enough to need one."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make_client = client
        self._bucket = bucket

    @cached_property
    def _client(self) -> "S3Client":
        return self._make_client()

    def keep(self, tenant: str, text: str) -> str:
        key = f"answers/{tenant}/{uuid.uuid4().hex}.json"
        call(
            self._client.put_object,
            Bucket=self._bucket,
            Key=key,
            Body=text.encode(),
            ContentType="application/json",
        )
        place = {"Bucket": self._bucket, "Key": key}
        return self._client.generate_presigned_url("get_object", Params=place, ExpiresIn=READABLE_FOR)

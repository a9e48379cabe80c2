"""The content bucket of the stack."""

import uuid
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from signpost.adapters.aws import call, code_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

READABLE_FOR = 300

JSON = "application/json"
MARKDOWN = "text/markdown; charset=utf-8"

SHIPPED = "_shipped"
"""No tenant's name begins like this."""


class _Bucket:
    """Takes a function that makes the client: hardly any call needs one."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make_client = client
        self._bucket = bucket

    @cached_property
    def _client(self) -> "S3Client":
        return self._make_client()

    def _put(self, key: str, body: bytes, content_type: str) -> None:
        call(self._client.put_object, Bucket=self._bucket, Key=key, Body=body, ContentType=content_type)

    def _get(self, key: str) -> bytes | None:
        try:
            return call(self._download, Bucket=self._bucket, Key=key)
        except ClientError as fault:
            if code_of(fault) == "NoSuchKey":
                return None
            raise

    def _download(self, **place: Any) -> bytes:
        """To the end: the connection may also break after the answer has begun."""
        return self._client.get_object(**place)["Body"].read()


class S3Answers(_Bucket):
    """Answers of functions that are too long to be sent."""

    def keep(self, tenant: str, text: str) -> str:
        key = f"answers/{tenant}/{uuid.uuid4().hex}.json"
        self._put(key, text.encode(), JSON)
        place = {"Bucket": self._bucket, "Key": key}
        return self._client.generate_presigned_url("get_object", Params=place, ExpiresIn=READABLE_FOR)


class S3KeptResults(_Bucket):
    """The same, as an executor writes them: where the gateway told it to."""

    def keep(self, key: str, body: bytes) -> None:
        self._put(key, body, JSON)


class S3Bodies(_Bucket):
    """The bodies of skill documents. An object never changes, since its key is made of what it holds."""

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        self._put(_body_key(tenant, digest), body, MARKDOWN)

    def read(self, tenant: str | None, digest: str) -> bytes:
        body = self._get(_body_key(tenant, digest))
        if body is None:
            raise LookupError(f"No body is kept under the digest {digest}.")
        return body


class S3Publications(_Bucket):
    """What was published at once and is more than a transaction takes. Objects never change."""

    def keep(self, tenant: str | None, publication_id: str, body: bytes) -> str:
        """Answers the key to read it by."""
        key = f"publications/{_scope(tenant)}/{publication_id}.json"
        self._put(key, body, JSON)
        return key

    def read(self, key: str) -> bytes:
        body = self._get(key)
        if body is None:
            raise LookupError(f"The publication {key} is gone.")
        return body


def _body_key(tenant: str | None, digest: str) -> str:
    return f"content/{_scope(tenant)}/{digest}"


def _scope(tenant: str | None) -> str:
    return tenant if tenant is not None else SHIPPED

"""The content bucket of the stack."""

import uuid
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from signpost.adapters import object_keys
from signpost.adapters.aws import call, code_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

READABLE_FOR = 300

JSON = "application/json"
MARKDOWN = "text/markdown; charset=utf-8"

MISSING = frozenset({"NoSuchKey", "AccessDenied"})
"""Who may not list a bucket is denied what is not there."""


class Bucket:
    """Takes a function that makes the client: hardly any call needs one."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make_client = client
        self._bucket = bucket

    @cached_property
    def _client(self) -> "S3Client":
        return self._make_client()

    def _put(self, key: str, body: bytes, content_type: str) -> None:
        call(self._client.put_object, Bucket=self._bucket, Key=key, Body=body, ContentType=content_type)

    def _get(self, key: str) -> bytes:
        """Raises LookupError if there is no such object."""
        try:
            return call(self._download, Bucket=self._bucket, Key=key)
        except ClientError as fault:
            if code_of(fault) in MISSING:
                raise LookupError(f"There is no object {key}.") from fault
            raise

    def _download(self, **place: Any) -> bytes:
        """To the end: the connection may also break after the answer has begun."""
        return self._client.get_object(**place)["Body"].read()


class S3Answers(Bucket):
    """Answers of functions that are too long to be sent."""

    def keep(self, tenant: str, text: str) -> str:
        key = f"answers/{tenant}/{uuid.uuid4().hex}.json"
        self._put(key, text.encode(), JSON)
        return self.address(key)

    def address(self, key: str) -> str:
        place = {"Bucket": self._bucket, "Key": key}
        return self._client.generate_presigned_url("get_object", Params=place, ExpiresIn=READABLE_FOR)


class S3KeptResults(Bucket):
    """The same, as an executor writes them: where the gateway told it to."""

    def keep(self, key: str, body: bytes) -> None:
        self._put(key, body, JSON)


class S3Bodies(Bucket):
    """The bodies of skill documents. An object never changes, since its key is made of what it holds."""

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        self._put(object_keys.body(tenant, digest), body, MARKDOWN)

    def read(self, tenant: str | None, digest: str) -> bytes:
        return self._get(object_keys.body(tenant, digest))


class S3Publications(Bucket):
    """What was published at once and is more than a transaction takes. Objects never change."""

    def keep(self, tenant: str | None, publication_id: str, body: bytes) -> str:
        """Answers the key to read it by."""
        key = object_keys.publication(tenant, publication_id)
        self._put(key, body, JSON)
        return key

    def read(self, key: str) -> bytes:
        return self._get(key)


class S3Values(Bucket):
    """Texts that are too long for a row, under what they are made of."""

    def keep(self, tenant: str, text: str) -> str:
        written = text.encode()
        digest = sha256(written).hexdigest()
        self._put(object_keys.value(tenant, digest), written, JSON)
        return digest

    def read(self, tenant: str, digest: str) -> str:
        return self._get(object_keys.value(tenant, digest)).decode()

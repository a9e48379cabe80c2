"""The stores in the content bucket of the stack."""

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

URL_SECONDS = 300

JSON = "application/json"
MARKDOWN = "text/markdown; charset=utf-8"

MISSING_CODES = frozenset({"NoSuchKey", "AccessDenied"})
"""Error codes of a missing object: S3 denies access to one if the caller may not list the bucket."""


class Bucket:
    """The content bucket. Takes a function that makes the client, since few calls need one."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make_client = client
        self._bucket = bucket

    @cached_property
    def _client(self) -> "S3Client":
        return self._make_client()

    def _put(self, key: str, body: bytes, content_type: str) -> None:
        call(self._client.put_object, Bucket=self._bucket, Key=key, Body=body, ContentType=content_type)

    def _get(self, key: str) -> bytes:
        """Read an object. Raises LookupError if there is none under the key."""
        try:
            return call(self._download, Bucket=self._bucket, Key=key)
        except ClientError as fault:
            if code_of(fault) in MISSING_CODES:
                raise LookupError(f"There is no object {key}.") from fault
            raise

    def _get_unchanged(self, key: str) -> bytes:
        """Read an object whose key ends with its digest. Raises LookupError also if it has another content than it was
        stored with: the bucket may have writers that the tables do not have."""
        body = self._get(key)
        if sha256(body).hexdigest() != object_keys.digest_in(key):
            raise LookupError(f"The object {key} was changed: its content has not the digest in its key.")
        return body

    def _download(self, **address: Any) -> bytes:
        """Read the object's body inside `call`, since the connection may also break after the answer has begun."""
        return self._client.get_object(**address)["Body"].read()


class S3Answers(Bucket):
    """Keeps function results that are too long to be sent, and returns addresses to read them at."""

    def keep(self, tenant: str, text: str) -> str:
        key = f"answers/{tenant}/{uuid.uuid4().hex}.json"
        self._put(key, text.encode(), JSON)
        return self.address(key)

    def address(self, key: str) -> str:
        parameters = {"Bucket": self._bucket, "Key": key}
        return self._client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=URL_SECONDS)


class S3KeptResults(Bucket):
    """Keeps long function results from inside an executor, under a key that the gateway has chosen."""

    def keep(self, key: str, body: bytes) -> None:
        self._put(key, body, JSON)


class S3Bodies(Bucket):
    """Keeps the bodies of skill documents. An object never changes, since its key contains the body's digest."""

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        self._put(object_keys.body(tenant, digest), body, MARKDOWN)

    def read(self, tenant: str | None, digest: str) -> bytes:
        return self._get_unchanged(object_keys.body(tenant, digest))


class S3ChangeBatchStore(Bucket):
    """Keeps change batches that do not fit into one transaction. Objects never change."""

    def keep(self, tenant: str | None, batch_id: str, body: bytes) -> str:
        """Store a change batch and return the key to read it by."""
        key = object_keys.change_batch(tenant, batch_id)
        self._put(key, body, JSON)
        return key

    def read(self, key: str) -> bytes:
        return self._get_unchanged(key)


class S3Values(Bucket):
    """Keeps texts that are too long for a row, under their digests."""

    def keep(self, tenant: str, text: str) -> str:
        body = text.encode()
        digest = sha256(body).hexdigest()
        self._put(object_keys.value(tenant, digest), body, JSON)
        return digest

    def read(self, tenant: str, digest: str) -> str:
        return self._get_unchanged(object_keys.value(tenant, digest)).decode()

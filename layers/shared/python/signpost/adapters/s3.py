"""The content bucket of the stack."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from signpost.adapters import object_keys
from signpost.adapters.aws import call, code_of
from signpost.kept import Look, Version

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

READABLE_FOR = 300

JSON = "application/json"
MARKDOWN = "text/markdown; charset=utf-8"

MISSING = frozenset({"NoSuchKey", "AccessDenied"})
"""Who may not list a bucket is denied what is not there."""


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


class S3Answers(_Bucket):
    """Answers of functions that are too long to be sent."""

    def keep(self, tenant: str, text: str) -> str:
        key = f"answers/{tenant}/{uuid.uuid4().hex}.json"
        self._put(key, text.encode(), JSON)
        return self.address(key)

    def address(self, key: str) -> str:
        place = {"Bucket": self._bucket, "Key": key}
        return self._client.generate_presigned_url("get_object", Params=place, ExpiresIn=READABLE_FOR)


class S3KeptResults(_Bucket):
    """The same, as an executor writes them: where the gateway told it to."""

    def keep(self, key: str, body: bytes) -> None:
        self._put(key, body, JSON)


class S3Bodies(_Bucket):
    """The bodies of skill documents. An object never changes, since its key is made of what it holds."""

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        self._put(object_keys.body(tenant, digest), body, MARKDOWN)

    def read(self, tenant: str | None, digest: str) -> bytes:
        return self._get(object_keys.body(tenant, digest))


class S3Publications(_Bucket):
    """What was published at once and is more than a transaction takes. Objects never change."""

    def keep(self, tenant: str | None, publication_id: str, body: bytes) -> str:
        """Answers the key to read it by."""
        key = object_keys.publication(tenant, publication_id)
        self._put(key, body, JSON)
        return key

    def read(self, key: str) -> bytes:
        return self._get(key)


class S3Values(_Bucket):
    """Texts that are too long for a row, under what they are made of."""

    def keep(self, tenant: str, text: str) -> str:
        written = text.encode()
        digest = sha256(written).hexdigest()
        self._put(object_keys.value(tenant, digest), written, JSON)
        return digest

    def read(self, tenant: str, name: str) -> str:
        return self._get(object_keys.value(tenant, name)).decode()


class S3KeptObjects(_Bucket):
    """Both, in all their versions, and what was found when they were looked at last."""

    def scopes(self) -> Mapping[str | None, float]:
        prefixes = [
            found["Prefix"].split("/")[1]
            for prefix in (object_keys.BODIES, object_keys.PUBLICATIONS)
            for page in self._pages(Prefix=prefix, Delimiter="/")
            for found in page.get("CommonPrefixes", ())
        ]
        looks = {version.key: version.modified for version in self._versions(object_keys.LOOKS) if version.is_latest}
        tenants = {object_keys.owner_of(scope) for scope in prefixes}
        return {tenant: looks.get(object_keys.look(tenant), 0.0) for tenant in tenants}

    def last_look(self, tenant: str | None) -> Look:
        members = json.loads(self._get(object_keys.look(tenant)))
        return Look(
            at=members["at"],
            history=members["history"],
            version=members["version"],
            scopes=frozenset(members["scopes"]),
            since=members["since"],
        )

    def remember(self, tenant: str | None, look: Look) -> None:
        members = {**asdict(look), "scopes": sorted(look.scopes)}
        self._put(object_keys.look(tenant), json.dumps(members).encode(), JSON)

    def versions(self, tenant: str | None) -> Sequence[Version]:
        prefixes = (object_keys.bodies_of(tenant), object_keys.publications_of(tenant))
        return [version for prefix in prefixes for version in self._versions(prefix)]

    def remove(self, versions: Sequence[Version]) -> None:
        """These versions and no others: what is put meanwhile is a later one, and stays."""
        for version in versions:
            call(self._client.delete_object, Bucket=self._bucket, Key=version.key, VersionId=version.id)

    def _versions(self, prefix: str) -> Iterator[Version]:
        for page in self._pages(Prefix=prefix):
            for found in page.get("Versions", ()):
                modified = found["LastModified"].timestamp()
                yield Version(found["Key"], found["VersionId"], modified, is_latest=found["IsLatest"])

    def _pages(self, **arguments: str) -> Iterator[Mapping[str, Any]]:
        page: Mapping[str, Any] = {"IsTruncated": True}
        markers: Mapping[str, str] = {}
        while page["IsTruncated"]:
            page = call(self._list, Bucket=self._bucket, **arguments, **markers)
            markers = {name: page[f"Next{name}"] for name in ("KeyMarker", "VersionIdMarker") if f"Next{name}" in page}
            yield page

    def _list(self, **arguments: Any) -> Mapping[str, Any]:
        return {**self._client.list_object_versions(**arguments)}

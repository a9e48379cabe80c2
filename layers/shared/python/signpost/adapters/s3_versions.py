"""All versions of the objects that rows refer to. Only the sweeper imports this module, so no gateway loads it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from signpost.adapters import object_keys
from signpost.adapters.aws import call
from signpost.adapters.s3 import JSON, Bucket
from signpost.content.kept_objects import ObjectVersion, RetentionScan


class S3KeptObjects(Bucket):
    """Lists and removes bodies and change batches, and keeps the results of the sweeper's last scan."""

    def scopes(self) -> Mapping[str | None, float]:
        prefixes = [
            common["Prefix"].split("/")[1]
            for prefix in (object_keys.BODIES, object_keys.CHANGE_BATCHES)
            for page in self._pages(Prefix=prefix, Delimiter="/")
            for common in page.get("CommonPrefixes", ())
        ]
        scans = {version.key: version.modified for version in self._versions(object_keys.SCANS) if version.is_latest}
        tenants = {object_keys.owner_of(scope) for scope in prefixes}
        return {tenant: scans.get(object_keys.scan(tenant), 0.0) for tenant in tenants}

    def read_last_scan(self, tenant: str | None) -> RetentionScan:
        members = json.loads(self._get(object_keys.scan(tenant)))
        return RetentionScan(
            at=members["at"],
            history=members["history"],
            version=members["version"],
            scopes=frozenset(members["scopes"]),
            since=members["since"],
        )

    def write_scan(self, tenant: str | None, look: RetentionScan) -> None:
        members = {**asdict(look), "scopes": sorted(look.scopes)}
        self._put(object_keys.scan(tenant), json.dumps(members).encode(), JSON)

    def versions(self, tenant: str | None) -> Sequence[ObjectVersion]:
        prefixes = (object_keys.bodies_of(tenant), object_keys.change_batches_of(tenant))
        return [version for prefix in prefixes for version in self._versions(prefix)]

    def remove(self, versions: Sequence[ObjectVersion]) -> None:
        """Delete these versions and no others: an object put meanwhile is a later version, and stays."""
        for version in versions:
            call(self._client.delete_object, Bucket=self._bucket, Key=version.key, VersionId=version.id)

    def _versions(self, prefix: str) -> Iterator[ObjectVersion]:
        for page in self._pages(Prefix=prefix):
            for version in page.get("Versions", ()):
                modified = version["LastModified"].timestamp()
                yield ObjectVersion(version["Key"], version["VersionId"], modified, is_latest=version["IsLatest"])

    def _pages(self, **arguments: str) -> Iterator[Mapping[str, Any]]:
        page: Mapping[str, Any] = {"IsTruncated": True}
        markers: Mapping[str, str] = {}
        while page["IsTruncated"]:
            page = call(self._list, Bucket=self._bucket, **arguments, **markers)
            markers = {name: page[f"Next{name}"] for name in ("KeyMarker", "VersionIdMarker") if f"Next{name}" in page}
            yield page

    def _list(self, **arguments: Any) -> Mapping[str, Any]:
        return {**self._client.list_object_versions(**arguments)}

"""The objects that rows name, in all their versions. Only the sweeper looks at them so; no gateway has to load this."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from signpost.adapters import object_keys
from signpost.adapters.aws import call
from signpost.adapters.s3 import JSON, Bucket
from signpost.kept import Look, Version


class S3KeptObjects(Bucket):
    """Bodies and publications, and what was found when they were looked at last."""

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

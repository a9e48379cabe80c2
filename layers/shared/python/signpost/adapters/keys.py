"""Every key of every table, in one place. The tenant is in each; what has none belongs to the deployment."""

from collections.abc import Mapping

type Key = Mapping[str, Mapping[str, str]]

SCHEMA = 1
"""Written into every row; a release reads what the previous one wrote."""


def _key(pk: str, sk: str) -> Key:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def api_keys_of(tenant: str) -> str:
    return f"tenant#{tenant}#api-keys"


def api_key(tenant: str, key_id: str) -> Key:
    return _key(api_keys_of(tenant), key_id)


def catalogue_pointer(tenant: str) -> Key:
    return _key(f"tenant#{tenant}", "catalogue")


def catalogue_snapshot(tenant: str, digest: str) -> Key:
    return _key(f"tenant#{tenant}#catalogue", digest)


def issuer_keys(issuer: str) -> Key:
    return _key("deployment", f"issuer-keys#{issuer}")

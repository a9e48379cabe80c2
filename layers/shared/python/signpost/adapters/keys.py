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


def placements(tenant: str | None) -> Key:
    """The row by which placements in a scope follow each other."""
    return _key(f"tenant#{tenant}" if tenant is not None else "shipped", "placements")


def placed_functions_of(tenant: str | None) -> str:
    return f"tenant#{tenant}#functions" if tenant is not None else "shipped#functions"


def placed_function(tenant: str | None, function: str) -> Key:
    return _key(placed_functions_of(tenant), function)


EXECUTORS = "deployment#executors"
"""All of them under one key: `placed()` is one query."""


def executors_of(tenant: str | None) -> str:
    """What the sort keys of their rows begin with."""
    return f"{tenant or ''}#"


def executor(tenant: str | None, arn: str) -> Key:
    return _key(EXECUTORS, f"{executors_of(tenant)}{arn}")


ALL_FUNCTIONS = "*"


def settings_of(tenant: str) -> str:
    return f"tenant#{tenant}#settings"


def settings(tenant: str, function: str | None) -> Key:
    return _key(settings_of(tenant), function if function is not None else ALL_FUNCTIONS)


def breakers_of(tenant: str) -> str:
    return f"tenant#{tenant}#breakers"


def breaker(tenant: str, function: str) -> Key:
    return _key(breakers_of(tenant), function)

"""Every key of the content bucket except those of answers. Each contains the tenant, or a name for shipped content."""

BODIES, CHANGE_BATCHES, SCANS = "content/", "publications/", "sweeper/"
VALUES = "values/"
DIGEST_LENGTH = 64
"""Characters of a SHA-256 in hexadecimal digits."""

SHIPPED = "_shipped"
"""The scope's name of shipped content; no tenant's name begins with an underscore."""


def bodies_of(tenant: str | None) -> str:
    return f"{BODIES}{_scope_name(tenant)}/"


def body(tenant: str | None, digest: str) -> str:
    return f"{bodies_of(tenant)}{digest}"


def change_batches_of(tenant: str | None) -> str:
    return f"{CHANGE_BATCHES}{_scope_name(tenant)}/"


def change_batch(tenant: str | None, batch_id: str) -> str:
    return f"{change_batches_of(tenant)}{batch_id}.json"


def value(tenant: str, digest: str) -> str:
    return f"{VALUES}{tenant}/{digest}.json"


def digest_in(key: str) -> str:
    """Return the digest at the end of the key of a body, a part, a change batch or a value."""
    return key.rpartition("/")[2].removesuffix(".json")[-DIGEST_LENGTH:]


def scan(tenant: str | None) -> str:
    return f"{SCANS}{_scope_name(tenant)}.json"


def owner_of(scope: str) -> str | None:
    return None if scope == SHIPPED else scope


def _scope_name(tenant: str | None) -> str:
    return tenant if tenant is not None else SHIPPED

"""Every key of the content bucket but those of answers. The tenant is in each; what is shipped has its own name."""

BODIES, PUBLICATIONS, LOOKS = "content/", "publications/", "sweeper/"
VALUES = "values/"

SHIPPED = "_shipped"
"""No tenant's name begins like this."""


def bodies_of(tenant: str | None) -> str:
    return f"{BODIES}{_scope(tenant)}/"


def body(tenant: str | None, digest: str) -> str:
    return f"{bodies_of(tenant)}{digest}"


def publications_of(tenant: str | None) -> str:
    return f"{PUBLICATIONS}{_scope(tenant)}/"


def publication(tenant: str | None, publication_id: str) -> str:
    return f"{publications_of(tenant)}{publication_id}.json"


def value(tenant: str, digest: str) -> str:
    return f"{VALUES}{tenant}/{digest}.json"


def look(tenant: str | None) -> str:
    return f"{LOOKS}{_scope(tenant)}.json"


def owner_of(scope: str) -> str | None:
    return None if scope == SHIPPED else scope


def _scope(tenant: str | None) -> str:
    return tenant if tenant is not None else SHIPPED

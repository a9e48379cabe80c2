"""Every key of every table, in one place. The tenant is in each; what has none belongs to the deployment."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signpost.content import Scopes

type Key = Mapping[str, Mapping[str, str]]

SCHEMA = 1
"""Written into every row; a release reads what the previous one wrote."""


def _key(pk: str, sk: str) -> Key:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def api_keys_of(tenant: str) -> str:
    return f"tenant#{tenant}#api-keys"


def api_key(tenant: str, key_id: str) -> Key:
    return _key(api_keys_of(tenant), key_id)


def issuer_keys(issuer: str) -> Key:
    return _key("deployment", f"issuer-keys#{issuer}")


def _scope(tenant: str | None) -> str:
    """What is the tenant's own, or, for None, what is shipped to every tenant."""
    return f"tenant#{tenant}" if tenant is not None else "shipped"


def placements(tenant: str | None) -> Key:
    """The row by which placements in a scope follow each other."""
    return _key(_scope(tenant), "placements")


def placed_functions_of(tenant: str | None) -> str:
    return f"{_scope(tenant)}#functions"


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


def skills_of(tenant: str | None, scopes: "Scopes") -> str:
    """A scope's name begins with `skills`, as no other partition does (`settings.scopes`)."""
    return f"{_scope(tenant)}#{scopes.skills}"


def prompts_of(tenant: str | None, scopes: "Scopes") -> str:
    """Likewise, with `prompts`."""
    return f"{_scope(tenant)}#{scopes.prompts}"


def subscriptions_of(tenant: str | None) -> str:
    return f"{_scope(tenant)}#subscriptions"


def entry(partition: str, name: str) -> Key:
    """A skill document, a prompt or a subscription."""
    return _key(partition, name)


def content_version(tenant: str | None) -> Key:
    """The row by which changes of skill documents and prompts in a scope follow each other."""
    return _key(_scope(tenant), "content")


SCOPES = "deployment#content"
"""All whose content ever changed, under one key: nobody has to scan for them."""


def scope_row(tenant: str | None) -> Key:
    return _key(SCOPES, _scope(tenant))


def outbox_of(tenant: str | None) -> str:
    return f"{_scope(tenant)}#outbox"


def outbox_row(tenant: str | None, sequence: int) -> Key:
    """Zeros make the order of the keys the order of the numbers."""
    return _key(outbox_of(tenant), f"{sequence:020}")


LOADS = "loads#"
"""What the sort keys of loads begin with: they are counted apart from changes of the content."""


def outbox_row_of_load(tenant: str, revision: int) -> Key:
    return _key(outbox_of(tenant), f"{LOADS}{revision:020}")


def owner_of(pk: str) -> str | None:
    """The tenant to whom a partition belongs; None if it is shipped, or the deployment's own."""
    scope, _, rest = pk.partition("#")
    return rest.partition("#")[0] if scope == "tenant" else None


NOW = "now#"
"""What the sort keys of an instance begin with that are read to decide anything."""
HEAD, CONTEXT, INPUT = f"{NOW}head", f"{NOW}context", f"{NOW}input"
HISTORY, AUDIT = "history#", "audit#"


def workflow(tenant: str, workflow_id: str) -> str:
    return f"tenant#{tenant}#wf#{workflow_id}"


def instance_of(pk: str) -> tuple[str, str]:
    """The tenant and the id of the instance whose partition this is. No tenant and no id contains a `#`."""
    kind, tenant, mark, workflow_id = pk.split("#")
    if (kind, mark) != ("tenant", "wf"):
        raise ValueError(f"{pk} is no partition of an instance.")
    return tenant, workflow_id


def workflow_row(tenant: str, workflow_id: str, name: str) -> Key:
    return _key(workflow(tenant, workflow_id), name)


def definition(tenant: str, digest: str) -> Key:
    return _key(f"tenant#{tenant}#definitions", digest)


def waiting_of(tenant: str) -> str:
    return f"tenant#{tenant}#waiting"


def waiting(tenant: str, request_id: str) -> Key:
    """A request that people have not answered."""
    return _key(waiting_of(tenant), request_id)


def history(version: int) -> str:
    """Zeros make the order of the keys the order of the numbers."""
    return f"{HISTORY}{version:010}"


def audit(at: float, correlation_id: str) -> str:
    return f"{AUDIT}{at:017.6f}#{correlation_id}"

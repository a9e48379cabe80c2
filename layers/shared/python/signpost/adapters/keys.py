"""Every key of every table. Each contains the tenant; a key without one belongs to the whole deployment."""

from collections.abc import Mapping

type RowKey = Mapping[str, Mapping[str, str]]

SCHEMA = 1
"""The version of the rows' form, written into every row. A release reads the rows of the previous one."""


def _row_key(pk: str, sk: str) -> RowKey:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def api_keys_of(tenant: str) -> str:
    return f"tenant#{tenant}#api-keys"


def api_key(tenant: str, key_id: str) -> RowKey:
    return _row_key(api_keys_of(tenant), key_id)


def issuer_keys(issuer: str) -> RowKey:
    return _row_key("deployment", f"issuer-keys#{issuer}")


def _scope_prefix(tenant: str | None) -> str:
    """Return the prefix of a tenant's own partitions or, for None, of content shipped to every tenant."""
    return f"tenant#{tenant}" if tenant is not None else "shipped"


def placements(tenant: str | None) -> RowKey:
    """The row whose revision orders the placements in a scope."""
    return _row_key(_scope_prefix(tenant), "placements")


def placed_functions_of(tenant: str | None) -> str:
    return f"{_scope_prefix(tenant)}#functions"


def placed_function(tenant: str | None, function: str) -> RowKey:
    return _row_key(placed_functions_of(tenant), function)


EXECUTORS = "deployment#executors"
"""The partition of all executors, so that `list_placed` is one query."""


def executors_of(tenant: str | None) -> str:
    """Return the prefix of the sort keys of a scope's executors."""
    return f"{tenant or ''}#"


def executor(tenant: str | None, arn: str) -> RowKey:
    return _row_key(EXECUTORS, f"{executors_of(tenant)}{arn}")


ALL_FUNCTIONS = "*"


def settings_of(tenant: str | None) -> str:
    return "deployment#settings" if tenant is None else f"tenant#{tenant}#settings"


def settings(tenant: str | None, function: str | None) -> RowKey:
    """The row of the settings of a function, of all functions of a tenant, or of all tenants."""
    return _row_key(settings_of(tenant), function if function is not None else ALL_FUNCTIONS)


def breakers_of(tenant: str) -> str:
    return f"tenant#{tenant}#breakers"


def breaker(tenant: str, function: str) -> RowKey:
    return _row_key(breakers_of(tenant), function)


def effect(tenant: str, thread: str, digest: str) -> RowKey:
    """The row of an effect of a function. Each thread is a partition, so that no partition is written too often."""
    return _row_key(f"tenant#{tenant}#effects#{thread}", digest)


def handles_of(tenant: str, principal: str) -> str:
    return f"tenant#{tenant}#handles#{principal}"


def handle(tenant: str, principal: str, name: str) -> RowKey:
    """The row of a handle of a principal, by its scope and id."""
    return _row_key(handles_of(tenant, principal), name)


def used_nonce(tenant: str, principal: str, nonce: str) -> RowKey:
    """The row of the nonce of an answer that was used."""
    return _row_key(f"tenant#{tenant}#nonces#{principal}", nonce)


def grants_of(tenant: str) -> str:
    return f"tenant#{tenant}#grants"


def grants(tenant: str, holder: str) -> RowKey:
    """The row of the grants of one principal, by the digest of the principal."""
    return _row_key(grants_of(tenant), holder)


def entries_of(tenant: str | None, name: str) -> str:
    """Return the partition of skill documents, prompts or subscriptions. Its name begins with `skills`, `prompts`
    (`settings.scopes`) or `subscriptions`, as that of no other partition does."""
    return f"{_scope_prefix(tenant)}#{name}"


def entry(partition: str, name: str) -> RowKey:
    """The row of a skill document, a prompt or a subscription."""
    return _row_key(partition, name)


def content_version(tenant: str | None) -> RowKey:
    """The content head of a scope, whose version orders the changes of its content."""
    return _row_key(_scope_prefix(tenant), "content")


def deployment_lists() -> RowKey:
    """The row of the lists of the deployment. Not in the partition `deployment`, into which the gateway may write."""
    return _row_key("deployment#lists", "lists")


SCOPES = "deployment#content"
"""The partition of all scopes whose content ever changed, so that a list of them needs no scan."""


def scope_row(tenant: str | None) -> RowKey:
    return _row_key(SCOPES, _scope_prefix(tenant))


def outbox_of(tenant: str | None) -> str:
    return f"{_scope_prefix(tenant)}#outbox"


def outbox_row(tenant: str | None, sequence: int) -> RowKey:
    """Build the key with leading zeros, so that keys sort like the numbers."""
    return _row_key(outbox_of(tenant), f"{sequence:020}")


LOADS = "loads#"
"""The prefix of the sort keys of loads, which are numbered apart from changes of the content."""


def outbox_row_of_load(tenant: str, revision: int, part: int = 0) -> RowKey:
    """Build the key of a load or a placement. The events of a large placement take several rows, the parts."""
    return _row_key(outbox_of(tenant), f"{LOADS}{revision:020}{f'#{part:04}' if part else ''}")


ANNOUNCED = "announced#"
"""The prefix of the sort keys of announcements. They are numbered with the changes of the content, and apart from them:
an earlier release reads every row with a number alone as a change that it knows."""


def outbox_row_of_announcement(tenant: str, sequence: int) -> RowKey:
    return _row_key(outbox_of(tenant), f"{ANNOUNCED}{sequence:020}")


def owner_of(pk: str) -> str | None:
    """Return the tenant of a partition; None if the partition is shipped content or the deployment's own."""
    scope, _, rest = pk.partition("#")
    return rest.partition("#")[0] if scope == "tenant" else None


CURRENT = "now#"
"""The prefix of the sort keys of an instance's current state."""
HEAD, CONTEXT, INPUT = f"{CURRENT}head", f"{CURRENT}context", f"{CURRENT}input"
TASK_END = f"{CURRENT}task-end"
HISTORY, AUDIT = "history#", "audit#"
TIMETABLE = "timetable"
"""The sort key of the row of a tenant's schedules. Its partition looks like that of an instance, so wakes can name it.
"""


def workflow(tenant: str, workflow_id: str) -> str:
    return f"tenant#{tenant}#wf#{workflow_id}"


def instance_of(pk: str) -> tuple[str, str]:
    """Return tenant and id of the instance of a partition. No tenant and no id contains a `#`."""
    scope, tenant, kind, workflow_id = pk.split("#")
    if (scope, kind) != ("tenant", "wf"):
        raise ValueError(f"{pk} is no partition of an instance.")
    return tenant, workflow_id


def workflow_row(tenant: str, workflow_id: str, name: str) -> RowKey:
    return _row_key(workflow(tenant, workflow_id), name)


def definition(tenant: str, digest: str) -> RowKey:
    return _row_key(f"tenant#{tenant}#definitions", digest)


def open_requests_of(tenant: str) -> str:
    return f"tenant#{tenant}#waiting"


def open_request(tenant: str, request_id: str) -> RowKey:
    """The row of an approval request that is not answered yet."""
    return _row_key(open_requests_of(tenant), request_id)


def runs_of(tenant: str, starter: str | None) -> str:
    """Return the partition of the list of runs of a tenant, or of those of one starter."""
    return f"tenant#{tenant}#runs{f'#{starter}' if starter is not None else ''}"


def run_position(started_at: float, workflow_id: str) -> str:
    return f"{started_at:017.6f}#{workflow_id}"


def listed_run(tenant: str, starter: str | None, position: str) -> RowKey:
    return _row_key(runs_of(tenant, starter), position)


def history(version: int) -> str:
    """Build the key with leading zeros, so that keys sort like the numbers."""
    return f"{HISTORY}{version:010}"


def audit(at: float, correlation_id: str, link_number: int | None = None, part: int = 0) -> str:
    """Build the key with the number of the link, so that two writes of one call at one time have two rows."""
    number = "" if link_number is None else f"{link_number:010}#"
    return f"{AUDIT}{at:017.6f}#{number}{correlation_id}{f'#{part:04}' if part else ''}"

"""Permissions of functions beyond the requests of their exercises, each with its reason. The list is reviewed, not
derived: tests/e2e/test_permissions.py fails for a role that allows more, and for an entry that no role needs."""

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.support.aws_requests import RequestClass

API_KEYS, DEFINITIONS = "tenant#api-keys", "tenant#definitions"


@dataclass(frozen=True, slots=True)
class PermittedRequests:
    """Classes of requests that functions may make although no exercise makes them."""

    functions: Collection[str]
    actions: Collection[str]
    resource: str
    reason: str
    families: str = ""
    """A pattern of families; empty if the requests have none."""
    excluded_families: Collection[str] = ()
    """Families that the pattern excludes."""

    def covers(self, function: str, request_class: RequestClass) -> bool:
        return (
            function in self.functions
            and request_class.action.partition(":")[2] in self.actions
            and request_class.resource == self.resource
            and fnmatchcase(request_class.family, self.families)
            and request_class.family not in self.excluded_families
        )


PERMITTED_REQUESTS: Collection[PermittedRequests] = (
    PermittedRequests(
        ("Gateway", "Registry"),
        ("BatchGetItem", "GetItem", "Query"),
        "registry",
        "Each of them serves all tenants, whose rows lie in one table, and judges credentials.",
        families="*",
    ),
    PermittedRequests(
        ("NestedCalls", "Sweeper", "Subscriber"),
        ("BatchGetItem", "GetItem", "Query"),
        "registry",
        "Each of them serves all tenants, whose rows lie in one table, and judges no credentials.",
        families="*",
        excluded_families=(API_KEYS,),
    ),
    PermittedRequests(
        ("Worker",),
        ("BatchGetItem", "GetItem"),
        "registry",
        "It serves all tenants, likewise, and reads single rows.",
        families="*",
    ),
    PermittedRequests(
        ("Delivery",),
        ("BatchGetItem",),
        "registry",
        "It serves all tenants, likewise, and reads single rows.",
        families="*",
        excluded_families=(API_KEYS,),
    ),
    PermittedRequests(
        ("Registry",),
        ("ConditionCheckItem",),
        "registry",
        "A check of a transaction reads a row, and it reads all of them.",
        families="*",
    ),
    PermittedRequests(
        ("Registry",),
        ("DeleteItem", "PutItem", "UpdateItem"),
        "registry",
        "It writes every kind of row there is but API keys.",
        families="*",
        excluded_families=(API_KEYS,),
    ),
    PermittedRequests(
        ("Sweeper",),
        ("DeleteItem", "PutItem"),
        "registry",
        "It finishes publications of entries of any kind. It writes neither API keys nor definitions.",
        families="*",
        excluded_families=(API_KEYS, DEFINITIONS),
    ),
    PermittedRequests(
        ("Gateway", "Worker"),
        ("DeleteItem", "PutItem", "Query", "UpdateItem"),
        "workflows",
        "The table has rows of workflows only: instances and what waits for people, of all tenants.",
        families="tenant*",
    ),
    PermittedRequests(
        ("Sweeper",),
        ("Query",),
        "workflows index",
        "The index has nothing but when which workflow is due, and it reads all of that.",
        families="*",
    ),
    PermittedRequests(
        ("Registry",),
        ("DescribeSecret", "PutSecretValue"),
        "executor keys of another stack",
        "Executors of other stacks are given their keys; only a tag identifies these secrets.",
    ),
)

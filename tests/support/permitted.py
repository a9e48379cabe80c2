"""Permissions of functions beyond the requests of their exercises, each with its reason. The list is reviewed, not
derived: tests/e2e/test_permissions.py fails for a role that allows more, and for an entry that no role needs."""

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.support.aws_requests import Class

API_KEYS = "tenant#api-keys"


@dataclass(frozen=True, slots=True)
class Permitted:
    """Classes of requests that functions may make although no exercise makes them."""

    functions: Collection[str]
    actions: Collection[str]
    resource: str
    reason: str
    families: str = ""
    """A pattern of families; empty if the requests have none."""
    but: str = ""
    """A family that the pattern excludes."""

    def covers(self, function: str, request_class: Class) -> bool:
        return (
            function in self.functions
            and request_class.action.partition(":")[2] in self.actions
            and request_class.resource == self.resource
            and fnmatchcase(request_class.family, self.families)
            and (not self.but or request_class.family != self.but)
        )


PERMITTED: Collection[Permitted] = (
    Permitted(
        ("Gateway", "Registry", "Sweeper", "Subscriber"),
        ("BatchGetItem", "GetItem", "Query"),
        "registry",
        "Each of them serves all tenants, whose rows lie in one table, so no condition narrows what it reads.",
        families="*",
    ),
    Permitted(
        ("Worker",),
        ("BatchGetItem", "GetItem"),
        "registry",
        "It serves all tenants, likewise, and reads single rows.",
        families="*",
    ),
    Permitted(
        ("Delivery",),
        ("BatchGetItem",),
        "registry",
        "It serves all tenants, likewise, and reads single rows.",
        families="*",
    ),
    Permitted(
        ("Registry",),
        ("ConditionCheckItem",),
        "registry",
        "A check of a transaction reads a row, and it reads all of them.",
        families="*",
    ),
    Permitted(
        ("Registry",),
        ("DeleteItem", "PutItem", "UpdateItem"),
        "registry",
        "It writes every kind of row there is but API keys.",
        families="*",
        but=API_KEYS,
    ),
    Permitted(
        ("Sweeper",),
        ("DeleteItem", "PutItem"),
        "registry",
        "It finishes publications, which may be of any kind of entry, and writes all rows but API keys.",
        families="*",
        but=API_KEYS,
    ),
    Permitted(
        ("Gateway", "Worker"),
        ("DeleteItem", "PutItem", "Query", "UpdateItem"),
        "workflows",
        "The table has rows of workflows only: instances and what waits for people, of all tenants.",
        families="tenant*",
    ),
    Permitted(
        ("Sweeper",),
        ("Query",),
        "workflows index",
        "The index has nothing but when which workflow is due, and it reads all of that.",
        families="*",
    ),
    Permitted(
        ("Registry",),
        ("DescribeSecret", "PutSecretValue"),
        "executor keys of another stack",
        "Executors of other stacks are given their keys; only a tag identifies these secrets.",
    ),
)

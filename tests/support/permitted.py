"""What functions may ask for beyond what their exercises do, each with its reason. It is reviewed, not derived: what a
role allows beyond it fails tests/e2e/test_permissions.py, and so does an entry that no role needs."""

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.support.aws_requests import Class

API_KEYS = "tenant#api-keys"


@dataclass(frozen=True, slots=True)
class Permitted:
    """Classes of requests that functions may make although no exercise does."""

    functions: Collection[str]
    actions: Collection[str]
    resource: str
    reason: str
    families: str = ""
    """A pattern of families; empty where requests have none."""
    but: str = ""
    """A family that is not among them."""

    def covers(self, function: str, one: Class) -> bool:
        return (
            function in self.functions
            and one.action.partition(":")[2] in self.actions
            and one.resource == self.resource
            and fnmatchcase(one.family, self.families)
            and (not self.but or one.family != self.but)
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
        "Executors of other stacks are given their keys; which secrets these are is said by a tag alone.",
    ),
)

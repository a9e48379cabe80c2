"""Requests that the functions of a stack could try: each action that a policy names and the most harmful actions, on
each resource of the stack and on foreign resources, with each family of partition keys."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from signpost.adapters import keys
from signpost.content.changes import ENTRY_LISTS
from signpost.content.model import ScopeNames
from signpost.workflow.wakes import SCHEDULES, due_shard
from tests.support.policy_judge import Context, Request

LEADING_KEYS = "dynamodb:leadingkeys"
EXECUTOR_TAG = "aws:resourcetag/signpost:executor-keys"
PREFIX_KEY = "s3:prefix"

KEYED_ACTIONS = {
    f"dynamodb:{name}"
    for name in (
        *("BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query"),
        "UpdateItem",
    )
}
"""The actions that name partition keys. Other actions, such as a scan, name none, and a `ForAllValues` condition on
absent keys is satisfied."""
BATCH_ACTIONS = {"dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"}
LISTING_ACTIONS = {"s3:ListBucket", "s3:ListBucketVersions"}

HARMFUL_ACTIONS: Mapping[str, Sequence[str]] = {
    "dynamodb": ["BatchWriteItem", "CreateBackup", "DeleteTable", "ExportTableToPointInTime", "PartiQLSelect", "Scan"],
    "events": ["DeleteEventBus", "PutRule", "PutTargets"],
    "lambda": ["AddPermission", "DeleteFunction", "UpdateFunctionCode", "UpdateFunctionConfiguration"],
    "logs": ["DeleteLogGroup", "FilterLogEvents", "PutRetentionPolicy"],
    "s3": ["DeleteBucket", "DeleteObject", "ListBucket", "PutBucketPolicy", "PutLifecycleConfiguration"],
    "secretsmanager": ["DeleteSecret", "PutResourcePolicy", "UpdateSecret"],
    "sqs": ["DeleteQueue", "PurgeQueue", "SetQueueAttributes"],
    "iam": ["AttachRolePolicy", "CreateUser", "PassRole", "PutRolePolicy"],
    "sts": ["AssumeRole"],
    "kms": ["Decrypt"],
}
"""Actions that no function may be allowed, by service."""


@dataclass(frozen=True, slots=True)
class RequestClass:
    """A class of requests that the review treats as allowed or denied together."""

    action: str
    resource: str
    """The review's name of the resource: `registry`, `bucket/values`, `another queue`."""
    family: str = ""
    """The family of the partition key, or of the prefix that is listed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A request, and the classes that all have to be permitted for it."""

    request: Request
    classes: Sequence[RequestClass]


type Resources = Mapping[str, str]
"""ARNs by the review's names. ARNs of objects end in a key."""


def list_key_families(tenant: str) -> Sequence[str]:
    """Return a partition key of each existing family, and of two families that do not exist."""
    families, scopes = [keys.api_keys_of(tenant), keys.issuer_keys("i")["pk"]["S"]], ScopeNames("skills", "prompts")
    partitions = dict.fromkeys(kind.partition(scopes) for kind in ENTRY_LISTS.values())
    for scope in (tenant, None):
        families += [keys.placements(scope)["pk"]["S"], keys.placed_functions_of(scope), keys.outbox_of(scope)]
        families += [keys.entries_of(scope, partition) for partition in partitions]
    families += [keys.deployment_lists()["pk"]["S"]]
    families += [keys.EXECUTORS, keys.SCOPES, keys.settings_of(None)]
    families += [keys.settings_of(tenant), keys.breakers_of(tenant), keys.grants_of(tenant)]
    families += [
        keys.effect(tenant, "t", "e")["pk"]["S"],
        keys.handles_of(tenant, "p"),
        keys.used_nonce(tenant, "p", "n")["pk"]["S"],
    ]
    families += [
        keys.workflow(tenant, "wf_1"),
        keys.workflow(tenant, SCHEDULES),
        keys.open_requests_of(tenant),
        keys.definition(tenant, "d")["pk"]["S"],
    ]
    return [*families, due_shard(0), f"tenant#{tenant}#unheard-of", "unheard-of"]


def parse_family(key: str) -> str:
    """Return the family of a partition key: the key without its tenant and without the id of a workflow. The partition
    of schedules, which looks like that of a workflow, is a family of its own."""
    scope, _, rest = key.partition("#")
    if scope != "tenant":
        return "due" if scope == "due" else key
    if key == keys.workflow(rest.partition("#")[0], SCHEDULES):
        return "tenant#wf#schedules"
    kind = rest.partition("#")[2].split("#")[0]
    return f"tenant#{kind}" if kind else "tenant"


def list_candidates(actions: Collection[str], resources: Resources) -> Sequence[Candidate]:
    """Return each action on each resource of its service, with each context that matters to it."""
    every = {*actions, *(f"{service}:{name}" for service, names in HARMFUL_ACTIONS.items() for name in names)}
    return [
        Candidate(Request(action, arn, context), classify_request(Request(action, arn, context), {arn: name}))
        for action in sorted(every)
        for name, arn in resources.items()
        if arn.split(":")[2] == action.partition(":")[0].replace("sts", "iam")  # a role is assumed through STS
        for context in _contexts(action, name)
    ]


def _contexts(action: str, resource: str) -> Iterator[Context]:
    if action in KEYED_ACTIONS:
        families = list_key_families("acme")
        yield {}  # of a program that names its keys in another way
        yield from ({LEADING_KEYS: [key]} for key in families)
        if action in BATCH_ACTIONS:
            yield from ({LEADING_KEYS: [keys.breakers_of("acme"), key]} for key in families)
    elif action in LISTING_ACTIONS:
        yield {}
        yield from ({PREFIX_KEY: [f"{prefix}/"]} for prefix in OBJECT_PREFIXES)
    elif "executor keys" in resource:
        yield {EXECUTOR_TAG: ["core"]}
    else:
        yield {}


OBJECT_PREFIXES = ("answers", "content", "publications", "sweeper", "values", "unheard-of")
"""The first parts of the keys of objects, and one that no object has."""


def classify_request(request: Request, names: Mapping[str, str]) -> Sequence[RequestClass]:
    """Return the classes of a request, by the names of resources. A resource without a name is called by its ARN."""
    resource = names.get(request.resource) or names.get(_folder_of(request.resource), request.resource)
    values = [parse_family(key) for key in request.context.get(LEADING_KEYS, ())]
    values += [prefix.split("/")[0] for prefix in request.context.get(PREFIX_KEY, ())]
    return [RequestClass(request.action, resource, family) for family in dict.fromkeys(values)] or [
        RequestClass(request.action, resource)
    ]


def _folder_of(arn: str) -> str:
    """Return the ARN with a generic object key below the first part of its key, or with a generic log stream name."""
    if arn.startswith("arn:aws:s3:::"):
        return "/".join(arn.split("/")[:2]) + "/object"
    return arn.split(":log-stream:", maxsplit=1)[0] + ":log-stream:stream"

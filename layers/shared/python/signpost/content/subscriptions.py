"""Subscriptions: the triggers and webhooks of a tenant, parsed from an author's entries and written back as entries."""

import json
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from signpost.calling.lookup import may_exist
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.model import SubscriberKind, Subscription, TriggerType
from signpost.content.names import is_internal
from signpost.model import PROXY_WORKFLOW, Json, JsonObject, as_object
from signpost.policy.egress import parse_destination

TRIGGER_TYPES: tuple[str, ...] = get_args(TriggerType.__value__)
LONGEST_URL = 900
"""Bytes. The URL is part of a key."""
LONGEST_WORKFLOW = 200
"""Characters of the id of a workflow."""
LARGEST_CONFIG = 16_384
"""Bytes as JSON of the configuration, and of the metadata."""
MOST_SUBSCRIPTIONS = 100
"""Per tenant. Each change causes one message per matching subscription."""
LONGEST_TIMEOUT_MS = 55_000
"""A delivery has a minute for the call and the record of its outcome."""
TRIGGER_KINDS: Sequence[SubscriberKind] = ("trigger", "workflow")
WEBHOOK_KINDS: Sequence[SubscriberKind] = ("webhook",)
"""The kinds of the entries of `triggers` and of `webhooks`."""


def parse_trigger(entry: Json) -> Subscription | RegistryRefusal:
    if not isinstance(entry, Mapping):
        return RegistryRefusal(
            "invalid_payload",
            "A trigger must be {trigger_type, function_id, config, metadata, timeout_ms}, or {trigger_type, workflow, "
            "config, metadata}.",
        )
    if "workflow" in entry and "function_id" in entry:
        return RegistryRefusal("invalid_content", "A trigger has either `function_id` or `workflow`, not both.")
    kind: SubscriberKind = "workflow" if "workflow" in entry else "trigger"
    fields = payloads.text_fields(entry, "trigger_type", "workflow" if kind == "workflow" else "function_id")
    if isinstance(fields, RegistryRefusal):
        return fields
    trigger_type, target = fields[0], fields[1].strip()
    problem = (
        _problem_with_type(trigger_type)
        or (_problem_with_workflow(target) if kind == "workflow" else _problem_with_function(target))
        or _problem_with_object("config", entry.get("config", {}))
        or _problem_with_object("metadata", entry.get("metadata", {}))
        or _problem_with_timeout(kind, entry.get("timeout_ms"))
    )
    if problem:
        return RegistryRefusal("invalid_content", f"{problem}.")
    return Subscription(
        kind,
        cast("TriggerType", trigger_type),
        target,
        "",
        as_object(entry.get("config")),
        as_object(entry.get("metadata")),
        cast("int | None", entry.get("timeout_ms")),
    )


def parse_webhook(entry: Json) -> Subscription | RegistryRefusal:
    if not isinstance(entry, Mapping):
        return RegistryRefusal("invalid_payload", "A webhook must be {trigger_type, url}.")
    fields = payloads.text_fields(entry, "trigger_type", "url")
    if isinstance(fields, RegistryRefusal):
        return fields
    trigger_type, url = fields
    if problem := _problem_with_type(trigger_type) or _problem_with_url(url):
        return RegistryRefusal("invalid_content", f"{problem}.")
    return Subscription("webhook", cast("TriggerType", trigger_type), url, "")


def entry_of(subscription: Subscription) -> JsonObject:
    """Write a subscription as the author's entry, with the time of its registration."""
    trigger_type, registered_at = subscription.trigger_type, subscription.registered_at
    if subscription.kind == "webhook":
        return {"trigger_type": trigger_type, "url": subscription.target, "registered_at": registered_at}
    optional: JsonObject = {"metadata": subscription.metadata, "timeout_ms": subscription.timeout_ms}
    return {
        "trigger_type": trigger_type,
        "workflow" if subscription.kind == "workflow" else "function_id": subscription.target,
        "config": subscription.config,
        **{name: value for name, value in optional.items() if value},
        "registered_at": registered_at,
    }


def _problem_with_type(trigger_type: str) -> str | None:
    if trigger_type in TRIGGER_TYPES:
        return None
    return f"unknown trigger type {quote_text(trigger_type)}: use one of {', '.join(TRIGGER_TYPES)}"


def _problem_with_function(function: str) -> str | None:
    if is_internal(function):
        return f"{quote_text(function)} is in an internal namespace and cannot be called here"
    return None if may_exist(function) else f"{quote_text(function)} is not a valid function id"


def _problem_with_workflow(workflow: str) -> str | None:
    if workflow == PROXY_WORKFLOW:
        return f"an event chooses no capability, so {PROXY_WORKFLOW} cannot be started here: name another workflow"
    return None if workflow and len(workflow) <= LONGEST_WORKFLOW else "`workflow` must be the id of a workflow"


def _problem_with_object(name: str, value: Json) -> str | None:
    if not isinstance(value, Mapping):
        return f"`{name}` must be an object"
    size = len(json.dumps(value).encode())
    return f"{name} is too large: {size} bytes, at most {LARGEST_CONFIG}" if size > LARGEST_CONFIG else None


def _problem_with_timeout(kind: SubscriberKind, value: Json) -> str | None:
    if value is None:
        return None
    if kind == "workflow":
        return "`timeout_ms` limits the call of a function and has no effect on a workflow, which has `timeoutMs`"
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LONGEST_TIMEOUT_MS:
        return None
    return f"`timeout_ms` must be a whole number of milliseconds from 1 to {LONGEST_TIMEOUT_MS}"


def _problem_with_url(url: str) -> str | None:
    if len(url) > LONGEST_URL:
        return f"url is too long: {len(url)} characters, at most {LONGEST_URL}"
    destination = parse_destination(url)
    return destination.rstrip(".") if isinstance(destination, str) else None

"""Who wants to hear of changes: the triggers and webhooks of a tenant, as an author writes them."""

import json
from collections.abc import Mapping
from typing import cast, get_args

from signpost.content import Subscription, TriggerType
from signpost.execution.functions import may_exist
from signpost.model import Json, JsonObject
from signpost.policy.egress import destination_of
from signpost.registry import payloads
from signpost.registry.names import is_internal
from signpost.registry.refusals import Refused, quoted

TRIGGER_TYPES: tuple[str, ...] = get_args(TriggerType.__value__)
LONGEST_URL = 900
"""Bytes; it is part of a key."""
LARGEST_CONFIG = 16_384
MOST_SUBSCRIPTIONS = 100
"""Of a tenant: each change is a message for each of them."""


def trigger_of(entry: Json) -> Subscription | Refused:
    if not isinstance(entry, Mapping):
        return Refused("invalid_payload", "A trigger is {trigger_type, function_id, config}.")
    fields = payloads.texts(entry, "trigger_type", "function_id")
    if isinstance(fields, Refused):
        return fields
    trigger_type, function = fields[0], fields[1].strip()
    config = entry.get("config", {})
    problem = _problem_with_type(trigger_type) or _problem_with_function(function) or _problem_with_config(config)
    if problem or not isinstance(config, Mapping):
        return Refused("invalid_content", f"{problem}.")
    return Subscription("trigger", cast("TriggerType", trigger_type), function, "", config)


def webhook_of(entry: Json) -> Subscription | Refused:
    if not isinstance(entry, Mapping):
        return Refused("invalid_payload", "A webhook is {trigger_type, url}.")
    fields = payloads.texts(entry, "trigger_type", "url")
    if isinstance(fields, Refused):
        return fields
    trigger_type, url = fields
    if problem := _problem_with_type(trigger_type) or _problem_with_url(url):
        return Refused("invalid_content", f"{problem}.")
    return Subscription("webhook", cast("TriggerType", trigger_type), url, "")


def listed(subscription: Subscription) -> JsonObject:
    """As it was written, and when it was registered."""
    at: JsonObject = {"registered_at": subscription.registered_at}
    of: JsonObject = {"trigger_type": subscription.trigger_type}
    if subscription.kind == "webhook":
        return {**of, "url": subscription.target, **at}
    return {**of, "function_id": subscription.target, "config": subscription.config, **at}


def _problem_with_type(trigger_type: str) -> str | None:
    if trigger_type in TRIGGER_TYPES:
        return None
    return f"there is no trigger type {quoted(trigger_type)}: it is one of {', '.join(TRIGGER_TYPES)}"


def _problem_with_function(function: str) -> str | None:
    if is_internal(function):
        return f"{quoted(function)} is in an internal namespace and is never called from here"
    return None if may_exist(function) else f"{quoted(function)} is no id of a function"


def _problem_with_config(config: Json) -> str | None:
    if not isinstance(config, Mapping):
        return "`config` must be an object"
    size = len(json.dumps(config).encode())
    return f"config is too large: {size} bytes, at most {LARGEST_CONFIG}" if size > LARGEST_CONFIG else None


def _problem_with_url(url: str) -> str | None:
    if len(url) > LONGEST_URL:
        return f"url is too long: {len(url)} characters, at most {LONGEST_URL}"
    destination = destination_of(url)
    return destination.rstrip(".") if isinstance(destination, str) else None

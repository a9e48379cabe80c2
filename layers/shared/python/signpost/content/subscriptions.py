"""Subscriptions: the triggers and webhooks of a tenant, parsed from an author's entries and written back as entries."""

import json
from collections.abc import Mapping
from typing import cast, get_args

from signpost.calling.lookup import may_exist
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.model import Subscription, TriggerType
from signpost.content.names import is_internal
from signpost.model import Json, JsonObject
from signpost.policy.egress import parse_destination

TRIGGER_TYPES: tuple[str, ...] = get_args(TriggerType.__value__)
LONGEST_URL = 900
"""Bytes. The URL is part of a key."""
LARGEST_CONFIG = 16_384
MOST_SUBSCRIPTIONS = 100
"""Per tenant. Each change causes one message per matching subscription."""


def parse_trigger(entry: Json) -> Subscription | RegistryRefusal:
    if not isinstance(entry, Mapping):
        return RegistryRefusal("invalid_payload", "A trigger must be {trigger_type, function_id, config}.")
    fields = payloads.text_fields(entry, "trigger_type", "function_id")
    if isinstance(fields, RegistryRefusal):
        return fields
    trigger_type, function = fields[0], fields[1].strip()
    config = entry.get("config", {})
    problem = _problem_with_type(trigger_type) or _problem_with_function(function) or _problem_with_config(config)
    if problem or not isinstance(config, Mapping):
        return RegistryRefusal("invalid_content", f"{problem}.")
    return Subscription("trigger", cast("TriggerType", trigger_type), function, "", config)


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
    return {
        "trigger_type": trigger_type,
        "function_id": subscription.target,
        "config": subscription.config,
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


def _problem_with_config(config: Json) -> str | None:
    if not isinstance(config, Mapping):
        return "`config` must be an object"
    size = len(json.dumps(config).encode())
    return f"config is too large: {size} bytes, at most {LARGEST_CONFIG}" if size > LARGEST_CONFIG else None


def _problem_with_url(url: str) -> str | None:
    if len(url) > LONGEST_URL:
        return f"url is too long: {len(url)} characters, at most {LONGEST_URL}"
    destination = parse_destination(url)
    return destination.rstrip(".") if isinstance(destination, str) else None

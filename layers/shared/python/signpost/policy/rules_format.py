"""Parses and validates rules as authors write them under `policies` of a manifest, and as they are stored."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from signpost.model import Json, JsonObject, as_object
from signpost.policy.rules import ANY_PRINCIPAL, Effect, Policies, Rule, RuleKind

DEFAULT_NAME = "default"
"""The member that sets the default effect; all other members are rules."""
EFFECTS: Sequence[Effect] = ("allow", "deny")
KINDS: Mapping[str, Sequence[str]] = {
    "allow": ("who", "what"),
    "deny": ("who", "what"),
    "show": ("who", "what"),
    "mcp_restriction": ("what",),
}
"""The required fields of each kind of rule."""
ATTRIBUTES = ("subject", "role", "permission", "identity")
MOST_RULES, MOST_PATTERNS, LONGEST_PATTERN, LONGEST_DESCRIPTION = 500, 100, 300, 1_000
LONGEST_TEXT = 300_000
"""Characters of all rules of a tenant. Every gateway that serves the tenant reads them."""
UNREADABLE = Policies(rules=(Rule("unreadable", "unreadable"),))
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def parse_policies(text: str) -> Policies:
    """Parses the stored rules of a tenant. Parts that cannot be read, as a later release or another program wrote them,
    deny everything."""
    try:
        document = json.loads(text)
    except ValueError:
        return UNREADABLE
    if not isinstance(document, dict):
        return UNREADABLE
    members = as_object(cast("Json", document))
    default = members.get(DEFAULT_NAME, "allow")
    rules = [_parse_rule(name, member) for name, member in sorted(members.items()) if name != DEFAULT_NAME]
    return Policies("allow" if default == "allow" else "deny", tuple(rules))


def to_text(members: JsonObject) -> str:
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


def find_excess(members: JsonObject) -> str | None:
    """Returns a sentence without its full stop if the rules are too many or too long."""
    if len(members) > MOST_RULES:
        return f"A tenant can have at most {MOST_RULES} rules, and these are {len(members)}"
    if (length := len(to_text(members))) > LONGEST_TEXT:
        return f"The rules of a tenant can have at most {LONGEST_TEXT} characters as JSON, and these have {length}"
    return None


def find_faults(members: JsonObject) -> Iterator[tuple[str, str]]:
    """Yields the faults that keep the rules from being published: the name of a rule, and a sentence without its full
    stop."""
    for name, member in members.items():
        fault = _fault_of_default(member) if name == DEFAULT_NAME else _fault_of_rule(name, member)
        if fault is not None:
            yield name, fault


def _parse_rule(name: str, member: Json) -> Rule:
    if _fault_of_rule(name, member) is not None:
        return Rule(name, "unreadable")
    fields = as_object(member)
    kind = cast("RuleKind", fields["kind"])
    return Rule(name, kind, _text_items(fields.get("who")) or (ANY_PRINCIPAL,), _text_items(fields.get("what")))


def _fault_of_default(member: Json) -> str | None:
    return None if member in EFFECTS else f"`{DEFAULT_NAME}` must be {' or '.join(EFFECTS)}"


def _fault_of_rule(name: str, member: Json) -> str | None:
    if not _ID.fullmatch(name):
        return "the name of a rule must have 1 to 100 letters, digits and _.-, and begin with a letter or digit"
    if not isinstance(member, Mapping):
        return "a rule must be a mapping of `kind`, `who` and `what`"
    return _fault_of_fields(member)


def _fault_of_fields(fields: JsonObject) -> str | None:
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return f"`kind` must be one of {', '.join(KINDS)}"
    needed = KINDS[kind]
    unknown = [name for name in fields if name not in (*needed, "kind", "description")]
    if unknown:
        return f"a rule of the kind {kind} cannot have `{unknown[0]}`"
    description = fields.get("description", "")
    if not isinstance(description, str) or len(description) > LONGEST_DESCRIPTION:
        return f"`description` must be a text of at most {LONGEST_DESCRIPTION} characters"
    return next(filter(None, (_fault_of_patterns(name, fields.get(name)) for name in needed)), None)


def _fault_of_patterns(name: str, value: Json) -> str | None:
    patterns = _text_items(value)
    if not isinstance(value, list) or len(patterns) != len(value) or not 0 < len(patterns) <= MOST_PATTERNS:
        return f"`{name}` must be a list of 1 to {MOST_PATTERNS} texts"
    if any(not pattern or len(pattern) > LONGEST_PATTERN for pattern in patterns):
        return f"the texts of `{name}` must have 1 to {LONGEST_PATTERN} characters"
    wrong = next((text for text in patterns if name == "who" and not _is_principal_pattern(text)), None)
    forms = ", ".join(f"{attribute}:{'…#…' if attribute == 'identity' else '…'}" for attribute in ATTRIBUTES)
    return None if wrong is None else f"each text of `who` must be {forms} or *, not {wrong!r}"


def _is_principal_pattern(text: str) -> bool:
    attribute, _, pattern = text.partition(":")
    if attribute == "identity":
        return "#" in pattern  # between issuer and subject; a subject alone would match no principal
    return text == ANY_PRINCIPAL or (attribute in ATTRIBUTES and bool(pattern))


def _text_items(value: Json) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

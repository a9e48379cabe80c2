"""Rules as authors write them, under `policies` of a manifest, and as they are kept."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from signpost.model import Json, JsonObject, as_object
from signpost.policy.rules import EVERYBODY, Effect, Policies, Rule, RuleKind

DEFAULT = "default"
"""The one name that is no rule's: what goes where no rule decides."""
EFFECTS: Sequence[Effect] = ("allow", "deny")
KINDS: Mapping[str, Sequence[str]] = {
    "allow": ("who", "what"),
    "deny": ("who", "what"),
    "show": ("who", "what"),
    "mcp_restriction": ("what",),
}
"""With what each of them has to say."""
ATTRIBUTES = ("subject", "role", "permission")
MOST_RULES, MOST_PATTERNS, LONGEST_PATTERN, LONGEST_DESCRIPTION = 500, 100, 300, 1_000
LONGEST_TEXT = 300_000
"""Characters of all rules of a tenant: every gateway that it calls reads them."""
UNREADABLE = Policies(rules=(Rule("unreadable", "unreadable"),))
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def policies_in(text: str) -> Policies:
    """As they are kept. What cannot be read, because a later release or somebody else wrote it, denies."""
    try:
        said = json.loads(text)
    except ValueError:
        return UNREADABLE
    if not isinstance(said, dict):
        return UNREADABLE
    members = as_object(cast("Json", said))
    default = members.get(DEFAULT, "allow")
    rules = [_kept(name, member) for name, member in sorted(members.items()) if name != DEFAULT]
    return Policies("allow" if default == "allow" else "deny", tuple(rules))


def to_text(members: JsonObject) -> str:
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


def too_much(members: JsonObject) -> str | None:
    """A sentence without its full stop, if nobody may have so much."""
    if len(members) > MOST_RULES:
        return f"A tenant has {MOST_RULES} rules at most, and these are {len(members)}"
    if (length := len(to_text(members))) > LONGEST_TEXT:
        return f"The rules of a tenant have {LONGEST_TEXT} characters at most as JSON, and these have {length}"
    return None


def faults(members: JsonObject) -> Iterator[tuple[str, str]]:
    """What keeps them from being published: the name of a rule, and a sentence without its full stop."""
    for name, member in members.items():
        fault = _fault_of_default(member) if name == DEFAULT else _fault_of_rule(name, member)
        if fault is not None:
            yield name, fault


def _kept(name: str, member: Json) -> Rule:
    if _fault_of_rule(name, member) is not None:
        return Rule(name, "unreadable")
    fields = as_object(member)
    kind = cast("RuleKind", fields["kind"])
    return Rule(name, kind, _texts(fields.get("who")) or (EVERYBODY,), _texts(fields.get("what")))


def _fault_of_default(member: Json) -> str | None:
    return None if member in EFFECTS else f"`{DEFAULT}` is {' or '.join(EFFECTS)}"


def _fault_of_rule(name: str, member: Json) -> str | None:
    if not _ID.fullmatch(name):
        return "a rule has a name of at most 100 letters, digits and _.-"
    if not isinstance(member, Mapping):
        return "a rule is a mapping of `kind`, `who` and `what`"
    return _fault_of_fields(member)


def _fault_of_fields(fields: JsonObject) -> str | None:
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return f"`kind` is one of {', '.join(KINDS)}"
    needed = KINDS[kind]
    unknown = [name for name in fields if name not in (*needed, "kind", "description")]
    if unknown:
        return f"a rule of the kind {kind} has no `{unknown[0]}`"
    description = fields.get("description", "")
    if not isinstance(description, str) or len(description) > LONGEST_DESCRIPTION:
        return f"`description` is a text of at most {LONGEST_DESCRIPTION} characters"
    return next(filter(None, (_fault_of_patterns(name, fields.get(name)) for name in needed)), None)


def _fault_of_patterns(name: str, value: Json) -> str | None:
    patterns = _texts(value)
    if not isinstance(value, list) or len(patterns) != len(value) or not 0 < len(patterns) <= MOST_PATTERNS:
        return f"`{name}` is a list of 1 to {MOST_PATTERNS} texts"
    if any(not pattern or len(pattern) > LONGEST_PATTERN for pattern in patterns):
        return f"`{name}` has texts of 1 to {LONGEST_PATTERN} characters"
    wrong = next((one for one in patterns if name == "who" and not _is_somebody(one)), None)
    return None if wrong is None else f"`who` says {', '.join(f'{one}:…' for one in ATTRIBUTES)} or *, not {wrong!r}"


def _is_somebody(who: str) -> bool:
    attribute, _, pattern = who.partition(":")
    return who == EVERYBODY or (attribute in ATTRIBUTES and bool(pattern))


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

"""The rules for ids of skill documents and names of prompts, and the function namespaces that content may not call.

Every rule returns a sentence about the first problem, or None. The order of the checks is part of the rule.
"""

import re

from signpost.content.api.errors import quote_text
from signpost.strict_json import byte_length

RESERVED = "fn"
"""The first segment of a URI that leads to a function."""
LONGEST_ID = 1024
LONGEST_SEGMENT = 64
SEGMENT = re.compile(r"[a-z0-9_-]+")
ALLOWED = "lowercase letters a-z, digits, - and _"

INTERNAL_NAMESPACES = (
    "engine::", "state::", "stream::", "mcp::", "skills::", "prompts::", "iii::", "iii.", "a2a::",
)  # fmt: skip
"""Prefixes of function ids that no section and no prompt may call: such a function could change the registry, or call
back into the request that is being answered."""


def problem_with_skill_id(skill_id: str) -> str | None:
    if not skill_id:
        return "id must be non-empty"
    if skill_id.startswith("/") or skill_id.endswith("/"):
        return f"id must not begin or end with a slash: {quote_text(skill_id)}"
    if (size := byte_length(skill_id)) > LONGEST_ID:
        return f"id is too long: {size} bytes, at most {LONGEST_ID}"
    segments = skill_id.split("/")
    if problem := next(filter(None, map(problem_with_segment, segments)), None):
        return f"id {quote_text(skill_id)}: {problem}"
    if segments[0] == RESERVED:
        return f"id {quote_text(skill_id)}: {RESERVED} is reserved as first segment, for the sections of functions"
    return None


def problem_with_segment(segment: str) -> str | None:
    if not segment:
        return "empty segment"
    if (size := byte_length(segment)) > LONGEST_SEGMENT:
        return f"segment {quote_text(segment)} is too long: {size} bytes, at most {LONGEST_SEGMENT}"
    if SEGMENT.fullmatch(segment) is None:
        return f"segment {quote_text(segment)} may have {ALLOWED} only"
    return None


def problem_with_prompt_name(name: str) -> str | None:
    if not name:
        return "name must be non-empty"
    if (size := byte_length(name)) > LONGEST_SEGMENT:
        return f"name is too long: {size} bytes, at most {LONGEST_SEGMENT}"
    if SEGMENT.fullmatch(name) is None:
        return f"name {quote_text(name)} may have {ALLOWED} only"
    return None


def is_internal(function_id: str) -> bool:
    return function_id.startswith(INTERNAL_NAMESPACES)

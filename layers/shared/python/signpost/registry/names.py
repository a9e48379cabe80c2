"""What skill documents and prompts may be called, and which functions are nobody's business.

Every rule answers a sentence that says what is wrong, or None. The order of the checks is part of the rule.
"""

import re

from signpost.registry.refusals import quoted

RESERVED = "fn"
"""As the first segment it says that a URI leads to a function."""
LONGEST_ID = 1024
LONGEST_SEGMENT = 64
SEGMENT = re.compile(r"[a-z0-9_-]+")
ALLOWED = "lowercase letters a-z, digits, - and _"

INTERNAL_NAMESPACES = (
    "engine::", "state::", "stream::", "mcp::", "skills::", "prompts::", "iii::", "iii.", "a2a::",
)  # fmt: skip
"""Prefixes of what no reader and no prompt may call: it could change the registry, or lead back to who is asking."""


def problem_with_skill_id(skill_id: str) -> str | None:
    if not skill_id:
        return "id must be non-empty"
    if skill_id.startswith("/") or skill_id.endswith("/"):
        return f"id must not begin or end with a slash: {quoted(skill_id)}"
    if (size := _bytes(skill_id)) > LONGEST_ID:
        return f"id is too long: {size} bytes, at most {LONGEST_ID}"
    segments = skill_id.split("/")
    if found := next(filter(None, map(problem_with_segment, segments)), None):
        return f"id {quoted(skill_id)}: {found}"
    if segments[0] == RESERVED:
        return f"id {quoted(skill_id)}: {RESERVED} is reserved as first segment, for the sections of functions"
    return None


def problem_with_segment(segment: str) -> str | None:
    if not segment:
        return "empty segment"
    if (size := _bytes(segment)) > LONGEST_SEGMENT:
        return f"segment {quoted(segment)} is too long: {size} bytes, at most {LONGEST_SEGMENT}"
    if SEGMENT.fullmatch(segment) is None:
        return f"segment {quoted(segment)} may have {ALLOWED} only"
    return None


def problem_with_prompt_name(name: str) -> str | None:
    if not name:
        return "name must be non-empty"
    if (size := _bytes(name)) > LONGEST_SEGMENT:
        return f"name is too long: {size} bytes, at most {LONGEST_SEGMENT}"
    if SEGMENT.fullmatch(name) is None:
        return f"name {quoted(name)} may have {ALLOWED} only"
    return None


def is_internal(function_id: str) -> bool:
    return function_id.startswith(INTERNAL_NAMESPACES)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))

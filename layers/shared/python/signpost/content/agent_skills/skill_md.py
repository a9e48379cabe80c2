"""Builds the SKILL.md of a skill document: its text with a front matter that has the name and the description."""

import hashlib
import json
import re
from collections.abc import Mapping

from signpost.content import markdown
from signpost.content.model import Skill, SkillMd
from signpost.model import Json, JsonObject

FORM = 1
"""The version of the rules in this module. Raise it with every change that gives the same document another text."""
REQUIRED = ("name", "description")
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_FRONT_MATTER = 8192
"""Characters. Lists contain the front matter."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_BLOCK = re.compile(r"---\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_BYTE_ORDER_MARK = "\ufeff"


def is_agent_skill(skill_id: str) -> bool:
    """Return whether each part of the id is a name by the rule of Agent Skills. Skill ids also allow `_`, and `-`
    anywhere."""
    return all(len(part) <= LONGEST_NAME and _NAME.fullmatch(part) for part in skill_id.split("/"))


def build_skill_md(skill: Skill, body: str) -> SkillMd | None:
    if not is_agent_skill(skill.id):
        return None
    fields, text = _front_matter_and_text(skill, body)
    encoded = text.encode()
    return SkillMd(
        form=FORM,
        digest=hashlib.sha256(encoded).hexdigest(),
        size=len(encoded),
        front_matter=None if fields == derive_front_matter(skill) else fields,
    )


def text_of(skill: Skill, body: str) -> str:
    """Return the text of the SKILL.md. It is the unchanged body if the body's front matter is complete."""
    return _front_matter_and_text(skill, body)[1]


def front_matter_of(skill: Skill, skill_md: SkillMd) -> JsonObject:
    return derive_front_matter(skill) if skill_md.front_matter is None else skill_md.front_matter


def derive_front_matter(skill: Skill) -> JsonObject:
    """Derive the front matter of a document that has none of its own."""
    return {"name": _name(skill), "description": skill.description or skill.title}


def _front_matter_and_text(skill: Skill, body: str) -> tuple[JsonObject, str]:
    body = body.removeprefix(_BYTE_ORDER_MARK)
    parsed = front_matter_in(body)
    if parsed is None:
        fields = derive_front_matter(skill)
        return fields, f"{render_front_matter(fields)}\n{body}"
    own, rest = parsed
    fields = {**own, "name": _name(skill), "description": _description(own, skill, rest)}
    # The author's text stays unchanged to the byte unless its name or description has to be replaced.
    return (own, body) if own == fields else (fields, render_front_matter(fields) + rest)


def front_matter_in(body: str) -> tuple[JsonObject, str] | None:
    """Split a body into its front matter and the text after it; None if it has no valid front matter. The lines of
    dashes may also enclose text that is no YAML mapping: a paragraph between rules, or a front matter with a
    mistake."""
    block = _BLOCK.match(body)
    if block is None or not block[1] or len(block[1]) > LONGEST_FRONT_MATTER:
        return None
    from signpost.content.agent_skills import front_matter  # noqa: PLC0415 - few documents have a front matter, and YAML is slow to import

    fields = front_matter.parse_mapping(block[1])
    return None if fields is None else (fields, body[block.end() :])


def render_front_matter(fields: JsonObject) -> str:
    lines = [f"{key if key in REQUIRED else _quote(key)}: {_to_flow_style(value)}\n" for key, value in fields.items()]
    return f"---\n{''.join(lines)}---\n"


def _name(skill: Skill) -> str:
    return skill.id.rpartition("/")[2]


def _description(own: JsonObject, skill: Skill, rest: str) -> str:
    text = own.get("description")
    if isinstance(text, str) and text.strip():
        return text if len(text) <= LONGEST_DESCRIPTION else markdown.truncate(text, LONGEST_DESCRIPTION - 3)
    return markdown.description_of(rest) or skill.title


def _to_flow_style(value: Json) -> str:
    """Write a value in the flow style of YAML. YAML includes JSON except for the escapes of characters beyond the first
    65,536."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_quote(key)}: {_to_flow_style(member)}' for key, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_to_flow_style, value))}]"
    return json.dumps(value)


def _quote(text: str) -> str:
    return f'"{"".join(map(_escape, text))}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"

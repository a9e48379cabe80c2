"""A skill document as a SKILL.md of the Agent Skills format: with a front matter that has its name and description."""

import hashlib
import json
import re
from collections.abc import Mapping

from signpost.content import Manifest, Skill
from signpost.model import Json, JsonObject
from signpost.registry import markdown

FORM = 1
"""To be raised with every change that makes another text of the same document."""
REQUIRED = ("name", "description")
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_FRONT_MATTER = 8192
"""Characters; lists carry it."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_BLOCK = re.compile(r"---\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_BYTE_ORDER_MARK = "\ufeff"


def is_agent_skill(skill_id: str) -> bool:
    """Whether the rule for names holds for each part of the id: ours also allow `_`, and `-` anywhere."""
    return all(len(part) <= LONGEST_NAME and _NAME.fullmatch(part) for part in skill_id.split("/"))


def manifest_of(skill: Skill, body: str) -> Manifest | None:
    if not is_agent_skill(skill.id):
        return None
    fields, text = _front_matter_and_text(skill, body)
    written = text.encode()
    return Manifest(
        form=FORM,
        digest=hashlib.sha256(written).hexdigest(),
        size=len(written),
        front_matter=None if fields == derived(skill) else fields,
    )


def text_of(skill: Skill, body: str) -> str:
    """The SKILL.md: the body as it is if it has all that is needed."""
    return _front_matter_and_text(skill, body)[1]


def front_matter_of(skill: Skill, manifest: Manifest) -> JsonObject:
    return derived(skill) if manifest.front_matter is None else manifest.front_matter


def derived(skill: Skill) -> JsonObject:
    """The front matter of a document that has none of its own."""
    return {"name": _name(skill), "description": skill.description or skill.title}


def _front_matter_and_text(skill: Skill, body: str) -> tuple[JsonObject, str]:
    body = body.removeprefix(_BYTE_ORDER_MARK)
    found = front_matter_in(body)
    if found is None:
        fields = derived(skill)
        return fields, f"{rendered(fields)}\n{body}"
    own, rest = found
    fields = {**own, "name": _name(skill), "description": _description(own, skill, rest)}
    # What the author wrote stays to the byte unless it says something else than it has to.
    return (own, body) if own == fields else (fields, rendered(fields) + rest)


def front_matter_in(body: str) -> tuple[JsonObject, str] | None:
    """The front matter that a document begins with, and what follows it. Between such lines may also stand what is no
    mapping of YAML: a paragraph between rules, or a front matter with a mistake."""
    block = _BLOCK.match(body)
    if block is None or not block[1] or len(block[1]) > LONGEST_FRONT_MATTER:
        return None
    from signpost.registry import yaml_block  # noqa: PLC0415 - hardly any document gets here, and YAML is slow to import

    fields = yaml_block.mapping(block[1])
    return None if fields is None else (fields, body[block.end() :])


def rendered(fields: JsonObject) -> str:
    lines = [f"{key if key in REQUIRED else _quoted(key)}: {_flow(value)}\n" for key, value in fields.items()]
    return f"---\n{''.join(lines)}---\n"


def _name(skill: Skill) -> str:
    return skill.id.rpartition("/")[2]


def _description(own: JsonObject, skill: Skill, rest: str) -> str:
    written = own.get("description")
    if isinstance(written, str) and written.strip():
        return written if len(written) <= LONGEST_DESCRIPTION else markdown.truncated(written, LONGEST_DESCRIPTION - 3)
    return markdown.description(rest) or skill.title


def _flow(value: Json) -> str:
    """YAML contains JSON, but for how JSON escapes characters beyond the first 65,536."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_quoted(key)}: {_flow(member)}' for key, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"

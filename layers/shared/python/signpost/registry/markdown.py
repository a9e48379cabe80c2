"""What is read out of markdown, and what is written as markdown. Lines end at `\\n` here and nowhere else."""

import json
from collections.abc import Iterable, Mapping, Sequence

from signpost.content import Skill
from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.registry import uris

LONGEST_DESCRIPTION = 140
LARGEST_INDEX = 1_000_000
"""Bytes, with the line that says how much is missing."""
KEPT_FOR_THE_REST = 200
"""Bytes of the index that this line has."""

MARKDOWN = "text/markdown"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    mime_type: str = MARKDOWN


def title(body: str) -> str | None:
    """The first level-one heading, wherever it is; empty if it says nothing."""
    headings = (line for line in map(str.lstrip, body.split("\n")) if line.startswith("# "))
    found = next(headings, None)
    return None if found is None else found[2:].strip()


def description(body: str) -> str | None:
    """The first paragraph, in one line and cut."""
    paragraph: list[str] = []
    for line in map(str.strip, body.split("\n")):
        if line and not line.startswith("#"):
            paragraph.append(line)
        elif paragraph:
            break
    return truncated(" ".join(paragraph), LONGEST_DESCRIPTION) if paragraph else None


def truncated(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def index(skills: Sequence[Skill]) -> str:
    """All skills as a tree, sorted by segments so that children follow their parent: in the order of the bytes
    `tree-x` would stand between `tree` and `tree/leaf`."""
    if not skills:
        return "# Skills\n\nNo skills are registered.\n"
    text = "# Skills\n\nRead one at the URI of its link, or several at once with the tool `skill__fetch`.\n\n"
    ordered = sorted(skills, key=lambda skill: skill.id.split("/"))
    lines = _as_many_as_fit(map(_index_line, ordered), LARGEST_INDEX - len(text.encode()) - KEPT_FOR_THE_REST)
    return text + "".join(lines) + _rest(len(ordered) - len(lines))


def fetched(parts: Iterable[tuple[str, str]]) -> str:
    """One document out of the texts at several URIs."""
    return "\n\n---\n\n".join(fetched_part(uri, text) for uri, text in parts)


def fetched_part(uri: str, text: str) -> str:
    return f"# {uri}\n\n{text.rstrip()}"


def section_text(answer: Json) -> Text:
    """What the function behind a section answered, as a document."""
    written = answer.get("content") if isinstance(answer, Mapping) else answer
    return Text(written) if isinstance(written, str) else Text(json.dumps(answer, indent=2, ensure_ascii=False), JSON)


def prompt_messages(answer: Json) -> Sequence[Json] | None:
    """What the function behind a prompt answered, as messages; None if it is nothing of the kind."""
    if isinstance(answer, str):
        return [_user_message(answer)]
    if not isinstance(answer, Mapping):
        return None
    messages, content = answer.get("messages"), answer.get("content")
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        return messages
    return [_user_message(content)] if isinstance(content, str) else None


def _index_line(skill: Skill) -> str:
    indent = "  " * skill.id.count("/")
    named = " — ".join(_in_one_line(text) for text in (skill.title, skill.description) if text)
    return f"{indent}- [`{skill.id}`]({uris.of_skill(skill.id)}) — {named}\n"


def _in_one_line(text: str) -> str:
    """For whoever ends lines elsewhere too, so that no title can look like another entry."""
    return " ".join(text.splitlines())


def _as_many_as_fit(lines: Iterable[str], room: int) -> Sequence[str]:
    fitting: list[str] = []
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        fitting.append(line)
    return fitting


def _rest(missing: int) -> str:
    if not missing:
        return ""
    return (
        f"\nThis index ends here: {missing} more are registered. `resources/list` and `skills::list` name them all.\n"
    )


def _user_message(text: str) -> JsonObject:
    return {"role": "user", "content": {"type": "text", "text": text}}

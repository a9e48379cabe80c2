"""Reads titles and descriptions from markdown, and writes the index, sections and prompt messages. Only `\\n` ends a
line here."""

import json
from collections.abc import Iterable, Mapping, Sequence

from signpost.content import uris
from signpost.content.model import Skill
from signpost.model import Json, JsonObject
from signpost.records import dataclass

LONGEST_DESCRIPTION = 140
LARGEST_INDEX = 1_000_000
"""Bytes, including the last line, which says how many entries are missing."""
MISSING_LINE_BYTES = 200
"""Bytes of the index that are reserved for this last line."""

FENCES = ("```", "~~~")
DEEPEST_HEADING = 6

MARKDOWN = "text/markdown"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class DocumentText:
    text: str
    mime_type: str = MARKDOWN


def title_of(body: str) -> str | None:
    """Return the text of the first level-one heading anywhere in the body; empty if the heading has no text."""
    headings = (line for line in map(str.lstrip, body.split("\n")) if line.startswith("# "))
    heading = next(headings, None)
    return None if heading is None else heading[2:].strip()


def headings_of(body: str, limit: int) -> str:
    """Return the headings beside the title, a line each, as many as fit into the limit. Those in code blocks do not
    count: a comment of a shell or of Python looks like a heading."""
    title, fence, headings = title_of(body), "", list[str]()
    for line in map(str.strip, body.split("\n")):
        marker = line[:3]
        if marker in FENCES and fence in ("", marker):
            fence = "" if fence else marker
        elif not fence and (heading := _heading_in(line)) and heading != title:
            headings.append(heading)
    return _join_within(headings, limit)


def description_of(body: str) -> str | None:
    """Return the first paragraph as one truncated line."""
    paragraph: list[str] = []
    for line in map(str.strip, body.split("\n")):
        if line and not line.startswith("#"):
            paragraph.append(line)
        elif paragraph:
            break
    return truncate(" ".join(paragraph), LONGEST_DESCRIPTION) if paragraph else None


def truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."


def build_index(skills: Sequence[Skill]) -> str:
    """Build the index: all skills as a tree, sorted by segments so that children follow their parent. Sorted by bytes,
    `tree-x` would stand between `tree` and `tree/leaf`."""
    if not skills:
        return "# Skills\n\nNo skills are registered.\n"
    text = "# Skills\n\nRead one at the URI of its link, or several at once with the tool `skill__fetch`.\n\n"
    ordered = sorted(skills, key=lambda skill: skill.id.split("/"))
    lines = _fit_lines(map(_index_line, ordered), LARGEST_INDEX - len(text.encode()) - MISSING_LINE_BYTES)
    return text + "".join(lines) + _missing_line(len(ordered) - len(lines))


def join_parts(parts: Iterable[tuple[str, str]]) -> str:
    """Join the texts of several URIs into one document."""
    return "\n\n---\n\n".join(format_part(uri, text) for uri, text in parts)


def format_part(uri: str, text: str) -> str:
    return f"# {uri}\n\n{text.rstrip()}"


def section_text(answer: Json) -> DocumentText:
    """Turn the answer of a section's function into a document."""
    content = answer.get("content") if isinstance(answer, Mapping) else answer
    return (
        DocumentText(content)
        if isinstance(content, str)
        else DocumentText(json.dumps(answer, indent=2, ensure_ascii=False), JSON)
    )


def prompt_messages(answer: Json) -> Sequence[Json] | None:
    """Turn the answer of a prompt's function into messages; None if the answer has another shape."""
    if isinstance(answer, str):
        return [_user_message(answer)]
    if not isinstance(answer, Mapping):
        return None
    messages, content = answer.get("messages"), answer.get("content")
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        return messages
    return [_user_message(content)] if isinstance(content, str) else None


def _heading_in(line: str) -> str:
    """Return the text of the heading that the line is; empty if it is none. Without a regular expression, which could
    take long on a line of many marks."""
    text = line.lstrip("#")
    is_heading = 1 <= len(line) - len(text) <= DEEPEST_HEADING and text[:1] in {" ", "\t"}
    return text.strip().rstrip("#").rstrip() if is_heading else ""


def _join_within(lines: Iterable[str], limit: int) -> str:
    joined = ""
    for line in lines:
        longer = f"{joined}\n{line}" if joined else line
        if len(longer) > limit:
            break
        joined = longer
    return joined


def _index_line(skill: Skill) -> str:
    indent = "  " * skill.id.count("/")
    label = " — ".join(_to_one_line(text) for text in (skill.title, skill.description) if text)
    return f"{indent}- [`{skill.id}`]({uris.skill_uri(skill.id)}) — {label}\n"


def _to_one_line(text: str) -> str:
    """Replace every line break that Unicode knows, so that no title looks like another entry to a client that breaks
    lines at characters other than `\\n`."""
    return " ".join(text.splitlines())


def _fit_lines(lines: Iterable[str], remaining_bytes: int) -> Sequence[str]:
    fitting: list[str] = []
    for line in lines:
        remaining_bytes -= len(line.encode())
        if remaining_bytes < 0:
            break
        fitting.append(line)
    return fitting


def _missing_line(missing: int) -> str:
    if not missing:
        return ""
    return (
        f"\nThis index ends here: {missing} more are registered. `resources/list` and `skills::list` name them all.\n"
    )


def _user_message(text: str) -> JsonObject:
    return {"role": "user", "content": {"type": "text", "text": text}}

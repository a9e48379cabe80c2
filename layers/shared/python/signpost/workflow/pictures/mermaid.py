"""Renders a picture as Mermaid text."""

import re
from collections.abc import Iterator, Mapping

from signpost.workflow.definition import Actor
from signpost.workflow.pictures.model import KIND_WORDS, Label, Node, Picture, format_hop_numbers

ACTOR_WORDS: Mapping[Actor, str] = {
    "agent": "",
    "human": "a person",
    "system": "a system",
    "deterministic": "automatic",
}
MAX_LABEL_LENGTH = 60
"""The maximum length of a label in Mermaid text. The SVG cuts labels by their width."""


def render_mermaid(picture: Picture) -> str:
    """Render a state diagram. Names and titles are escaped, so that Mermaid reads them as text only."""
    lines = ["stateDiagram-v2", *(f"    {line}" for line in _mermaid_statements(picture))]
    return "\n".join(lines) + "\n"


def truncate_text(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max_length - 1].rstrip()}…"


def _mermaid_statements(picture: Picture) -> Iterator[str]:
    for node in picture.nodes:
        yield f'state "{_escape_text(_describe_node(node))}" as {node.id}'
    for node in picture.nodes:
        if node.is_initial:
            yield f"[*] --> {node.id}"
    for arrow in picture.arrows:
        for label in arrow.labels:
            yield f"{arrow.source} --> {arrow.target} : {_escape_text(_describe_label(label))}"
    for node in picture.nodes:
        if node.kind == "terminal":
            yield f"{node.id} --> [*]"
    yield from _style_statements(picture)


def _describe_node(node: Node) -> str:
    words = [truncate_text(node.name, MAX_LABEL_LENGTH), KIND_WORDS[node.kind], node.status]
    return ", ".join(filter(None, words))


def _describe_label(label: Label) -> str:
    number = f"✓ {format_hop_numbers(label.hop_numbers)}, " if label.hop_numbers else ""
    words = [truncate_text(label.name, MAX_LABEL_LENGTH), ACTOR_WORDS[label.actor]]
    condition = f" ({truncate_text(label.condition, MAX_LABEL_LENGTH)})" if label.condition else ""
    return number + ", ".join(filter(None, words)) + condition


_STYLES: Mapping[str, str] = {
    "agent": "fill:#f6f8fa,color:#1f2328,stroke:#59636e",
    "person": "fill:#fff8c5,color:#1f2328,stroke:#7d4e00",
    "automatic": "fill:#ddf4ff,color:#1f2328,stroke:#0550ae,stroke-dasharray:5 3",
    "terminal": "fill:#dafbe1,color:#1f2328,stroke:#116329,stroke-width:3px",
    "deadline": "fill:#ffffff,color:#1f2328,stroke:#59636e,stroke-dasharray:2 3",
    "visited": "stroke:#6639ba,stroke-width:3px",
    "current": "stroke:#6639ba,stroke-width:6px",
}
"""Each style sets a text colour, so that it is legible on a dark page too."""


def _style_statements(picture: Picture) -> Iterator[str]:
    members: dict[str, list[str]] = {}
    for node in picture.nodes:
        members.setdefault(node.kind, []).append(node.id)
        if node.is_current or node.is_visited:
            members.setdefault("current" if node.is_current else "visited", []).append(node.id)
    for name, style in _STYLES.items():
        if name in members:
            yield f"classDef {name} {style}"
            yield f"class {','.join(members[name])} {name}"


_PLAIN_CHARACTER = re.compile(r"[^\W_]|[ ,()=!?/✓…]|(?<=[^\W_])[-._'](?=[^\W_])|(?<=[^\W_])\.(?=$)")
_COMMAND_WORDS = re.compile(r"direction(?=\s)", re.IGNORECASE)
"""Mermaid takes a line for a command if it contains this word anywhere."""


def _escape_text(text: str) -> str:
    """Replace each character that may have a meaning in Mermaid or in the page around it by its character number."""
    plain = {match.start() for match in _PLAIN_CHARACTER.finditer(text)}
    plain -= {match.start() for match in _COMMAND_WORDS.finditer(text)}
    return "".join(character if index in plain else f"#{ord(character)};" for index, character in enumerate(text))

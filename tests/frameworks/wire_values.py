"""Values that both wire forms of OpenAI's API have."""

from collections.abc import Sequence

from signpost.model import Json, as_object


def as_list(value: Json) -> Sequence[Json]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else ()


def join_parts(content: Json) -> str:
    """Return the text of a content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(str(as_object(part).get("text", "")) for part in as_list(content))

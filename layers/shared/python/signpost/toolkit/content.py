"""What a tool shows its caller beside plain values: blocks of content, and a whole result."""

from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import Rich

if TYPE_CHECKING:
    from datetime import datetime

type Reader = Literal["user", "assistant"]
READERS = ("user", "assistant")


class About(TypedDict, total=False):
    """For whom a block is, how much it matters, and of when it is."""

    audience: Sequence[Reader]
    priority: float
    last_modified: "datetime | str"


@dataclass(frozen=True, slots=True)
class Content(Rich):
    """A block of content, made by the method that is named for its kind. Raises ValueError for what MCP has no form
    for."""

    block: JsonObject

    @classmethod
    def text(cls, text: str, **about: Unpack[About]) -> "Content":
        return cls({"type": "text", "text": _text(text, "text"), **_annotated(about)})

    @classmethod
    def image(cls, data: bytes, mime_type: str, **about: Unpack[About]) -> "Content":
        return cls({"type": "image", "data": _base64(data), **_mime_type(mime_type), **_annotated(about)})

    @classmethod
    def audio(cls, data: bytes, mime_type: str, **about: Unpack[About]) -> "Content":
        return cls({"type": "audio", "data": _base64(data), **_mime_type(mime_type), **_annotated(about)})

    @classmethod
    def resource(
        cls,
        uri: str,
        *,
        text: str | None = None,
        blob: bytes | None = None,
        mime_type: str | None = None,
        **about: Unpack[About],
    ) -> "Content":
        """A resource and what it holds: a text, or bytes."""
        if (text is None) == (blob is None):
            raise ValueError("a resource has either text or blob")
        held: JsonObject = {"text": _text(text, "text")} if blob is None else {"blob": _base64(blob)}
        resource: JsonObject = {"uri": _text(uri, "uri"), **_mime_type(mime_type), **held}
        return cls({"type": "resource", "resource": resource, **_annotated(about)})

    @classmethod
    def link(
        cls,
        uri: str,
        name: str,
        *,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        **about: Unpack[About],
    ) -> "Content":
        """A resource that can be read where it is."""
        said = {"title": title, "description": description, "size": size}
        present: JsonObject = {key: value for key, value in said.items() if value is not None}
        named: JsonObject = {"uri": _text(uri, "uri"), "name": _text(name, "name")}
        return cls({"type": "resource_link", **named, **present, **_mime_type(mime_type), **_annotated(about)})


@dataclass(frozen=True, slots=True)
class ToolResult(Rich):
    """A whole result, for what no plain value says."""

    content: Sequence[Content] = ()
    """Empty to have what is structured shown as text."""
    structured: object = None
    """An object; what an output schema is about."""
    is_error: bool = False
    """Whether it says that nothing was done, and why; then the output schema is not asked."""
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")  # noqa: TRY004 - whatever is wrong with a block is one kind of error
    return value


def _base64(data: object) -> str:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ValueError("data are no bytes")  # noqa: TRY004 - as in _text
    return b2a_base64(cast("bytes", data), newline=False).decode()


def _mime_type(mime_type: str | None) -> JsonObject:
    if mime_type is None:
        return {}
    if "/" not in _text(mime_type, "mime_type"):
        raise ValueError(f"{mime_type!r} is no mime_type, which has the form type/subtype")
    return {"mimeType": mime_type}


def _annotated(about: About) -> JsonObject:
    annotations = annotations_in(about)
    return {"annotations": annotations} if annotations else {}


def annotations_in(about: About) -> JsonObject:
    """In the words of MCP. Raises ValueError."""
    annotations: dict[str, Json] = {}
    if "audience" in about:
        annotations["audience"] = _audience(about["audience"])
    if "priority" in about:
        annotations["priority"] = _priority(about["priority"])
    if "last_modified" in about:
        annotations["lastModified"] = _moment(about["last_modified"])
    return annotations


def _audience(readers: object) -> Sequence[str]:
    if not isinstance(readers, list | tuple | set | frozenset):
        raise ValueError("audience is no list")  # noqa: TRY004 - as in _text
    if unknown := [reader for reader in cast("list[object]", readers) if reader not in READERS]:
        raise ValueError(f"audience names {unknown[0]!r}, and there are only {' and '.join(READERS)}")
    return [reader for reader in READERS if reader in readers]


def _priority(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("priority is no number from 0 to 1")
    return value


def _moment(value: "datetime | str") -> str:
    # Few results say of when they are.
    from datetime import datetime  # noqa: PLC0415

    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if moment.tzinfo is None:
        raise ValueError("last_modified has no time zone")
    return moment.isoformat()

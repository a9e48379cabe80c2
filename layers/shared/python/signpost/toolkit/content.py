"""Content blocks and complete tool results, for tools that show clients more than a plain value."""

from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import RichValue

if TYPE_CHECKING:
    from datetime import datetime

type AudienceRole = Literal["user", "assistant"]
AUDIENCE_ROLES = ("user", "assistant")


class ContentAnnotations(TypedDict, total=False):
    """The audience of a block, its priority, and the time of its last modification."""

    audience: Sequence[AudienceRole]
    priority: float
    last_modified: "datetime | str"


@dataclass(frozen=True, slots=True)
class Content(RichValue):
    """A content block of MCP, built by the class method named for its kind. The methods raise ValueError for values
    that MCP cannot express."""

    block: JsonObject

    @classmethod
    def text(cls, text: str, **annotations: Unpack[ContentAnnotations]) -> "Content":
        return cls({"type": "text", "text": _require_text(text, "text"), **_annotations_member(annotations)})

    @classmethod
    def image(cls, data: bytes, mime_type: str, **annotations: Unpack[ContentAnnotations]) -> "Content":
        return cls(
            {
                "type": "image",
                "data": encode_base64(data),
                **_mime_type_member(mime_type),
                **_annotations_member(annotations),
            }
        )

    @classmethod
    def audio(cls, data: bytes, mime_type: str, **annotations: Unpack[ContentAnnotations]) -> "Content":
        return cls(
            {
                "type": "audio",
                "data": encode_base64(data),
                **_mime_type_member(mime_type),
                **_annotations_member(annotations),
            }
        )

    @classmethod
    def resource(
        cls,
        uri: str,
        *,
        text: str | None = None,
        blob: bytes | None = None,
        mime_type: str | None = None,
        **annotations: Unpack[ContentAnnotations],
    ) -> "Content":
        """Build an embedded resource with its content: a text, or bytes."""
        if (text is None) == (blob is None):
            raise ValueError("a resource must have either text or blob")
        contents: JsonObject = {"text": _require_text(text, "text")} if blob is None else {"blob": encode_base64(blob)}
        resource: JsonObject = {"uri": _require_text(uri, "uri"), **_mime_type_member(mime_type), **contents}
        return cls({"type": "resource", "resource": resource, **_annotations_member(annotations)})

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
        **annotations: Unpack[ContentAnnotations],
    ) -> "Content":
        """Build a link to a resource, which the client reads at its URI."""
        optional = {"title": title, "description": description, "size": size}
        present: JsonObject = {key: value for key, value in optional.items() if value is not None}
        required: JsonObject = {"uri": _require_text(uri, "uri"), "name": _require_text(name, "name")}
        return cls(
            {
                "type": "resource_link",
                **required,
                **present,
                **_mime_type_member(mime_type),
                **_annotations_member(annotations),
            }
        )


@dataclass(frozen=True, slots=True)
class ToolResult(RichValue):
    """A complete tool result, for answers that no plain value can express."""

    content: Sequence[Content] = ()
    """If empty, clients are shown `structured` as text."""
    structured: object = None
    """The object that the output schema describes."""
    is_error: bool = False
    """Whether the result reports that nothing was done, and the reason; it is not checked against the output schema."""
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])


def _require_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text")  # noqa: TRY004 - every fault of a block is a ValueError
    return value


def encode_base64(data: object) -> str:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ValueError("data must be bytes")  # noqa: TRY004 - as in _require_text
    return b2a_base64(cast("bytes", data), newline=False).decode()


def _mime_type_member(mime_type: str | None) -> JsonObject:
    if mime_type is None:
        return {}
    if "/" not in _require_text(mime_type, "mime_type"):
        raise ValueError(f"mime_type must have the form type/subtype, and {mime_type!r} does not")
    return {"mimeType": mime_type}


def _annotations_member(annotations: ContentAnnotations) -> JsonObject:
    members = build_annotations(annotations)
    return {"annotations": members} if members else {}


def build_annotations(annotations: ContentAnnotations) -> JsonObject:
    """Translate annotations into the members of MCP. Raises ValueError."""
    members: dict[str, Json] = {}
    if "audience" in annotations:
        members["audience"] = _read_audience(annotations["audience"])
    if "priority" in annotations:
        members["priority"] = _read_priority(annotations["priority"])
    if "last_modified" in annotations:
        members["lastModified"] = _format_moment(annotations["last_modified"])
    return members


def _read_audience(readers: object) -> Sequence[str]:
    if not isinstance(readers, list | tuple | set | frozenset):
        raise ValueError("audience must be a list")  # noqa: TRY004 - as in _require_text
    if unknown := [reader for reader in cast("list[object]", readers) if reader not in AUDIENCE_ROLES]:
        raise ValueError(f"audience has {unknown[0]!r}, and may only have {' and '.join(AUDIENCE_ROLES)}")
    return [reader for reader in AUDIENCE_ROLES if reader in readers]


def _read_priority(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("priority must be a number from 0 to 1")
    return value


def _format_moment(value: "datetime | str") -> str:
    # Imported on first use: few results have a time of modification.
    from datetime import datetime  # noqa: PLC0415

    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if moment.tzinfo is None:
        raise ValueError("last_modified must have a time zone")
    return moment.isoformat()

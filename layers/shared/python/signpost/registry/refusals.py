"""Why the registry does not do what it was asked, as a value. Codes are stable; messages say what to do."""

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from signpost.model import Json, JsonObject
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost import loads

type Code = RegistryCode | loads.Code
type RegistryCode = Literal[
    "unknown_function",  # the registry has no function of this id
    "invalid_payload",  # a field is missing or has the wrong type
    "invalid_id",
    "invalid_name",
    "invalid_content",  # of what was to be registered
    "invalid_uri",
    "internal_namespace",
    "not_found",
    "too_much",  # more than one answer can hold
    "function_failed",  # the function behind a section or a prompt
    "unsupported_shape",  # of what that function answered
    "unauthorized",  # the credential does not hold
    "forbidden",  # it holds, and has not the permission
    "unavailable",  # now; the same may succeed later
    "fault",  # of ours
]

SHOWN = 120


@dataclass(frozen=True, slots=True)
class Refused:
    code: Code
    message: str
    data: JsonObject = field(default_factory=dict[str, Json])


def quoted(text: str) -> str:
    """What somebody sent, as a message can show it: short, in one line, and always encodable."""
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return repr(shown)

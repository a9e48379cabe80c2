"""Refusals: the reason why the registry did not carry out a request, as a value. Codes are stable; messages advise the
client."""

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from signpost.model import Json, JsonObject
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.directory import model

type RegistryRefusalCode = RegistryCode | model.PlacementCode
type RegistryCode = Literal[
    "unknown_function",  # the registry has no function of this id
    "invalid_payload",  # a field is missing or has the wrong type
    "invalid_id",
    "invalid_name",
    "invalid_content",  # the entry to be registered is not valid
    "invalid_uri",
    "internal_namespace",
    "not_found",
    "too_much",  # more than one answer can hold
    "function_failed",  # the function behind a section or a prompt
    "unsupported_shape",  # the answer of that function has no supported shape
    "unauthorized",  # the credential is not accepted
    "forbidden",  # the credential is accepted but lacks the permission
    "unavailable",  # now; the same request may succeed later
    "fault",  # an internal error of the registry
]

LONGEST_QUOTE = 120


@dataclass(frozen=True, slots=True)
class RegistryRefusal:
    code: RegistryRefusalCode
    message: str
    data: JsonObject = field(default_factory=dict[str, Json])


type RegistryAnswer = Json | RegistryRefusal


def quote_text(text: str) -> str:
    """Quote a text from a request for a message: shortened, on one line, and always encodable."""
    shortened = text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
    return repr(shortened)

"""Refusals: the reason why the registry did not carry out a request, as a value. The codes are in
`signpost/errors.py`; messages advise the client."""

from dataclasses import field

from signpost.errors import RegistryRefusalCode, Rejection
from signpost.model import InputRequired, Json, JsonObject
from signpost.records import dataclass

LONGEST_QUOTE = 120


@dataclass(frozen=True, slots=True)
class RegistryRefusal:
    code: RegistryRefusalCode
    message: str
    data: JsonObject = field(default_factory=dict[str, Json])
    asked_back: InputRequired | Rejection | None = None
    """The answer for a client of MCP, which can be asked, or lacks what the function needs. Other callers get the
    refusal."""


type RegistryAnswer = Json | RegistryRefusal


def quote_text(text: str) -> str:
    """Quote a text from a request for a message: shortened, on one line, and always encodable."""
    shortened = text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
    return repr(shortened)

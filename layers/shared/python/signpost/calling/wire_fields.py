"""Parses a message of the contract between gateway and executor, and reads its members."""

import math
from collections.abc import Mapping, Sequence

from signpost import strict_json
from signpost.model import JsonObject, as_object

WIRE_VERSION = 1


class MalformedMessage(Exception):  # noqa: N818 - it names the message
    """A message departs from the contract; the text says where."""


def parse_message(text: bytes) -> JsonObject:
    """Parse strict JSON, which Python can also write: without NaN and lone surrogates."""
    try:
        message = as_object(strict_json.parse_bytes(text))
    except (ValueError, RecursionError) as fault:
        raise MalformedMessage("it is not JSON") from fault
    return check_version(message)


def check_version(message: JsonObject) -> JsonObject:
    if message.get("signpost") is True or message.get("signpost") != WIRE_VERSION:
        raise MalformedMessage(f"signpost is not {WIRE_VERSION}")
    return message


def object_in(fields: JsonObject, name: str) -> JsonObject:
    value = fields.get(name)
    if not isinstance(value, Mapping):
        raise MalformedMessage(f"{name} is not an object")
    return value


def optional_object_in(fields: JsonObject, name: str) -> JsonObject | None:
    return object_in(fields, name) if fields.get(name) is not None else None


def objects_in(fields: JsonObject, name: str) -> Sequence[JsonObject]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise MalformedMessage(f"{name} is not a list of objects")
    return [as_object(item) for item in value]


def text_in(fields: JsonObject, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise MalformedMessage(f"{name} is not a text")
    return value


def optional_text_in(fields: JsonObject, name: str) -> str | None:
    return text_in(fields, name) if fields.get(name) is not None else None


def texts_in(fields: JsonObject, name: str) -> Sequence[str]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise MalformedMessage(f"{name} is not a list of texts")
    return [str(word) for word in value]


def number_in(fields: JsonObject, name: str) -> float:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits_double(value):
        raise MalformedMessage(f"{name} is not a number")
    return value


def fits_double(number: float) -> bool:
    """Tell whether a number is finite, and no integer that is too large for a double."""
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer that no double holds
        return False


BLOCKS: Mapping[str, Sequence[str]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}
"""The kinds of content blocks that MCP has, with the members that each kind must have as texts."""


def is_block(block: JsonObject) -> bool:
    """Tell whether an object is a content block of MCP."""
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in BLOCKS or not _are_texts(block, BLOCKS[kind]):
        return False
    return kind != "resource" or _is_resource(as_object(block.get("resource")))


def _is_resource(resource: JsonObject) -> bool:
    return _are_texts(resource, ("uri", "blob" if "blob" in resource else "text"))


def _are_texts(fields: JsonObject, names: Sequence[str]) -> bool:
    return all(isinstance(fields.get(name), str) for name in names)

"""Reading what arrived: one JSON object of the contract, and its members."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

from signpost.model import JsonObject, as_object

VERSION = 1


class NotOurs(Exception):  # noqa: N818 - it names what arrived
    """What arrived is not of this contract; the message says where it departs from it."""


def message_in(text: bytes) -> JsonObject:
    """What JSON can say and Python can send on: no NaN, and no half of a character."""
    try:
        message = as_object(json.loads(text.decode(), parse_constant=_refuse, parse_float=_finite))
        if b"\\ud" in text.lower():
            json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as fault:
        raise NotOurs("it is no JSON") from fault
    return of_this_version(message)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    """1e400 would become infinity, which no answer could repeat."""
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def of_this_version(message: JsonObject) -> JsonObject:
    if message.get("signpost") is True or message.get("signpost") != VERSION:
        raise NotOurs(f"signpost is not {VERSION}")
    return message


def object_in(fields: JsonObject, name: str) -> JsonObject:
    value = fields.get(name)
    if not isinstance(value, Mapping):
        raise NotOurs(f"{name} is no object")
    return value


def optional_object_in(fields: JsonObject, name: str) -> JsonObject | None:
    return object_in(fields, name) if fields.get(name) is not None else None


def objects_in(fields: JsonObject, name: str) -> Sequence[JsonObject]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise NotOurs(f"{name} is no list of objects")
    return [as_object(one) for one in value]


def text_in(fields: JsonObject, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise NotOurs(f"{name} is no text")
    return value


def optional_text_in(fields: JsonObject, name: str) -> str | None:
    return text_in(fields, name) if fields.get(name) is not None else None


def texts_in(fields: JsonObject, name: str) -> Sequence[str]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise NotOurs(f"{name} is no list of texts")
    return [str(word) for word in value]


def number_in(fields: JsonObject, name: str) -> float:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotOurs(f"{name} is no number")
    return value


BLOCKS: Mapping[str, Sequence[str]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}
"""The kinds of blocks that MCP has for content, and the members of each that are texts and never missing."""


def is_block(block: JsonObject) -> bool:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in BLOCKS or not _are_texts(block, BLOCKS[kind]):
        return False
    return kind != "resource" or _is_resource(as_object(block.get("resource")))


def _is_resource(resource: JsonObject) -> bool:
    return _are_texts(resource, ("uri", "blob" if "blob" in resource else "text"))


def _are_texts(fields: JsonObject, names: Sequence[str]) -> bool:
    return all(isinstance(fields.get(name), str) for name in names)

"""Finds the answer of the gateway in the text of a tool result, which each framework writes in its own form."""

import json
from collections.abc import Iterator
from typing import cast

from signpost.model import Json, JsonObject

_DECODER = json.JSONDecoder()


def read_answer(text: str) -> JsonObject | None:
    """Return the first object of the text that has links or items, or None if there is none."""
    return next(_answers_in_text(text), None)


def _answers_in_text(text: str) -> Iterator[JsonObject]:
    """Yield the answers of a text: of its JSON, or of the JSON that it contains."""
    start = text.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except ValueError:
            end = start + 1
        else:
            yield from _answers_in(cast("Json", value))
        start = text.find("{", end)


def _answers_in(value: Json) -> Iterator[JsonObject]:
    match value:
        case dict():
            if isinstance(value.get("links"), list) or isinstance(value.get("items"), list):
                yield value
            for member in value.values():
                yield from _answers_in(member)
        case list():
            for item in value:
                yield from _answers_in(item)
        case str():
            yield from _answers_in_text(value)
        case _:
            pass

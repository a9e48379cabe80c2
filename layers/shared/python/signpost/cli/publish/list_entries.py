"""Finds the fields of prompts, triggers and webhooks that nothing reads."""

import re
from collections.abc import Iterator, Sequence

from signpost.cli.publish.collection import LISTS, PROMPTS
from signpost.hazards.model import PublicationWarning
from signpost.model import Json, JsonObject, as_object
from signpost.workflow.authoring.problems import suggestion_for

_ARGUMENT_FIELDS = ("name", "description", "required")
_WRITTEN_BY_LISTS = ("registered_at",)
"""Fields that the registry adds when it lists the entries."""


def find_unread_fields(kind: str, entries: Sequence[Json]) -> Iterator[PublicationWarning]:
    """Find the fields of the entries of a list that are none of its form, with the probable ones."""
    known = [name for name in re.findall(r"\w+", LISTS[kind]) if name != "or"]
    for index, entry in enumerate(map(as_object, entries)):
        place = _name_of(entry) or f"{kind}[{index}]"
        yield from _find_in(entry, known, place)
        arguments = entry.get("arguments")
        for argument in map(as_object, arguments if kind == PROMPTS and isinstance(arguments, list) else ()):
            yield from _find_in(argument, _ARGUMENT_FIELDS, f"{place}: the argument {argument.get('name')!r}")


def _find_in(fields: JsonObject, known: Sequence[str], place: str) -> Iterator[PublicationWarning]:
    for name in fields:
        if name not in (*known, *_WRITTEN_BY_LISTS):
            message = f"{place}: nothing reads the field {name!r}{suggestion_for(name, known)}"
            yield PublicationWarning("unread_setting", "prompt", place, message)


def _name_of(entry: JsonObject) -> str | None:
    names = (entry.get(field) for field in ("name", "function_id", "workflow", "url"))
    return next((name for name in names if isinstance(name, str)), None)

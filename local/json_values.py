"""Types of JSON values, and functions that read them from files."""

import json
from pathlib import Path

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None
type JsonObject = dict[str, Json]


class NotAnObjectError(Exception):
    """A file that must hold a JSON object holds something else."""


def read_json(path: Path) -> Json:
    return json.loads(path.read_text("utf-8"))


def read_object(path: Path) -> JsonObject:
    document = read_json(path)
    if not isinstance(document, dict):
        raise NotAnObjectError(f"{path.name}: expected a JSON object")
    return document

"""Plays one entry of a script. The docstring of `stub.py` lists the keys."""

import time
from collections.abc import Mapping
from typing import Any, cast

from signpost.contract import FailureClass
from signpost.model import Json, JsonObject
from signpost.toolkit import ToolError


def play_entry(entry: Mapping[str, Any], arguments: JsonObject) -> Json:
    time.sleep(entry.get("delayMs", 0) / 1000)
    if entry.get("timeout"):
        time.sleep(3600)
    if "error" in entry:
        raise ToolError(entry.get("message", entry["error"]), kind=cast("FailureClass", entry["error"]))
    if "raises" in entry:
        raise ToolError(entry["raises"])
    if entry.get("echo"):
        return arguments
    if "template" in entry:
        return {"content": _filled(entry["template"], arguments)}
    return entry.get("output", entry.get("returns"))


def _filled(template: str, arguments: JsonObject) -> str:
    for name, value in arguments.items():
        template = template.replace(f"{{{name}}}", str(value))
    return template

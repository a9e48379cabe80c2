"""`signpost functions`: lists the functions of the registry, and the changes that it reports."""

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from signpost.content.api.reference import ALL_FUNCTIONS, build_reference
from signpost.content.api.specs import TRIGGERS
from signpost.model import as_object

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.model import JsonObject


def register(commands: "Commands") -> None:
    parser = commands.add_parser("functions", help="list the functions and triggers of the registry")
    parser.add_argument("--json", action="store_true", help="print descriptions and schemas too, as one JSON document")
    parser.set_defaults(handler=_show)


def _show(arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(json.dumps(build_reference(), indent=2))
    else:
        print("\n".join(_table()))
    return 0


def _table() -> Iterator[str]:
    yield "functions (called with {function_id, payload}; * is listed to MCP clients):"
    for function in ALL_FUNCTIONS:
        yield f"  {function.id}{'' if function.is_hidden else ' *'}"
        yield f"      {function.description}"
        yield f"      {_fields(function.request)}"
    yield "triggers (on the event bus):"
    for trigger in TRIGGERS:
        yield f"  {trigger.id}"
        yield f"      {trigger.description}"
        yield f"      {_fields(trigger.payload)}"


def _fields(schema: "JsonObject") -> str:
    """Write the fields of a schema as `id, uris?`. A question mark stands after each optional field."""
    required = schema.get("required")
    required_names = required if isinstance(required, list) else []
    names = as_object(schema.get("properties"))
    return ", ".join(name if name in required_names else f"{name}?" for name in names) or "no fields"

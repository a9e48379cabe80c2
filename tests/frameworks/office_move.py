"""The workflow that frameworks drive: four steps of an agent, with arguments of several kinds."""

from signpost.model import Json, JsonObject

TITLE = "Office move"
LAST_VERSION = 5
"""The version of a run after its four steps."""
LAST_STATE = "moved"
EXPECTED_CONTEXT: JsonObject = {
    "desks": 1,
    "floor": "second",
    "day": {"date": "as usual", "morning": True},
    "rooms": ["as usual"],
}
"""The context of a run whose arguments arrived as the model sent them. The optional `note` is left out."""


def _object(required: JsonObject, **optional: Json) -> JsonObject:
    properties: JsonObject = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _step(name: str, target: str, arguments: JsonObject, **output: Json) -> JsonObject:
    return {"transitions": {name: {"target": target, "inputSchema": arguments, "output": output}}}


_TEXT: JsonObject = {"type": "string"}
_DAY = _object({"date": _TEXT, "morning": {"type": "boolean"}})
_FLOOR: JsonObject = {"enum": ["second", "third"]}
_ROOMS: JsonObject = {"type": "array", "items": _TEXT, "minItems": 1}
_DESKS: JsonObject = {"type": "integer", "minimum": 1}
MANIFEST: JsonObject = {
    "version": 1,
    "workflows": {
        "office_move": {
            "title": TITLE,
            "description": "Moves a team to another floor.",
            "inputSchema": _object({}, team=_TEXT, urgent={"type": "boolean"}),
            "initialState": "requested",
            "states": {
                "requested": _step("count_desks", "counted", _object({"desks": _DESKS}), desks="$.arguments.desks"),
                "counted": _step(
                    "choose_floor", "placed", _object({"floor": _FLOOR}, note=_TEXT), floor="$.arguments.floor"
                ),
                "placed": _step(
                    "plan_day",
                    "planned",
                    _object({"day": _DAY, "rooms": _ROOMS}),
                    day="$.arguments.day",
                    rooms="$.arguments.rooms",
                ),
                "planned": _step("confirm", LAST_STATE, _object({})),
                LAST_STATE: {"terminal": True},
            },
        }
    },
}

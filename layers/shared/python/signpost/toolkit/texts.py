"""Arguments that travel as texts, as those of prompts and the variables of templates do, and what they are read as."""

import json
from collections.abc import Sequence
from typing import NoReturn

from signpost.model import Json, JsonObject, PromptArgument, as_object
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.toolkit.answers import ArgumentsRefused
from signpost.toolkit.forms import Shape

ANY: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
_validators = Validators()


@dataclass(frozen=True, slots=True)
class Texts:
    shape: Shape

    @property
    def schema(self) -> JsonObject:
        """Of the texts."""
        if not self.arguments:
            return ANY
        properties: JsonObject = {one.name: {"type": "string"} for one in self.arguments}
        required = [one.name for one in self.arguments if one.required]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    @property
    def arguments(self) -> Sequence[PromptArgument]:
        required = self.shape.schema.get("required", ())
        names = required if isinstance(required, list | tuple) else ()
        return [_argument(name, as_object(said), required=name in names) for name, said in self._properties.items()]

    def read(self, given: JsonObject) -> JsonObject:
        """Raises ArgumentsRefused."""
        if not self._properties:
            return given
        values = {name: self._value(name, str(text)) for name, text in given.items() if name in self._properties}
        if violation := _validators.violation(self.shape.schema, values):
            raise ArgumentsRefused(violation)
        return values

    @property
    def _properties(self) -> JsonObject:
        return as_object(self.shape.schema.get("properties"))

    def _value(self, name: str, text: str) -> Json:
        """The text if it may be one, else what it says as JSON, else the text again, for the schema to refuse."""
        beside = {key: value for key, value in self.shape.schema.items() if key == "$defs"}
        schema: JsonObject = {**as_object(self._properties[name]), **beside}
        if _validators.violation(schema, text) is None:
            return text
        try:
            value: Json = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return text
        return text if _validators.violation(schema, value) else value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _argument(name: str, schema: JsonObject, *, required: bool) -> PromptArgument:
    own = schema.get("description")
    return PromptArgument(name, own if isinstance(own, str) else _described(schema, required=required), required)


def _described(schema: JsonObject, *, required: bool) -> str:
    """For who has to write it and is told nothing else."""
    default = "" if schema.get("default") in (None, "") else f"; {_said(schema['default'])} if left out"
    return f"{'Required' if required else 'Optional'}: {_kind(schema)}{default}."


def _kind(schema: JsonObject) -> str:
    match schema:
        case {"enum": [*values]}:
            return f"one of {', '.join(map(_said, values))}"
        case {"anyOf": [*branches]} | {"oneOf": [*branches]}:
            return " or ".join(dict.fromkeys(_kind(as_object(branch)) for branch in branches))
        case {"type": "array" | "object"}:
            return f"{_collection(schema)}, as JSON"
        case {"type": [*names]}:
            return " or ".join(_kind({**schema, "type": name}) for name in names)
        case _:
            return _named(schema.get("type"))


def _collection(schema: JsonObject) -> str:
    if schema["type"] == "array":
        return f"array of {_kind(as_object(schema.get('items')))}"
    members = as_object(schema.get("properties"))
    return f"object of {', '.join(members)}" if members else "object"


def _named(kind: Json) -> str:
    return "text" if kind in ("string", None) else str(kind)


def _said(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""Text arguments: arguments of prompts and variables of templates, which arrive as texts and are parsed by the
schema."""

import json
from collections.abc import Sequence

from signpost import strict_json
from signpost.model import Json, JsonObject, PromptArgument, as_object
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.toolkit.answers import ArgumentsRefused
from signpost.toolkit.deadline import nested_alarm
from signpost.toolkit.schemas import CastSchema

ANY_TEXT_ARGUMENTS: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
_validators = Validators(nested_alarm)


@dataclass(frozen=True, slots=True)
class TextArguments:
    """Parses text arguments by the schema of the function's input."""

    cast_schema: CastSchema

    @property
    def schema(self) -> JsonObject:
        """The schema of the arguments as they arrive: all are texts."""
        if not self.arguments:
            return ANY_TEXT_ARGUMENTS
        properties: JsonObject = {argument.name: {"type": "string"} for argument in self.arguments}
        required = [argument.name for argument in self.arguments if argument.required]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    @property
    def arguments(self) -> Sequence[PromptArgument]:
        required = self.cast_schema.schema.get("required", ())
        names = required if isinstance(required, list | tuple) else ()
        return [
            _prompt_argument(name, as_object(schema), required=name in names)
            for name, schema in self._properties.items()
        ]

    def read(self, texts: JsonObject) -> JsonObject:
        """Parse the texts into values that satisfy the schema. Raises ArgumentsRefused."""
        if not self._properties:
            return texts
        values = {name: self._parse_value(name, str(text)) for name, text in texts.items() if name in self._properties}
        if violation := _validators.find_violation(self.cast_schema.schema, values):
            raise ArgumentsRefused(violation)
        return values

    @property
    def _properties(self) -> JsonObject:
        return as_object(self.cast_schema.schema.get("properties"))

    def _parse_value(self, name: str, text: str) -> Json:
        """Parse one argument: the text itself if the schema allows it, else its JSON value. If the schema allows
        neither, return the text, which the schema then refuses."""
        definitions = {key: value for key, value in self.cast_schema.schema.items() if key == "$defs"}
        schema: JsonObject = {**as_object(self._properties[name]), **definitions}
        if _validators.find_violation(schema, text) is None:
            return text
        try:
            value = strict_json.parse(text)
        except (ValueError, RecursionError):
            return text
        return text if _validators.find_violation(schema, value) else value


def _prompt_argument(name: str, schema: JsonObject, *, required: bool) -> PromptArgument:
    description = schema.get("description")
    return PromptArgument(
        name, description if isinstance(description, str) else _describe_argument(schema, required=required), required
    )


def _describe_argument(schema: JsonObject, *, required: bool) -> str:
    """Describe an argument without a description of its own, for the user who has to type it."""
    default = "" if schema.get("default") in (None, "") else f"; {_format_value(schema['default'])} if left out"
    return f"{'Required' if required else 'Optional'}: {_describe_type(schema)}{default}."


def _describe_type(schema: JsonObject) -> str:
    match schema:
        case {"enum": [*values]}:
            return f"one of {', '.join(map(_format_value, values))}"
        case {"anyOf": [*branches]} | {"oneOf": [*branches]}:
            return " or ".join(dict.fromkeys(_describe_type(as_object(branch)) for branch in branches))
        case {"type": "array" | "object"}:
            return f"{_describe_collection(schema)}, as JSON"
        case {"type": [*names]}:
            return " or ".join(_describe_type({**schema, "type": name}) for name in names)
        case _:
            return _type_name(schema.get("type"))


def _describe_collection(schema: JsonObject) -> str:
    if schema["type"] == "array":
        return f"array of {_describe_type(as_object(schema.get('items')))}"
    members = as_object(schema.get("properties"))
    return f"object of {', '.join(members)}" if members else "object"


def _type_name(kind: Json) -> str:
    return "text" if kind in ("string", None) else str(kind)


def _format_value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

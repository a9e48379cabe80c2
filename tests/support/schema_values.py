"""Generates values from a schema, as a client would that knows nothing but the schema and the prefilled values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from random import Random
from typing import Any, cast

from jsonschema import Draft202012Validator

ATTEMPTS = 40
_LETTERS = "abcxyz AZ09_-'\"<&é漢😀"
_parser: Any = import_module("re._parser")
_codes: Any = import_module("re._constants")
_CATEGORIES: Mapping[Any, str] = {
    _codes.CATEGORY_DIGIT: "0123456789",
    _codes.CATEGORY_WORD: "azAZ09_",
    _codes.CATEGORY_SPACE: " ",
}


@dataclass(frozen=True, slots=True)
class GeneratedArguments:
    value: dict[str, Any]
    rejected_prefills: Sequence[str]
    """The names of prefilled values that do not satisfy the schema."""


def generate_arguments(
    schema: Mapping[str, Any], prefill: Mapping[str, Any], random: Random
) -> GeneratedArguments | None:
    """Return arguments that satisfy the schema; None if none were found. Only the library decides whether they do."""
    validator = Draft202012Validator(cast("Any", schema))
    maker = _Maker(schema, random)
    kept = {name: value for name, value in prefill.items() if maker.admits(name, value)}
    for attempt in range(ATTEMPTS):
        made = maker.value(schema, {} if attempt > ATTEMPTS // 2 else kept)
        if isinstance(made, dict) and validator.is_valid(cast("Any", made)):
            value = cast("dict[str, Any]", made)
            return GeneratedArguments(
                value, [name for name, prefilled in prefill.items() if name not in value or value[name] != prefilled]
            )
    return None


@dataclass(frozen=True, slots=True)
class _Maker:
    root: Mapping[str, Any]
    random: Random

    def admits(self, name: str, value: Any) -> bool:
        properties = self.root.get("properties", {})
        own = properties.get(name, self.root.get("additionalProperties", True))
        return Draft202012Validator({"$defs": self.root.get("$defs", {}), "allOf": [own]}).is_valid(value)

    def value(self, schema: Any, around: Mapping[str, Any] | None = None) -> Any:
        if not isinstance(schema, Mapping) or not schema:
            return self._anything()
        schema = self._one_way(cast("Mapping[str, Any]", schema))
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        return self._of_kind(schema, around or {})

    def _of_kind(self, schema: Mapping[str, Any], around: Mapping[str, Any]) -> Any:
        kind = schema.get("type") or ("object" if "properties" in schema else "string")
        kind = self.random.choice(cast("list[str]", kind)) if isinstance(kind, list) else kind
        made: Mapping[str, Callable[[], Any]] = {
            "object": lambda: self._object(schema, around),
            "array": lambda: self._array(schema),
            "string": lambda: self._string(schema),
            "integer": lambda: self._number(schema, is_whole=True),
            "number": lambda: self._number(schema, is_whole=False),
            "boolean": lambda: self.random.random() < 0.5,
            "null": lambda: None,
        }
        return made[kind]()

    def _one_way(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the schema with its reference and one of its alternatives merged into it."""
        merged = dict(schema)
        if (reference := merged.pop("$ref", None)) is not None:
            found: Any = self.root
            for step in reference.removeprefix("#/").split("/"):
                found = found[step]
            merged = {**self._one_way(found), **merged}
        for keyword in ("anyOf", "oneOf"):
            if alternatives := merged.pop(keyword, None):
                merged = _both(merged, self._one_way(self.random.choice(alternatives)))
        for part in merged.pop("allOf", ()):
            merged = _both(merged, self._one_way(part))
        return merged

    def _object(self, schema: Mapping[str, Any], around: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(around)
        required = schema.get("required", [])
        for name, own in schema.get("properties", {}).items():
            if name not in made and (name in required or self.random.random() < 0.5):
                made[name] = self.value(own)
        if schema.get("additionalProperties", True) is True and self.random.random() < 0.5:
            made.setdefault("undeclared", self._anything())
        return {**made, **{name: self._anything() for name in required if name not in made}}

    def _array(self, schema: Mapping[str, Any]) -> list[Any]:
        least = schema.get("minItems", 0)
        count = self.random.randint(least, schema.get("maxItems", least + 3))
        return [self.value(schema.get("items")) for _ in range(min(count, least + 3))]

    def _string(self, schema: Mapping[str, Any]) -> str:
        if "pattern" in schema:
            return "".join(self._matching(_parser.parse(schema["pattern"])))
        least = schema.get("minLength", 0)
        length = self.random.randint(least, min(schema.get("maxLength", least + 8), least + 8))
        return "".join(self.random.choice(_LETTERS) for _ in range(length))

    def _number(self, schema: Mapping[str, Any], *, is_whole: bool) -> float:
        step = schema.get("multipleOf", 1 if is_whole else 0.5)
        low = schema.get("minimum", schema.get("exclusiveMinimum", -100))
        high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 100))
        edges = [edge for edge in (low, high) if not is_whole or edge == int(edge)]
        made = self.random.choice([*edges, self.random.uniform(low, high), self.random.uniform(low, high)])
        return int(made // step) * step if self.random.random() < 0.8 else int(made) if is_whole else made

    def _anything(self) -> Any:
        return self.random.choice([None, True, 0, -2.5, "", "text", [], ["a", 1], {}, {"a": {"b": None}}])

    def _matching(self, parsed: Any) -> Sequence[str]:
        """Return a text that the parsed pattern matches. Unsupported parts are noticed by the validator."""
        return [text for operation, argument in parsed for text in self._part(operation, argument)]

    def _part(self, operation: Any, argument: Any) -> Sequence[str]:
        parts: Mapping[Any, Callable[[], Sequence[str]]] = {
            _codes.LITERAL: lambda: [chr(argument)],
            _codes.IN: lambda: [self._one_of(argument)],
            _codes.ANY: lambda: ["."],
            _codes.MAX_REPEAT: lambda: self._repeated(*argument),
            _codes.MIN_REPEAT: lambda: self._repeated(*argument),
            _codes.SUBPATTERN: lambda: self._matching(argument[-1]),
            _codes.BRANCH: lambda: self._matching(self.random.choice(argument[1])),
        }
        return parts[operation]() if operation in parts else []

    def _repeated(self, least: int, most: Any, repeated: Any) -> Sequence[str]:
        count = self.random.randint(least, min(int(most), least + 4))
        return [text for _ in range(count) for text in self._matching(repeated)]

    def _one_of(self, members: Any) -> str:
        operation, argument = self.random.choice(members)
        if operation is _codes.RANGE:
            return chr(self.random.randint(*argument))
        return self.random.choice(_CATEGORIES[argument]) if operation is _codes.CATEGORY else chr(argument)


def _both(schema: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **schema,
        **part,
        "properties": {**schema.get("properties", {}), **part.get("properties", {})},
        "required": [*schema.get("required", []), *part.get("required", [])],
    }

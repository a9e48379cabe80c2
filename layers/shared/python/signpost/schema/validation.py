"""Validates values against schemas and locates the first violation."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from signpost.caches import BoundedCache
from signpost.errors import DeadlinePassed
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.limits import LARGEST_SCHEMA, find_pattern_fault, is_too_deep
from signpost.schema.plain import is_surely_valid

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

    from signpost.ports import Alarm

DIALECT = "https://json-schema.org/draft/2020-12/schema"
CACHE_SIZE = 256
LONGEST_MESSAGE = 300
VALIDATION_TIME_LIMIT = 2.0
"""Seconds for validating one value."""


class SchemaRefusal(Exception):  # noqa: N818 - named after the outcome
    """A schema is not accepted; the message says why."""


@dataclass(frozen=True, slots=True)
class Violation:
    field: str
    """The path of the member that is wrong or missing; empty for the whole value."""
    message: str
    probable_name: str | None = None
    """The allowed name that a superfluous member probably stands for."""

    @property
    def sentence(self) -> str:
        """The message as the end of a sentence, with a suggestion."""
        return f"{self.message}.{f' Did you mean {self.probable_name}?' if self.probable_name else ''}"


class Validators:
    """Validators, cached by the digest of their schema: compiling one costs more than using it a hundred times.

    `alarm` limits the time of each validation, since some schemas take for ever on some values, however small both are.
    """

    def __init__(self, alarm: "Alarm") -> None:
        self._alarm = alarm
        self._by_digest = BoundedCache[str, "Draft202012Validator"](CACHE_SIZE)

    def find_violation(self, schema: JsonObject, value: Json) -> Violation | None:
        """Returns the first violation, or None. Raises SchemaRefusal."""
        if is_too_deep(value):
            return Violation("", "is nested too deeply")
        if is_surely_valid(schema, value):
            return None
        try:
            with self._alarm(VALIDATION_TIME_LIMIT):
                return self._validate(schema, value)
        except DeadlinePassed:
            return Violation("", "takes too long to validate")

    def _validate(self, schema: JsonObject, value: Json) -> Violation | None:
        from jsonschema.exceptions import UnknownType  # noqa: PLC0415 - as in _compile
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as in _compile

        validator = self._find_validator(schema)
        try:
            fault = next(iter(validator.iter_errors(value)), None)
        except RecursionError:
            return Violation("", "is nested too deeply for its schema")
        except OverflowError:
            return Violation("", "contains a number that is too large")
        except Unresolvable as unknown:
            raise SchemaRefusal(f"its reference {unknown.ref!r} leads to nothing") from unknown
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, UnknownType) as error:
            # A reference may lead to a value that is no schema, which only shows during validation.
            raise SchemaRefusal(f"one of its references leads to no schema ({type(error).__name__})") from error
        return _build_violation(fault) if fault else None

    @property
    def cached_count(self) -> int:
        return len(self._by_digest)

    def _find_validator(self, schema: JsonObject) -> "Draft202012Validator":
        digest = hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
        return self._by_digest.get(digest) or self._by_digest.put(digest, _compile(schema))


def _compile(schema: JsonObject) -> "Draft202012Validator":
    # Imported on first use: the import is slow, and most cold starts validate nothing.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415 - as above

    from signpost.schema.patterns import translate_schema  # noqa: PLC0415 - as above

    check_schema(schema)
    # An empty registry, so that no reference is ever fetched.
    return Draft202012Validator(translate_schema(schema), registry=Registry())


def check_schema(schema: JsonObject) -> None:
    """Checks that a schema is accepted, also when it is published. Raises SchemaRefusal."""
    if is_too_deep(schema):
        raise SchemaRefusal("it is nested too deeply")
    if len(json.dumps(schema)) > LARGEST_SCHEMA:
        raise SchemaRefusal(f"it has more than {LARGEST_SCHEMA} characters")
    if schema.get("$schema", DIALECT) not in (DIALECT, f"{DIALECT}#"):
        raise SchemaRefusal(f"its dialect is not {DIALECT}")
    for keyword, value in _walk_members(schema):
        fault = _find_member_fault(keyword, value)
        if fault:
            raise SchemaRefusal(fault)
    _check_metaschema(schema)


def _check_metaschema(schema: JsonObject) -> None:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - as in _compile

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as fault:
        raise SchemaRefusal(f"it is not a valid JSON Schema: {fault.message[:LONGEST_MESSAGE]}") from fault


def _find_member_fault(keyword: str, value: Json) -> str | None:
    if keyword in ("$ref", "$dynamicRef") and isinstance(value, str) and not value.startswith("#"):
        return f"the reference {value[:LONGEST_MESSAGE]!r} points outside the schema"
    if keyword == "pattern" and isinstance(value, str):
        return find_pattern_fault(value)
    if keyword == "patternProperties" and isinstance(value, Mapping):
        return next((fault for pattern in value if (fault := find_pattern_fault(pattern))), None)
    return None


def _walk_members(node: Json) -> Iterator[tuple[str, Json]]:
    children: Iterable[Json] = ()
    if isinstance(node, Mapping):
        yield from node.items()
        children = node.values()
    elif isinstance(node, list):
        children = node
    for child in children:
        yield from _walk_members(child)


def _build_violation(fault: "ValidationError") -> Violation:
    path = [str(part) for part in fault.absolute_path]
    faulty = _faulty_member(fault)
    probable = _find_probable_name(fault, faulty[0]) if faulty else None
    return Violation(".".join([*path, *faulty])[:LONGEST_MESSAGE], fault.message[:LONGEST_MESSAGE], probable)


def _faulty_member(fault: Any) -> list[str]:
    """Returns the name of a missing or superfluous member, which the path of its object does not contain."""
    members = as_object(fault.instance)
    if fault.validator == "required":
        return [name for name in fault.validator_value if name not in members][:1]
    if fault.validator == "additionalProperties":
        return [name for name in members if name not in fault.schema.get("properties", {})][:1]
    return []


def _find_probable_name(fault: Any, name: str) -> str | None:
    """Returns the declared name that a superfluous member probably stands for, if the value does not have it."""
    if fault.validator != "additionalProperties":
        return None
    from signpost.spelling import suggest_name  # noqa: PLC0415 - only a mistyped name needs it

    return suggest_name(name, fault.schema.get("properties", {}).keys() - as_object(fault.instance).keys())

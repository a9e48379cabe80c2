"""Whether a value satisfies a schema, with the place where it does not."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.limits import LARGEST_SCHEMA, fault_of_pattern, is_too_deep
from signpost.schema.plain import satisfies

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REMEMBERED = 256
LONGEST_MESSAGE = 300


class SchemaRefused(Exception):  # noqa: N818 - it names what happened to the schema
    """The schema is not one we take; the message says why."""


@dataclass(frozen=True, slots=True)
class Violation:
    field: str
    """The path of the member that is wrong or missing, `` for the whole."""
    message: str


class Validators:
    """Validators by the digest of their schema: compiling one costs more than using it a hundred times."""

    def __init__(self) -> None:
        self._by_digest: OrderedDict[str, Draft202012Validator] = OrderedDict()

    def violation(self, schema: JsonObject, value: Json) -> Violation | None:
        """The first violation, or None. Raises SchemaRefused."""
        if is_too_deep(value):
            return Violation("", "is nested too deeply")
        if satisfies(schema, value):
            return None
        from jsonschema.exceptions import UnknownType  # noqa: PLC0415 - as in _compiled
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as in _compiled

        validator = self._validator(schema)
        try:
            fault = next(iter(validator.iter_errors(value)), None)
        except RecursionError:
            return Violation("", "is nested too deeply for its schema")
        except OverflowError:
            return Violation("", "contains a number that is too large")
        except Unresolvable as unknown:
            raise SchemaRefused(f"there is nothing at its reference {unknown.ref!r}") from unknown
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, UnknownType) as odd:
            # A reference may lead to a place that is no schema, which only shows on the way.
            raise SchemaRefused(f"it cannot be followed ({type(odd).__name__})") from odd
        return _violation(fault) if fault else None

    @property
    def remembered(self) -> int:
        return len(self._by_digest)

    def _validator(self, schema: JsonObject) -> "Draft202012Validator":
        digest = hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()
        validator = self._by_digest.get(digest)
        if validator is None:
            validator = self._by_digest[digest] = _compiled(schema)
            if len(self._by_digest) > REMEMBERED:
                self._by_digest.popitem(last=False)
        self._by_digest.move_to_end(digest)
        return validator


def _compiled(schema: JsonObject) -> "Draft202012Validator":
    # The library takes longer to import than most cold starts need it for: only calls validate.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415 - as above

    check(schema)
    # An empty registry, so that no reference is ever fetched.
    return Draft202012Validator(schema, registry=Registry())


def check(schema: JsonObject) -> None:
    """What publication asks as well. Raises SchemaRefused."""
    if is_too_deep(schema):
        raise SchemaRefused("it is nested too deeply")
    if len(json.dumps(schema)) > LARGEST_SCHEMA:
        raise SchemaRefused(f"it has more than {LARGEST_SCHEMA} characters")
    if schema.get("$schema", DIALECT) not in (DIALECT, f"{DIALECT}#"):
        raise SchemaRefused(f"its dialect is not {DIALECT}")
    for keyword, value in _members(schema):
        fault = _fault_of_member(keyword, value)
        if fault:
            raise SchemaRefused(fault)
    _check_form(schema)


def _check_form(schema: JsonObject) -> None:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - as in _compiled

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as fault:
        raise SchemaRefused(f"it is no JSON Schema: {fault.message[:LONGEST_MESSAGE]}") from fault


def _fault_of_member(keyword: str, value: Json) -> str | None:
    if keyword in ("$ref", "$dynamicRef") and isinstance(value, str) and not value.startswith("#"):
        return f"the reference {value[:LONGEST_MESSAGE]!r} leads out of the schema"
    if keyword == "pattern" and isinstance(value, str):
        return fault_of_pattern(value)
    if keyword == "patternProperties" and isinstance(value, Mapping):
        return next((fault for pattern in value if (fault := fault_of_pattern(pattern))), None)
    return None


def _members(node: Json) -> Iterator[tuple[str, Json]]:
    children: Iterable[Json] = ()
    if isinstance(node, Mapping):
        yield from node.items()
        children = node.values()
    elif isinstance(node, list):
        children = node
    for child in children:
        yield from _members(child)


def _violation(fault: "ValidationError") -> Violation:
    path = [str(part) for part in fault.absolute_path]
    return Violation(".".join([*path, *_named(fault)])[:LONGEST_MESSAGE], fault.message[:LONGEST_MESSAGE])


def _named(fault: Any) -> list[str]:
    """The member that is missing, or that should not be there, is not on the path of its object."""
    members = as_object(fault.instance)
    if fault.validator == "required":
        return [name for name in fault.validator_value if name not in members][:1]
    if fault.validator == "additionalProperties":
        return [name for name in members if name not in fault.schema.get("properties", {})][:1]
    return []

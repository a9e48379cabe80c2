"""Finds hazards in the JSON Schemas of tools and transitions, which clients read as a whole."""

from collections.abc import Iterator, Mapping

from signpost.hazards.model import Hazard
from signpost.hazards.names import find_label_hazards
from signpost.hazards.patterns import find_pattern_hazard
from signpost.hazards.secrets import kind_by_shape
from signpost.hazards.texts import find_text_hazards
from signpost.model import Json, as_object
from signpost.records import dataclass

type SchemaPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class FoundInSchema:
    at: SchemaPath
    hazard: Hazard


def find_schema_hazards(schema: Json, at: SchemaPath = ()) -> Iterator[FoundInSchema]:
    """Find the hazards of all texts, member names and patterns in a schema."""
    if isinstance(schema, str):
        yield from (FoundInSchema(at, hazard) for hazard in _find_in_text(schema))
    elif isinstance(schema, Mapping):
        for name, hazard in find_label_hazards(list(as_object(schema.get("properties"))), "another member"):
            yield FoundInSchema((*at, "properties", name), hazard)
        for name, member in schema.items():
            yield from _find_in_patterns(name, member, (*at, name))
            yield from find_schema_hazards(member, (*at, name))
    elif isinstance(schema, list | tuple):
        for index, entry in enumerate(schema):
            yield from find_schema_hazards(entry, (*at, index))


def _find_in_text(text: str) -> Iterator[Hazard]:
    yield from find_text_hazards(text)
    if kind := kind_by_shape(text):
        yield Hazard("literal_secret", f"it has {kind}, and clients read the schema. Remove it.")


def _find_in_patterns(keyword: str, member: Json, at: SchemaPath) -> Iterator[FoundInSchema]:
    patterns = [member] if keyword == "pattern" else as_object(member) if keyword == "patternProperties" else ()
    for pattern in patterns:
        if isinstance(pattern, str) and (hazard := find_pattern_hazard(pattern)):
            yield FoundInSchema(at, hazard)

"""Checks of the members of a question: the names that MCP permits in a place, and the types of their values.

Each check yields faults, as clauses with advice that follow the words "the question"."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from signpost.hazards.names import quote_name
from signpost.model import Json, JsonObject

type Check = Callable[[Json], bool]
type Members = Mapping[str, Check]
"""The permitted members of an object, with the check of their values."""


def find_strangers(fields: JsonObject, known: Iterable[str], place: str) -> Iterator[str]:
    """Yield a fault for members that MCP does not permit there."""
    for name in fields:
        if name not in known:
            permitted = ", ".join(f"`{it}`" for it in known)
            yield f"has the member {quote_name(name)}{place}, which is not permitted there. Permitted are {permitted}."


def find_misfits(fields: JsonObject, members: Members, place: str) -> Iterator[str]:
    yield from find_strangers(fields, members, place)
    for name, value in fields.items():
        if not members[name](value):
            yield f"has a `{name}`{place} of a type or value that is not permitted there. Correct it."


def is_text(value: Json) -> bool:
    return isinstance(value, str)


def is_truth(value: Json) -> bool:
    return isinstance(value, bool)


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_object(value: Json) -> bool:
    return isinstance(value, Mapping)


def are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def are_objects(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def is_anything(_value: Json) -> bool:
    return True


def is_one_of(*values: str) -> Check:
    return lambda value: value in values


def find_missing(fields: JsonObject, names: Sequence[str], place: str = "") -> Iterator[str]:
    yield from (f"has no `{name}`{place}. Add it." for name in names if name not in fields)

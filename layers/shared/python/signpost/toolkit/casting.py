"""Casts of values that satisfy their schema into the Python types of the author's code.

A cast refuses only faults that a schema cannot express: a text that is no date, or a moment without a time zone.
"""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.validation import Validators, Violation
from signpost.toolkit.answers import ArgumentsRefused
from signpost.toolkit.deadline import nested_alarm

type Cast = Callable[[Any, str], object]
"""A function of the value and its place among the arguments. Raises ArgumentsRefused."""


@dataclass(frozen=True, slots=True)
class Field:
    """The schema of a value and the cast of the values that satisfy it."""

    schema: JsonObject
    cast: Cast | None = None
    """None if the JSON value needs no cast."""
    required: bool = False

    def deliver(self, value: Json, place: str) -> object:
        return value if self.cast is None else self.cast(value, place)

    @property
    def default(self) -> Json:
        """A copy of the default, because the receiver may change it."""
        return copy.deepcopy(self.schema["default"])


def cast_integer(value: float, place: str) -> int:
    """Cast to int: JSON Schema accepts 1.0 as an integer."""
    del place
    return int(value)


def choice_cast(members: Mapping[Json, object]) -> Cast:
    return lambda value, _place: members[value]


def nullable_cast(field: Cast) -> Cast:
    return lambda value, place: None if value is None else field(value, place)


def array_cast(item: Cast) -> Cast:
    return lambda values, place: [item(value, _join_place(place, index)) for index, value in enumerate(values)]


def map_cast(member: Cast) -> Cast:
    return lambda values, place: {name: member(value, _join_place(place, name)) for name, value in values.items()}


def object_cast(fields: Mapping[str, Field], make: Callable[..., object] | None) -> Cast:
    """Build the cast of an object: it keeps only the declared fields. Defaults are filled in, unless `make` constructs
    the object and has defaults of its own."""

    def cast_object(value: JsonObject, place: str) -> object:
        members = {
            name: field.deliver(value[name], _join_place(place, name))
            for name, field in fields.items()
            if name in value
        }
        if make is not None:
            return make(**members)
        return members | {
            name: field.deliver(field.default, _join_place(place, name))
            for name, field in fields.items()
            if name not in value and "default" in field.schema
        }

    return cast_object


def union_cast(branches: Sequence[Field]) -> Cast:
    validators = Validators(nested_alarm)

    def cast_union(value: Json, place: str) -> object:
        fits = [branch for branch in branches if validators.find_violation(branch.schema, value) is None]
        for branch in fits[:-1]:
            try:
                return branch.deliver(value, place)
            except ArgumentsRefused:
                continue
        return fits[-1].deliver(value, place)

    return cast_union


def _join_place(place: str, name: str | int) -> str:
    return f"{place}.{name}" if place else str(name)


# These forms are stricter than fromisoformat, which reads more than RFC 3339 has: weeks, days of the year, times
# without colons.
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_ZONE = r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"


@dataclass(frozen=True, slots=True)
class MomentCast:
    """The cast of one kind of date or time: the form of its text, the datetime class, and its words in messages."""

    form: str
    type: str
    words: str

    def __call__(self, value: str, place: str) -> object:
        # Imported on first use: few tools have dates.
        import datetime as dt  # noqa: PLC0415

        try:
            if re.fullmatch(self.form, value):
                return getattr(dt, self.type).fromisoformat(value.upper())
        except ValueError:
            pass
        raise ArgumentsRefused(Violation(place, f"must be a {self.words}"))


date = MomentCast(_DATE, "date", "date (2027-01-31)")
time = MomentCast(f"{_TIME}{_ZONE}?", "time", "time (08:30:00)")
moment = MomentCast(f"{_DATE}[Tt ]{_TIME}{_ZONE}", "datetime", "date and time with its offset (2027-01-31T08:30:00Z)")
local_moment = MomentCast(f"{_DATE}[Tt ]{_TIME}", "datetime", "date and time without offset (2027-01-31T08:30:00)")

"""What satisfies its schema, made into what an author's code works with.

A cast refuses only what a schema cannot say: that a text is no date, or no moment with a time zone.
"""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.validation import Validators, Violation
from signpost.toolkit.answers import ArgumentsRefused

type Cast = Callable[[Any, str], object]
"""Takes the value and its place among the arguments. Raises ArgumentsRefused."""


@dataclass(frozen=True, slots=True)
class Field:
    schema: JsonObject
    cast: Cast | None = None
    """None if the value is what is wanted already."""
    required: bool = False

    def delivered(self, value: Json, place: str) -> object:
        return value if self.cast is None else self.cast(value, place)

    @property
    def default(self) -> Json:
        """A copy: whoever is given it may change it."""
        return copy.deepcopy(self.schema["default"])


def whole_number(value: float, place: str) -> int:
    """1.0 is an integer to JSON Schema."""
    del place
    return int(value)


def choice(members: Mapping[Json, object]) -> Cast:
    return lambda value, _place: members[value]


def nullable(field: Cast) -> Cast:
    return lambda value, place: None if value is None else field(value, place)


def each(item: Cast) -> Cast:
    return lambda values, place: [item(value, _in(place, index)) for index, value in enumerate(values)]


def each_member(member: Cast) -> Cast:
    return lambda values, place: {name: member(value, _in(place, name)) for name, value in values.items()}


def members(fields: Mapping[str, Field], make: Callable[..., object] | None) -> Cast:
    """What is declared, and nothing else. What is made has defaults of its own."""

    def made(value: JsonObject, place: str) -> object:
        given = {
            name: field.delivered(value[name], _in(place, name)) for name, field in fields.items() if name in value
        }
        if make is not None:
            return make(**given)
        return given | {
            name: field.delivered(field.default, _in(place, name))
            for name, field in fields.items()
            if name not in value and "default" in field.schema
        }

    return made


def first_that_fits(branches: Sequence[Field]) -> Cast:
    validators = Validators()

    def fitting(value: Json, place: str) -> object:
        fits = [branch for branch in branches if validators.violation(branch.schema, value) is None]
        for branch in fits[:-1]:
            try:
                return branch.delivered(value, place)
            except ArgumentsRefused:
                continue
        return fits[-1].delivered(value, place)

    return fitting


def _in(place: str, name: str | int) -> str:
    return f"{place}.{name}" if place else str(name)


# Python reads more than RFC 3339 has: weeks, days of the year, times without colons.
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_ZONE = r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"


@dataclass(frozen=True, slots=True)
class Moment:
    """A kind of date or time: its form, the class that reads it, what it is called."""

    form: str
    type: str
    words: str

    def __call__(self, value: str, place: str) -> object:
        # Few tools have dates.
        import datetime as dt  # noqa: PLC0415

        try:
            if re.fullmatch(self.form, value):
                return getattr(dt, self.type).fromisoformat(value.upper())
        except ValueError:
            pass
        raise ArgumentsRefused(Violation(place, f"is no {self.words}"))


date = Moment(_DATE, "date", "date (2027-01-31)")
time = Moment(f"{_TIME}{_ZONE}?", "time", "time (08:30:00)")
moment = Moment(f"{_DATE}[Tt ]{_TIME}{_ZONE}", "datetime", "date and time with its offset (2027-01-31T08:30:00Z)")
local_moment = Moment(f"{_DATE}[Tt ]{_TIME}", "datetime", "date and time without offset (2027-01-31T08:30:00)")

"""Lists in values of JSON."""

from collections.abc import Sequence

from signpost.model import Json


def as_list(value: Json) -> Sequence[Json]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else ()

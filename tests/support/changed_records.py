"""Records of runs that were changed in their table, each in one place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from signpost.workflow.running.verification import RunRecord

type Change = tuple[str, RunRecord]
"""The place that was changed, and the record afterwards."""


def change_leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield copies of a value, in each of which one leaf has another value."""
    if (changed := _change_leaf(value)) is not None:
        yield place, changed
    for name, part, rebuild in _split(value):
        yield from ((deeper, rebuild(changed)) for deeper, changed in change_leaves(part, f"{place}.{name}"))


def _split(value: Any) -> Iterator[tuple[object, Any, Callable[[Any], Any]]]:
    """Yield the parts of a value: their names, themselves, and a function that puts another one into their place."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield field.name, getattr(value, field.name), partial(_replace_field, value, field.name)
    elif isinstance(value, dict):
        members: dict[Any, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType] - any JSON object
        for key, member in members.items():
            yield key, member, partial(_replace_member, members, key)
    elif isinstance(value, list | tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType] - any JSON array
        for index, item in enumerate(items):
            yield index, item, partial(_replace_item, items, index)


def _replace_field(value: Any, name: str, changed: Any) -> Any:
    return replace(value, **{name: changed})


def _replace_member(members: Mapping[Any, Any], key: Any, changed: Any) -> Mapping[Any, Any]:
    return {**members, key: changed}


def _replace_item(items: Sequence[Any], index: int, changed: Any) -> Sequence[Any]:
    return [*items[:index], changed, *items[index + 1 :]]


def _change_leaf(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else None


def change_rows(record: RunRecord) -> Iterator[Change]:
    """Yield the record with one leaf of one row changed, one row removed, one repeated, or two exchanged."""
    for name in ("history", "audit"):
        rows: list[Any] = list(getattr(record, name))
        for place, changed in change_leaves(rows, name):
            yield place, replace(record, **{name: changed})
        for index, row in enumerate(rows):
            for what, changed in (("removed", []), ("repeated", [row, row])):
                yield (
                    f"{name}[{index}] {what}",
                    replace(record, **{name: [*rows[:index], *changed, *rows[index + 1 :]]}),
                )
    yield from _exchange_content(record, "history", lambda row: {"fields": row.fields})
    yield from _exchange_content(record, "audit", lambda row: {"events": row.events})


def _exchange_content(record: RunRecord, name: str, content_of: Callable[[Any], Mapping[str, Any]]) -> Iterator[Change]:
    """Exchange the content of neighbouring rows, while their hashes stay."""
    rows: list[Any] = list(getattr(record, name))
    for index, (one, other) in enumerate(pairwise(rows)):
        if content_of(one) != content_of(other):
            exchanged = [replace(one, **content_of(other)), replace(other, **content_of(one))]
            yield (
                f"{name}[{index}] exchanged",
                replace(record, **{name: [*rows[:index], *exchanged, *rows[index + 2 :]]}),
            )


def change_head(record: RunRecord) -> Iterator[Change]:
    """Yield the record with one value of the current state changed that decides moves."""
    for name in ("state", "version", "digest", "context", "input", "evidence", "link"):
        value = getattr(record.instance, name)
        for place, changed in change_leaves(value, name):
            yield place, replace(record, instance=replace(record.instance, **{name: changed}))

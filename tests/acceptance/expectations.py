"""What a case expects of a step, and what is wrong with what was seen."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.values import Missing, at, canonical, has, includes, shown


@dataclass(frozen=True, slots=True)
class Seen:
    """What a step did. What it answers is the answer of a function, or the result of a JSON-RPC request."""

    answer: Any = None
    error: str | None = None
    """The message, if it was refused."""
    status: int | None = None
    """Of HTTP."""
    body: Any = None
    """The whole JSON-RPC message; None if there is none."""
    calls: Sequence[Any] = ()
    events: Sequence[Any] = ()


@dataclass(slots=True)
class Judge:
    """Of the steps of one case: it remembers what one step saves for another."""

    saved: dict[str, Any] = field(default_factory=dict[str, Any])

    def problems(self, expected: Mapping[str, Any], seen: Seen) -> Iterator[str]:
        for name, wanted in expected.items():
            try:
                yield from self._problems(name, wanted, seen)
            except Missing as missing:
                yield f"{name}: nothing is at {missing} in {_summary_of(seen)}"

    def _problems(self, name: str, wanted: Any, seen: Seen) -> Iterator[str]:
        match name:
            case "save":
                self.saved |= {key: at(seen.answer, path) for path, key in _paths(wanted)}
            case "differs":
                for path, key in _paths(wanted):
                    if canonical(at(seen.answer, path)) == canonical(self.saved[key]):
                        yield f"{path} is {shown(self.saved[key])} as before"
            case _ if name in EXPECTATIONS:
                yield from (f"{name}: {problem}" for problem in EXPECTATIONS[name](wanted, seen))
            case _:
                yield f"this runner does not know the expectation {name}"


def _paths(pairs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each path with the name under which its value is kept, whichever of the two is written first."""
    for left, right in pairs.items():
        yield (right, left) if right.startswith("/") or (left and not left.startswith("/")) else (left, right)


def _summary_of(seen: Seen) -> str:
    """What happened, in short."""
    if seen.body is not None:
        return shown(seen.body)
    return f"the refusal {seen.error!r}" if seen.error is not None else shown(seen.answer)


def _ok(wanted: bool, seen: Seen) -> Iterator[str]:
    if (seen.error is None) is not wanted:
        yield f"expected {'success' if wanted else 'a refusal'}, got {_summary_of(seen)}"


def _error_contains(wanted: Sequence[str], seen: Seen) -> Iterator[str]:
    message = (seen.error or "").lower()
    yield from (f"{part!r} is not in {_summary_of(seen)}" for part in wanted if part.lower() not in message)


def _equals(wanted: Any, seen: Seen) -> Iterator[str]:
    if canonical(seen.answer) != canonical(wanted):
        yield f"expected {shown(wanted)}, got {_summary_of(seen)}"


def _includes(wanted: Any, seen: Seen) -> Iterator[str]:
    if not includes(seen.answer, wanted):
        yield f"expected at least {shown(wanted)}, got {_summary_of(seen)}"


def _keys(wanted: Mapping[str, Sequence[str]], seen: Seen) -> Iterator[str]:
    for path, names in wanted.items():
        for found in _each(seen.answer, path):
            if sorted(found) != sorted(names):
                yield f"at {path}: expected the members {sorted(names)}, got {sorted(found)}"


def _values(wanted: Mapping[str, Any], seen: Seen) -> Iterator[str]:
    for path, value in wanted.items():
        if canonical(found := at(seen.answer, path)) != canonical(value):
            yield f"at {path}: expected {shown(value)}, got {shown(found)}"


def _values_in_any_order(wanted: Mapping[str, Sequence[Any]], seen: Seen) -> Iterator[str]:
    for path, values in wanted.items():
        if sorted(map(canonical, found := at(seen.answer, path))) != sorted(map(canonical, values)):
            yield f"at {path}: expected {shown(values)} in any order, got {shown(found)}"


def _matches(wanted: Mapping[str, str], seen: Seen) -> Iterator[str]:
    for path, pattern in wanted.items():
        for found in _each(seen.answer, path):
            if not isinstance(found, str) or re.search(pattern, found) is None:
                yield f"at {path}: {shown(found)} does not match {pattern}"


def _has_item(wanted: Mapping[str, Any], seen: Seen) -> Iterator[str]:
    for path, part in wanted.items():
        if not any(includes(item, part) for item in at(seen.answer, path)):
            yield f"at {path}: nothing has {shown(part)} in {shown(at(seen.answer, path))}"


def _lacks_item(wanted: Mapping[str, Any], seen: Seen) -> Iterator[str]:
    for path, part in wanted.items():
        if any(includes(item, part) for item in at(seen.answer, path)):
            yield f"at {path}: there is {shown(part)} in {shown(at(seen.answer, path))}"


def _count_items(wanted: Mapping[str, Mapping[str, Any]], seen: Seen) -> Iterator[str]:
    for path, counted in wanted.items():
        found = sum(includes(item, counted["match"]) for item in at(seen.answer, path))
        if found != counted["n"]:
            yield f"at {path}: {found} items have {shown(counted['match'])}, expected {counted['n']}"


def _any_of_item(wanted: Mapping[str, Mapping[str, Any]], seen: Seen) -> Iterator[str]:
    """An item with these members, and those of one of the alternatives."""
    for path, part in wanted.items():
        fixed = {name: value for name, value in part.items() if name != "one_of"}
        items = [item for item in at(seen.answer, path) if includes(item, fixed)]
        if not any(includes(item, alternative) for item in items for alternative in part["one_of"]):
            yield f"at {path}: nothing has {shown(part)} in {shown(at(seen.answer, path))}"


def _item_key_regex(wanted: Mapping[str, Sequence[tuple[str, str]]], seen: Seen) -> Iterator[str]:
    for path, patterns in wanted.items():
        for name, pattern in patterns:
            if not any(re.search(pattern, str(item.get(name, ""))) for item in at(seen.answer, path)):
                yield f"at {path}: no {name} matches {pattern} in {shown(at(seen.answer, path))}"


def _each_has(wanted: Mapping[str, Sequence[str]], seen: Seen) -> Iterator[str]:
    for path, names in wanted.items():
        for item in at(seen.answer, path):
            if lacking := [name for name in names if name not in item]:
                yield f"at {path}: {shown(item)} lacks {', '.join(lacking)}"


def _min_items(wanted: Mapping[str, int], seen: Seen) -> Iterator[str]:
    for path, least in wanted.items():
        if len(found := at(seen.answer, path)) < least:
            yield f"at {path}: {len(found)} items, expected at least {least}"


def _absent(wanted: Sequence[str], seen: Seen) -> Iterator[str]:
    yield from (f"{path} is there: {_summary_of(seen)}" for path in wanted if has(seen.answer, path))


def _text(wanted: Mapping[str, Mapping[str, Any]], seen: Seen) -> Iterator[str]:
    for path, rules in wanted.items():
        found = at(seen.answer, path)
        if not isinstance(found, str):
            yield f"at {path}: {shown(found)} is no text"
            continue
        for rule, value in rules.items():
            if not TEXT_RULES[rule](found, value):
                yield f"at {path}: not {rule} {shown(value)}: {shown(found)}"


def _exactly(name: str) -> Callable[[Sequence[Any], Seen], Iterator[str]]:
    def problems(wanted: Sequence[Any], seen: Seen) -> Iterator[str]:
        if canonical(found := getattr(seen, name)) != canonical(wanted):
            yield f"expected {shown(wanted)}, got {shown(found)}"

    return problems


def _status(wanted: int, seen: Seen) -> Iterator[str]:
    if seen.status != wanted:
        yield f"expected {wanted}, got {seen.status}"


def _no_answer(wanted: bool, seen: Seen) -> Iterator[str]:
    if (seen.body is None) is not wanted:
        yield f"expected {'no' if wanted else 'an'} answer, got {_summary_of(seen)}"


def _rpc_error(wanted: Sequence[int], seen: Seen) -> Iterator[str]:
    code = at(seen.body, "/error/code") if has(seen.body, "/error/code") else None
    if code not in wanted:
        yield f"expected {' or '.join(map(str, wanted))}, got {_summary_of(seen)}"


def _rpc_refused(wanted: Sequence[str], seen: Seen) -> Iterator[str]:
    """An error, or the result of a tool that says it is one."""
    if not (has(seen.body, "/error") or includes(seen.answer, {"isError": True})):
        yield f"expected a refusal, got {_summary_of(seen)}"
    text = canonical(seen.body).lower()
    yield from (f"{part!r} is not mentioned in {_summary_of(seen)}" for part in wanted if part.lower() not in text)


def _rpc_id(wanted: Any, seen: Seen) -> Iterator[str]:
    if canonical(at(seen.body, "/id")) != canonical(wanted):
        yield f"expected {wanted!r}, got {_summary_of(seen)}"


def _each(answer: Any, path: str) -> Sequence[Any]:
    found = at(answer, path)
    return found if "*" in path else [found]


def _any_line(text: str, parts: Sequence[str], found: Callable[[str, str], bool]) -> bool:
    """Each part is found in a line."""
    return all(any(found(part, line) for line in text.split("\n")) for part in parts)


def _is_in_order(text: str, parts: Sequence[str]) -> bool:
    place = 0
    for part in parts:
        place = text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def _is_json(text: str, value: Any) -> bool:
    try:
        return canonical(json.loads(text)) == canonical(value)
    except json.JSONDecodeError:
        return False


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


TEXT_RULES: Mapping[str, Callable[[str, Any], bool]] = {
    "equals": lambda text, value: text == value,
    "contains": lambda text, value: all(part in text for part in _listed(value)),
    "not_contains": lambda text, value: not any(part in text for part in _listed(value)),
    "starts": lambda text, value: text.startswith(value),
    "line_starts": lambda text, value: _any_line(text, _listed(value), lambda part, line: line.startswith(part)),
    "line_regex": lambda text, value: _any_line(text, _listed(value), lambda part, line: bool(re.search(part, line))),
    "ordered": _is_in_order,
    "count": lambda text, value: all(text.count(part) == times for part, times in value.items()),
    "json": _is_json,
}
EXPECTATIONS: Mapping[str, Callable[[Any, Seen], Iterator[str]]] = {
    "ok": _ok,
    "error_contains": _error_contains,
    "equals": _equals,
    "subset": _includes,
    "keys": _keys,
    "values": _values,
    "matches": _matches,
    "has_item": _has_item,
    "lacks_item": _lacks_item,
    "count_items": _count_items,
    "any_of_item": _any_of_item,
    "item_key_regex": _item_key_regex,
    "each_has": _each_has,
    "text": _text,
    "events": _exactly("events"),
    "calls": _exactly("calls"),
    "http_status": _status,
    "rpc_equals": _equals,
    "rpc_has": _includes,
    "rpc_error": _rpc_error,
    "rpc_refused": _rpc_refused,
    "rpc_none": _no_answer,
    "rpc_id": _rpc_id,
    "rpc_has_item": _has_item,
    "rpc_lacks_item": _lacks_item,
    "rpc_values": _values_in_any_order,
    "rpc_min_items": _min_items,
    "rpc_text": _text,
    "rpc_absent": _absent,
}

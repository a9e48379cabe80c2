"""Looking into JSON: equality, inclusion, and paths like `/skills/*/id`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast


class Missing(LookupError):  # noqa: N818 - it names what is the case
    """The message is the path that leads nowhere."""


def canonical(value: Any) -> str:
    """Equal for equal JSON only: true is not 1, but 1.0 is, and a tuple is a list."""
    return json.dumps(_with_whole_numbers(value), sort_keys=True)


def shown(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= 300 else f"{text[:300]}…"


def includes(value: Any, part: Any) -> bool:
    """Of objects the named members, of lists each element."""
    members, elements = members_of(part), elements_of(part)
    if members is not None:
        found = members_of(value)
        return found is not None and all(
            name in found and includes(found[name], wanted) for name, wanted in members.items()
        )
    if elements is not None:
        beside = elements_of(value)
        return beside is not None and len(beside) == len(elements) and all(map(includes, beside, elements))
    return canonical(value) == canonical(part)


def members_of(value: Any) -> Mapping[str, Any] | None:
    """None of what is no object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def elements_of(value: Any) -> Sequence[Any] | None:
    """None of what is no list."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None


def at(value: Any, path: str) -> Any:
    """What is there; for a path with a star the list of all that it leads to. The empty path is the value itself."""
    first, *others = path.partition("/*")
    found = _follow(value, first.split("/")[1:])
    if not others[0]:
        return found
    elements = elements_of(found)
    if elements is None:
        raise Missing(path)
    return [at(element, others[1]) for element in elements]


def has(value: Any, path: str) -> bool:
    try:
        at(value, path)
    except Missing:
        return False
    return True


def _with_whole_numbers(value: Any) -> Any:
    if (members := members_of(value)) is not None:
        return {name: _with_whole_numbers(member) for name, member in members.items()}
    if (elements := elements_of(value)) is not None:
        return [_with_whole_numbers(element) for element in elements]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _follow(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        members, elements = members_of(value), elements_of(value)
        if members is not None and name in members:
            value = members[name]
        elif elements is not None and name.isdigit() and int(name) < len(elements):
            value = elements[int(name)]
        else:
            raise Missing("/".join(("", *names)))
    return value

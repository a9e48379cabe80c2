"""What the callers of registry functions send: the fields that count, or why they cannot be used."""

import json
from collections.abc import Mapping, Sequence

from signpost.model import Json, JsonObject, PromptArgument
from signpost.registry.refusals import Refused
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep


def payload_of(value: Json) -> JsonObject | Refused:
    if not isinstance(value, Mapping):
        return _refused("The payload must be an object.")
    if is_too_deep(value):
        return _refused(f"The payload must not be nested more than {DEEPEST_VALUE} deep.")
    return value


def is_encodable(value: JsonObject) -> bool:
    """Half a surrogate pair, which JSON can escape, is nothing that can be stored."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def texts(payload: JsonObject, *names: str) -> Sequence[str] | Refused:
    """These fields in their order; each has to be there."""
    found: list[str] = []
    for name in names:
        text = _text(payload.get(name), name)
        if isinstance(text, Refused):
            return text if name in payload else _refused(f"`{name}` is missing: it must be a string.")
        found.append(text)
    return found


def wanted_uris(payload: JsonObject) -> Sequence[str] | Refused:
    """`uris` if it names any, else `uri`."""
    uri, uris = payload.get("uri"), payload.get("uris")
    if uris is not None and not isinstance(uris, list):
        return _refused("`uris` must be a list of strings.")
    single = [("uri", uri)] if uri is not None else []
    several = [(f"uris[{position}]", one) for position, one in enumerate(uris or [])]
    read = [_text(value, place) for place, value in (*single, *several)]
    if refused := next((one for one in read if isinstance(one, Refused)), None):
        return refused
    return [one for one in read[len(single) if several else 0 :] if isinstance(one, str)]


def handler_arguments(payload: JsonObject) -> JsonObject | Refused:
    """For the function behind a prompt, which takes an object as every function does."""
    arguments = payload.get("arguments")
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, Mapping) else _refused("`arguments` must be an object.")


def prompt_arguments(payload: JsonObject) -> Sequence[PromptArgument] | Refused:
    listed = payload.get("arguments", [])
    if not isinstance(listed, list):
        return _refused("`arguments` must be a list.")
    arguments: list[PromptArgument] = []
    for position, value in enumerate(listed):
        argument = _prompt_argument(value, f"arguments[{position}]")
        if isinstance(argument, Refused):
            return argument
        arguments.append(argument)
    return arguments


def _prompt_argument(value: Json, place: str) -> PromptArgument | Refused:
    if not isinstance(value, Mapping):
        return _refused(f"`{place}` must be an object.")
    name = _text(value.get("name"), f"{place}.name")
    described = value.get("description")
    description = None if described is None else _text(described, f"{place}.description")
    required = value.get("required", False)
    if isinstance(name, Refused):
        return name
    if isinstance(description, Refused):
        return description
    if not isinstance(required, bool):
        return _refused(f"`{place}.required` must be true or false.")
    return PromptArgument(name, description, required)


def _text(value: Json, place: str) -> str | Refused:
    if not isinstance(value, str):
        return _refused(f"`{place}` must be a string.")
    return value if _encodable(value) else _refused(f"`{place}` is no text: it contains half a surrogate pair.")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(message: str) -> Refused:
    return Refused("invalid_payload", message)

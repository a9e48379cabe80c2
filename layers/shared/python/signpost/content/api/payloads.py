"""Parses the payloads of registry functions: the fields that a function uses, or the refusal of an invalid one."""

from collections.abc import Mapping, Sequence

from signpost.content.api.errors import RegistryRefusal
from signpost.model import Json, JsonObject, PromptArgument
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep
from signpost.strict_json import is_encodable


def payload_of(value: Json) -> JsonObject | RegistryRefusal:
    if not isinstance(value, Mapping):
        return _invalid_payload("The payload must be an object.")
    if is_too_deep(value):
        return _invalid_payload(f"The payload must not be nested more than {DEEPEST_VALUE} deep.")
    return value


def text_fields(payload: JsonObject, *names: str) -> Sequence[str] | RegistryRefusal:
    """Read these required text fields, in their order."""
    texts: list[str] = []
    for name in names:
        text = _parse_text(payload.get(name), name)
        if isinstance(text, RegistryRefusal):
            return text if name in payload else _invalid_payload(f"`{name}` is missing: it must be a string.")
        texts.append(text)
    return texts


def flag_in(payload: JsonObject, name: str) -> bool | RegistryRefusal:
    """Read an optional flag; false if it is missing."""
    value = payload.get(name, False)
    return value if isinstance(value, bool) else _invalid_payload(f"`{name}` must be true or false.")


def requested_uris(payload: JsonObject) -> Sequence[str] | RegistryRefusal:
    """Read the URIs to fetch: `uris` if it is not empty, else `uri`."""
    uri, uris = payload.get("uri"), payload.get("uris")
    if uris is not None and not isinstance(uris, list):
        return _invalid_payload("`uris` must be a list of strings.")
    single = [("uri", uri)] if uri is not None else []
    several = [(f"uris[{position}]", value) for position, value in enumerate(uris or [])]
    parsed = [_parse_text(value, place) for place, value in (*single, *several)]
    if refusal := next((text for text in parsed if isinstance(text, RegistryRefusal)), None):
        return refusal
    return [text for text in parsed[len(single) if several else 0 :] if isinstance(text, str)]


def handler_arguments(payload: JsonObject) -> JsonObject | RegistryRefusal:
    """Read the arguments for a prompt's function: an object, and empty if they are missing."""
    arguments = payload.get("arguments")
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, Mapping) else _invalid_payload("`arguments` must be an object.")


def prompt_arguments(payload: JsonObject) -> Sequence[PromptArgument] | RegistryRefusal:
    listed = payload.get("arguments", [])
    if not isinstance(listed, list):
        return _invalid_payload("`arguments` must be a list.")
    arguments: list[PromptArgument] = []
    for position, value in enumerate(listed):
        argument = _parse_prompt_argument(value, f"arguments[{position}]")
        if isinstance(argument, RegistryRefusal):
            return argument
        arguments.append(argument)
    return arguments


def _parse_prompt_argument(value: Json, place: str) -> PromptArgument | RegistryRefusal:
    if not isinstance(value, Mapping):
        return _invalid_payload(f"`{place}` must be an object.")
    name = _parse_text(value.get("name"), f"{place}.name")
    text = value.get("description")
    description = None if text is None else _parse_text(text, f"{place}.description")
    required = value.get("required", False)
    if isinstance(name, RegistryRefusal):
        return name
    if isinstance(description, RegistryRefusal):
        return description
    if not isinstance(required, bool):
        return _invalid_payload(f"`{place}.required` must be true or false.")
    return PromptArgument(name, description, required)


def _parse_text(value: Json, place: str) -> str | RegistryRefusal:
    if not isinstance(value, str):
        return _invalid_payload(f"`{place}` must be a string.")
    return (
        value
        if is_encodable(value)
        else _invalid_payload(f"`{place}` is not valid Unicode text: it contains half of a surrogate pair.")
    )


def _invalid_payload(message: str) -> RegistryRefusal:
    return RegistryRefusal("invalid_payload", message)

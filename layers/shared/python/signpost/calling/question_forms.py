"""Checks of elicitations: forms, and pages that a person opens.

A form is a flat object of texts, numbers, truth values and choices, as MCP 2026-07-28 permits, and asks for no
secret."""

import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from signpost.calling.form_values import FORMATS, PAIRS_OF_LIMITS, choices_of, is_default_permitted
from signpost.calling.question_members import (
    Members,
    are_texts,
    find_misfits,
    find_missing,
    is_count,
    is_number,
    is_object,
    is_one_of,
    is_text,
    is_truth,
)
from signpost.hazards.names import quote_name
from signpost.hazards.secret_words import find_secret_words
from signpost.model import Json, JsonObject, as_object

MOST_FIELDS = 50
LARGEST_FORM = 64_000
"""Characters of the JSON of a form, or of a request to open a page."""


def _are_choices(value: Json) -> bool:
    items = [as_object(item) for item in value] if isinstance(value, list) else []
    return bool(items) and all(set(item) == {"const", "title"} and all(map(is_text, item.values())) for item in items)


def _is_item_schema(value: Json) -> bool:
    fields = as_object(value)
    if set(fields) == {"anyOf"}:
        return _are_choices(fields["anyOf"])
    return set(fields) == {"type", "enum"} and fields["type"] == "string" and are_texts(fields["enum"])


_DESCRIBED: Members = {"type": is_text, "title": is_text, "description": is_text}
_NUMBER: Members = {**_DESCRIBED, "default": is_number, "minimum": is_number, "maximum": is_number}
_CHOICE: Members = {**_DESCRIBED, "default": is_text, "enum": are_texts, "enumNames": are_texts}
_TITLED_CHOICE: Members = {**_DESCRIBED, "default": is_text, "oneOf": _are_choices}
_FIELDS: Mapping[str, Members] = {
    "boolean": {**_DESCRIBED, "default": is_truth},
    "integer": _NUMBER,
    "number": _NUMBER,
    "string": {
        **_DESCRIBED,
        "default": is_text,
        "minLength": is_count,
        "maxLength": is_count,
        "format": is_one_of(*FORMATS),
    },
    "array": {
        **_DESCRIBED,
        "default": are_texts,
        "items": _is_item_schema,
        "minItems": is_count,
        "maxItems": is_count,
    },
}
"""The fields of a form by their type. A text with `enum` or `oneOf` is a choice."""
_FORM: Members = {"mode": is_one_of("form"), "message": is_text, "requestedSchema": is_object}
_FORM_SCHEMA: Members = {
    "$schema": is_text,
    "type": is_one_of("object"),
    "properties": is_object,
    "required": are_texts,
}
_FLAT = "Use a flat form of texts, numbers, truth values and choices."


def find_elicitation_faults(params: JsonObject) -> Iterator[str]:
    if len(json.dumps(params)) > LARGEST_FORM:
        yield f"has more than {LARGEST_FORM} characters. Shorten it."
    yield from _faults_of_page(params) if params.get("mode") == "url" else _faults_of_form(params)


def _faults_of_form(params: JsonObject) -> Iterator[str]:
    schema = as_object(params.get("requestedSchema"))
    yield from find_missing(params, ("message", "requestedSchema"))
    yield from find_misfits(params, _FORM, "")
    yield from (f"{fault} {_FLAT}" for fault in find_misfits(schema, _FORM_SCHEMA, " in its schema"))
    yield from find_missing(schema, ("type", "properties"), " in its schema")
    fields = as_object(schema["properties"])
    if len(fields) > MOST_FIELDS:
        yield f"has more than {MOST_FIELDS} fields. Ask in several rounds."
    yield from (fault for name, declared in fields.items() for fault in _faults_of_field(name, as_object(declared)))
    required = schema.get("required")
    if isinstance(required, list) and not set(map(str, required)) <= fields.keys():
        yield "requires a field that it does not have. Correct `required`."
    yield from _faults_of_secrets(str(params["message"]), fields)


def _faults_of_field(name: str, declared: JsonObject) -> Iterator[str]:
    kind, place = declared.get("type"), f" in its field {quote_name(name)}"
    members = _FIELDS.get(kind) if isinstance(kind, str) else None
    if members is None:
        yield f"has no `type`{place} that a form can have. {_FLAT}"
        return
    if kind == "string" and "enum" in declared:
        members = _CHOICE
    elif kind == "string" and "oneOf" in declared:
        members = _TITLED_CHOICE
    yield from (f"{fault} {_FLAT}" for fault in find_misfits(declared, members, place))
    if kind == "array":
        yield from find_missing(declared, ("items",), place)
    yield from _contradictions(declared, place)


def _contradictions(declared: JsonObject, place: str) -> Iterator[str]:
    """Yield faults of members that each are permitted and that no answer can satisfy together."""
    for lowest, highest in PAIRS_OF_LIMITS:
        least, most = declared.get(lowest), declared.get(highest)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            yield f"has a `{lowest}`{place} above its `{highest}`. Correct one of them."
    choices, names = choices_of(declared), declared.get("enumNames")
    if choices is not None and (not choices or len(set(choices)) < len(choices)):
        yield f"has no choices{place}, or the same one twice. Name each choice once."
    if choices is not None and isinstance(names, list) and len(names) != len(choices):
        yield f"has `enumNames`{place} of another number than its choices. Name every choice."
    if "default" in declared and not is_default_permitted(declared):
        yield f"has a `default`{place} that no answer may have. Correct it."


def _faults_of_secrets(message: str, fields: JsonObject) -> Iterator[str]:
    """Yield the fields that ask for a secret. Only a field that a person fills in freely can take one, so the message
    counts if there is any such field."""
    free = {name: as_object(declared) for name, declared in fields.items() if _is_free(as_object(declared))}
    for name, declared in free.items():
        texts = (name, *(str(declared.get(member, "")) for member in ("title", "description", "default")))
        yield from _faults_of_texts(texts, f"in its field {quote_name(name)}")
    yield from _faults_of_texts([message] if free else [], "in its message")


def _is_free(declared: JsonObject) -> bool:
    return declared["type"] in ("integer", "number") or (
        declared["type"] == "string" and not {"enum", "oneOf"} & declared.keys()
    )


def _faults_of_texts(texts: Iterable[str], place: str) -> Iterator[str]:
    for text in texts:
        if (words := find_secret_words(text)) is not None:
            yield (
                f"names a secret {place} ({quote_name(words)}), and a form must not ask for one. Ask for secrets on a "
                'page of your own (`"mode": "url"`), or name the field otherwise.'
            )


_PAGE: Members = {"mode": is_text, "message": is_text, "url": is_text}
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


def _faults_of_page(params: JsonObject) -> Iterator[str]:
    yield from find_missing(params, ("message", "url"))
    yield from find_misfits(params, _PAGE, "")
    if not _is_page(str(params["url"])):
        yield "has a `url` that is no address of a page over https. Correct it."


def _is_page(url: str) -> bool:
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    return is_secure and bool(host) and "@" not in parts.netloc

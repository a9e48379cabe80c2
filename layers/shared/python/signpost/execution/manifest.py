"""What an executor says that it hosts."""

import json
from collections.abc import Sequence

from signpost.contract import Component, Hosted
from signpost.execution.members import (
    VERSION,
    NotOurs,
    message_in,
    number_in,
    object_in,
    objects_in,
    optional_object_in,
    optional_text_in,
    text_in,
    texts_in,
)
from signpost.execution.versions import is_version
from signpost.model import JsonObject, as_object
from signpost.records import dataclass

EXPOSE = "mcp.expose"
"""The flag in `metadata`, which may also be written as the member `expose` of an object `mcp`."""

REQUEST = json.dumps({"signpost": VERSION, "operation": "manifest"}).encode()


@dataclass(frozen=True, slots=True)
class Manifest:
    functions: Sequence[Hosted]
    version: str | None = None


def manifest_message(functions: Sequence[Hosted], version: str | None = None) -> JsonObject:
    versioned: JsonObject = {"version": version} if version is not None else {}
    return {"signpost": VERSION, "manifest": {**versioned, "functions": [_object_of(hosted) for hosted in functions]}}


def manifest_of(text: bytes) -> Manifest:
    """Raises NotOurs."""
    said = object_in(message_in(text), "manifest")
    functions, version = said.get("functions"), optional_text_in(said, "version")
    if not isinstance(functions, list):
        raise NotOurs("manifest.functions is no list")
    if version is not None and not is_version(version):
        raise NotOurs("manifest.version is no version like 1.2.0")
    return Manifest([_hosted_of(as_object(fields)) for fields in functions], version)


def _hosted_of(fields: JsonObject) -> Hosted:
    timeout = number_in(fields, "timeoutMs") if fields.get("timeoutMs") is not None else None
    if timeout is not None and timeout < 1:
        raise NotOurs("timeoutMs is less than 1")
    return Hosted(
        function=text_in(fields, "id"),
        timeout_ms=int(timeout) if timeout is not None else None,
        permissions=frozenset(texts_in(fields, "permissions")),
        readable=fields.get("readable") is not False,
        description=optional_text_in(fields, "description") or "",
        input_schema=optional_object_in(fields, "inputSchema"),
        exposed=_is_exposed(optional_object_in(fields, "metadata") or {}),
        name=optional_text_in(fields, "name"),
        title=optional_text_in(fields, "title"),
        category=optional_text_in(fields, "category"),
        output_schema=optional_object_in(fields, "outputSchema"),
        annotations=optional_object_in(fields, "annotations") or {},
        icons=tuple(objects_in(fields, "icons")),
        meta=optional_object_in(fields, "meta") or {},
        hidden=fields.get("hidden") is True,
        idempotent=fields.get("idempotent") is True,
        doc=optional_text_in(fields, "doc"),
        component=_component_in(fields),
    )


def _component_in(fields: JsonObject) -> Component | None:
    if fields.get("component") is None:
        return None
    # Most functions are tools.
    from signpost.execution.components import component_of  # noqa: PLC0415

    return component_of(object_in(fields, "component"))


def _component_object(component: Component | None) -> JsonObject | None:
    if component is None:
        return None
    from signpost.execution.components import component_object  # noqa: PLC0415 - as in _component_in

    return component_object(component)


def _is_exposed(metadata: JsonObject) -> bool:
    return metadata.get(EXPOSE) is True or as_object(metadata.get("mcp")).get("expose") is True


def _object_of(hosted: Hosted) -> JsonObject:
    optional: JsonObject = {
        "timeoutMs": hosted.timeout_ms,
        "description": hosted.description or None,
        "inputSchema": hosted.input_schema,
        "metadata": {EXPOSE: True} if hosted.exposed else None,
        "name": hosted.name,
        "title": hosted.title,
        "category": hosted.category,
        "outputSchema": hosted.output_schema,
        "annotations": hosted.annotations or None,
        "icons": list(hosted.icons) or None,
        "meta": hosted.meta or None,
        "hidden": hosted.hidden or None,
        "idempotent": hosted.idempotent or None,
        "doc": hosted.doc,
        "component": _component_object(hosted.component),
    }
    return {
        "id": hosted.function,
        "permissions": sorted(hosted.permissions),
        "readable": hosted.readable,
        **{name: value for name, value in optional.items() if value is not None},
    }

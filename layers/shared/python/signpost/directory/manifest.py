"""The manifest of an executor: the functions that it reports to host, and their version."""

import json
from collections.abc import Sequence

from signpost.calling.wire_fields import (
    WIRE_VERSION,
    MalformedMessage,
    number_in,
    object_in,
    objects_in,
    optional_object_in,
    optional_text_in,
    parse_message,
    text_in,
    texts_in,
)
from signpost.contract import MOST_CALLEES, Component, HostedFunction, is_declared_read_only
from signpost.directory.versions import is_version
from signpost.model import JsonObject, as_object
from signpost.records import dataclass

EXPOSE_FLAG = "mcp.expose"
"""The flag in `metadata` that exposes a function as a tool. It may also be written as the member `expose` of an object
`mcp`."""

READABLE_MEMBER = "readableInSections"

MANIFEST_REQUEST = json.dumps({"signpost": WIRE_VERSION, "operation": "manifest"}).encode()


@dataclass(frozen=True, slots=True)
class ExecutorManifest:
    functions: Sequence[HostedFunction]
    version: str | None = None


def manifest_message(functions: Sequence[HostedFunction], version: str | None = None) -> JsonObject:
    versioned: JsonObject = {"version": version} if version is not None else {}
    return {
        "signpost": WIRE_VERSION,
        "manifest": {**versioned, "functions": [_hosted_object(hosted) for hosted in functions]},
    }


def parse_manifest(text: bytes) -> ExecutorManifest:
    """Read an executor's answer to `MANIFEST_REQUEST`. Raises MalformedMessage."""
    manifest = object_in(parse_message(text), "manifest")
    functions, version = manifest.get("functions"), optional_text_in(manifest, "version")
    if not isinstance(functions, list):
        raise MalformedMessage("manifest.functions is not a list")
    if version is not None and not is_version(version):
        raise MalformedMessage("manifest.version is not a version such as 1.2.0")
    return ExecutorManifest([_hosted_of(as_object(fields)) for fields in functions], version)


def _hosted_of(fields: JsonObject) -> HostedFunction:
    timeout = number_in(fields, "timeoutMs") if fields.get("timeoutMs") is not None else None
    if timeout is not None and timeout < 1:
        raise MalformedMessage("timeoutMs is less than 1")
    return HostedFunction(
        function=text_in(fields, "id"),
        timeout_ms=int(timeout) if timeout is not None else None,
        permissions=frozenset(texts_in(fields, "permissions")),
        readable=_is_readable(fields),
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
        callees=_callees_in(fields),
        takes_client=fields.get("client") is True,
        needs=tuple(texts_in(fields, "needs")),
        task=optional_text_in(fields, "task"),
        visible_when=optional_object_in(fields, "visibleWhen"),
    )


def _callees_in(fields: JsonObject) -> frozenset[str]:
    callees = frozenset(texts_in(fields, "calls"))
    if len(callees) > MOST_CALLEES:
        raise MalformedMessage(f"calls has more than {MOST_CALLEES} functions")
    return callees


def _is_readable(fields: JsonObject) -> bool:
    """Tell whether sections may run the function.

    Toolkits before this member reported `readable` as true for every function whose author declared nothing. So true
    says nothing, and such a function is readable only if it is annotated as read-only.
    """
    declared = fields.get(READABLE_MEMBER)
    if isinstance(declared, bool):
        return declared
    return fields.get("readable") is not False and is_declared_read_only(as_object(fields.get("annotations")))


def _component_in(fields: JsonObject) -> Component | None:
    if fields.get("component") is None:
        return None
    # Imported on first use: most functions are tools and have no component.
    from signpost.calling.components import component_of  # noqa: PLC0415

    return component_of(object_in(fields, "component"))


def _component_object(component: Component | None) -> JsonObject | None:
    if component is None:
        return None
    from signpost.calling.components import component_object  # noqa: PLC0415 - as in _component_in

    return component_object(component)


def _is_exposed(metadata: JsonObject) -> bool:
    return metadata.get(EXPOSE_FLAG) is True or as_object(metadata.get("mcp")).get("expose") is True


def _hosted_object(hosted: HostedFunction) -> JsonObject:
    optional: JsonObject = {
        "timeoutMs": hosted.timeout_ms,
        "description": hosted.description or None,
        "inputSchema": hosted.input_schema,
        "metadata": {EXPOSE_FLAG: True} if hosted.exposed else None,
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
        "calls": sorted(hosted.callees) or None,
        "client": hosted.takes_client or None,
        "needs": list(hosted.needs) or None,
        "task": hosted.task,
        "visibleWhen": hosted.visible_when,
    }
    return {
        "id": hosted.function,
        "permissions": sorted(hosted.permissions),
        "readable": hosted.readable,
        READABLE_MEMBER: hosted.readable,
        **{name: value for name, value in optional.items() if value is not None},
    }

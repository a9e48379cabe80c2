"""Encoding of the contents of a resource, as text or bytes, and of the instances that a template lists."""

from collections.abc import Sequence
from typing import cast

from signpost.calling.components import fault_of_uri
from signpost.calling.uri_templates import UriTemplate
from signpost.model import InputRequired, JsonObject, as_object
from signpost.toolkit.content import Content, encode_base64
from signpost.toolkit.json_text import NotJson, json_of, json_text

MOST_INSTANCES = 1_000
"""Maximum instances that one template lists."""


def resource_value(answer: object, mime_type: str | None) -> JsonObject | InputRequired | None:
    """Encode the answer of a resource in the form of MCP; None if there is no such resource. Raises NotJson."""
    if answer is None or isinstance(answer, InputRequired):
        return answer
    return {"contents": [_content_object(item, mime_type) for item in _split_contents(answer)]}


def _split_contents(answer: object) -> Sequence[object]:
    """Split an answer into contents. A list that holds Content or bytes is several contents; any other list is one
    value."""
    items = cast("Sequence[object]", answer) if isinstance(answer, list | tuple) else ()
    is_several = any(isinstance(item, Content | bytes | bytearray) for item in items)
    return items if is_several else (cast("object", answer),)


def _content_object(value: object, mime_type: str | None) -> JsonObject:
    if isinstance(value, Content):
        return _content_of_block(value.block, mime_type)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"mimeType": mime_type or "application/octet-stream", "blob": encode_base64(cast("bytes", value))}
    if isinstance(value, str):
        return {"mimeType": mime_type or "text/plain", "text": value}
    return {"mimeType": mime_type or "application/json", "text": json_text(json_of(value))}


def _content_of_block(block: JsonObject, mime_type: str | None) -> JsonObject:
    match block:
        case {"type": "text", "text": text}:
            return {"mimeType": mime_type or "text/plain", "text": text}
        case {"type": "image" | "audio", "data": data, "mimeType": own_type}:
            return {"mimeType": own_type, "blob": data}
        case {"type": "resource", "resource": resource}:
            return as_object(resource)
        case _:
            raise NotJson("a resource must hold text or bytes, not a link to another resource")


def instances_value(answer: object, template: UriTemplate) -> JsonObject:
    """Encode the instances of a template as resources of MCP. Raises NotJson."""
    if not isinstance(answer, list | tuple):
        raise NotJson("the function that enumerates instances must answer a list")
    instances = [_instance_object(item, template) for item in cast("Sequence[object]", answer)]
    if len(instances) > MOST_INSTANCES:
        raise NotJson(f"there are more than {MOST_INSTANCES} instances of {template.text}")
    return {"resources": instances}


def _instance_object(value: object, template: UriTemplate) -> JsonObject:
    fields: JsonObject = value.block if isinstance(value, Content) else {"type": "resource_link", "uri": str(value)}
    uri = str(fields.get("uri", ""))
    if fields["type"] != "resource_link" or not isinstance(value, str | Content):
        raise NotJson("an instance must be a URI or a Content.link")
    if fault_of_uri(uri) or template.values_in(uri) is None:
        raise NotJson(f"{uri!r} is not an instance of {template.text}")
    return {"name": name_from_uri(uri), **{name: member for name, member in fields.items() if name != "type"}}


def name_from_uri(uri: str) -> str:
    """Derive the name of a resource without a declared name: the last part of its URI."""
    return uri.rstrip("/").rpartition("/")[2].rpartition(":")[2] or uri

"""What a resource answers: one content or several, as text or as bytes; and which instances a template has."""

from binascii import b2a_base64
from collections.abc import Sequence
from typing import cast

from signpost.execution.components import fault_of_uri
from signpost.execution.uri_templates import UriTemplate
from signpost.model import InputRequired, JsonObject, as_object
from signpost.toolkit.content import Content
from signpost.toolkit.json_text import NotJson, json_of, json_text

MOST_INSTANCES = 1_000
"""That one template lists."""


def resource_value(answer: object, mime_type: str | None) -> JsonObject | InputRequired | None:
    """What goes over the wire; None if there is nothing. Raises NotJson."""
    if answer is None or isinstance(answer, InputRequired):
        return answer
    return {"contents": [_content(one, mime_type) for one in _several(answer)]}


def _several(answer: object) -> Sequence[object]:
    """A list is several contents if it has any that is one, and else a value."""
    listed = cast("Sequence[object]", answer) if isinstance(answer, list | tuple) else ()
    is_several = any(isinstance(one, Content | bytes | bytearray) for one in listed)
    return listed if is_several else (cast("object", answer),)


def _content(said: object, mime_type: str | None) -> JsonObject:
    if isinstance(said, Content):
        return _of_block(said.block, mime_type)
    if isinstance(said, bytes | bytearray | memoryview):
        blob = b2a_base64(cast("bytes", said), newline=False).decode()
        return {"mimeType": mime_type or "application/octet-stream", "blob": blob}
    if isinstance(said, str):
        return {"mimeType": mime_type or "text/plain", "text": said}
    return {"mimeType": mime_type or "application/json", "text": json_text(json_of(said))}


def _of_block(block: JsonObject, mime_type: str | None) -> JsonObject:
    match block:
        case {"type": "text", "text": text}:
            return {"mimeType": mime_type or "text/plain", "text": text}
        case {"type": "image" | "audio", "data": data, "mimeType": own}:
            return {"mimeType": own, "blob": data}
        case {"type": "resource", "resource": resource}:
            return as_object(resource)
        case _:
            raise NotJson("a resource holds text or bytes, and no link to another one")


def instances_value(answer: object, template: UriTemplate) -> JsonObject:
    """Raises NotJson."""
    if not isinstance(answer, list | tuple):
        raise NotJson("what lists instances answers no list")
    listed = [_instance(one, template) for one in cast("Sequence[object]", answer)]
    if len(listed) > MOST_INSTANCES:
        raise NotJson(f"there are more than {MOST_INSTANCES} instances of {template.text}")
    return {"resources": listed}


def _instance(said: object, template: UriTemplate) -> JsonObject:
    fields: JsonObject = said.block if isinstance(said, Content) else {"type": "resource_link", "uri": str(said)}
    uri = str(fields.get("uri", ""))
    if fields["type"] != "resource_link" or not isinstance(said, str | Content):
        raise NotJson("an instance is a URI, or a Content.link")
    if fault_of_uri(uri) or template.values_in(uri) is None:
        raise NotJson(f"{uri!r} is no instance of {template.text}")
    return {"name": name_in(uri), **{name: value for name, value in fields.items() if name != "type"}}


def name_in(uri: str) -> str:
    """What a resource is called whose author gave it no name: the last part of its URI."""
    return uri.rstrip("/").rpartition("/")[2].rpartition(":")[2] or uri

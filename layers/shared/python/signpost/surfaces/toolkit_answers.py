"""Turns answers of the functions behind prompts, resources and templates into results of MCP.

Any program that speaks the contract can be an executor, so every member of an answer is checked.
"""

from collections.abc import Sequence
from typing import cast

from signpost.calling.components import fault_of_annotations, fault_of_uri
from signpost.calling.failures import REPORTED
from signpost.calling.uri_templates import UriTemplate
from signpost.calling.wire_fields import is_block
from signpost.content.markdown import prompt_messages
from signpost.contract import CallReply, Failure, KeptResult, Result
from signpost.errors import INTERNAL_ERROR, INVALID_PARAMS, Rejection
from signpost.model import Completion, GetPromptResult, InputRequired, Json, JsonObject, Resource, as_object
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep
from signpost.surfaces.documents import ROLES, optional_text

MOST_INSTANCES = 1_000
"""The most resources that one template lists."""


def value_of(reply: CallReply, function: str) -> Json | InputRequired | Rejection:
    match reply:
        case InputRequired():
            return reply
        case Result(value) if not is_too_deep(value):
            return value
        case Result():
            return reject_answer(function, f"a value that is nested more than {DEEPEST_VALUE} deep")
        case KeptResult(size=size):
            return reject_answer(function, f"{size} bytes, which is too much to be sent")
        case Failure(message=message, code=cause, retry_after_ms=wait):
            retry: JsonObject = {} if wait is None else {"retryAfterMs": wait}
            code = INVALID_PARAMS if _is_refusal(reply) else INTERNAL_ERROR
            return Rejection(code, message, {"function": function, "cause": cause, **retry})


def _is_refusal(failed: Failure) -> bool:
    """Tell whether the function refused this request and could answer another one."""
    return failed.code == "invalid_arguments" or (failed.code == REPORTED and failed.kind == "permanent_error")


def reject_answer(function: str, description: str) -> Rejection:
    """Build the rejection of a malformed answer. The description follows the words "answered with"."""
    return Rejection(INTERNAL_ERROR, f"{function} answered with {description}.", {"function": function})


def prompt_result_of(value: Json, function: str, description: str) -> GetPromptResult | Rejection:
    messages = prompt_messages(value)
    if messages is None or not all(map(_is_message, messages)):
        return reject_answer(function, "malformed messages")
    answered_description = as_object(value).get("description")
    return GetPromptResult(
        list(map(_message, messages)),
        answered_description if isinstance(answered_description, str) else description or None,
    )


def _is_message(message: Json) -> bool:
    fields = as_object(message)
    return fields.get("role") in ROLES and is_block(as_object(fields.get("content")))


def _message(message: Json) -> JsonObject:
    fields = as_object(message)
    return {"role": fields["role"], "content": fields["content"]}


def contents_at(uri: str, value: Json, function: str) -> Sequence[JsonObject] | Rejection | None:
    """Read the contents of a resource; None if there is no resource."""
    if value is None:
        return None
    listed = as_object(value).get("contents")
    contents = [{"uri": uri, **as_object(content)} for content in listed] if isinstance(listed, list) else []
    if not contents or not all(map(_is_content, contents)):
        return reject_answer(function, "malformed contents")
    return [
        {name: content[name] for name in ("uri", "mimeType", "text", "blob") if name in content} for content in contents
    ]


def _is_content(content: JsonObject) -> bool:
    names = ("uri", "blob" if "blob" in content else "text")
    is_well_formed = isinstance(content.get("mimeType", ""), str) and not {"blob", "text"} <= content.keys()
    return is_well_formed and all(isinstance(content.get(name), str) for name in names)


def completion_of(value: Json, function: str) -> Completion | Rejection:
    fields = as_object(value)
    values, total = fields.get("values"), fields.get("total")
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        return reject_answer(function, "malformed completions")
    valid_total = total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None
    return Completion(cast("Sequence[str]", values), valid_total, fields.get("hasMore") is True)


def instances_of(value: Json, template: UriTemplate) -> Sequence[Resource]:
    """Read the resources that a template lists. Malformed ones are left out, so that they do not break the list."""
    listed = as_object(value).get("resources")
    described = map(as_object, listed[:MOST_INSTANCES]) if isinstance(listed, list) else ()
    return [_resource(fields) for fields in described if _is_instance(fields, template)]


def _is_instance(fields: JsonObject, template: UriTemplate) -> bool:
    uri = fields.get("uri")
    if not isinstance(uri, str) or fault_of_uri(uri) or template.values_in(uri) is None:
        return False
    texts = ("name", "title", "description", "mimeType")
    size = fields.get("size", 0)
    is_described = all(isinstance(fields.get(name, ""), str) for name in texts) and "name" in fields
    has_valid_size = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    return is_described and has_valid_size and fault_of_annotations(as_object(fields.get("annotations"))) is None


def _resource(fields: JsonObject) -> Resource:
    return Resource(
        uri=str(fields["uri"]),
        name=str(fields["name"]),
        title=optional_text(fields, "title"),
        description=optional_text(fields, "description"),
        mime_type=optional_text(fields, "mimeType"),
        size=cast("int | None", fields.get("size")),
        annotations=as_object(fields.get("annotations")),
    )

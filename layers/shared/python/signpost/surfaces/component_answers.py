"""What the functions behind prompts, resources and templates answered, as MCP has it. Executors are whatever speaks the
contract, so that nothing of it is taken for granted."""

from collections.abc import Sequence
from typing import cast

from signpost.contract import Failure, KeptResult, Reply, Result
from signpost.errors import INTERNAL_ERROR, INVALID_PARAMS, Rejection
from signpost.execution.components import fault_of_annotations, fault_of_uri
from signpost.execution.failures import REPORTED
from signpost.execution.members import is_block
from signpost.execution.uri_templates import UriTemplate
from signpost.model import Completion, InputRequired, Json, JsonObject, PromptResult, Resource, as_object
from signpost.registry.markdown import prompt_messages
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep

ROLES = ("user", "assistant")
MOST_INSTANCES = 1_000
"""That one template lists."""


def value_of(reply: Reply, function: str) -> Json | InputRequired | Rejection:
    match reply:
        case InputRequired():
            return reply
        case Result(value) if not is_too_deep(value):
            return value
        case Result():
            return wrong(function, f"what is nested more than {DEEPEST_VALUE} deep")
        case KeptResult(size=size):
            return wrong(function, f"{size} bytes, which is too long to be sent")
        case Failure(message=message, code=cause, retry_after_ms=wait):
            again: JsonObject = {} if wait is None else {"retryAfterMs": wait}
            code = INVALID_PARAMS if _is_refusal(reply) else INTERNAL_ERROR
            return Rejection(code, message, {"function": function, "cause": cause, **again})


def _is_refusal(failed: Failure) -> bool:
    """Whether another request would have been answered."""
    return failed.code == "invalid_arguments" or (failed.code == REPORTED and failed.kind == "permanent_error")


def wrong(function: str, what: str) -> Rejection:
    return Rejection(INTERNAL_ERROR, f"{function} answered {what}.", {"function": function})


def rendered(value: Json, function: str, description: str) -> PromptResult | Rejection:
    messages = prompt_messages(value)
    if messages is None or not all(map(_is_message, messages)):
        return wrong(function, "messages that are none")
    own = as_object(value).get("description")
    return PromptResult(list(map(_message, messages)), own if isinstance(own, str) else description or None)


def _is_message(message: Json) -> bool:
    fields = as_object(message)
    return fields.get("role") in ROLES and is_block(as_object(fields.get("content")))


def _message(message: Json) -> JsonObject:
    fields = as_object(message)
    return {"role": fields["role"], "content": fields["content"]}


def contents_at(uri: str, value: Json, function: str) -> Sequence[JsonObject] | Rejection | None:
    """None if there is nothing."""
    if value is None:
        return None
    listed = as_object(value).get("contents")
    contents = [{"uri": uri, **as_object(one)} for one in listed] if isinstance(listed, list) else []
    if not contents or not all(map(_is_content, contents)):
        return wrong(function, "contents that are none")
    return [{name: one[name] for name in ("uri", "mimeType", "text", "blob") if name in one} for one in contents]


def _is_content(content: JsonObject) -> bool:
    names = ("uri", "blob" if "blob" in content else "text")
    is_told = isinstance(content.get("mimeType", ""), str) and not {"blob", "text"} <= content.keys()
    return is_told and all(isinstance(content.get(name), str) for name in names)


def completion(value: Json, function: str) -> Completion | Rejection:
    fields = as_object(value)
    values, total = fields.get("values"), fields.get("total")
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        return wrong(function, "completions that are none")
    known = total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None
    return Completion(cast("Sequence[str]", values), known, fields.get("hasMore") is True)


def instances(value: Json, template: UriTemplate) -> Sequence[Resource]:
    """What is none is left out: lists are not to suffer from it."""
    listed = as_object(value).get("resources")
    described = map(as_object, listed[:MOST_INSTANCES]) if isinstance(listed, list) else ()
    return [_resource(fields) for fields in described if _is_instance(fields, template)]


def _is_instance(fields: JsonObject, template: UriTemplate) -> bool:
    uri = fields.get("uri")
    if not isinstance(uri, str) or fault_of_uri(uri) or template.values_in(uri) is None:
        return False
    about = ("name", "title", "description", "mimeType")
    size = fields.get("size", 0)
    is_told = all(isinstance(fields.get(name, ""), str) for name in about) and "name" in fields
    is_measured = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    return is_told and is_measured and fault_of_annotations(as_object(fields.get("annotations"))) is None


def _resource(fields: JsonObject) -> Resource:
    return Resource(
        uri=str(fields["uri"]),
        name=str(fields["name"]),
        title=_text(fields, "title"),
        description=_text(fields, "description"),
        mime_type=_text(fields, "mimeType"),
        size=cast("int | None", fields.get("size")),
        annotations=as_object(fields.get("annotations")),
    )


def _text(fields: JsonObject, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None

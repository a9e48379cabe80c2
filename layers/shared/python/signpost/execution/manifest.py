"""What an executor says that it hosts."""

import json
from collections.abc import Sequence

from signpost.contract import Hosted
from signpost.execution.members import VERSION, NotOurs, message_in, number_in, object_in, text_in, texts_in
from signpost.model import JsonObject, as_object

REQUEST = json.dumps({"signpost": VERSION, "operation": "manifest"}).encode()


def manifest_message(functions: Sequence[Hosted]) -> JsonObject:
    return {"signpost": VERSION, "manifest": {"functions": [_object_of(hosted) for hosted in functions]}}


def manifest_of(text: bytes) -> Sequence[Hosted]:
    """Raises NotOurs."""
    functions = object_in(message_in(text), "manifest").get("functions")
    if not isinstance(functions, list):
        raise NotOurs("manifest.functions is no list")
    return [_hosted_of(as_object(fields)) for fields in functions]


def _hosted_of(fields: JsonObject) -> Hosted:
    timeout = number_in(fields, "timeoutMs") if fields.get("timeoutMs") is not None else None
    if timeout is not None and timeout < 1:
        raise NotOurs("timeoutMs is less than 1")
    return Hosted(
        function=text_in(fields, "id"),
        timeout_ms=int(timeout) if timeout is not None else None,
        permissions=frozenset(texts_in(fields, "permissions")),
        readable=fields.get("readable") is not False,
    )


def _object_of(hosted: Hosted) -> JsonObject:
    timeout: JsonObject = {"timeoutMs": hosted.timeout_ms} if hosted.timeout_ms is not None else {}
    return {
        "id": hosted.function,
        **timeout,
        "permissions": sorted(hosted.permissions),
        "readable": hosted.readable,
    }

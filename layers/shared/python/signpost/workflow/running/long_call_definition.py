"""Builds the definitions of long calls: instances of `proxy_default` that call one function, for longer than a client
can wait.

No author publishes such a definition. It follows from a text about the call that stands in the place of the digest of
the definition, and so it never changes either.
"""

import re

from signpost.model import PROXY_WORKFLOW, JsonObject
from signpost.workflow.definition import Definition, parse_published_definition
from signpost.workflow.engine.capability_focus import ARGUMENTS, CAPABILITY
from signpost.workflow.ports import PublishedDefinition
from signpost.workflow.proxy_default import READY, RESULT, document_of

_CALL = re.compile(r"call:(once|again):(.+)")
ONCE, AGAIN = "once", "again"


def build_long_call(function: str, *, idempotent: bool) -> PublishedDefinition:
    """Build the definition of a call. `idempotent` is the consent of the function's author to another execution if the
    result of one is not received."""
    digest = f"call:{AGAIN if idempotent else ONCE}:{function}"
    return PublishedDefinition(_build_definition(function, idempotent=idempotent), digest)


def input_of(function: str, arguments: JsonObject) -> JsonObject:
    return {CAPABILITY: function, ARGUMENTS: arguments}


def is_long_call(digest: str) -> bool:
    return _CALL.fullmatch(digest) is not None


def definition_of(digest: str) -> Definition | None:
    """Return the definition of a long call; None for the digest of a published definition."""
    call = _CALL.fullmatch(digest)
    return None if call is None else _build_definition(call[2], idempotent=call[1] == AGAIN)


def _build_definition(function: str, *, idempotent: bool) -> Definition:
    executor: JsonObject = {
        "kind": "function", "function": function, "idempotent": idempotent, "idempotencyKey": True,
    }  # fmt: skip
    transition: JsonObject = {
        "target": READY,
        "inputSchema": {"type": "object"},
        "executor": executor,
        "output": {RESULT: "$"},
    }
    return parse_published_definition(PROXY_WORKFLOW, document_of({function: transition}))

"""Runs of `proxy_default` that are one call of one function: of whatever takes longer than anybody can wait for.

Their definition is not published by anybody. It follows from what the call says of itself, which stands where other
runs have the digest of theirs, and so it never changes either.
"""

import re

from signpost.model import PROXY, JsonObject
from signpost.workflow.definition import Definition, published
from signpost.workflow.focus import ARGUMENTS, CAPABILITY
from signpost.workflow.ports import Published
from signpost.workflow.proxy import READY, RESULT, document_of

_CALL = re.compile(r"call:(once|again):(.+)")
ONCE, AGAIN = "once", "again"


def called(function: str, *, idempotent: bool) -> Published:
    """`idempotent` is its author's consent to having it repeated, should nobody hear what came of it."""
    digest = f"call:{AGAIN if idempotent else ONCE}:{function}"
    return Published(_definition(function, idempotent=idempotent), digest)


def input_of(function: str, arguments: JsonObject) -> JsonObject:
    return {CAPABILITY: function, ARGUMENTS: arguments}


def is_a_call(digest: str) -> bool:
    return _CALL.fullmatch(digest) is not None


def definition_of(digest: str) -> Definition | None:
    """None where it is the digest of a definition that somebody published."""
    call = _CALL.fullmatch(digest)
    return None if call is None else _definition(call[2], idempotent=call[1] == AGAIN)


def _definition(function: str, *, idempotent: bool) -> Definition:
    executor: JsonObject = {
        "kind": "function", "function": function, "idempotent": idempotent, "idempotencyKey": True,
    }  # fmt: skip
    transition: JsonObject = {
        "target": READY,
        "inputSchema": {"type": "object"},
        "executor": executor,
        "output": {RESULT: "$"},
    }
    return published(PROXY, document_of({function: transition}))

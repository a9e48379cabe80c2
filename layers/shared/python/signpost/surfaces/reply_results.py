"""Builds the results of tools from the replies of functions."""

import json
from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from signpost.contract import ClientPresentation, CompletedReply, Failure, KeptResult, Result
from signpost.mcp.results import link_content
from signpost.model import CallToolResult, Json, JsonObject
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep

if TYPE_CHECKING:
    from signpost.content.ports import AnswerStore

LONGEST_STRUCTURED = 100_000
"""Characters of a result that is sent a second time as structured content."""
NOTHING = ClientPresentation()


class ReplyResults:
    """Builds results, the same for a client that waits for a call and for one that fetches the result later."""

    def __init__(self, long_answers: "AnswerStore") -> None:
        self._long_answers = long_answers

    def build(self, reply: CompletedReply, *, has_output_schema: bool) -> CallToolResult:
        """Build the result of a call that has ended. `has_output_schema` says whether lists show an output schema."""
        match reply:
            case Result(value, shown=shown) if not is_too_deep(value):
                return _success_result(value, shown or NOTHING, has_output_schema=has_output_schema)
            case Result():
                return _error_result(
                    f"The function ran, but its result is nested more than {DEEPEST_VALUE} deep and was not sent."
                )
            case KeptResult(key):
                # Clients validate a result that is no error against the output schema, which a link does not satisfy.
                return CallToolResult(link_content(self._long_answers.address(key)), is_error=has_output_schema)
            case Failure(message=message, retry_after_ms=wait, shown=shown):
                return _error_result(add_retry_hint(message, wait), shown or NOTHING)


def add_retry_hint(message: str, wait_ms: int | None) -> str:
    return message if wait_ms is None else f"{message} Try again in {ceil(wait_ms / 1000)} s."


def text_block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _success_result(value: Json, shown: ClientPresentation, *, has_output_schema: bool) -> CallToolResult:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    is_short = len(text) <= LONGEST_STRUCTURED
    structured = value if isinstance(value, Mapping) and (is_short or has_output_schema) else None
    # A long result with structured content is not sent again as text.
    blocks: Sequence[JsonObject] = [text_block(text)] if is_short or structured is None else []
    return CallToolResult(shown.content or blocks, structured, meta=shown.meta)


def _error_result(sentence: str, shown: ClientPresentation = NOTHING) -> CallToolResult:
    return CallToolResult(shown.content or [text_block(sentence)], is_error=True, meta=shown.meta)

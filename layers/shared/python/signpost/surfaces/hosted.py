"""What functions are as tools, whatever name a surface gives them: what is shown of them, and what comes of a call."""

import json
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Protocol

from signpost.contract import Failure, Hosted, KeptResult, Reply, Request, Result, Shown
from signpost.execution.caller import GRACE, TO_ANSWER
from signpost.execution.functions import FunctionView
from signpost.execution.tuning import LONGEST_WAIT_MS, of_tenant, outlasts_a_call, words_of_tenant
from signpost.model import Call, InputRequired, Json, JsonObject, SettingValue, Tool, ToolResult, as_object
from signpost.ports import AnswerStore, Clock, Executors
from signpost.protocol.results import link_content
from signpost.registry.names import is_internal
from signpost.registry.skills import FETCH
from signpost.registry.uris import of_skill
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep

LONGEST_STRUCTURED = 100_000
"""Characters of a result that is sent a second time as structured content."""
NOTHING = Shown()


class LongCalls(Protocol):
    def made(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> ToolResult: ...

    def made_before(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> ToolResult | None: ...


class FunctionCalls:
    def __init__(
        self,
        *,
        functions: FunctionView,
        executors: Executors,
        long_calls: Callable[[], LongCalls],
        long_answers: AnswerStore,
        clock: Clock,
    ) -> None:
        self._functions = functions
        self._executors = executors
        self._long_calls = long_calls
        self._long_answers = long_answers
        self._clock = clock

    def made(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> ToolResult | InputRequired:
        """What `tool` answers, behind which is `function`."""
        # Clients that were promised a result would not take anything else for one.
        if tool.output_schema is None and outlasts_a_call(self._functions.state(call.principal.tenant, function)):
            return self._long_calls().made(function, arguments, tool, call)
        if call.client.token is not None:
            # It may be sent for the second time, after somebody has said that the function takes less.
            before = self._long_calls().made_before(function, arguments, tool, call)
            if before is not None:
                return before
        request = Request(
            function=function,
            arguments=arguments,
            principal=call.principal,
            ends_at=min(call.deadline, self._clock.now() + LONGEST_WAIT_MS / 1000 + GRACE + TO_ANSWER),
            trace=call.trace,
            answers=call.answers,
            state=call.state,
        )
        return self._shown(self._executors.invoke(request), tool)

    def _shown(self, reply: Reply, tool: Tool) -> ToolResult | InputRequired:
        match reply:
            case InputRequired():
                return reply
            case Result(value, shown=shown) if not is_too_deep(value):
                return _answered(value, shown or NOTHING, tool)
            case Result():
                return _failed(f"It ran, but its answer is nested more than {DEEPEST_VALUE} deep and cannot be shown.")
            case KeptResult(key):
                # Clients hold an ordinary result against the output schema, which a link cannot satisfy.
                is_error = tool.output_schema is not None
                return ToolResult(link_content(self._long_answers.address(key)), is_error=is_error)
            case Failure(message=message, retry_after_ms=wait, shown=shown):
                return _failed(retried(message, wait), shown or NOTHING)


def retried(message: str, wait_ms: int | None) -> str:
    return message if wait_ms is None else f"{message} Try again in {ceil(wait_ms / 1000)} s."


def is_visible(hosted: Hosted, settings: Mapping[str, SettingValue]) -> bool:
    """Whether it is a tool, listed or not."""
    hidden = hosted.function.startswith(tuple(words_of_tenant(settings, "hidden_prefixes")))
    if hidden or is_never_a_tool(hosted.function) or hosted.component is not None:
        return False
    return hosted.exposed or not of_tenant(settings, "require_expose")


def is_never_a_tool(function: str) -> bool:
    """`skill::fetch` is a tool of the registry's own, which no executor can take the place of."""
    return function == FETCH or is_internal(function)


def tool_of(hosted: Hosted, name: str, description: str, input_schema: JsonObject) -> Tool:
    return Tool(
        name,
        description,
        input_schema,
        title=hosted.title,
        output_schema=_shown_output(hosted),
        annotations=hosted.annotations,
        icons=hosted.icons,
        meta=_shown_meta(hosted),
    )


def shown_schema(schema: JsonObject | None) -> JsonObject:
    """What clients take: some refuse `true` or `false` for a property, and all want an object. The executor goes by the
    schema as it was declared."""
    plain = _without_booleans({"properties": {}} if schema is None else schema)
    return {**plain, "type": "object"}


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def _without_booleans(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return schema
    shown: JsonObject = {name: _without_booleans(as_object(one)) for name, one in properties.items()}
    return {**schema, "properties": shown}


def _shown_meta(hosted: Hosted) -> JsonObject:
    """With what MCP has no members for."""
    category: JsonObject = {"category": hosted.category} if hosted.category else {}
    document: JsonObject = {"doc": of_skill(hosted.doc)} if hosted.doc else {}
    return {**hosted.meta, **category, **document}


def _shown_output(hosted: Hosted) -> JsonObject | None:
    """Of what is no object there is no structured content that a client could hold against it; nor of what is not
    waited for."""
    schema, is_long = hosted.output_schema, (hosted.timeout_ms or 0) > LONGEST_WAIT_MS
    return shown_schema(schema) if schema is not None and schema.get("type") == "object" and not is_long else None


def _answered(value: Json, shown: Shown, tool: Tool) -> ToolResult:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    is_short = len(words) <= LONGEST_STRUCTURED
    structured = value if isinstance(value, Mapping) and (is_short or tool.output_schema is not None) else None
    # What is long and structured nonetheless is not sent twice.
    blocks: Sequence[JsonObject] = [text(words)] if is_short or structured is None else []
    return ToolResult(shown.content or blocks, structured, meta=shown.meta)


def _failed(sentence: str, shown: Shown = NOTHING) -> ToolResult:
    return ToolResult(shown.content or [text(sentence)], is_error=True, meta=shown.meta)

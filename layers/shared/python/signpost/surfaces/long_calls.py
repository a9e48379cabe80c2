"""Calls of functions that take longer than a client waits: answered at once with where the run stands that makes the
call, and made by the worker."""

import json
from dataclasses import replace
from math import ceil

from signpost.execution.breaker import Breaker
from signpost.execution.functions import FunctionView
from signpost.execution.tuning import LONGEST_WAIT_MS, placement_of
from signpost.model import PROXY, Call, JsonObject, Tool, ToolResult, as_object
from signpost.ports import Clock
from signpost.protocol.names import simplest
from signpost.protocol.tools import explained
from signpost.schema.validation import Validators
from signpost.surfaces.hosted import retried, text
from signpost.surfaces.runs import in_words
from signpost.surfaces.seven import GET
from signpost.surfaces.workflows import begun
from signpost.workflow.calls import called, input_of, is_a_call
from signpost.workflow.executing import TO_SETTLE
from signpost.workflow.service import Declined, Found, Start, Told, Workflows


class LongCalls:
    def __init__(self, *, workflows: Workflows, functions: FunctionView, breaker: Breaker, clock: Clock) -> None:
        self._workflows = workflows
        self._functions = functions
        self._breaker = breaker
        self._clock = clock
        self._validators = Validators()

    def made(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> ToolResult:
        wanted = Start(PROXY, input_of(function, arguments), call.client.token)
        refusal = self._refusal(function, arguments, tool, call)
        if refusal is not None and not self._was_started(wanted, call):
            return ToolResult([text(refusal)], is_error=True)
        return self._begun(wanted, function, tool, call)

    def made_before(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> ToolResult | None:
        """What the client's token started while the function was said to take long; None if it started nothing."""
        wanted = Start(PROXY, input_of(function, arguments), call.client.token)
        if not self._was_started(wanted, call):
            return None
        made = self._begun(wanted, function, tool, call)
        # Clients hold an ordinary result against the output schema, which a run cannot satisfy.
        return made if tool.output_schema is None else replace(made, is_error=True)

    def _begun(self, wanted: Start, function: str, tool: Tool, call: Call) -> ToolResult:
        placement = placement_of(self._functions.state(call.principal.tenant, function))
        published = called(function, idempotent=placement is not None and placement.hosted.idempotent)
        # As long as a client waits, and no longer: what may take more is left to the worker.
        ends_at = min(call.deadline, self._clock.now() + LONGEST_WAIT_MS / 1000 + TO_SETTLE)

        def start(named: Start) -> Told | Declined:
            return self._workflows.begun(named, published, named.given, call.principal, ends_at)

        return _told(begun(self._workflows, wanted, call.principal, start), tool, call)

    def _was_started(self, wanted: Start, call: Call) -> bool:
        """Whoever comes again is to find it, whatever is so now."""
        if wanted.client_token is None:
            return False
        found = self._workflows.found(self._workflows.id_for(wanted, call.principal), call.principal)
        return isinstance(found, Found) and is_a_call(found.instance.digest)

    def _refusal(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> str | None:
        """What the executor would say of it, as far as it is known already: later nobody listens."""
        tenant = call.principal.tenant
        placement = placement_of(self._functions.state(tenant, function))
        schema = None if placement is None else placement.hosted.input_schema
        violation = None if schema is None else self._validators.violation(schema, arguments)
        if violation is not None:
            return explained(tool, violation)
        left_alone = self._breaker.left_alone(tenant, function)
        return None if left_alone is None else retried(left_alone.message, left_alone.retry_after_ms)


def _told(started: ToolResult, tool: Tool, call: Call) -> ToolResult:
    stand = as_object(started.structured)
    if "pending" not in stand:
        return in_words(started, tool.title or tool.name)
    wait = as_object(stand["pending"])["retryAfterMs"]
    seconds = ceil(wait / 1000) if isinstance(wait, int | float) else 1
    look = simplest(GET.name) if call.portable_names else GET.name
    sentence = (
        f"{tool.title or tool.name} takes longer than a call can wait. It goes on without you, as the run "
        f"{stand['workflowId']}: do not call it again. Call {look} with "
        f"{json.dumps({'workflowId': stand['workflowId']})} in {seconds} s. While the answer has `pending` it is under "
        "way, and after that `context.lastResult` is its result, unless `fault` or `inDoubt` says what went wrong."
    )
    return replace(started, content=[text(sentence)])

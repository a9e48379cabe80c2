"""Calls of functions that take longer than a client waits: the worker makes the call in a run of a workflow, and the
client gets the state of that run, or a task, at once."""

import json
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from signpost.calling.breaker import Breaker
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import LONGEST_WAIT_MS, placement_of
from signpost.mcp.tools import explain_violation
from signpost.model import PROXY_WORKFLOW, Call, CallToolResult, JsonObject, Task, Tool, as_object
from signpost.schema.validation import Validators
from signpost.surfaces.flat.workflow_tools import add_failure_text
from signpost.surfaces.gateway.tool_specs import GET
from signpost.surfaces.gateway.workflow_tools import start_workflow
from signpost.surfaces.reply_results import add_retry_hint, text_block
from signpost.surfaces.tasks import Tasks
from signpost.workflow.instance import Instance, StoredTask
from signpost.workflow.running.attempts import SETTLE_SECONDS
from signpost.workflow.running.function_run import FunctionRun, build_function_run, input_of, parse_digest
from signpost.workflow.running.service import (
    LoadedInstance,
    StartRequest,
    StepResult,
    WorkflowRefusal,
    Workflows,
)
from signpost.workflow.step_questions import StepQuestions

if TYPE_CHECKING:
    from signpost.ports import Clock


class LongCalls:
    """Starts runs for long calls."""

    def __init__(
        self,
        *,
        workflows: Workflows,
        functions: FunctionView,
        breaker: Breaker,
        clock: "Clock",
        validators: Validators,
        tasks: Tasks,
    ) -> None:
        self._tasks = tasks
        self._workflows = workflows
        self._functions = functions
        self._breaker = breaker
        self._clock = clock
        self._validators = validators

    def start(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> CallToolResult | Task:
        """Start a run that makes the call, unless it would be refused, and return it as a task if the client follows
        tasks. If the client's token has started the run before, return that."""
        request = _build_start(function, arguments, call)
        refusal = self._refusal(function, arguments, tool, call)
        if refusal is not None and not self._was_started(request, call):
            return CallToolResult([text_block(refusal)], is_error=True)
        return self._start_run(request, function, tool, call)

    def find_started(
        self, function: str, arguments: JsonObject, tool: Tool, call: Call
    ) -> CallToolResult | Task | None:
        """Return the run that the client's token started while the function was declared to take long; None if there is
        none."""
        request = _build_start(function, arguments, call)
        if not self._was_started(request, call):
            return None
        result = self._start_run(request, function, tool, call)
        # Clients validate a result that is no error against the output schema, which a run does not satisfy.
        return result if isinstance(result, Task) or tool.output_schema is None else replace(result, is_error=True)

    def _start_run(self, request: StartRequest, function: str, tool: Tool, call: Call) -> CallToolResult | Task:
        placement = placement_of(self._functions.state(call.principal.tenant, function))
        is_idempotent = placement is not None and placement.hosted.idempotent
        published = build_function_run(FunctionRun(function, is_idempotent))
        # Only work that fits into the client's wait is done here; longer work and all of a task is left to the worker.
        wait = 0.0 if request.is_task else LONGEST_WAIT_MS / 1000
        ends_at = min(call.deadline, self._clock.now() + wait + SETTLE_SECONDS)
        tasks: list[Instance] = []

        def start(with_id: StartRequest) -> StepResult | WorkflowRefusal:
            result = self._workflows.start_published(with_id, published, with_id.input, call.principal, ends_at)
            if isinstance(result, StepResult) and result.step.instance.is_task:
                tasks.append(result.step.instance)
            return result

        answer = start_workflow(self._workflows, request, call.principal, start)
        task = self._find_task(tasks[0], call) if request.is_task and tasks else None
        return _describe_pending(answer, tool, call) if task is None else task

    def _find_task(self, instance: Instance, call: Call) -> Task | None:
        """Return the task of a run that was started now, or before by the same token; None if it has expired."""
        is_new = instance.claim is not None and instance.claim.standing == "waiting"
        return self._tasks.describe(StoredTask(instance), call) if is_new else self._tasks.get_task(instance.id, call)

    def _was_started(self, request: StartRequest, call: Call) -> bool:
        """Tell whether the client's token has started this run before: a repeated call finds it even if it would be
        refused now."""
        if request.client_token is None:
            return False
        found = self._workflows.load_visible(self._workflows.id_for(request, call.principal), call.principal)
        run = parse_digest(found.instance.digest) if isinstance(found, LoadedInstance) else None
        return run is not None and run.capability is None

    def _refusal(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> str | None:
        """Return the refusal of the call, as far as it is known before the run starts: afterwards no client waits for
        it."""
        tenant = call.principal.tenant
        placement = placement_of(self._functions.state(tenant, function))
        schema = None if placement is None else placement.hosted.input_schema
        violation = None if schema is None else self._validators.find_violation(schema, arguments)
        if violation is not None:
            return explain_violation(call.spell_tool(tool.name), violation)
        open_breaker = self._breaker.find_refusal(call.principal, function)
        return None if open_breaker is None else add_retry_hint(open_breaker.message, open_breaker.retry_after_ms)


def _build_start(function: str, arguments: JsonObject, call: Call) -> StartRequest:
    """Build the start, with the answers that the client has given to the function in earlier rounds of the call. If the
    last of these rounds is repeated, it finds the run that it has started."""
    given = StepQuestions("", {}, call.answers, call.state, thread=call.thread) if call.answers else None
    return StartRequest(
        PROXY_WORKFLOW,
        input_of(function, arguments),
        call.client.token or (call.thread if call.answers else None),
        is_task=call.client.follows_tasks,
        questions=given,
    )


def _describe_pending(started: CallToolResult, tool: Tool, call: Call) -> CallToolResult:
    """Add a text that tells the client how to follow the run or, if it is not pending, why it failed."""
    answer, title = as_object(started.structured), tool.title or call.spell_tool(tool.name)
    if "pending" not in answer:
        return add_failure_text(started, title)
    wait = as_object(answer["pending"])["retryAfterMs"]
    seconds = ceil(wait / 1000) if isinstance(wait, int | float) else 1
    sentence = (
        f"{title} takes longer than a call can wait. It continues in the background as the run "
        f"{answer['workflowId']}: do not call it again. Call {call.spell_tool(GET.name)} with "
        f"{json.dumps({'workflowId': answer['workflowId']})} in {seconds} s. While the answer has `pending`, the run "
        "is not finished; if it has `questions`, answer them by the link `$answer`. After that `context.lastResult` is "
        "its result, unless `fault` or `inDoubt` shows a failure."
    )
    return replace(started, content=[text_block(sentence)])

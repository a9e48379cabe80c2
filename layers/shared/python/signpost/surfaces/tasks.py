"""Tasks of MCP as views of runs: the status, the result and the questions of a run of one function."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.model import Call, CallToolResult, InputRequired, Json, JsonObject, Task, TaskStatus
from signpost.surfaces.reply_results import ReplyResults
from signpost.surfaces.task_questions import NO_QUESTIONS, is_answerable, select_answers, show_questions
from signpost.workflow.instance import Claim, Instance, StoredTask
from signpost.workflow.running.attempts import SETTLE_SECONDS
from signpost.workflow.running.run_tasks import TASK_SECONDS, RunTasks
from signpost.workflow.running.service import Workflows
from signpost.workflow.task_ends import TaskEnd, TaskReply

if TYPE_CHECKING:
    from signpost.ports import Clock, TimeFormat

SHORTEST_POLL, LONGEST_POLL = 1.0, 5.0
"""Bounds, in seconds, of the time after which a client reads a task again."""
UNSHOWN_QUESTIONS = (
    "The function waits for answers. This client does not declare the capabilities for all of its questions. Answer "
    "these by the link `$answer` of the run: workflow.get with the taskId as `workflowId` shows it."
)
POLLS_PER_AGE = 10
"""A client that reads a task each time after the proposed pause finds its end after at most a tenth more time."""


class Tasks:
    """Shows, answers and cancels tasks. See `mcp.providers.TaskProvider`."""

    def __init__(
        self,
        *,
        runs: RunTasks,
        workflows: Workflows,
        results: ReplyResults,
        clock: "Clock",
        times: "TimeFormat",
    ) -> None:
        self._runs = runs
        self._workflows = workflows
        self._results = results
        self._clock = clock
        self._times = times

    def get_task(self, task_id: str, call: Call) -> Task | None:
        found = self._runs.find(task_id, call.principal)
        return None if found is None else self.describe(found, call)

    def answer_task(self, task_id: str, responses: Mapping[str, Json], call: Call) -> bool:
        found = self._runs.find(task_id, call.principal)
        if found is None:
            return False
        given = select_answers(found.instance, responses)
        if given and found.end is None:
            self._workflows.answer_questions(task_id, given, call.principal, self._ends_at(call))
        return True

    def cancel_task(self, task_id: str, call: Call) -> bool:
        return self._runs.cancel(task_id, call.principal, self._ends_at(call))

    def describe(self, stored: StoredTask, call: Call) -> Task:
        """Describe a task to its client, with the questions that this client can be asked."""
        instance, end, now = stored.instance, stored.end, self._clock.now()
        asked = show_questions(instance) if end is None else NO_QUESTIONS
        declared = call.client.capabilities
        shown = {key: question for key, question in asked.items() if is_answerable(question, declared)}
        status: TaskStatus = end.status if end is not None else "input_required" if asked else "working"
        return Task(
            id=instance.id,
            status=status,
            created_at=self._times.text_of(instance.started_at),
            updated_at=self._times.text_of(_changed_at(instance, end)),
            ttl_ms=round(TASK_SECONDS * 1000),
            poll_ms=_poll_ms(instance, now),
            message=_message_of(instance, end, len(asked), len(shown), now),
            result=None if end is None or end.reply is None else self._build_result(end.reply),
            failure=None if end is None or end.status != "failed" else _describe_failure(end),
            questions=shown,
        )

    def _build_result(self, reply: TaskReply) -> CallToolResult:
        read = wire.read_reply(reply.message)
        assert not isinstance(read, InputRequired)  # noqa: S101 - questions never end a task
        return self._results.build(read, has_output_schema=reply.has_output_schema)

    def _ends_at(self, call: Call) -> float:
        """Return a time that leaves room for writes, and none for functions: these are left to the worker."""
        return min(call.deadline, self._clock.now() + SETTLE_SECONDS)


def _changed_at(instance: Instance, end: TaskEnd | None) -> float:
    if end is not None:
        return end.at
    return instance.started_at if instance.link is None else max(instance.started_at, instance.link.at)


def _poll_ms(instance: Instance, now: float) -> int:
    age = now - instance.started_at
    return round(min(max(age / POLLS_PER_AGE, SHORTEST_POLL), LONGEST_POLL) * 1000)


def _message_of(instance: Instance, end: TaskEnd | None, asked: int, shown: int, now: float) -> str:
    if end is not None:
        return end.message
    if asked > shown:
        return UNSHOWN_QUESTIONS
    if asked:
        return "The function waits for answers to its questions."
    return "" if instance.claim is None else _describe_wait(instance.claim, now)


def _describe_wait(claim: Claim, now: float) -> str:
    if claim.is_held(now):
        return f"The function is running, attempt {claim.attempt}."
    if claim.standing == "running" or claim.lost:
        return "The function was interrupted and is called again."
    return "The function is called shortly."


def _describe_failure(end: TaskEnd) -> JsonObject:
    code: JsonObject = {"code": end.code} if end.code else {}
    return {**code, "effect": "unknown" if end.is_effect_unknown else "none"}

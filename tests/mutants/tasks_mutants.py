"""Mutants of tasks: their owner, their one end, cancellation, lost workers and questions."""

from tests.mutants.mutant import Mutant

_SHARED = "layers/shared/python/signpost"
_OF_TASKS = ("tests/interaction/test_tasks.py",)

TASKS_MUTANTS = (
    Mutant(
        name="task-of-another-principal",
        invariant=163,
        file=f"{_SHARED}/workflow/running/run_tasks.py",
        there="return head.is_task and is_starter(head, principal) and",
        instead="return head.is_task and",
        tests=_OF_TASKS,
    ),
    Mutant(
        name="required-task-without-the-extension",
        invariant=164,
        file=f"{_SHARED}/mcp/tools.py",
        there="    if not tool.is_task or request.call.client.follows_tasks or not request.revision.is_modern:",
        instead="    if tool.is_task or not tool.is_task:",
        tests=_OF_TASKS,
    ),
    Mutant(
        name="last-end-of-a-task-stays",
        invariant=165,
        file=f"{_SHARED}/adapters/dynamodb/instances.py",
        there="SET ended = if_not_exists(ended, :ended)",
        instead="SET ended = :ended",
        tests=("tests/contract/test_task_ends.py",),
        needs="table",
    ),
    Mutant(
        name="cancelled-task-executed",
        invariant=166,
        file=f"{_SHARED}/workflow/running/wakeups.py",
        there="if self._workflows.is_unwanted(tenant, instance):",
        instead="if False:",
        tests=_OF_TASKS,
    ),
    Mutant(
        name="lost-task-keeps-working",
        invariant=167,
        file=f"{_SHARED}/workflow/running/run_tasks.py",
        there="return claim is not None and claim.is_in_doubt(now)",
        instead="return False",
        tests=_OF_TASKS,
    ),
    Mutant(
        name="stated-failure-fails-the-task",
        invariant=168,
        file=f"{_SHARED}/workflow/running/executors/function.py",
        there='SHOWN_FAILURE_CODES = frozenset({REPORTED, "invalid_arguments"})',
        instead='SHOWN_FAILURE_CODES = frozenset({"invalid_arguments"})',
        tests=_OF_TASKS,
    ),
    Mutant(
        name="key-of-a-question-used-again",
        invariant=169,
        file=f"{_SHARED}/surfaces/task_questions.py",
        there='    return f"{questions.round}.{key}"',
        instead='    return f"1.{key}"',
        tests=_OF_TASKS,
    ),
)

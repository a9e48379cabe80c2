"""`signpost workflow resolve` and `cancel`: what is shown is what is said something of, and a refusal says why."""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, override

import pytest

from signpost.cli import main, stack
from signpost.cli.failure import NoServerAnswer
from signpost.model import Principal
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.ports import Deferral, StepAttempt, StepOutcome
from signpost.workflow.step_questions import StepQuestions
from tests.support.gateway_workflows import TENANT
from tests.support.operator_workflows import URL, OperatorWorkflows, start_workflow, submit_transition
from tests.support.played_executors import ExecutorCrash, ScriptedExecutor
from tests.support.step_cases import ATTEMPT_SECONDS, LEASE_SECONDS, UNKNOWN_OUTCOME, define_step

BROKEN = ExecutorFailure("permanent_error", "Never.")
CALLERS: Mapping[str, Principal] = {
    "agent": Principal("agent-1", TENANT, "t"),
    "rosa": Principal("rosa", TENANT, "t", permissions=frozenset({"workflow.resolve"})),
    "carl": Principal("carl", TENANT, "t", permissions=frozenset({"workflow.cancel"})),
    "nobody": Principal("nobody", TENANT, "t"),
}

type RunCommand = Callable[..., tuple[int, str, str]]
"""A command: its exit code, what it prints, and what it says besides."""
type Entry = StepOutcome | ExecutorCrash | Callable[[StepAttempt], StepOutcome]


class Terminal(StringIO):
    """Somebody sits at it, and types this."""

    @override
    def isatty(self) -> bool:
        return True


def answer_with(answer: str, questions: list[str] | None = None) -> Callable[[str], str]:
    def asked(question: str) -> str:
        if questions is not None:
            questions.append(question)
        return answer

    return asked


@pytest.fixture
def operator_workflows(monkeypatch: pytest.MonkeyPatch) -> OperatorWorkflows:
    return OperatorWorkflows(CALLERS, monkeypatch)


@pytest.fixture
def run_command(operator_workflows: OperatorWorkflows, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    def run(*arguments: str, who: str) -> tuple[int, str, str]:
        operator_workflows.terminal_caller = who
        capsys.readouterr()
        code = main(["workflow", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def start_instance(
    operated: OperatorWorkflows, *entries: Entry, document: Any = None, seconds: float = ATTEMPT_SECONDS
) -> tuple[str, ScriptedExecutor]:
    """A run whose `go` plays these."""
    script = ScriptedExecutor(*entries, seconds=seconds)
    operated.world.add_step_executor("act", script)
    operated.publish("demo", document or define_step())
    return start_workflow(operated, "demo"), script


def start_in_doubt(operated: OperatorWorkflows, *entries: Entry, document: Any = None) -> tuple[str, ScriptedExecutor]:
    run, script = start_instance(operated, UNKNOWN_OUTCOME, *entries, document=document)
    assert submit_transition(operated, run, "go")["inDoubt"]
    return run, script


def chained_document() -> Any:
    """What follows `go` by itself executes something as well."""
    document = define_step()
    hop = {"target": "late", "actor": "deterministic", "executor": {"kind": "act"}}
    document["states"]["b"] = {"transitions": {"hop": hop}}
    return document


def get_instance(operated: OperatorWorkflows, run: str) -> Any:
    return operated.call("workflow.get", {"workflowId": run}, "agent")


def test_an_execution_in_doubt_is_executed_once_more(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, script = start_in_doubt(operator_workflows, ExecutorOutcome("done"))
    code, printed, said = run_command("resolve", run, "--retry", "--yes", who="rosa")
    assert (code, said, printed.splitlines()) == (
        0,
        "",
        [
            f"{run} is in state a, version 1.",
            "in doubt: go. It was not heard of again.",
            f"{run} is in state b, version 2, and has ended.",
        ],
    )
    assert (get_instance(operator_workflows, run)["context"], len(script.attempts)) == ({"went": "done"}, 2)
    assert operator_workflows.urls == [URL]


@pytest.mark.parametrize(
    ("written", "output"),
    [((), None), (("--output", '{"receipt": ["R-1", null]}'), {"receipt": ["R-1", None]}), (("--output", '"x"'), "x")],
)
def test_an_execution_is_resolved_as_happened_with_its_output(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, written: tuple[str, ...], output: Any
) -> None:
    run, script = start_in_doubt(operator_workflows)
    code, printed, _ = run_command("resolve", run, "--happened", *written, "--yes", who="rosa")
    assert (code, printed.splitlines()[-1]) == (0, f"{run} is in state b, version 2, and has ended.")
    assert (get_instance(operator_workflows, run)["context"], len(script.attempts)) == ({"went": output}, 1)


def test_an_execution_resolved_as_not_happened_can_be_submitted_again(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, script = start_in_doubt(operator_workflows, ExecutorOutcome("done"))
    code, printed, _ = run_command("resolve", run, "--did-not-happen", "--yes", who="rosa")
    assert (code, printed.splitlines()[-1]) == (0, f"{run} is in state a, version 1.")
    assert len(script.attempts) == 1
    assert submit_transition(operator_workflows, run, "go")["state"] == "b"


def test_a_retry_that_asks_says_that_it_waits_for_answers(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    asking = Deferral(0.0, "answers", questions=StepQuestions("q", {"root": {"method": "roots/list"}}))
    run, _ = start_in_doubt(operator_workflows, asking)
    code, printed, _ = run_command("resolve", run, "--retry", "--yes", who="rosa")
    assert (code, "go waits for answers to its questions." in printed) == (0, True)
    code, _, said = run_command("resolve", run, "--retry", "--yes", who="rosa")
    assert (code, said) == (1, "signpost: go waits for answers to its questions.\n")


@pytest.mark.parametrize("how", ["--retry", "--happened", "--did-not-happen"])
def test_a_refused_resolution_names_the_missing_permission(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, how: str
) -> None:
    run, script = start_in_doubt(operator_workflows)
    transition = "$retry" if how == "--retry" else "$resolve"
    code, _, said = run_command("resolve", run, how, "--yes", who="carl")
    assert (code, said) == (1, f"signpost: {transition} needs the permission workflow.resolve.\n")
    assert (len(script.attempts), "inDoubt" in get_instance(operator_workflows, run)) == (1, True)


def test_an_instance_without_a_doubt_is_refused(operator_workflows: OperatorWorkflows, run_command: RunCommand) -> None:
    run, _ = start_instance(operator_workflows)
    code, printed, said = run_command("resolve", run, "--happened", "--yes", who="rosa")
    assert (code, printed, said) == (1, "", "signpost: No step of this run is in doubt; it is in state a.\n")


def test_a_running_execution_is_refused(operator_workflows: OperatorWorkflows, run_command: RunCommand) -> None:
    run, _ = start_instance(operator_workflows, seconds=100)
    submit_transition(operator_workflows, run, "go")
    assert run_command("resolve", run, "--retry", "--yes", who="rosa") == (
        1,
        "",
        "signpost: go is still under way. Try again in a moment.\n",
    )


def test_an_execution_that_may_be_running_is_refused_with_a_waiting_time(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, script = start_instance(
        operator_workflows, ExecutorFailure("timeout", "It was not waited for.", "unknown", has_ended=False)
    )
    submit_transition(operator_workflows, run, "go")
    code, _, said = run_command("resolve", run, "--did-not-happen", "--yes", who="rosa")
    message = "The execution may still be running. Read the workflow again when it has ended."
    assert (code, said) == (1, f"signpost: {message} Try again in {LEASE_SECONDS:.0f} seconds.\n")
    assert len(script.attempts) == 1


@pytest.mark.parametrize("command", [("resolve", "--retry"), ("cancel",)])
def test_an_unknown_instance_is_reported(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, command: tuple[str, ...]
) -> None:
    start_instance(operator_workflows)
    code, printed, said = run_command(command[0], "wf_0", *command[1:], "--yes", who="rosa")
    assert (code, printed, said) == (1, "", "signpost: There is no workflow wf_0 that you may see.\n")


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("done", "expecting value"),
        ("{'a': 1}", "expecting property name enclosed in double quotes"),
        ("NaN", "NaN is not a JSON number"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ("", "expecting value"),
    ],
)
def test_an_output_that_is_no_json_is_refused_without_a_call(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, written: str, why: str
) -> None:
    code, _, said = run_command("resolve", "wf_0", "--happened", "--output", written, who="rosa")
    advice = """Write a text with its quotation marks, as in '"sent"'."""
    assert (code, said) == (1, f"signpost: --output is not valid JSON ({why}). {advice}\n")
    assert operator_workflows.urls == []


@pytest.mark.parametrize("how", ["--retry", "--did-not-happen"])
def test_an_output_needs_the_option_happened(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, how: str
) -> None:
    code, _, said = run_command("resolve", "wf_0", how, "--output", "1", who="rosa")
    assert (code, said) == (1, "signpost: --output gives the result of the step, and needs --happened.\n")
    assert operator_workflows.urls == []


@pytest.mark.parametrize("how", [(), ("--retry", "--happened"), ("--happened", "--did-not-happen")])
def test_exactly_one_resolution_is_accepted(run_command: RunCommand, how: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as left:
        run_command("resolve", "wf_0", *how, who="rosa")
    assert left.value.code == 2


@pytest.mark.parametrize("command", [("resolve", "--retry"), ("cancel",)])
def test_nothing_is_sent_without_a_confirmation(
    operator_workflows: OperatorWorkflows,
    run_command: RunCommand,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    run, script = start_in_doubt(operator_workflows)
    before = get_instance(operator_workflows, run)
    questions: list[str] = []
    monkeypatch.setattr("sys.stdin", StringIO())
    code, _, said = run_command(command[0], run, *command[1:], who="rosa")
    unconfirmed = "signpost: Nothing was changed: there is no terminal to confirm on. Use --yes"
    assert (code, said.startswith(unconfirmed)) == (1, True)
    monkeypatch.setattr("sys.stdin", Terminal())
    for answer in ("", "n", "perhaps"):
        monkeypatch.setattr("builtins.input", answer_with(answer, questions))
        code, _, said = run_command(command[0], run, *command[1:], who="rosa")
        assert (code, said) == (1, "signpost: Nothing was changed.\n")
    words = "Execute the step once more?" if command[0] == "resolve" else "End this run?"
    assert questions == [f"{words} [y/N] "] * 3
    assert (get_instance(operator_workflows, run), len(script.attempts)) == (before, 1)


def test_a_confirmed_resolution_is_sent(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = start_in_doubt(operator_workflows)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", answer_with("y"))
    assert run_command("resolve", run, "--happened", who="rosa")[0] == 0
    assert get_instance(operator_workflows, run)["state"] == "b"


def test_a_resolution_applies_only_to_the_execution_that_was_shown(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else has it executed once more, while who sits here thinks about it."""

    def meanwhile(_: str) -> str:
        doubt = get_instance(operator_workflows, run)["inDoubt"]
        submit_transition(operator_workflows, run, "$retry", "rosa", claim=doubt["claim"])
        return "y"

    run, script = start_in_doubt(operator_workflows, UNKNOWN_OUTCOME)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", meanwhile)
    code, _, said = run_command("resolve", run, "--did-not-happen", who="rosa")
    assert (code, said) == (1, "signpost: The step was executed again since you read the workflow. Read it again.\n")
    assert ("inDoubt" in get_instance(operator_workflows, run), len(script.attempts)) == (True, 2)


def test_an_execution_in_doubt_again_is_reported(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, _ = start_in_doubt(operator_workflows, UNKNOWN_OUTCOME)
    code, _, said = run_command("resolve", run, "--retry", "--yes", who="rosa")
    expected = "signpost: The step was executed again, and is in doubt again: It was not heard of again.\n"
    assert (code, said) == (1, expected)


def test_a_recorded_resolution_with_a_failed_chain_reports_both(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, _ = start_in_doubt(operator_workflows, BROKEN, document=chained_document())
    code, _, said = run_command("resolve", run, "--happened", "--yes", who="rosa")
    assert (code, said) == (
        1,
        f"signpost: Your decision is recorded, but a later step failed: Never. {run} is in state b, version 2.\n",
    )


def test_a_retry_that_continues_in_the_worker_is_reported_as_under_way(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, script = start_in_doubt(operator_workflows, ExecutorOutcome("done"))
    monkeypatch.setattr(script, "timeout_seconds", ScriptedExecutor(seconds=100).timeout_seconds)
    code, printed, _ = run_command("resolve", run, "--retry", "--yes", who="rosa")
    assert (code, printed.splitlines()[-1]) == (
        0,
        f"go is under way. See `signpost workflow timeline {run}` for its result.",
    )
    operator_workflows.world.run_until_idle()
    assert get_instance(operator_workflows, run)["state"] == "b"


def test_starter_and_permitted_principal_can_cancel_an_instance(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    for who in ("agent", "carl"):
        run, _ = start_instance(operator_workflows)
        code, _, said = run_command("cancel", run, "--yes", who="nobody")
        message = "Only its starter can cancel this workflow without the permission workflow.cancel."
        assert (code, said) == (1, f"signpost: {message}\n")
        assert run_command("cancel", run, "--yes", who=who) == (
            0,
            f"{run} is in state a, version 1.\n{run} is in state a, version 2, cancelled.\n",
            "",
        )
        code, _, said = run_command("cancel", run, "--yes", who=who)
        assert (code, said) == (1, "signpost: The workflow has already ended.\n")


def test_an_instance_in_doubt_cannot_be_cancelled(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, _ = start_in_doubt(operator_workflows)
    code, _, said = run_command("cancel", run, "--yes", who="carl")
    assert (code, "its result is unknown" in said, get_instance(operator_workflows, run)["version"]) == (1, True, 1)


def test_an_instance_past_its_deadline_is_not_cancelled(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, _ = start_instance(operator_workflows, document=define_step(timeoutMs=60_000, onTimeout={"target": "late"}))

    def late(_: str) -> str:
        operator_workflows.world.clock.advance(61)
        return "y"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdin", Terminal())
        patched.setattr("builtins.input", late)
        code, _, said = run_command("cancel", run, who="agent")
    stands = f"{run} is in state late, version 2, and has ended."
    assert (code, said) == (
        1,
        f"signpost: This changed nothing: the run had timed out before. {stands}\n",
    )


def test_a_command_with_a_url_needs_no_stack(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = start_in_doubt(operator_workflows)
    monkeypatch.setattr(stack, "open_workflows", None)
    elsewhere = ("--yes", "--url", "https://elsewhere.test/mcp")
    assert run_command("resolve", run, "--did-not-happen", *elsewhere, who="rosa")[0] == 0
    assert run_command("cancel", run, *elsewhere, who="agent")[0] == 0
    assert operator_workflows.urls == ["https://elsewhere.test/mcp"] * 2


def test_a_missing_answer_is_reported_as_possibly_done(
    operator_workflows: OperatorWorkflows, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(tool: str, arguments: Mapping[str, Any], who: str) -> Any:
        if tool == "workflow.submit":
            raise NoServerAnswer("No answer came.")
        return answers(tool, arguments, who)

    run, _ = start_in_doubt(operator_workflows)
    answers = operator_workflows.call
    monkeypatch.setattr(operator_workflows, "call", silent)
    code, _, said = run_command("resolve", run, "--happened", "--yes", who="rosa")
    advice = "see `signpost workflow timeline`."
    assert (code, said) == (1, f"signpost: No answer came. The change may have been made nevertheless: {advice}\n")


def test_control_characters_in_stored_texts_are_escaped(
    operator_workflows: OperatorWorkflows, run_command: RunCommand
) -> None:
    run, _ = start_instance(operator_workflows, ExecutorFailure("timeout", "Gone.\x1b[2J\n\u202e", "unknown"))
    submit_transition(operator_workflows, run, "go")
    code, printed, _ = run_command("resolve", run, "--did-not-happen", "--yes", who="rosa")
    assert (code, r"in doubt: go. Gone.\x1b[2J\n\u202e" in printed, "\x1b" in printed) == (0, True, False)

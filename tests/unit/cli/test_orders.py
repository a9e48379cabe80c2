"""`signpost workflow resolve` and `cancel`: what is shown is what is said something of, and a refusal says why."""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, override

import pytest

from signpost.cli import main, stack
from signpost.cli.failure import NoServerAnswer
from signpost.model import Principal
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.ports import StepAttempt, StepOutcome
from tests.support.machines import Crash, Script
from tests.support.operated_workflows import URL, OperatedWorkflows, started, take
from tests.support.step_cases import LEASE, SECONDS, UNKNOWN, executing
from tests.support.workflow_world import TENANT

BROKEN = ExecutorFailure("permanent_error", "Never.")
CALLERS: Mapping[str, Principal] = {
    "agent": Principal("agent-1", TENANT, "t"),
    "rosa": Principal("rosa", TENANT, "t", permissions=frozenset({"workflow.resolve"})),
    "carl": Principal("carl", TENANT, "t", permissions=frozenset({"workflow.cancel"})),
    "nobody": Principal("nobody", TENANT, "t"),
}

type Says = Callable[..., tuple[int, str, str]]
"""A command: its exit code, what it prints, and what it says besides."""
type Entry = StepOutcome | Crash | Callable[[StepAttempt], StepOutcome]


class Terminal(StringIO):
    """Somebody sits at it, and types this."""

    @override
    def isatty(self) -> bool:
        return True


def typing(answer: str, questions: list[str] | None = None) -> Callable[[str], str]:
    def asked(question: str) -> str:
        if questions is not None:
            questions.append(question)
        return answer

    return asked


@pytest.fixture
def operated(monkeypatch: pytest.MonkeyPatch) -> OperatedWorkflows:
    return OperatedWorkflows(CALLERS, monkeypatch)


@pytest.fixture
def says(operated: OperatedWorkflows, capsys: pytest.CaptureFixture[str]) -> Says:
    def run(*arguments: str, who: str) -> tuple[int, str, str]:
        operated.at_terminal = who
        capsys.readouterr()
        code = main(["workflow", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def begun(
    operated: OperatedWorkflows, *entries: Entry, document: Any = None, seconds: float = SECONDS
) -> tuple[str, Script]:
    """A run whose `go` plays these."""
    script = Script(*entries, seconds=seconds)
    operated.world.has("act", script)
    operated.publish("demo", document or executing())
    return started(operated, "demo"), script


def doubtful(operated: OperatedWorkflows, *entries: Entry, document: Any = None) -> tuple[str, Script]:
    run, script = begun(operated, UNKNOWN, *entries, document=document)
    assert take(operated, run, "go")["inDoubt"]
    return run, script


def chained() -> Any:
    """What follows `go` by itself executes something as well."""
    document = executing()
    hop = {"target": "late", "actor": "deterministic", "executor": {"kind": "act"}}
    document["states"]["b"] = {"transitions": {"hop": hop}}
    return document


def seen(operated: OperatedWorkflows, run: str) -> Any:
    return operated.call("workflow.get", {"workflowId": run}, "agent")


def test_what_is_in_doubt_is_executed_once_more(operated: OperatedWorkflows, says: Says) -> None:
    run, script = doubtful(operated, ExecutorOutcome("done"))
    code, printed, said = says("resolve", run, "--retry", "--yes", who="rosa")
    assert (code, said, printed.splitlines()) == (
        0,
        "",
        [
            f"{run} is in state a, version 1.",
            "in doubt: go. It was not heard of again.",
            f"{run} is in state b, version 2, and has ended.",
        ],
    )
    assert (seen(operated, run)["context"], len(script.errands)) == ({"went": "done"}, 2)
    assert operated.urls == [URL]


@pytest.mark.parametrize(
    ("written", "output"),
    [((), None), (("--output", '{"receipt": ["R-1", null]}'), {"receipt": ["R-1", None]}), (("--output", '"x"'), "x")],
)
def test_what_has_happened_is_said_with_its_output(
    operated: OperatedWorkflows, says: Says, written: tuple[str, ...], output: Any
) -> None:
    run, script = doubtful(operated)
    code, printed, _ = says("resolve", run, "--happened", *written, "--yes", who="rosa")
    assert (code, printed.splitlines()[-1]) == (0, f"{run} is in state b, version 2, and has ended.")
    assert (seen(operated, run)["context"], len(script.errands)) == ({"went": output}, 1)


def test_what_has_not_happened_can_be_done_anew(operated: OperatedWorkflows, says: Says) -> None:
    run, script = doubtful(operated, ExecutorOutcome("done"))
    code, printed, _ = says("resolve", run, "--did-not-happen", "--yes", who="rosa")
    assert (code, printed.splitlines()[-1]) == (0, f"{run} is in state a, version 1.")
    assert len(script.errands) == 1
    assert take(operated, run, "go")["state"] == "b"


@pytest.mark.parametrize("how", ["--retry", "--happened", "--did-not-happen"])
def test_whoever_may_not_resolve_is_told_which_permission_it_needs(
    operated: OperatedWorkflows, says: Says, how: str
) -> None:
    run, script = doubtful(operated)
    transition = "$retry" if how == "--retry" else "$resolve"
    code, _, said = says("resolve", run, how, "--yes", who="carl")
    assert (code, said) == (1, f"signpost: {transition} needs the permission workflow.resolve.\n")
    assert (len(script.errands), "inDoubt" in seen(operated, run)) == (1, True)


def test_where_nothing_is_in_doubt_that_is_said(operated: OperatedWorkflows, says: Says) -> None:
    run, _ = begun(operated)
    code, printed, said = says("resolve", run, "--happened", "--yes", who="rosa")
    assert (code, printed, said) == (1, "", "signpost: No step of this run is in doubt; it is in state a.\n")


def test_what_is_still_under_way_is_to_be_looked_at_again(operated: OperatedWorkflows, says: Says) -> None:
    run, _ = begun(operated, seconds=100)
    take(operated, run, "go")
    assert says("resolve", run, "--retry", "--yes", who="rosa") == (
        1,
        "",
        "signpost: go is still under way. Try again in a moment.\n",
    )


def test_what_may_still_be_running_is_resolved_later_and_when_is_said(operated: OperatedWorkflows, says: Says) -> None:
    run, script = begun(operated, ExecutorFailure("timeout", "It was not waited for.", "unknown", has_ended=False))
    take(operated, run, "go")
    code, _, said = says("resolve", run, "--did-not-happen", "--yes", who="rosa")
    message = "The execution may still be running. Read the workflow again when it has ended."
    assert (code, said) == (1, f"signpost: {message} Try again in {LEASE:.0f} seconds.\n")
    assert len(script.errands) == 1


@pytest.mark.parametrize("command", [("resolve", "--retry"), ("cancel",)])
def test_a_run_that_is_not_there_is_said(operated: OperatedWorkflows, says: Says, command: tuple[str, ...]) -> None:
    begun(operated)
    code, printed, said = says(command[0], "wf_0", *command[1:], "--yes", who="rosa")
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
def test_an_output_that_is_no_json_is_refused_before_anything_is_asked(
    operated: OperatedWorkflows, says: Says, written: str, why: str
) -> None:
    code, _, said = says("resolve", "wf_0", "--happened", "--output", written, who="rosa")
    advice = """Write a text with its quotation marks, as in '"sent"'."""
    assert (code, said) == (1, f"signpost: --output is not valid JSON ({why}). {advice}\n")
    assert operated.urls == []


@pytest.mark.parametrize("how", ["--retry", "--did-not-happen"])
def test_only_what_has_happened_has_an_output(operated: OperatedWorkflows, says: Says, how: str) -> None:
    code, _, said = says("resolve", "wf_0", how, "--output", "1", who="rosa")
    assert (code, said) == (1, "signpost: --output gives the result of the step, and needs --happened.\n")
    assert operated.urls == []


@pytest.mark.parametrize("how", [(), ("--retry", "--happened"), ("--happened", "--did-not-happen")])
def test_exactly_one_thing_is_said(says: Says, how: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as left:
        says("resolve", "wf_0", *how, who="rosa")
    assert left.value.code == 2


@pytest.mark.parametrize("command", [("resolve", "--retry"), ("cancel",)])
def test_nothing_is_sent_that_nobody_means(
    operated: OperatedWorkflows, says: Says, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    run, script = doubtful(operated)
    before = seen(operated, run)
    questions: list[str] = []
    monkeypatch.setattr("sys.stdin", StringIO())
    code, _, said = says(command[0], run, *command[1:], who="rosa")
    unconfirmed = "signpost: Nothing was changed: there is no terminal to confirm on. Use --yes"
    assert (code, said.startswith(unconfirmed)) == (1, True)
    monkeypatch.setattr("sys.stdin", Terminal())
    for answer in ("", "n", "perhaps"):
        monkeypatch.setattr("builtins.input", typing(answer, questions))
        code, _, said = says(command[0], run, *command[1:], who="rosa")
        assert (code, said) == (1, "signpost: Nothing was changed.\n")
    words = "Execute the step once more?" if command[0] == "resolve" else "End this run?"
    assert questions == [f"{words} [y/N] "] * 3
    assert (seen(operated, run), len(script.errands)) == (before, 1)


def test_whoever_means_it_says_so(operated: OperatedWorkflows, says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = doubtful(operated)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", typing("y"))
    assert says("resolve", run, "--happened", who="rosa")[0] == 0
    assert seen(operated, run)["state"] == "b"


def test_what_was_said_goes_for_the_execution_that_was_shown(
    operated: OperatedWorkflows, says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else has it executed once more, while who sits here thinks about it."""

    def meanwhile(_: str) -> str:
        doubt = seen(operated, run)["inDoubt"]
        take(operated, run, "$retry", "rosa", claim=doubt["claim"])
        return "y"

    run, script = doubtful(operated, UNKNOWN)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", meanwhile)
    code, _, said = says("resolve", run, "--did-not-happen", who="rosa")
    assert (code, said) == (1, "signpost: The step was executed again since you read the workflow. Read it again.\n")
    assert ("inDoubt" in seen(operated, run), len(script.errands)) == (True, 2)


def test_what_is_in_doubt_again_is_said_so(operated: OperatedWorkflows, says: Says) -> None:
    run, _ = doubtful(operated, UNKNOWN)
    code, _, said = says("resolve", run, "--retry", "--yes", who="rosa")
    expected = "signpost: The step was executed again, and is in doubt again: It was not heard of again.\n"
    assert (code, said) == (1, expected)


def test_of_what_is_recorded_and_what_follows_it_failed_both_are_said(operated: OperatedWorkflows, says: Says) -> None:
    run, _ = doubtful(operated, BROKEN, document=chained())
    code, _, said = says("resolve", run, "--happened", "--yes", who="rosa")
    assert (code, said) == (
        1,
        f"signpost: Your decision is recorded, but a later step failed: Never. {run} is in state b, version 2.\n",
    )


def test_what_goes_on_without_whoever_said_so_is_under_way(
    operated: OperatedWorkflows, says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, script = doubtful(operated, ExecutorOutcome("done"))
    monkeypatch.setattr(script, "timeout_seconds", Script(seconds=100).timeout_seconds)
    code, printed, _ = says("resolve", run, "--retry", "--yes", who="rosa")
    assert (code, printed.splitlines()[-1]) == (
        0,
        f"go is under way. See `signpost workflow timeline {run}` for its result.",
    )
    operated.world.settle()
    assert seen(operated, run)["state"] == "b"


def test_whoever_started_it_and_whoever_may_cancel_it(operated: OperatedWorkflows, says: Says) -> None:
    for who in ("agent", "carl"):
        run, _ = begun(operated)
        code, _, said = says("cancel", run, "--yes", who="nobody")
        message = "Only its starter can cancel this workflow without the permission workflow.cancel."
        assert (code, said) == (1, f"signpost: {message}\n")
        assert says("cancel", run, "--yes", who=who) == (
            0,
            f"{run} is in state a, version 1.\n{run} is in state a, version 2, cancelled.\n",
            "",
        )
        code, _, said = says("cancel", run, "--yes", who=who)
        assert (code, said) == (1, "signpost: The workflow has already ended.\n")


def test_what_is_in_doubt_is_resolved_before_it_is_cancelled(operated: OperatedWorkflows, says: Says) -> None:
    run, _ = doubtful(operated)
    code, _, said = says("cancel", run, "--yes", who="carl")
    assert (code, "its result is unknown" in said, seen(operated, run)["version"]) == (1, True, 1)


def test_whose_time_is_over_is_not_cancelled_any_more(operated: OperatedWorkflows, says: Says) -> None:
    run, _ = begun(operated, document=executing(timeoutMs=60_000, onTimeout={"target": "late"}))

    def late(_: str) -> str:
        operated.world.clock.advance(61)
        return "y"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdin", Terminal())
        patched.setattr("builtins.input", late)
        code, _, said = says("cancel", run, who="agent")
    stands = f"{run} is in state late, version 2, and has ended."
    assert (code, said) == (
        1,
        f"signpost: This changed nothing: the run had timed out before. {stands}\n",
    )


def test_whoever_names_the_server_needs_no_stack(
    operated: OperatedWorkflows, says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = doubtful(operated)
    monkeypatch.setattr(stack, "open_workflows", None)
    elsewhere = ("--yes", "--url", "https://elsewhere.test/mcp")
    assert says("resolve", run, "--did-not-happen", *elsewhere, who="rosa")[0] == 0
    assert says("cancel", run, *elsewhere, who="agent")[0] == 0
    assert operated.urls == ["https://elsewhere.test/mcp"] * 2


def test_who_hears_no_answer_is_told_that_it_may_have_been_done(
    operated: OperatedWorkflows, says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(tool: str, arguments: Mapping[str, Any], who: str) -> Any:
        if tool == "workflow.submit":
            raise NoServerAnswer("No answer came.")
        return answers(tool, arguments, who)

    run, _ = doubtful(operated)
    answers = operated.call
    monkeypatch.setattr(operated, "call", silent)
    code, _, said = says("resolve", run, "--happened", "--yes", who="rosa")
    advice = "see `signpost workflow timeline`."
    assert (code, said) == (1, f"signpost: No answer came. The change may have been made nevertheless: {advice}\n")


def test_what_others_wrote_gives_the_terminal_no_orders(operated: OperatedWorkflows, says: Says) -> None:
    run, _ = begun(operated, ExecutorFailure("timeout", "Gone.\x1b[2J\n\u202e", "unknown"))
    take(operated, run, "go")
    code, printed, _ = says("resolve", run, "--did-not-happen", "--yes", who="rosa")
    assert (code, r"in doubt: go. Gone.\x1b[2J\n\u202e" in printed, "\x1b" in printed) == (0, True, False)

"""The command: which checks it runs, what it prints, and what it says about checks that cannot look."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from signpost.cli import main
from signpost.cli.doctor import doctor_command
from signpost.cli.doctor.doctor_command import CHECKS, build_document, format_diagnosis
from signpost.cli.doctor.examination import EXAMINATIONS, Examine, examine_stack, run_check
from signpost.cli.doctor.findings import CheckReport, Diagnosis, Finding, Unseen, error, note, warning
from signpost.cli.doctor.readers import endpoint, stack_description
from signpost.cli.doctor.readers.examined_stack import ExaminedOutputs, ExaminedStack, MissingOutput
from signpost.cli.doctor.readers.partial_reads import PartialReads, describe_fault, is_missing, read_existing
from signpost.cli.doctor.readers.stack_description import describe_skew, read_date
from signpost.cli.doctor.rules.clocks import ClockReading
from signpost.cli.failure import NoServerAnswer
from signpost.cli.login import http
from signpost.errors import Unavailable
from tests.support.imports import imported_by

BAD = error("dead_letters", "FailedWork", "One message.", "`signpost workflow retry`")
ODD = warning("clock_differs", "clock", "Ahead.", "Set it.")
SMALL = note("tenant_claim_empty", "TenantClaim", "It is empty.", "Name it.")


def client_error(code: str, message: str = "", status: int = 400, **headers: str) -> ClientError:
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}
    return ClientError(response, "DescribeAlarms")


def stack_without(outputs: dict[str, str] | None = None) -> ExaminedStack:
    description: Any = {
        "StackName": "signpost",
        "StackStatus": "CREATE_COMPLETE",
        "Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in (outputs or {}).items()],
    }
    return ExaminedStack(description, ClockReading(0.0, 0.0, 0.0), "us-east-1", [], is_in_account=True)


def test_the_command_lists_the_checks_that_exist() -> None:
    assert list(CHECKS) == list(EXAMINATIONS)


@pytest.mark.parametrize(
    ("findings", "unseen", "code"),
    [
        ((), (), 0),
        ((ODD, SMALL), (), 0),
        ((ODD,), (Unseen("alarms", "denied"),), 2),
        ((SMALL, BAD), (), 1),
        ((BAD,), (Unseen("alarms", "denied"),), 1),
    ],
)
def test_the_exit_code_tells_errors_from_what_could_not_be_seen(
    findings: tuple[Finding, ...], unseen: tuple[Unseen, ...], code: int
) -> None:
    assert Diagnosis("signpost", [CheckReport("queues", findings, unseen)]).exit_code == code


def test_errors_come_first_and_every_finding_says_what_to_do() -> None:
    reports = [
        CheckReport("parameters", [SMALL]),
        CheckReport("queues", [ODD, BAD]),
        CheckReport("alarms", [], [Unseen("alarms", "Denied.")]),
    ]
    lines = list(format_diagnosis(Diagnosis("signpost", reports)))
    assert lines == [
        "error     dead_letters: FailedWork: One message.",
        "          `signpost workflow retry`",
        "warning   clock_differs: clock: Ahead.",
        "          Set it.",
        "note      tenant_claim_empty: TenantClaim: It is empty.",
        "          Name it.",
        "not seen  alarms: alarms. Denied.",
        "signpost: 1 error, 1 warning, 1 note by 3 checks; 1 could not look at everything.",
    ]


def test_text_of_others_is_printed_without_control_characters() -> None:
    report = CheckReport("keys", [error("dead_letters", "a\x1b[2Jb", "c\nd", "e")], [Unseen("f\x07", "g")])
    assert all(line.isprintable() for line in format_diagnosis(Diagnosis("signpost", [report])))


def test_the_json_document_has_every_finding_and_everything_unseen() -> None:
    diagnosis = Diagnosis("signpost", [CheckReport("queues", [BAD], [Unseen("age", "no data")])])
    document = cast("dict[str, Any]", build_document(stack_without(), diagnosis))
    assert (document["stack"], document["region"], document["exitCode"]) == ("signpost", "us-east-1", 1)
    assert document["checks"] == ["queues"]
    assert document["findings"] == [
        {
            "check": "queues",
            "severity": "error",
            "code": "dead_letters",
            "subject": "FailedWork",
            "problem": "One message.",
            "remedy": "`signpost workflow retry`",
        }
    ]
    assert document["notSeen"] == [{"check": "queues", "subject": "age", "reason": "no data"}]
    assert json.loads(json.dumps(document)) == document


def fail_after_a_finding(_: ExaminedStack, reads: PartialReads) -> Iterator[Finding]:
    yield BAD
    reads.miss("one queue", "denied")
    raise client_error("AccessDenied")


def test_a_check_that_fails_keeps_what_it_has_found() -> None:
    report = run_check("queues", fail_after_a_finding, stack_without())
    assert report.findings == [BAD]
    assert [unseen.subject for unseen in report.unseen] == ["one queue", "queues"]


def need_an_output(stack: ExaminedStack, _: PartialReads) -> Iterator[Finding]:
    stack.outputs["McpUrl"]
    yield from ()


def have_a_fault(_stack: ExaminedStack, _: PartialReads) -> Iterator[Finding]:
    raise ZeroDivisionError


def find_one(_stack: ExaminedStack, _: PartialReads) -> Iterator[Finding]:
    yield ODD


@pytest.mark.invariant(108)
def test_a_check_that_cannot_look_does_not_stop_the_others() -> None:
    examinations: dict[str, Examine] = {"output": need_an_output, "fault": have_a_fault, "sound": find_one}
    shown: list[str] = []
    diagnosis = examine_stack(stack_without(), list(examinations), shown.append, examinations)
    assert shown == ["output", "fault", "sound"]
    reasons = [report.unseen[0].reason if report.unseen else None for report in diagnosis.reports]
    assert reasons[0] is not None
    assert "no output McpUrl" in reasons[0]
    assert reasons[1] is not None
    assert "ZeroDivisionError" in reasons[1]
    assert diagnosis.reports[2] == CheckReport("sound", [ODD], ())
    assert diagnosis.exit_code == 2


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (client_error("AccessDeniedException", "No."), "Your credentials may not: DescribeAlarms is denied. No."),
        (client_error("InvalidAction"), "This endpoint of AWS does not have DescribeAlarms."),
        (client_error("Anything", status=501), "This endpoint of AWS does not have DescribeAlarms."),
        (client_error("Throttling", "Slow down."), "DescribeAlarms failed: Throttling Slow down."),
        (EndpointConnectionError(endpoint_url="https://x"), 'Could not connect to the endpoint URL: "https://x"'),
        (Unavailable("Overloaded."), "Overloaded."),
        (MissingOutput("No output."), "No output."),
    ],
)
def test_a_failed_read_says_why(fault: Exception, says: str) -> None:
    assert describe_fault(fault) == says
    reads = PartialReads()

    def fail() -> None:
        raise fault

    assert reads.read("alarms", fail) is None
    assert reads.unseen == (Unseen("alarms", says),)


def test_a_missing_resource_is_told_from_one_that_may_not_be_read() -> None:
    assert is_missing(client_error("ResourceNotFoundException"))
    assert not is_missing(client_error("AccessDenied"))

    def fail(code: str) -> None:
        raise client_error(code)

    assert read_existing(lambda: "described") == "described"
    assert read_existing(lambda: fail("ResourceNotFoundException")) is None
    with pytest.raises(ClientError, match="AccessDenied"):
        read_existing(lambda: fail("AccessDenied"))


def test_the_health_is_awaited_as_long_as_the_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the first request, which may wait for a function that starts. A login waits for less."""
    monkeypatch.setattr(endpoint, "ANSWER_TIMEOUT", 0.1)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NoServerAnswer):
        endpoint.read_health(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp")
    assert time.monotonic() - began < http.PATIENCE


def test_a_missing_output_is_named() -> None:
    assert ExaminedOutputs({"a": "b"})["a"] == "b"
    with pytest.raises(MissingOutput, match="McpUrl"):
        ExaminedOutputs()["McpUrl"]


@pytest.mark.parametrize("headers", [{}, {"date": "yesterday"}])
def test_an_answer_without_a_date_shows_no_skew(headers: dict[str, str]) -> None:
    assert read_date(headers, 7.0) == 7.0
    assert read_date({"date": "Thu, 01 Jan 1970 00:01:00 GMT"}, 7.0) == 60.0


def test_only_and_skip_choose_the_checks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def read_stack(*_: object) -> ExaminedStack:
        return stack_without()

    monkeypatch.setattr(stack_description, "read_stack", read_stack)
    assert main(["doctor", "--only", "stack", "--only", "clock", "--skip", "clock", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["checks"] == ["stack"]
    assert printed.err == "looking at the status of the stack\n"


def test_an_unknown_check_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor", "--only", "weather"])
    assert "invalid choice: 'weather'" in capsys.readouterr().err


def test_the_command_line_is_built_without_the_readers() -> None:
    heavy = {"boto3", "botocore", "jwt", "signpost.cli.doctor.examination", "signpost.wiring.operator"}
    program = "from signpost.cli import main\ntry: main(['doctor', '--help'])\nexcept SystemExit: pass"
    assert imported_by(program, heavy) == set()
    assert doctor_command.CHECKS


def test_a_refusal_by_a_wrong_clock_says_so() -> None:
    fault = client_error("RequestExpired", date="Thu, 01 Jan 1970 01:00:00 GMT")
    assert "3599 s behind AWS" in describe_skew(fault, sent_at=0.0, received_at=1.0)
    assert describe_skew(fault, sent_at=3_600.0, received_at=3_601.0) == ""

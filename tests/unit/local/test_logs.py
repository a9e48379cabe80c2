"""Log lines in the fewest words."""

import json

from local.logs import compact


def compact_lines(message: str) -> list[str]:
    return [line[9:] for line in compact(0, message, lambda text: f"<{text}>")]


def compact_line(message: str) -> str:
    (line,) = compact(0, message, lambda text: text)
    return line[9:]


def test_start_and_end_lines_of_lambda_are_left_out() -> None:
    assert compact_lines("START RequestId: 1 Version: $LATEST\n") == []
    assert compact_lines("END RequestId: 1\n") == []


def test_a_report_becomes_time_and_memory() -> None:
    report = (
        "REPORT RequestId: 1\tDuration: 12.71 ms\tBilled Duration: 13 ms\tMemory Size: 1024 MB\tMax Memory Used: 95 MB"
    )
    assert compact_line(report) == "ran 13 ms, 95 MB"


def test_metrics_become_one_short_line() -> None:
    metrics = {"_aws": {"Timestamp": 1}, "service": "signpost", "operation": "tools/list", "Requests": 1}
    assert compact_line(json.dumps(metrics)) == "metrics operation=tools/list Requests=1"


def test_a_log_entry_shows_level_message_and_its_own_fields() -> None:
    entry = {"level": "INFO", "message": "listed", "service": "signpost", "function_arn": "a", "tenant": "t1"}
    assert compact_line(json.dumps(entry)) == "INFO    listed tenant=t1"


def test_an_exception_is_shown_whole() -> None:
    entry = {"level": "ERROR", "message": "failed", "exception": "Traceback\n  line\nValueError: x"}
    assert len(compact_lines(json.dumps(entry))) == 4


def test_long_values_are_cut() -> None:
    assert compact_line(json.dumps({"level": "INFO", "message": "m", "a": "x" * 100})).endswith("x…")


def test_other_text_is_shown_as_it_is() -> None:
    assert compact_lines("{not json\n") == ["{not json"]

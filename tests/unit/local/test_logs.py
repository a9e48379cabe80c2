"""Log lines in the fewest words."""

import json

from local.logs import compact


def shown(message: str) -> list[str]:
    return [line[9:] for line in compact(0, message, lambda text: f"<{text}>")]


def shown_dim(message: str) -> str:
    (line,) = compact(0, message, lambda text: text)
    return line[9:]


def test_what_lambda_says_about_a_start_and_an_end_is_left_out() -> None:
    assert shown("START RequestId: 1 Version: $LATEST\n") == []
    assert shown("END RequestId: 1\n") == []


def test_a_report_becomes_time_and_memory() -> None:
    report = (
        "REPORT RequestId: 1\tDuration: 12.71 ms\tBilled Duration: 13 ms\tMemory Size: 1024 MB\tMax Memory Used: 95 MB"
    )
    assert shown_dim(report) == "ran 13 ms, 95 MB"


def test_metrics_become_one_short_line() -> None:
    metrics = {"_aws": {"Timestamp": 1}, "service": "signpost", "operation": "tools/list", "Requests": 1}
    assert shown_dim(json.dumps(metrics)) == "metrics operation=tools/list Requests=1"


def test_a_log_entry_shows_level_message_and_what_is_special_about_it() -> None:
    entry = {"level": "INFO", "message": "listed", "service": "signpost", "function_arn": "a", "tenant": "t1"}
    assert shown_dim(json.dumps(entry)) == "INFO    listed tenant=t1"


def test_an_exception_is_shown_whole() -> None:
    entry = {"level": "ERROR", "message": "failed", "exception": "Traceback\n  line\nValueError: x"}
    assert len(shown(json.dumps(entry))) == 4


def test_long_values_are_cut() -> None:
    assert shown_dim(json.dumps({"level": "INFO", "message": "m", "a": "x" * 100})).endswith("x…")


def test_other_text_is_shown_as_it_is() -> None:
    assert shown("{not json\n") == ["{not json"]

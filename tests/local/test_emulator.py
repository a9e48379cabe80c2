"""The emulator of a test run."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local.emulator import Emulator
from local.ports import free_port
from local.processes import command_of
from local.stack import PROJECT, client_settings
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

STARTS_ONE = """
import sys, time
from pathlib import Path
from local.emulator import Emulator
home, port = Path(sys.argv[1]), int(sys.argv[2])
Emulator(home, port, record=home / "decisions.jsonl").start()
print("started", flush=True)
time.sleep(600)
"""


def test_the_emulator_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Whatever ends that: a worker of pytest-xdist that is killed stops nothing."""
    command = [sys.executable, "-c", STARTS_ONE, str(tmp_path), str(free_port())]
    starter = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    with starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "started\n"
        pid = int((tmp_path / "emulator/pid").read_text())
        assert "emulator_app" in command_of(pid)
        starter.send_signal(signal.SIGKILL)
    wait_for("the emulator to end", lambda: command_of(pid), lambda command: "emulator_app" not in command)


def test_the_emulator_of_a_test_run_saves_no_state(tmp_path: Path) -> None:
    assert "kept-queue" not in saved_state_of(tmp_path / "run", record=tmp_path / "decisions.jsonl")
    assert "kept-queue" in saved_state_of(tmp_path / "laptop", record=None)


def saved_state_of(home: Path, record: Path | None) -> str:
    """All that an emulator has saved that had a queue."""
    home.mkdir()
    emulator = Emulator(home, free_port(), record=record)
    emulator.start()
    connect(emulator, "sqs").create_queue(QueueName="kept-queue")
    emulator.stop()
    return "".join(file.read_text(errors="replace") for file in home.rglob("state/**/*") if file.is_file())


def connect(emulator: Emulator, service: str) -> Any:
    """Return a client with the rights of the account's owner."""
    session, config = client_settings(emulator)
    return session.client(service, endpoint_url=emulator.url, config=config)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType] - the service is named at run time


def test_an_alarm_rings_for_the_function_that_its_dimensions_name(tmp_path: Path) -> None:
    emulator = Emulator(tmp_path, free_port(), record=tmp_path / "decisions.jsonl")
    emulator.start()
    try:
        cloudwatch = connect(emulator, "cloudwatch")
        for function in ("mine", "of-another-stack"):
            cloudwatch.put_metric_alarm(
                AlarmName=function,
                Namespace="AWS/Lambda",
                MetricName="Errors",
                Dimensions=[{"Name": "FunctionName", "Value": function}],
                Statistic="Sum",
                Period=3600,
                EvaluationPeriods=1,
                Threshold=1,
                ComparisonOperator="GreaterThanOrEqualToThreshold",
            )
        error = {"MetricName": "Errors", "Dimensions": [{"Name": "FunctionName", "Value": "mine"}], "Value": 1}
        cloudwatch.put_metric_data(Namespace="AWS/Lambda", MetricData=[error])
        alarms = cloudwatch.describe_alarms()["MetricAlarms"]
        assert {alarm["AlarmName"] for alarm in alarms if alarm["StateValue"] == "ALARM"} == {"mine"}
    finally:
        emulator.stop()

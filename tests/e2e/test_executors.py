"""Executors of other stacks: placed, listed, given new keys and removed by an operator."""

import time

import pytest

from signpost.calling.lookup import REVALIDATION_INTERVAL
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.executors import STACK, Executors

pytestmark = pytest.mark.cloud


def test_an_executor_is_placed_called_listed_and_removed(
    executors: Executors, signpost: ProcessRunner, tenant: str, key: str
) -> None:
    of_tenant = ("--tenant", tenant, "--stack", "calling")
    placed = signpost("executors", "place", f"{STACK}-trials", *of_tenant)
    assert "trials::show" in parse_json_lines(placed.stdout)[0]["functions"], placed.stderr
    assert executors.call(key, "trials::show")["result"]["tenant"] == tenant
    listed = parse_json_lines(signpost("executors", "list", "--stack", "calling").stdout)
    arn = executors.find_executor("trials").arn
    assert [row["executor"] for row in listed if row["tenant"] == tenant] == [arn]
    # Other tests of the stack place it for their tenants.
    assert {row["tenant"] for row in listed if row["executor"] == arn} >= {tenant, None}
    assert signpost("executors", "remove", arn, *of_tenant).returncode == 0
    again = signpost("executors", "remove", arn, *of_tenant)
    assert (again.returncode, "is not placed" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    ("function", "says"),
    [("stage-executors-stranger", "EXECUTOR_KEY_SECRET_ARN"), ("nowhere", "no Lambda function nowhere")],
)
def test_a_lambda_function_that_is_no_executor_is_not_placed(
    executors: Executors, signpost: ProcessRunner, function: str, says: str
) -> None:
    refused = signpost("executors", "place", function, "--stack", executors.gateway.deployed.name)
    assert refused.returncode == 1
    assert says in refused.stderr


@pytest.mark.invariant(63)
def test_a_secret_that_an_executor_reads_is_masked_in_result_and_log(executors: Executors, key: str) -> None:
    told = executors.call(key, "trials::pin")
    assert told.get("result") == {"length": len("correct horse battery staple"), "text": "***"}, told
    lines = executors.read_log_lines("trials")
    assert {"***"} == {line["said"] for line in lines if line["message"] in ("said", "progress")}
    assert "battery" not in executors.read_log("trials")


def test_a_rotated_key_reaches_executors_before_the_gateway_signs_with_it(
    executors: Executors, signpost: ProcessRunner, key: str
) -> None:
    for _ in range(2):
        rotated = signpost("secret", "rotate", "--stack", "calling")
        assert (rotated.returncode, rotated.stderr) == (0, "")
        assert executors.call(key, "trials::show")["result"]["depth"] == 0  # a gateway that knows nothing of it yet
        executors.restart_gateway()
        assert executors.call(key, "trials::show")["result"]["depth"] == 0
        assert executors.call(key, "core::wait", {"seconds": 0})["result"] == {"waited": 0}


@pytest.mark.invariant(28)
def test_a_setting_is_effective_within_two_seconds(
    executors: Executors, signpost: ProcessRunner, tenant: str, key: str
) -> None:
    executors.call(key, "trials::slow", {"seconds": 0.5})
    of_tenant = ("--function", "trials::slow", "--tenant", tenant, "--stack", "calling")
    assert signpost("settings", "set", "tool_timeout_ms", "100", *of_tenant).returncode == 0
    time.sleep(REVALIDATION_INTERVAL)
    assert executors.call(key, "trials::slow", {"seconds": 0.5})["failure"]["code"] == "timed_out"
    too_long = signpost("settings", "set", "tool_timeout_ms", "20001", *of_tenant)
    assert (too_long.returncode, "20000 ms" in too_long.stderr) == (1, True)

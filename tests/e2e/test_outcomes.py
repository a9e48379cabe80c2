"""What a failed call says about its effect, for every way in which a call can fail, on the deployed stack."""

import json
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from signpost.calling.failures import FAILURES
from signpost.calling.wire import LARGEST_KEPT_RESULT, LARGEST_REPLY
from signpost.contract import Executor, HostedFunction
from tests.support.executors import Executors
from tests.support.slowdown import measure_slowdown

pytestmark = pytest.mark.cloud

OUTCOMES = [
    ("trials::report", "reported", 1),
    ("trials::raise", "exception", 1),
    ("trials::quit", "exception", 1),
    ("trials::exit", "crashed", 1),
    ("trials::segfault", "crashed", 1),
    ("trials::kill", "crashed", 1),  # on AWS out_of_memory: the emulator does not say by which signal
    ("trials::nan", "bad_result", 1),
    ("trials::bytes", "bad_result", 1),
    ("trials::checked", "invalid_arguments", 0),
    ("trials::nobody", "unknown_function", 0),
]


@pytest.mark.invariant(31)
@pytest.mark.parametrize(("function", "code", "ran"), OUTCOMES)
def test_a_failure_has_its_code_class_and_outcome(
    executors: Executors, key: str, function: str, code: str, ran: int
) -> None:
    effect = uuid.uuid4().hex
    failed = executors.call(key, function, {"effect": effect})["failure"]
    assert failed["code"] == code
    if code in FAILURES:
        assert (failed["class"], failed["outcome"]) == (FAILURES[code].kind, FAILURES[code].outcome)
    assert executors.count_effect(effect) == ran
    assert executors.call(key, "trials::show")["result"]["depth"] == 0


def test_a_reported_failure_keeps_its_message_and_an_exception_does_not(executors: Executors, key: str) -> None:
    reported = executors.call(key, "trials::report", {"message": "Order 7 is closed."})["failure"]
    assert (reported["message"], reported["outcome"]) == ("Order 7 is closed.", "none")
    unexpected = executors.call(key, "trials::raise")["failure"]
    assert "42" not in json.dumps(unexpected)
    assert "the secret plan is 42" in executors.read_log("trials")


def test_a_call_that_is_killed_at_its_deadline_has_an_unknown_outcome_and_runs_once(
    executors: Executors, key: str
) -> None:
    effect = uuid.uuid4().hex
    ends_at = time.time() + 1.5 * measure_slowdown()
    reply = executors.call(key, "trials::slow", {"effect": effect, "seconds": 30}, endsAt=ends_at)
    assert (reply["failure"]["code"], reply["failure"]["outcome"]) == ("timed_out", "unknown")
    time.sleep(3)
    assert executors.count_effect(effect) == 1


@pytest.mark.invariant(32)
def test_a_slow_call_is_executed_once(executors: Executors, key: str) -> None:
    """Longer than the SDK waits for anything else: it must not try again."""
    effect = uuid.uuid4().hex
    reply = executors.call(key, "trials::slow", {"effect": effect, "seconds": 4})
    assert reply == {"signpost": 1, "result": None}
    assert executors.count_effect(effect) == 1


def test_a_throttled_call_has_no_effect(executors: Executors, key: str) -> None:
    effect = uuid.uuid4().hex
    functions, name = executors.laptop.client("lambda"), f"{executors.stack}-trials"
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    try:
        failed = executors.call(key, "trials::show", {"effect": effect})["failure"]
    finally:
        functions.delete_function_concurrency(FunctionName=name)
    assert (failed["code"], failed["class"], failed["outcome"]) == ("throttled", "rate_limited", "none")
    assert executors.count_effect(effect) == 0


@contextmanager
def place_function(executors: Executors, tenant: str, function: str, arn: str) -> Generator[str]:
    """A function that the directory leads to some Lambda function, whatever that is."""
    directory = executors.directory
    secret = executors.outputs["StubKeys"]
    assert not directory.place(tenant, Executor(arn, secret, 3_000), [HostedFunction(function)])
    yield function
    directory.remove(tenant, arn)


def call_and_read_failure(executors: Executors, tenant: str, key: str, arn: str) -> Any:
    with place_function(executors, tenant, "some::function", arn) as function:
        return executors.call(key, function)["failure"]


def test_a_call_without_invoke_permission_is_denied_without_effect(executors: Executors, tenant: str, key: str) -> None:
    outputs = executors.gateway.deployed.outputs
    not_allowed = outputs["GatewayFunctionArn"]
    executors.laptop.expect_denial(outputs["GatewayFunctionName"], "lambda:InvokeFunction", not_allowed)
    failed = call_and_read_failure(executors, tenant, key, not_allowed)
    assert (failed["code"], failed["outcome"]) == ("access_denied", "none")


def test_a_call_of_a_deleted_executor_fails_as_executor_missing(executors: Executors, tenant: str, key: str) -> None:
    doomed = executors.find_executor("doomed").arn
    with place_function(executors, tenant, "some::function", doomed) as function:
        assert executors.call(key, function)["failure"]["code"] == "malformed_reply"
        executors.laptop.client("lambda").delete_function(FunctionName=doomed)
        failed = executors.call(key, function)["failure"]
    assert (failed["code"], failed["outcome"]) == ("executor_missing", "none")


def test_a_reply_of_a_lambda_function_that_is_no_executor_is_malformed(
    executors: Executors, tenant: str, key: str
) -> None:
    failed = call_and_read_failure(executors, tenant, key, executors.find_executor("stranger").arn)
    assert (failed["code"], failed["outcome"]) == ("malformed_reply", "unknown")


def test_a_long_result_is_kept_in_the_bucket(executors: Executors, tenant: str, key: str) -> None:
    reply = executors.call(key, "trials::long", {"characters": LARGEST_REPLY + 1})
    assert reply["kept"]["key"].startswith(f"answers/{tenant}/")
    bucket = executors.gateway.deployed.outputs["ContentBucketName"]
    stored = executors.laptop.client("s3").get_object(Bucket=bucket, Key=reply["kept"]["key"])["Body"].read()
    assert len(stored) == reply["kept"]["size"]
    assert json.loads(stored) == "x" * (LARGEST_REPLY + 1)


def test_a_result_that_is_too_long_for_the_bucket_is_too_large(executors: Executors, key: str) -> None:
    effect = uuid.uuid4().hex
    failed = executors.call(key, "trials::long", {"effect": effect, "characters": LARGEST_KEPT_RESULT})["failure"]
    assert (failed["code"], failed["outcome"]) == ("result_too_large", "unknown")
    assert executors.count_effect(effect) == 1


def test_the_stub_records_its_calls_and_plays_its_scripts(executors: Executors, tenant: str, key: str) -> None:
    """The stub plays every function there is; the acceptance cases stand on it."""
    executors.place("stub", [HostedFunction("iii.on_boot"), HostedFunction("any::thing")], tenant)
    executors.write_script(tenant, "any::thing", [{"error": "rate_limited", "message": "wait"}, {"output": {"n": 1}}])
    failed = executors.call(key, "any::thing", {"a": 1}, step="wf_1.go.2", idempotencyKey="wf_1.go.2")["failure"]
    assert (failed["class"], failed["message"], failed["outcome"]) == ("rate_limited", "wait", "none")
    assert executors.call(key, "any::thing")["result"] == {"n": 1}
    assert executors.call(key, "any::thing")["result"] == {"n": 1}
    first, *others = executors.list_calls(tenant, "any::thing")
    assert (first["arguments"], first["idempotencyKey"], first["step"]) == ({"a": 1}, "wf_1.go.2", "wf_1.go.2")
    assert len(others) == 2
    executors.write_script(tenant, "iii.on_boot", [{"template": "Hello, {who}!"}])
    assert executors.call(key, "iii.on_boot", {"who": "Ana"})["result"] == {"content": "Hello, Ana!"}

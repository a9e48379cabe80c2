"""Expressions over JSON: what they select, what is wrong with them, and how much they may make."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from core_skills.json_transform import KIT, TIMEOUT_MS
from local.stack import PROJECT
from signpost.calling.wire import call_message
from signpost.contract import CallReply, Failure, Result
from tests.support.function_host import TOKEN, FunctionHost, build_call

TEN_MINUTES = 600
"""Seconds. An expression is stopped by its allowance: no deadline of a call may be near, however slow the machine."""
PEOPLE = {"people": [{"name": "Ada", "age": 36}, {"name": "Alan", "age": 41, "city": "Wilmslow"}]}


@pytest.fixture(autouse=True)
def unhurried_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness gives up after two seconds to hold arguments against their schema; a million values are close."""
    monkeypatch.setattr("signpost.schema.validation.VALIDATION_TIME_LIMIT", TEN_MINUTES)


def reply_to(data: Any, expression: str) -> CallReply:
    call = build_call("core::json_transform", {"data": data, "expression": expression}, seconds=TEN_MINUTES)
    return FunctionHost(KIT.functions).handle(call_message(call, TOKEN), remaining_ms=2 * TEN_MINUTES * 1000)


def transform(data: Any, expression: str) -> Any:
    reply = reply_to(data, expression)
    assert isinstance(reply, Result), reply
    assert isinstance(reply.value, dict)
    return reply.value["result"]


def refusal(data: Any, expression: str) -> str:
    reply = reply_to(data, expression)
    assert isinstance(reply, Failure), reply
    assert (reply.code, reply.kind, reply.outcome) == ("reported", "permanent_error", "none")
    return reply.message


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("people[?age > `40`].{who: name, where: city}", [{"who": "Alan", "where": "Wilmslow"}]),
        ("people[*].name | join(', ', @)", "Ada, Alan"),
        ("sum(people[*].age)", 77),
        ("nothing.there", None),
        ("people[0] | to_string(@)", '{"name":"Ada","age":36}'),
        ("max_by(people, &age).name", "Alan"),
    ],
)
def test_an_expression_selects_values(expression: str, result: Any) -> None:
    assert transform(PEOPLE, expression) == result


@pytest.mark.parametrize("data", [None, True, 0, "", [], {}])
def test_any_json_can_be_transformed(data: Any) -> None:
    assert transform(data, "@") == data


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (" ", "ends too early"),
        ("people[", "ends too early, after character 7"),
        ("people b", "at character 8, before 'b'"),
        ("people #", "at character 8: Unknown token #"),
        ("people[*].length(", "ends too early"),
        ("length(people) + 1", "at character 16"),
        ("shout(people)", "There is no function shout() at character 1."),
        ("people | length(@, @)", "length() at character 10 takes 1 arguments, not 2."),
        ("people[0].abs(name)", "abs() at character 11 takes number, and was given string."),
        ("people[?name > age]", "combines values of types that do not fit"),
        ("&name", "is not JSON"),
        ("[&name]", "is not JSON"),
        ("(" * 3_000, "nested too deeply"),
    ],
)
def test_an_invalid_expression_is_refused_with_its_place(expression: str, says: str) -> None:
    assert says in refusal(PEOPLE, expression)


def test_a_number_that_json_does_not_have_is_no_result() -> None:
    assert "too large" in refusal([1e308, 1e308], "sum(@)")


@pytest.mark.parametrize(
    ("data", "expression"),
    [
        (1, "|".join(["[@,@]"] * 60)),
        ([1], "|".join(["[@,@][]"] * 60)),
        (1, "|".join(["{a:@,b:@}"] * 60) + "|to_string(@)"),
        (1, "|".join(["{a:@,b:@}"] * 60) + "|@==@"),
        ({"a": "x" * 10_000, "b": ["y"] * 10_000}, "join(a, b)"),
        ("x" * 100_000, "|".join(["[to_string(@), to_string(@)]"] * 40)),
        ([[1] * 1_000] * 1_000, "@[*][*].[@,@,@,@]"),
        ({f"key {number}": number for number in range(40_000)}, f"merge({','.join(['@'] * 1_975)})"),
        ({"a": [1] * 100_000, "b": [1] * 100_000}, f"[{','.join(['a == b'] * 400)}]"),
        ([[1] * 100_000], "[" + ",".join(["contains(@, @)"] * 250) + "]"),
    ],
)
def test_an_expression_over_its_allowance_is_stopped(data: Any, expression: str) -> None:
    """The allowance is used up within the timeout of the function, measured by the processor's time."""
    message, seconds = refusal_in_a_process(data, expression)
    assert message == "The expression builds too much data; select less, or do it in steps."
    assert seconds < TIMEOUT_MS / 1000


REFUSAL_PROGRAM = """
import json, sys, time
from signpost.schema import validation
from tests.unit.core_skills.test_json_transform import TEN_MINUTES, refusal
validation.VALIDATION_TIME_LIMIT = TEN_MINUTES
data, expression = json.load(sys.stdin)
before = time.process_time()
print(json.dumps([refusal(data, expression), time.process_time() - before]))
"""


def refusal_in_a_process(data: Any, expression: str) -> tuple[str, float]:
    """The refusal, and the seconds of the processor until it came, in a process whose coverage is not measured: that
    takes four times as long."""
    done = subprocess.run(
        [sys.executable, "-c", REFUSAL_PROGRAM],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["tests", "functions/executor_core"])},
        input=json.dumps([data, expression]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    message, seconds = json.loads(done.stdout)
    return message, seconds


def test_a_result_has_a_limit() -> None:
    assert "1,000,000 characters" in refusal(["x" * 300_000] * 4, "@")


def test_an_expression_has_a_limit() -> None:
    reply = reply_to(1, "a" * 4_001)
    assert isinstance(reply, Failure)
    assert reply.code == "invalid_arguments"

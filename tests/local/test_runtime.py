"""Real processes: each test writes a function and calls it."""

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent

import pytest

from local import sandbox
from local.account import NO_ENDPOINT, Account
from local.built import BuiltFunction
from local.json_values import Json, JsonObject
from local.runtime import Invocation, LambdaRuntime
from tests.support.waiting import wait_for

type Start = Callable[..., LambdaRuntime]

ECHO = "def handler(event, context): return event"
ENVIRONMENT = "import os\ndef handler(event, context): return dict(os.environ)"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Writes app.py, and starts a runtime for it."""
    with ExitStack() as opened:

        def started(source: str, *layers: Path, timeout: float = 3.0, **variables: str) -> LambdaRuntime:
            code = tmp_path / "code"
            code.mkdir()
            (code / "app.py").write_text(dedent(source))
            function = BuiltFunction("Echo", code, layers, "app.handler", timeout, 256, variables)
            return opened.enter_context(LambdaRuntime(function, Account()))

        yield started


def payload_of(invocation: Invocation) -> JsonObject:
    assert invocation.error is None
    assert isinstance(invocation.payload, dict)
    return invocation.payload


def error_of(invocation: Invocation) -> tuple[str, str]:
    assert invocation.error is not None
    return invocation.error.error_type, invocation.error.error_message


@pytest.mark.parametrize("value", [None, 1, "ü", [1, {"a": "b"}], "x" * 300_000])
def test_the_payload_is_the_value_returned_by_the_handler(start: Start, value: Json) -> None:
    assert payload_of(start(ECHO).invoke({"value": value})) == {"value": value}


def test_a_second_call_meets_the_same_warm_sandbox(start: Start) -> None:
    runtime = start("import os\ndef handler(event, context): return {'pid': os.getpid()}")
    first, second = runtime.invoke({}), runtime.invoke({})
    assert first.payload == second.payload
    assert first.init_ms is not None
    assert second.init_ms is None


def test_the_context_is_complete(start: Start) -> None:
    context = payload_of(
        start("""
            import os
            def handler(event, context):
                return {
                    "arn": context.invoked_function_arn,
                    "name": context.function_name,
                    "version": context.function_version,
                    "memory": context.memory_limit_in_mb,
                    "id": len(context.aws_request_id),
                    "in_time": 2000 < context.get_remaining_time_in_millis() <= 3000,
                    "trace": os.environ["_X_AMZN_TRACE_ID"].startswith("Root=1-"),
                    "group": context.log_group_name,
                    "stream": "[$LATEST]" in context.log_stream_name,
                }
        """).invoke({})
    )
    assert context == {
        "arn": "arn:aws:lambda:us-east-1:000000000000:function:Echo",
        "name": "Echo",
        "version": "$LATEST",
        "memory": "256",
        "id": 36,
        "in_time": True,
        "trace": True,
        "group": "/aws/lambda/Echo",
        "stream": True,
    }


def test_the_environment_of_the_caller_is_not_inherited(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_DYNAMODB", "PYTHONSTARTUP", "SECRET", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "leaked")
    variables = payload_of(start(ENVIRONMENT, TABLE="table-1").invoke({}))
    assert "leaked" not in variables.values()
    assert variables["TABLE"] == "table-1"


def test_without_an_account_endpoint_no_call_to_aws_leaves_the_machine(start: Start) -> None:
    variables = payload_of(start(ENVIRONMENT, AWS_ENDPOINT_URL="https://example.com").invoke({}))
    assert variables["AWS_ENDPOINT_URL"] == NO_ENDPOINT


def test_temporary_files_and_home_are_private_and_removed_afterwards(start: Start) -> None:
    runtime = start("""
        import os, tempfile
        def handler(event, context): return {"tmp": tempfile.mkdtemp(), "home": os.path.expanduser("~")}
    """)
    folders = payload_of(runtime.invoke({}))
    temporary = Path(str(folders["home"]))
    assert Path(str(folders["tmp"])).parent == temporary
    runtime.close()
    assert not temporary.exists()


def test_modules_are_imported_from_code_layer_and_runtime_in_this_order(start: Start, tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    (layer / "python").mkdir(parents=True)
    (layer / "python" / "app.py").write_text("raise SystemExit('the code comes first')")
    (layer / "python" / "snapshot_restore_py.py").write_text("whose = 'of the layer'")
    source = "import snapshot_restore_py as py\ndef handler(event, context): return {'whose': py.whose}"
    assert payload_of(start(source, layer).invoke({})) == {"whose": "of the layer"}


@pytest.mark.parametrize("module", ["pytest", "boto3", "signpost", "local", "pip"])
def test_packages_of_the_venv_cannot_be_imported(start: Start, module: str) -> None:
    kind, message = error_of(start(f"import {module}\n{ECHO}").invoke({}))
    assert kind == "Runtime.ImportModuleError"
    assert f"No module named '{module}'" in message


def test_a_built_folder_is_left_unchanged(start: Start, tmp_path: Path) -> None:
    start(ECHO).invoke({})
    assert [file.name for file in (tmp_path / "code").rglob("*")] == ["app.py"]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def handler(event, context) return 1", "Runtime.UserCodeSyntaxError"),
        ("def handle(event, context): return 1", "Runtime.HandlerNotFound"),
        ("raise ValueError('at import')", "ValueError"),
        ("raise SystemExit(3)", "Runtime.ExitError"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_an_error_with_its_kind(start: Start, source: str, kind: str) -> None:
    assert error_of(start(source).invoke({}))[0] == kind


def test_an_exception_is_reported_with_its_trace_and_keeps_the_sandbox(start: Start) -> None:
    runtime = start("""
        def handler(event, context):
            if event.get("fail"):
                raise KeyError("lost")
            return {}
    """)
    failed = runtime.invoke({"fail": True})
    assert error_of(failed) == ("KeyError", "'lost'")
    assert failed.error is not None
    assert 'raise KeyError("lost")' in "".join(failed.error.stack_trace)
    assert failed.document() == {
        "errorType": "KeyError",
        "errorMessage": "'lost'",
        "stackTrace": list(failed.error.stack_trace),
    }
    assert runtime.invoke({}).init_ms is None


def test_an_answer_that_is_not_json_is_an_error(start: Start) -> None:
    assert error_of(start("def handler(event, context): return object()").invoke({}))[0] == "Runtime.MarshalError"


@pytest.mark.parametrize(
    ("leave", "reason"),
    [
        ("os._exit(0)", "Runtime exited without providing a reason"),
        ("os._exit(7)", "Runtime exited with error: exit status 7"),
        ("os.kill(os.getpid(), 9)", "Runtime exited with error: signal: killed"),
    ],
)
def test_a_process_that_ends_during_a_call_is_an_error_and_is_replaced(start: Start, leave: str, reason: str) -> None:
    runtime = start(f"""
        import os
        def handler(event, context):
            if event.get("leave"):
                {leave}
            return {{}}
    """)
    kind, message = error_of(runtime.invoke({"leave": True}))
    assert kind == "Runtime.ExitError"
    assert message.endswith(reason)
    assert runtime.invoke({}).init_ms is not None


def test_a_process_that_ended_between_calls_is_replaced(start: Start) -> None:
    runtime = start("import os\ndef handler(event, context): return {'pid': os.getpid()}")
    first = payload_of(runtime.invoke({}))["pid"]
    assert isinstance(first, int)
    os.kill(first, signal.SIGKILL)
    wait_until_it_has_ended(first)
    assert payload_of(runtime.invoke({}))["pid"] != first


def wait_until_it_has_ended(pid: int) -> None:
    wait_for("the process to end", Path(f"/proc/{pid}").exists, lambda exists: not exists)


SLEEPER = """
    import fcntl, subprocess, time
    def handler(event, context):
        if "lock" in event:
            with open(event["lock"], "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                subprocess.Popen(["sleep", "60"], pass_fds=[lock.fileno()])
            time.sleep(60)
        return {"remaining": context.get_remaining_time_in_millis()}
"""


def test_past_the_timeout_the_sandbox_and_its_child_processes_are_killed(start: Start, tmp_path: Path) -> None:
    runtime = start(SLEEPER, timeout=0.5)
    started = time.monotonic()
    kind, message = error_of(runtime.invoke({"lock": str(tmp_path / "lock")}))
    assert kind == "Sandbox.Timedout"
    assert message.endswith("Task timed out after 0.50 seconds")
    with (tmp_path / "lock").open("w") as lock:
        # The handler's child holds it until it ends, by itself only after a minute.
        fcntl.flock(lock, fcntl.LOCK_EX)
    assert time.monotonic() - started < 20
    assert runtime.invoke({}).init_ms is not None


def test_a_caller_can_shorten_the_timeout_of_one_call(start: Start, tmp_path: Path) -> None:
    runtime = start(SLEEPER)
    late = runtime.invoke({"lock": str(tmp_path / "lock")}, timeout=0.3)
    assert error_of(late)[1].endswith("after 0.30 seconds")
    remaining = payload_of(runtime.invoke({}))["remaining"]
    assert isinstance(remaining, int)
    assert remaining > 1000


def test_an_init_that_takes_too_long_is_killed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "INIT_SECONDS", 0.3)
    kind, message = error_of(start("import time; time.sleep(60)").invoke({}))
    assert kind == "Sandbox.Timedout"
    assert message.endswith("Task timed out after 0.30 seconds")


def test_each_call_has_its_own_logs_and_the_first_also_those_of_init(start: Start) -> None:
    runtime = start("""
        import logging, sys
        print("loaded")
        def handler(event, context):
            print("out", event["n"])
            print("err", event["n"], file=sys.stderr)
            logging.warning("logged")
            return {}
    """)
    first, second = runtime.invoke({"n": 1}).logs, runtime.invoke({"n": 2}).logs
    assert first.startswith("loaded\nout 1\nerr 1\n")
    assert second.startswith("out 2\nerr 2\n")
    assert "[WARNING]" in second

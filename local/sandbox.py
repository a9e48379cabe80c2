"""A process that runs one function with the environment of Lambda and nothing of this machine's."""

import os
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local.account import Account
from local.built import BuiltFunction
from local.interpreter import environment, isolated_command, runtime_folder
from local.runtime_api import Call, Exchange, ExitReport, ReadyReport, Report, RuntimeApi

INIT_SECONDS = 10.0
"""Lambda's limit on the init of an on-demand function; the function's own timeout does not change it."""


@dataclass(frozen=True, slots=True)
class TimedReport:
    """A report of the process, and the time that it took."""

    report: Report
    ms: float


class Sandbox:
    """The process of one function, with its private folder and its Runtime API."""

    def __init__(self, function: BuiltFunction, account: Account) -> None:
        self._function = function
        self._account = account
        self._folder = tempfile.TemporaryDirectory(prefix="sandbox-")
        self._logs_read = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._exchange = Exchange()
        self._api = RuntimeApi(self._exchange)

    def start(self) -> TimedReport:
        return self._time(self._start_process, INIT_SECONDS)

    def is_ready_again(self) -> bool:
        return isinstance(self._exchange.wait_for_report(INIT_SECONDS), ReadyReport) and self._is_running()

    def run(self, call: Call, seconds: float) -> TimedReport:
        return self._time(lambda: self._exchange.calls.put(call), seconds)

    def new_logs(self) -> str:
        """Return the log lines that the process wrote since the last call of this method."""
        with self._log.open("rb") as log:
            log.seek(self._logs_read)
            text = log.read()
        self._logs_read += len(text)
        return text.decode("utf-8", "replace")

    def close(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                # The whole session: on Lambda, too, the processes that a function started end with it.
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._api.close()
        self._folder.cleanup()

    @property
    def _log(self) -> Path:
        return Path(self._folder.name) / "log"

    def _time(self, begin: Callable[[], None], seconds: float) -> TimedReport:
        started = time.perf_counter()
        begin()
        report = self._exchange.wait_for_report(seconds)
        return TimedReport(report, (time.perf_counter() - started) * 1000)

    def _start_process(self) -> None:
        temporary = Path(self._folder.name) / "tmp"
        temporary.mkdir()
        runtime = runtime_folder()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                isolated_command("-m", "awslambdaric", self._function.handler),
                cwd=self._function.code,
                env=environment((*self._function.search_path, runtime), self._variables(temporary, runtime)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        threading.Thread(target=self._report_exit, args=(self._process,), daemon=True).start()

    def _is_running(self) -> bool:
        """Ask the operating system, since the exit of a process that was ready may not have been reported yet."""
        if self._process is None:
            return False
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # it ended, and `_report_exit` has its status already
            return False

    def _report_exit(self, process: subprocess.Popen[bytes]) -> None:
        self._exchange.reports.put(ExitReport(process.wait()))

    def _variables(self, temporary: Path, runtime: Path) -> dict[str, str]:
        function = self._function
        return {
            **function.environment,
            **self._account.variables(),
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_LAMBDA_FUNCTION_NAME": function.logical_id,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.logical_id}",
            "AWS_LAMBDA_LOG_STREAM_NAME": f"local/[$LATEST]{secrets.token_hex(16)}",
            "AWS_LAMBDA_RUNTIME_API": self._api.address,
            "LAMBDA_TASK_ROOT": str(function.code),
            "LAMBDA_RUNTIME_DIR": str(runtime),
            "_HANDLER": function.handler,
            "TZ": ":UTC",
            "TMPDIR": str(temporary),
            # Without a home of its own, botocore would read the developer's ~/.aws.
            "HOME": str(temporary),
        }

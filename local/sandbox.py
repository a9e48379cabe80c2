"""A process that runs one function, with what Lambda gives it and nothing of this machine's."""

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
from local.interpreter import environment, isolated, runtime_folder
from local.runtime_api import Call, Exchange, Exited, Ready, Report, RuntimeApi

# Lambda's limit on the init of an on-demand function, whatever the function's own timeout is.
INIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What the process reported, and after how long."""

    report: Report
    ms: float


class Sandbox:
    """The process, its private folder and its Runtime API."""

    def __init__(self, function: BuiltFunction, account: Account) -> None:
        self._function = function
        self._account = account
        self._folder = tempfile.TemporaryDirectory(prefix="sandbox-")
        self._logs_read = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._exchange = Exchange()
        self._api = RuntimeApi(self._exchange)

    def start(self) -> Turn:
        return self._timed(self._start_process, INIT_SECONDS)

    def is_ready_again(self) -> bool:
        return isinstance(self._exchange.report_within(INIT_SECONDS), Ready) and self._is_running()

    def run(self, call: Call, seconds: float) -> Turn:
        return self._timed(lambda: self._exchange.calls.put(call), seconds)

    def new_logs(self) -> str:
        """What the process wrote since the last look."""
        with self._log.open("rb") as log:
            log.seek(self._logs_read)
            written = log.read()
        self._logs_read += len(written)
        return written.decode("utf-8", "replace")

    def close(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                # The whole session: on Lambda, processes that a function started do not outlive it either.
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._api.close()
        self._folder.cleanup()

    @property
    def _log(self) -> Path:
        return Path(self._folder.name) / "log"

    def _timed(self, begin: Callable[[], None], seconds: float) -> Turn:
        started = time.perf_counter()
        begin()
        report = self._exchange.report_within(seconds)
        return Turn(report, (time.perf_counter() - started) * 1000)

    def _start_process(self) -> None:
        temporary = Path(self._folder.name) / "tmp"
        temporary.mkdir()
        runtime = runtime_folder()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                isolated("-m", "awslambdaric", self._function.handler),
                cwd=self._function.code,
                env=environment((*self._function.search_path, runtime), self._variables(temporary, runtime)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        threading.Thread(target=self._report_exit, args=(self._process,), daemon=True).start()

    def _is_running(self) -> bool:
        """Asked of the system: a process that was ready and ended since may not have been reported yet."""
        if self._process is None:
            return False
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # it ended, and who waited for it has its status
            return False

    def _report_exit(self, process: subprocess.Popen[bytes]) -> None:
        self._exchange.reports.put(Exited(process.wait()))

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

"""The AWS emulator (ministack) as a child process that keeps its data between runs."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from local.emulator_app import LATENCY, RECORD, STARTED_BY
from local.emulator_latency import Latency
from local.errors import CloudError
from local.ports import LOOPBACK, ensure_free
from local.processes import command_of, stop_gently, tail

PROJECT = Path(__file__).resolve().parent.parent
REGION = "us-east-1"

_INTERPRETER = PROJECT / ".tools/emulator/bin/python"
_PROGRAM = PROJECT / "local/emulator_app.py"
_SECONDS_TO_START = 120.0
_SECONDS_TO_SAVE = 120.0
_POLL_SECONDS = 0.05
_CLEAN_EXITS = (0, -signal.SIGTERM)  # SIGTERM ends it directly before it has data to save
_FAILED_TO_SAVE = ("Persistence: failed to save", "Persistence: error getting state")


class Emulator:
    """One emulator, with its data in a directory under `home`.

    It saves only when it is stopped. So it is stopped by SIGTERM alone, and a marker file that remains after any other
    end tells the next start that data was lost.

    With `record`, it is the emulator of a test run: it writes each distinct decision about a request of a role into
    that file, saves nothing, and ends with the process that started it.

    With `latency`, permissions and event source mappings take effect seconds after they are made, as on AWS.
    """

    def __init__(self, home: Path, port: int, *, record: Path | None = None, latency: Latency | None = None) -> None:
        self.port = port
        self.address = f"{LOOPBACK}:{port}"
        self.url = f"http://{self.address}"
        self.loss: str | None = None
        self._home = home.resolve() / "emulator"
        self._record = record
        self._latency = latency
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The file with the output of the emulator."""
        return self._home / "emulator.log"

    @property
    def is_alive(self) -> bool:
        """Whether the process that this object started is still running."""
        return self._child is not None and self._child.poll() is None

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of a client of this emulator."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "SAM_CLI_TELEMETRY": "0",
        }

    def change_latency(self, latency: Latency) -> None:
        """Change the latency of an emulator that was started with one."""
        latency.write(self._latency_file)

    def start(self) -> None:
        """Launch the emulator and wait until it answers."""
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Start the process, after stopping the emulator of a killed supervisor."""
        if not _INTERPRETER.exists():
            raise CloudError("The emulator is not installed. Install it: local/setup.sh emulator")
        self.stop_orphan()
        ensure_free(self.port)
        self._prepare()
        with self.log.open("wb") as log:
            self._child = subprocess.Popen(
                [_INTERPRETER, "-P", _PROGRAM],  # -P: modules of `local` must not hide others of the same name
                cwd=self._home,
                env=self._own_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C goes to the supervisor, which stops the emulator last
            )
        self._pid_file.write_text(str(self._child.pid))

    def wait_until_ready(self) -> None:
        """Wait until the emulator answers, or raise an error with the end of its log."""
        deadline = time.monotonic() + _SECONDS_TO_START
        while not self._is_healthy():
            if not self.is_alive:
                raise CloudError(f"The emulator ended while it started. Its log, {self.log}:\n{tail(self.log, 20)}")
            if time.monotonic() > deadline:
                raise CloudError(
                    f"The emulator does not answer on {self.url} after {_SECONDS_TO_START:.0f} s. "
                    f"Its log, {self.log}:\n{tail(self.log, 20)}"
                )
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Stop the emulator and wait until it has saved. May be called at any time, and repeatedly."""
        child, self._child = self._child, None
        if child is None or child.poll() is not None:
            return
        child.terminate()
        try:
            child.wait(_SECONDS_TO_SAVE)
        except subprocess.TimeoutExpired as error:
            raise self._still_saving(child.pid) from error
        if child.returncode not in _CLEAN_EXITS:
            raise CloudError(f"THE EMULATOR FAILED while it was stopping ({child.returncode}). See {self.log}.")
        self._note_clean_end()

    def stop_orphan(self) -> bool:
        """Stop the emulator of a supervisor that was killed. Return whether one was running."""
        pid = self._orphan()
        if pid is None:
            return False
        if not stop_gently(pid, _SECONDS_TO_SAVE):
            raise self._still_saving(pid)
        self._note_clean_end()
        return True

    @property
    def last_saved(self) -> datetime | None:
        """The time at which the emulator last ended cleanly and so saved its data; None if it never did."""
        try:
            return datetime.fromtimestamp(self._saved_marker.stat().st_mtime, UTC).astimezone()
        except FileNotFoundError:
            return None

    @property
    def _pid_file(self) -> Path:
        return self._home / "pid"

    @property
    def _running_marker(self) -> Path:
        return self._home / "running"

    @property
    def _saved_marker(self) -> Path:
        return self._home / "saved"

    @property
    def _latency_file(self) -> Path:
        return self._home / "latency.json"

    @property
    def _temporary(self) -> Path:
        return self._home / "tmp"

    def _prepare(self) -> None:
        self._clear_temporary()
        self._temporary.mkdir(parents=True)
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".1.log"))
        self.loss = self._describe_loss() if self._running_marker.exists() else None
        self._running_marker.touch()
        if self._latency:
            self.change_latency(self._latency)

    def _describe_loss(self) -> str:
        saved = self.last_saved
        loss = f"changes since {saved:%Y-%m-%d %H:%M:%S} are lost" if saved else "it had saved nothing before"
        return f"The emulator was not stopped properly, and it saves when it stops: {loss}."

    def _own_environment(self) -> dict[str, str]:
        # The functions inherit all these variables except the first, so nothing secret is here.
        for_test_run = {RECORD: str(self._record.resolve()), STARTED_BY: str(os.getpid())} if self._record else {}
        for_latency = {LATENCY: str(self._latency_file)} if self._latency else {}
        return {
            **for_test_run,
            **for_latency,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self._temporary),
            "GATEWAY_PORT": str(self.port),
            "BIND_HOST": LOOPBACK,
            "MINISTACK_HOST": LOOPBACK,
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "AUTH": "true",
            "PERSIST_STATE": "0" if self._record else "1",
            "STATE_DIR": str(self._home / "state"),
            "S3_PERSIST": "0" if self._record else "1",
            "S3_DATA_DIR": str(self._home / "s3"),
        }

    def _is_healthy(self) -> bool:
        connection = HTTPConnection(LOOPBACK, self.port, timeout=1)
        with contextlib.closing(connection), contextlib.suppress(OSError, HTTPException):
            connection.request("GET", "/_ministack/health")
            return connection.getresponse().status == 200
        return False

    def _orphan(self) -> int | None:
        try:
            pid = int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if str(_PROGRAM) in command_of(pid) and pid != os.getpid() else None

    def _still_saving(self, pid: int) -> CloudError:
        return CloudError(
            f"THE EMULATOR HAS NOT STOPPED within {_SECONDS_TO_SAVE:.0f} s, so its data may not be saved. "
            f"It still runs as process {pid}: wait for it to end, or see {self.log}. The next start stops it again."
        )

    def _note_clean_end(self) -> None:
        self._clear_temporary()
        self._pid_file.unlink(missing_ok=True)
        if any(sign in self.log.read_text(errors="replace") for sign in _FAILED_TO_SAVE):
            raise CloudError(f"THE EMULATOR COULD NOT SAVE some of its data. See 'Persistence' in {self.log}.")
        self._running_marker.unlink(missing_ok=True)
        self._saved_marker.touch()

    def _clear_temporary(self) -> None:
        shutil.rmtree(self._temporary, ignore_errors=True)

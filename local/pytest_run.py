"""Run pytest as a process of its own, with its output in a file and its result as a value."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from local.processes import stop_group

_POLL_SECONDS = 0.2
_SECONDS_TO_STOP = 60.0
_NO_TESTS = 5
_TESTS_FAILED = 1
_BROKEN = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run of pytest."""

    exit_code: int
    seconds: float
    tests: int = 0
    """The number of tests that ran, without those that were skipped."""
    failed: tuple[str, ...] = ()
    """The tests that failed or had an error."""
    skipped: tuple[str, ...] = ()
    """The tests that were skipped, each with its reason."""

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0 and not self.failed

    @property
    def is_complete(self) -> bool:
        """Whether pytest ran to its end, with or without failures."""
        return self.exit_code in (0, _TESTS_FAILED)

    @property
    def has_no_tests(self) -> bool:
        return self.exit_code == _NO_TESTS


def run_pytest(
    arguments: Sequence[str],
    log: Path,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run pytest, in another folder if `folder` is set.

    `watch` is called repeatedly while it runs. An exception from `watch`, or Ctrl-C, ends the run.
    """
    junit = _junit_file(log)
    junit.unlink(missing_ok=True)
    reporting = ["-o", "junit_family=xunit1", f"--junitxml={junit}"]
    command = [sys.executable, "-m", "pytest", *reporting, *arguments]
    exit_code, seconds = run_command(command, log, folder=folder, environment=environment, watch=watch)
    return read_outcome(junit, exit_code, seconds)


def run_command(
    command: Sequence[str],
    log: Path,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    watch: Callable[[], None] = lambda: None,
) -> tuple[int, float]:
    """Run a command and return its exit code and the seconds that it took."""
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("wb") as out:
        # The command gets a session of its own: Ctrl-C reaches this process, which ends the command and its children.
        with _interruptible_children():
            child = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            while child.poll() is None:
                watch()
                time.sleep(_POLL_SECONDS)
        finally:
            _end(child)
    return child.returncode, time.monotonic() - started


@contextlib.contextmanager
def _interruptible_children() -> Generator[None]:
    """Start children with the default handling of SIGINT.

    A shell starts background jobs with SIGINT ignored, and children inherit that.
    """
    inherited = signal.getsignal(signal.SIGINT)
    if inherited is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, inherited)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Send the group of the command SIGINT, so that fixtures stop their processes; then SIGTERM, then SIGKILL."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_SECONDS_TO_STOP)
    stop_group(child, _SECONDS_TO_STOP)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def read_outcome(junit: Path, exit_code: int, seconds: float) -> Outcome:
    """Read pytest's JUnit file. A run without one, or with an incomplete one, counts as broken."""
    try:
        cases = _cases_in(junit)
    except (FileNotFoundError, ET.ParseError):
        return Outcome(_BROKEN if exit_code in (0, _TESTS_FAILED) else exit_code, seconds)
    skipped = {_test_of(case): skip for case in cases if (skip := case.find("skipped")) is not None}
    failed = [_test_of(case) for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return Outcome(
        exit_code,
        seconds,
        tests=len({_test_of(case) for case in cases} - set(skipped)),
        failed=tuple(dict.fromkeys(failed)),
        skipped=tuple(f"{test}: {skip.get('message', '')}" for test, skip in skipped.items()),
    )


def read_failures(log: Path) -> Mapping[str, str]:
    """Return pytest's message for each test that failed in the run with this log.

    Errors of fixtures and of the collection are not included.
    """
    junit = _junit_file(log)
    cases = _cases_in(junit) if junit.is_file() else ()
    failures = ((case, case.find("failure")) for case in cases)
    return {_test_of(case): failure.get("message", "") for case, failure in failures if failure is not None}


def _junit_file(log: Path) -> Path:
    return log.with_suffix(".xml")


def _cases_in(junit: Path) -> Sequence[ET.Element]:
    return list(ET.parse(junit).getroot().iter("testcase"))  # noqa: S314 - pytest has just written it


def _test_of(case: ET.Element) -> str:
    """Return the id of the test, in the form of an argument of pytest."""
    file, name, within = case.get("file", ""), case.get("name", ""), case.get("classname", "")
    if not file:
        return "::".join(filter(None, [within, name]))
    module = file.removesuffix(".py").replace("/", ".")
    return "::".join([file, *filter(None, within.removeprefix(module).split(".")), name])

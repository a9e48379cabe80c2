"""One run of pytest as a process of its own: its output in a file, its result as a value."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from local.processes import stop_group

_LOOK_AGAIN_AFTER = 0.2
_SECONDS_TO_STOP = 60.0
_NO_TESTS = 5
_TESTS_FAILED = 1
_BROKEN = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    exit_code: int
    seconds: float
    tests: int = 0
    """As many as ran; those that were skipped are not among them."""
    failed: tuple[str, ...] = ()
    """Failures and errors, by test."""
    skipped: tuple[str, ...] = ()
    """By test, each with its reason."""

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0 and not self.failed

    @property
    def is_complete(self) -> bool:
        """Whether pytest came to its end, with or without failures."""
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
    """Runs pytest, in another folder if one is given. `watch` is called while it runs; an exception of it, and Ctrl-C,
    end the run."""
    junit = _junit_of(log)
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
    """The exit code of a command, and the seconds that it took."""
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with log.open("wb") as out:
        # A session of its own: Ctrl-C comes here, and ends the run with all that it started.
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
                time.sleep(_LOOK_AGAIN_AFTER)
        finally:
            _end(child)
    return child.returncode, time.monotonic() - began


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the command as Ctrl-C does, so that fixtures stop what they started; then all of its group by force."""
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
    """Reads pytest's JUnit file. A run without one, or with half of one, counts as broken."""
    try:
        cases = _cases_in(junit)
    except (FileNotFoundError, ET.ParseError):
        return Outcome(_BROKEN if exit_code in (0, _TESTS_FAILED) else exit_code, seconds)
    skipped = {_test_of(case): said for case in cases if (said := case.find("skipped")) is not None}
    failed = [_test_of(case) for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return Outcome(
        exit_code,
        seconds,
        tests=len({_test_of(case) for case in cases} - set(skipped)),
        failed=tuple(dict.fromkeys(failed)),
        skipped=tuple(f"{test}: {said.get('message', '')}" for test, said in skipped.items()),
    )


def read_failures(log: Path) -> Mapping[str, str]:
    """What pytest said of each test that failed by itself, in the run with this log. An error of a fixture or of the
    collection is none."""
    junit = _junit_of(log)
    cases = _cases_in(junit) if junit.is_file() else ()
    return {_test_of(case): said.get("message", "") for case in cases if (said := case.find("failure")) is not None}


def _junit_of(log: Path) -> Path:
    return log.with_suffix(".xml")


def _cases_in(junit: Path) -> Sequence[ET.Element]:
    return list(ET.parse(junit).getroot().iter("testcase"))  # noqa: S314 - pytest has just written it


def _test_of(case: ET.Element) -> str:
    """As pytest takes it as an argument."""
    file, name, within = case.get("file", ""), case.get("name", ""), case.get("classname", "")
    if not file:
        return "::".join(filter(None, [within, name]))
    module = file.removesuffix(".py").replace("/", ".")
    return "::".join([file, *filter(None, within.removeprefix(module).split(".")), name])

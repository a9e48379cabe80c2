"""The directory of a laptop cloud, with the lock of the running cloud and its ready notice."""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from local.errors import CloudError

_ATTEMPTS = 5
_SECONDS_BETWEEN_ATTEMPTS = 0.1


@dataclass(frozen=True, slots=True)
class ReadyNotice:
    """The port and closing text that a running cloud leaves for the other commands."""

    port: int
    closing: str


class Home:
    """The directory of one cloud. The process that holds its lock is the running cloud."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @property
    def log(self) -> Path:
        """The output of a cloud in the background."""
        return self.path / "cloud.log"

    @property
    def exists(self) -> bool:
        """Whether a cloud has ever run here."""
        return self._lock_file.exists()

    def create(self) -> None:
        """Create the directory, for this user only: it holds keys."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def claim(self) -> Generator[None]:
        """Hold the lock of this home, or fail if another process holds it. A process that dies releases it."""
        self.create()
        with self._lock_file.open("a+") as lock:
            if not _acquire(lock):
                raise CloudError(
                    f"A laptop cloud runs in {self.path} already (process {self.occupant()}). "
                    "Stop it with Ctrl-C in its terminal, or: make down"
                )
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            self._notice_file.unlink(missing_ok=True)
            try:
                yield
            finally:
                self._notice_file.unlink(missing_ok=True)

    def occupant(self) -> int | None:
        """Return the id of the process that holds the lock, or None."""
        try:
            with self._lock_file.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            return int(self._lock_file.read_text() or 0)
        return None

    def announce(self, notice: ReadyNotice) -> None:
        """Write the ready notice, from which the other commands know that the cloud serves."""
        draft = self._notice_file.with_suffix(".new")
        draft.write_text(json.dumps(asdict(notice)))
        draft.replace(self._notice_file)

    def ready_notice(self) -> ReadyNotice | None:
        """Return the notice of the running cloud, or None if none runs or it is not ready yet."""
        if self.occupant() is None:
            return None
        try:
            return ReadyNotice(**json.loads(self._notice_file.read_text()))
        except FileNotFoundError:
            return None

    @property
    def _lock_file(self) -> Path:
        return self.path / "cloud.lock"

    @property
    def _notice_file(self) -> Path:
        return self.path / "ready.json"


def _acquire(lock: TextIO) -> bool:
    # A command that calls `occupant` holds the lock for a moment, so one failed attempt proves nothing.
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_SECONDS_BETWEEN_ATTEMPTS)
    return False

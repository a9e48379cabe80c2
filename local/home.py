"""The directory of a laptop cloud: who runs in it, and what it said when it was ready."""

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
class Ready:
    """What a running cloud tells the other commands."""

    port: int
    closing: str


class Home:
    """One directory; whoever holds its lock runs there."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @property
    def log(self) -> Path:
        """The output of a cloud in the background."""
        return self.path / "cloud.log"

    @property
    def exists(self) -> bool:
        """Whether a cloud has ever run here."""
        return self._lock.exists()

    def make(self) -> None:
        """Make the directory, for this user only: it holds keys."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def claimed(self) -> Generator[None]:
        """Run here, unless somebody else does. A process that dies gives its claim up by that."""
        self.make()
        with self._lock.open("a+") as lock:
            if not _take(lock):
                raise CloudError(
                    f"A laptop cloud runs in {self.path} already (process {self.occupant()}). "
                    "Stop it with Ctrl-C in its terminal, or: make down"
                )
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            self._ready.unlink(missing_ok=True)
            try:
                yield
            finally:
                self._ready.unlink(missing_ok=True)

    def occupant(self) -> int | None:
        """The process that runs here."""
        try:
            with self._lock.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            return int(self._lock.read_text() or 0)
        return None

    def announce(self, ready: Ready) -> None:
        """Tell the other commands that the cloud serves."""
        draft = self._ready.with_suffix(".new")
        draft.write_text(json.dumps(asdict(ready)))
        draft.replace(self._ready)

    def ready(self) -> Ready | None:
        """What the running cloud announced; None if none runs, or it is not ready yet."""
        if self.occupant() is None:
            return None
        try:
            return Ready(**json.loads(self._ready.read_text()))
        except FileNotFoundError:
            return None

    @property
    def _lock(self) -> Path:
        return self.path / "cloud.lock"

    @property
    def _ready(self) -> Path:
        return self.path / "ready.json"


def _take(lock: TextIO) -> bool:
    # A command that only asks who is here holds the lock for a moment.
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_SECONDS_BETWEEN_ATTEMPTS)
    return False

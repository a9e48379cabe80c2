"""Where a person's tokens are kept: one file, readable by its owner alone."""

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from signpost.cli import private_file
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """Where tokens come from, and for what."""

    resource: str
    client_id: str
    token_endpoint: str


@dataclass(frozen=True, slots=True)
class Credentials:
    source: Source
    # Tokens belong in no log and no traceback.
    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: float | None  # None where the issuer does not say


class CredentialStore:
    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, url: str) -> Credentials | None:
        return self._read().get(_key(url))

    def keep(self, url: str, credentials: Credentials) -> None:
        self._write({**self._read(), _key(url): credentials})

    def forget(self, url: str) -> bool:
        kept = self._read()
        found = kept.pop(_key(url), None) is not None
        if found:
            self._write(kept)
        return found

    @contextmanager
    def alone(self) -> Generator[None]:
        """One process at a time: a refresh token that two send at once looks stolen to its issuer."""
        with self._lock() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _lock(self) -> IO[str]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._path.with_suffix(".lock").open("w")
        except OSError as error:
            raise CommandFailed(f"{self._path.parent} cannot be written ({error.strerror}). Check its owner.") from None

    def _read(self) -> dict[str, Credentials]:
        try:
            rows: dict[str, dict[str, Any]] = json.loads(self._path.read_text(encoding="utf-8"))
            return {url: _credentials(row) for url, row in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise CommandFailed(f"{self._path} cannot be read. Remove it and log in again.") from None

    def _write(self, kept: dict[str, Credentials]) -> None:
        rows = {url: asdict(credentials) for url, credentials in kept.items()}
        private_file.write(self._path, json.dumps(rows, indent=2))


def default_path() -> Path:
    # The XDG specification: a relative path there is to be ignored.
    configured = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    home = configured if configured.is_absolute() else Path.home() / ".config"
    return home / "signpost" / "credentials.json"


def _key(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def _credentials(row: dict[str, Any]) -> Credentials:
    return replace(Credentials(**row), source=Source(**row["source"]))

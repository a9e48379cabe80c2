"""Stores a person's tokens in one file that only its owner may read."""

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
class TokenSource:
    """The token endpoint and the client that issued tokens, and the resource for which they are valid."""

    resource: str
    client_id: str
    token_endpoint: str


@dataclass(frozen=True, slots=True)
class LoginTokens:
    """The access token and the refresh token of a person for one server."""

    source: TokenSource
    # Tokens must not appear in logs and tracebacks.
    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: float | None  # None where the issuer does not say


class TokenStore:
    """The file with the tokens of a person, by server URL."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, url: str) -> LoginTokens | None:
        return self._read().get(_key(url))

    def keep(self, url: str, tokens: LoginTokens) -> None:
        self._write({**self._read(), _key(url): tokens})

    def forget(self, url: str) -> bool:
        """Delete the tokens for a URL. Returns False if there are none."""
        tokens_by_url = self._read()
        found = tokens_by_url.pop(_key(url), None) is not None
        if found:
            self._write(tokens_by_url)
        return found

    @contextmanager
    def lock(self) -> Generator[None]:
        """Let one process at a time renew tokens: the issuer takes a refresh token that is sent twice for stolen."""
        with self._open_lock_file() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _open_lock_file(self) -> IO[str]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._path.with_suffix(".lock").open("w")
        except OSError as error:
            raise CommandFailed(f"{self._path.parent} cannot be written ({error.strerror}). Check its owner.") from None

    def _read(self) -> dict[str, LoginTokens]:
        try:
            rows: dict[str, dict[str, Any]] = json.loads(self._path.read_text(encoding="utf-8"))
            return {url: _tokens_of(row) for url, row in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise CommandFailed(f"{self._path} cannot be read. Remove it and log in again.") from None

    def _write(self, tokens_by_url: dict[str, LoginTokens]) -> None:
        rows = {url: asdict(tokens) for url, tokens in tokens_by_url.items()}
        private_file.write(self._path, json.dumps(rows, indent=2))


def default_path() -> Path:
    # The XDG specification: a relative path in XDG_CONFIG_HOME is ignored.
    configured = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    home = configured if configured.is_absolute() else Path.home() / ".config"
    return home / "signpost" / "credentials.json"


def _key(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def _tokens_of(row: dict[str, Any]) -> LoginTokens:
    return replace(LoginTokens(**row), source=TokenSource(**row["source"]))

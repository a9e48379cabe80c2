"""The OAuth clients of the issuer: the signpost command, the sample machine and registered clients."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, cast

from local.issuer import loopback
from local.issuer.exchange import Answer, OAuthError, Request, as_json
from local.issuer.people import AGENT
from signpost.cli import private_file

PUBLIC_GRANTS = ("authorization_code", "refresh_token")
MOST_REGISTRATIONS = 200


@dataclass(frozen=True, slots=True)
class Client:
    id: str
    name: str
    redirect_uris: tuple[str, ...] = ()
    grants: tuple[str, ...] = PUBLIC_GRANTS
    secret: str | None = None

    def redirects_to(self, uri: str) -> bool:
        return loopback.is_redirect(uri) and any(loopback.equal_except_port(own, uri) for own in self.redirect_uris)

    def accepts_secret(self, secret: str | None) -> bool:
        if self.secret is None:
            return secret is None
        return secrets.compare_digest(self.secret.encode(), (secret or "").encode())


COMMAND_LINE = Client(
    "signpost-cli", "The signpost command", ("http://127.0.0.1/callback", "http://localhost/callback")
)


class Clients:
    """The built-in clients, and those that registered themselves; registrations are stored and outlive a restart."""

    def __init__(self, home: Path) -> None:
        self._file = home / "clients.json"
        self._lock = Lock()
        self.agent_secret = _agent_secret(home)
        agent = Client(AGENT.name, "The sample machine", grants=("client_credentials",), secret=self.agent_secret)
        self._builtin = {client.id: client for client in (COMMAND_LINE, agent)}
        self._registered = _load(self._file)

    def find(self, client_id: str) -> Client | None:
        return self._builtin.get(client_id) or self._registered.get(client_id)

    def register(self, request: Request) -> Answer:
        """Register a public client (RFC 7591), without a secret and without its redirect URIs beyond loopback."""
        metadata = _metadata(request.body)
        client = Client(f"client-{secrets.token_urlsafe(12)}", _name(metadata), _redirects(metadata))
        with self._lock:
            newest = [*self._registered.values(), client][-MOST_REGISTRATIONS:]
            self._registered = {registered.id: registered for registered in newest}
            private_file.write(self._file, json.dumps([asdict(registered) for registered in newest]))
        return as_json(_registration(client), 201)


def _agent_secret(home: Path) -> str:
    path = home / "agent-secret"
    if not path.exists():
        private_file.write(path, secrets.token_urlsafe(32))
    return path.read_text()


def _load(path: Path) -> dict[str, Client]:
    rows: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    clients = (Client(row["id"], row["name"], tuple(row["redirect_uris"])) for row in rows)
    return {client.id: client for client in clients}


def _metadata(body: bytes) -> Mapping[str, object]:
    try:
        metadata: object = json.loads(body)
    except (ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict):
        raise OAuthError("invalid_client_metadata", "Send the client's metadata as a JSON object.")
    return cast("dict[str, object]", metadata)


def _redirects(metadata: Mapping[str, object]) -> tuple[str, ...]:
    value = metadata.get("redirect_uris")
    uris = cast("list[object]", value) if isinstance(value, list) else []
    local = tuple(uri for uri in uris if isinstance(uri, str) and loopback.is_redirect(uri))
    if not local:
        raise OAuthError("invalid_redirect_uri", "Give at least one redirect URI of the form http://127.0.0.1/...")
    return local


def _name(metadata: Mapping[str, object]) -> str:
    name = metadata.get("client_name")
    return name[:80] if isinstance(name, str) and name.strip() else "An unnamed client"


def _registration(client: Client) -> dict[str, object]:
    return {
        "client_id": client.id,
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": client.grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }

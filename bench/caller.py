"""The requests of the bench, with a token of an issuer that exists only in the bench."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm

from bench import tools
from bench.stub import Rows
from local.json_values import JsonObject, read_object
from local.project import Project
from signpost.adapters import keys

ISSUER = "https://issuer.example"
AUDIENCE = "https://signpost.example/mcp"
PARAMETERS = {
    "AuthMode": "jwt",
    "OidcIssuer": ISSUER,
    "OidcAudience": AUDIENCE,
    "PublicUrl": "https://signpost.example",
}
"""Template parameters with which the gateway accepts the tokens of the issuer."""
_KEY_ID = "bench"
_LIFETIME = 3600


def _new_key() -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=2048)


@dataclass(frozen=True, slots=True)
class Issuer:
    private_key: RSAPrivateKey = field(default_factory=_new_key)

    def token(self) -> str:
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "bench",
            "tenant": "default",
            "iat": now,
            "exp": now + _LIFETIME,
        }
        return jwt.encode(claims, self.private_key, algorithm="RS256", headers={"kid": _KEY_ID})

    def key(self) -> JsonObject:
        public: JsonObject = json.loads(RSAAlgorithm.to_jwk(self.private_key.public_key()))
        return {**public, "kid": _KEY_ID, "use": "sig", "alg": "RS256"}

    def rows(self) -> Rows:
        """Return the only rows that the gateway reads for an answer, the published keys of the issuer."""
        now = time.time()
        published = {_KEY_ID: self.key()}
        row: JsonObject = {
            "keys": {"S": json.dumps(published)},
            "fetched_at": {"N": str(now)},
            "refresh_not_before": {"N": str(now + _LIFETIME)},
        }
        key = keys.issuer_keys(ISSUER)
        return {(key["pk"]["S"], key["sk"]["S"]): row}


def event_file(project: Project) -> Path:
    return project.root / "events" / "gateway" / "tools-list.json"


def build_list_event(project: Project, issuer: Issuer) -> JsonObject:
    """Build the event of a tools/list, the first request of a client that has a token."""
    event = read_object(event_file(project))
    headers = event.get("headers")
    other_headers = headers if isinstance(headers, dict) else {}
    return {**event, "headers": {**other_headers, "authorization": f"Bearer {issuer.token()}"}}


def build_call_event(project: Project, issuer: Issuer) -> JsonObject:
    """Build the event with which the same client calls the first tool of the bench."""
    event = build_list_event(project, issuer)
    headers, body = event["headers"], event["body"]
    assert isinstance(headers, dict)
    assert isinstance(body, str)
    message = json.loads(body)
    name = tools.tool_name(0)
    params = {**message["params"], "name": name, "arguments": tools.ARGUMENTS}
    return {
        **event,
        "headers": {**headers, "mcp-method": "tools/call", "mcp-name": name},
        "body": json.dumps({**message, "method": "tools/call", "params": params}),
    }

"""Who calls in the bench: a token of an issuer that exists only in it."""

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
# Parameters of the template under which the issuer's tokens are good.
PARAMETERS = {
    "AuthMode": "jwt",
    "OidcIssuer": ISSUER,
    "OidcAudience": AUDIENCE,
    "PublicUrl": "https://signpost.example",
}
_KEY_ID = "bench"
_LIFETIME = 3600


def _new_key() -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=2048)


@dataclass(frozen=True, slots=True)
class Issuer:
    private_key: RSAPrivateKey = field(default_factory=_new_key)

    def token(self) -> str:
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "bench", "iat": now, "exp": now + _LIFETIME}
        return jwt.encode(claims, self.private_key, algorithm="RS256", headers={"kid": _KEY_ID})

    def key(self) -> JsonObject:
        public: JsonObject = json.loads(RSAAlgorithm.to_jwk(self.private_key.public_key()))
        return {**public, "kid": _KEY_ID, "use": "sig", "alg": "RS256"}

    def rows(self) -> Rows:
        """The rows that the gateway reads on its way to the answer: the published keys of the issuer."""
        now = time.time()
        published = {_KEY_ID: self.key()}
        row: JsonObject = {
            "keys": {"S": json.dumps(published)},
            "fetched_at": {"N": str(now)},
            "refresh_not_before": {"N": str(now + _LIFETIME)},
        }
        address = keys.issuer_keys(ISSUER)
        return {(address["pk"]["S"], address["sk"]["S"]): row}


def event_file(project: Project) -> Path:
    return project.root / "events" / "gateway" / "tools-list.json"


def first_answer_event(project: Project, issuer: Issuer) -> JsonObject:
    """The first request of a client that has a token: tools/list."""
    event = read_object(event_file(project))
    headers = event.get("headers")
    known = headers if isinstance(headers, dict) else {}
    return {**event, "headers": {**known, "authorization": f"Bearer {issuer.token()}"}}


def call_event(project: Project, issuer: Issuer) -> JsonObject:
    """The same client calls the first tool of the bench."""
    event = first_answer_event(project, issuer)
    headers, body = event["headers"], event["body"]
    assert isinstance(headers, dict)
    assert isinstance(body, str)
    message = json.loads(body)
    name = tools.name(0)
    params = {**message["params"], "name": name, "arguments": tools.ARGUMENTS}
    return {
        **event,
        "headers": {**headers, "mcp-method": "tools/call", "mcp-name": name},
        "body": json.dumps({**message, "method": "tools/call", "params": params}),
    }

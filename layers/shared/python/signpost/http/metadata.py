"""The protected resource metadata (RFC 9728): where a client gets a token for this endpoint."""

from signpost.http.response import Response, json_response, refusal
from signpost.model import Json
from signpost.settings import ENDPOINTS, GatewaySettings

ROOT = "/.well-known/oauth-protected-resource"
PREFIX = "/.well-known/"


def metadata_url(settings: GatewaySettings, endpoint: str) -> str | None:
    return f"{settings.public_url}{ROOT}{endpoint}" if settings.identity.accepts_tokens else None


def well_known(path: str, settings: GatewaySettings) -> Response:
    """The document stands at the path of each endpoint, and at the root, since clients look at either."""
    endpoint = path.removeprefix(ROOT) or ENDPOINTS[0]
    if not path.startswith(ROOT) or endpoint not in ENDPOINTS or not settings.identity.accepts_tokens:
        return refusal(404, "not_found", "There is no such document here.")
    document: Json = {
        "resource": f"{settings.public_url}{endpoint}",
        "authorization_servers": [settings.identity.oidc_issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Signpost",
    }
    return json_response(200, document, {"cache-control": "max-age=300"})

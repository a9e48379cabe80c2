"""The protected resource metadata (RFC 9728), which says where a client gets a token for an endpoint."""

from signpost.entrypoints.http.response import HttpResponse, json_response, refusal_response
from signpost.model import Json
from signpost.settings import ENDPOINTS, GatewaySettings

ROOT = "/.well-known/oauth-protected-resource"
PREFIX = "/.well-known/"


def metadata_url(settings: GatewaySettings, endpoint: str) -> str | None:
    return f"{settings.public_url}{ROOT}{endpoint}" if settings.identity.accepts_tokens else None


def well_known_response(path: str, settings: GatewaySettings) -> HttpResponse:
    """Answers a metadata request. The document is served at the path of each endpoint and at the root, as clients try
    either."""
    endpoint = path.removeprefix(ROOT) or ENDPOINTS[0]
    if not path.startswith(ROOT) or endpoint not in ENDPOINTS or not settings.identity.accepts_tokens:
        return refusal_response(404, "not_found", "There is no metadata document at this path.")
    document: Json = {
        "resource": f"{settings.public_url}{endpoint}",
        "authorization_servers": [settings.identity.oidc_issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Signpost",
    }
    return json_response(200, document, {"cache-control": "max-age=300"})

"""The protected resource metadata (RFC 9728): where a client gets a token for this endpoint."""

from signpost.http.response import Response, json_response, refusal
from signpost.model import Json
from signpost.settings import GatewaySettings

ROOT = "/.well-known/oauth-protected-resource"
PREFIX = "/.well-known/"


def metadata_url(settings: GatewaySettings) -> str | None:
    return f"{settings.public_url}{ROOT}/mcp" if settings.accepts_tokens else None


def well_known(path: str, settings: GatewaySettings) -> Response:
    """The document stands at the root and at the path of the endpoint, since clients look at either."""
    if path not in (ROOT, f"{ROOT}/mcp") or not settings.accepts_tokens:
        return refusal(404, "not_found", "There is no such document here.")
    document: Json = {
        "resource": settings.resource_url,
        "authorization_servers": [settings.oidc_issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Signpost",
    }
    return json_response(200, document, {"cache-control": "max-age=300"})

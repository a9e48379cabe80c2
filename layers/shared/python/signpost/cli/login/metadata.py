"""Finds the endpoints of the authorization server of an MCP server (RFC 9728, RFC 8414)."""

from signpost.cli.failure import CommandFailed
from signpost.cli.login import http
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class ServerMetadata:
    """The metadata of an MCP server as a protected resource (RFC 9728)."""

    resource: str
    issuer: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuthorityMetadata:
    """The metadata of an authorization server (RFC 8414)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    scopes: tuple[str, ...]
    sends_issuer: bool  # RFC 9207: the redirects carry `iss`


def fetch_server(url: str) -> ServerMetadata:
    parts = http.parse_secure_url(url)
    path = parts.path.rstrip("/")
    metadata = http.get(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{path}")
    issuers = metadata.texts("authorization_servers") if metadata else ()
    if metadata is None or not issuers:
        raise CommandFailed(f"{url} offers no login. Check the URL, or use an API key.")
    resource = metadata.text("resource")
    _check_is_about(url, resource)
    return ServerMetadata(resource, issuers[0], metadata.texts("scopes_supported"))


def fetch_authority(issuer: str) -> AuthorityMetadata:
    metadata = next(filter(None, map(http.get, _metadata_urls(issuer))), None)
    if metadata is None:
        raise CommandFailed(f"{issuer} publishes no metadata. Is it running, and is it the server's OIDC issuer?")
    if metadata.text("issuer") != issuer:
        advice = "The MCP server must be configured with exactly that name."
        raise CommandFailed(f"The metadata of {issuer} names the issuer {metadata.text('issuer')}. {advice}")
    if "S256" not in metadata.texts("code_challenge_methods_supported"):
        raise CommandFailed(f"{issuer} does not support PKCE with S256, which a safe login requires.")
    return AuthorityMetadata(
        issuer=issuer,
        authorization_endpoint=_read_endpoint(metadata, "authorization_endpoint"),
        token_endpoint=_read_endpoint(metadata, "token_endpoint"),
        scopes=metadata.texts("scopes_supported"),
        sends_issuer=metadata.fields.get("authorization_response_iss_parameter_supported") is True,
    )


def _check_is_about(url: str, resource: str) -> None:
    """Raise CommandFailed unless the URL belongs to the resource in its metadata.

    The metadata of one server must not make this client fetch a token for another resource (RFC 9728, 3.3)."""
    url_parts, resource_parts = http.parse_secure_url(url), http.parse_secure_url(resource)
    same_host = (url_parts.scheme, url_parts.netloc.lower()) == (resource_parts.scheme, resource_parts.netloc.lower())
    if not same_host or not f"{url_parts.path.rstrip('/')}/".startswith(f"{resource_parts.path.rstrip('/')}/"):
        advice = "Log in to that URL if you trust it."
        raise CommandFailed(f"The metadata of {url} names another resource, {resource}. {advice}")


def _metadata_urls(issuer: str) -> tuple[str, ...]:
    parts = http.parse_secure_url(issuer)
    host, path = f"{parts.scheme}://{parts.netloc}/.well-known", parts.path.rstrip("/")
    urls = [f"{host}/oauth-authorization-server{path}", f"{host}/openid-configuration{path}"]
    return (*urls, f"{issuer.rstrip('/')}/.well-known/openid-configuration") if path else tuple(urls)


def _read_endpoint(metadata: http.JsonDocument, name: str) -> str:
    endpoint = metadata.text(name)
    http.parse_secure_url(endpoint)
    return endpoint

"""From the URL of an MCP server to the endpoints of its authorization server (RFC 9728, RFC 8414)."""

from signpost.cli import web
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """What the MCP server says about itself."""

    resource: str
    issuer: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Authority:
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    scopes: tuple[str, ...]
    names_itself: bool  # RFC 9207: its answers carry `iss`


def server(url: str) -> Server:
    parts = web.secure(url)
    path = parts.path.rstrip("/")
    metadata = web.get(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{path}")
    issuers = metadata.texts("authorization_servers") if metadata else ()
    if metadata is None or not issuers:
        raise CommandFailed(f"{url} offers no login: check the URL, or use an API key if that is how it lets you in.")
    resource = metadata.text("resource")
    _is_about(url, resource)
    return Server(resource, issuers[0], metadata.texts("scopes_supported"))


def authority(issuer: str) -> Authority:
    metadata = next(filter(None, map(web.get, _well_known(issuer))), None)
    if metadata is None:
        raise CommandFailed(f"{issuer} publishes no metadata. Is it running, and is it the server's OIDC issuer?")
    if metadata.text("issuer") != issuer:
        raise CommandFailed(f"{issuer} calls itself {metadata.text('issuer')}; the server must name it exactly so.")
    if "S256" not in metadata.texts("code_challenge_methods_supported"):
        raise CommandFailed(f"{issuer} does not offer PKCE with S256, without which a login is not safe.")
    return Authority(
        issuer=issuer,
        authorization_endpoint=_endpoint(metadata, "authorization_endpoint"),
        token_endpoint=_endpoint(metadata, "token_endpoint"),
        scopes=metadata.texts("scopes_supported"),
        names_itself=metadata.fields.get("authorization_response_iss_parameter_supported") is True,
    )


def _is_about(url: str, resource: str) -> None:
    """A token for another resource must not be fetched on this one's word (RFC 9728, 3.3)."""
    asked, said = web.secure(url), web.secure(resource)
    same_host = (asked.scheme, asked.netloc.lower()) == (said.scheme, said.netloc.lower())
    if not same_host or not f"{asked.path.rstrip('/')}/".startswith(f"{said.path.rstrip('/')}/"):
        raise CommandFailed(f"{url} calls itself {resource}. Log in to that URL if you trust it.")


def _well_known(issuer: str) -> tuple[str, ...]:
    parts = web.secure(issuer)
    host, path = f"{parts.scheme}://{parts.netloc}/.well-known", parts.path.rstrip("/")
    places = [f"{host}/oauth-authorization-server{path}", f"{host}/openid-configuration{path}"]
    return (*places, f"{issuer.rstrip('/')}/.well-known/openid-configuration") if path else tuple(places)


def _endpoint(metadata: web.Document, name: str) -> str:
    endpoint = metadata.text(name)
    web.secure(endpoint)
    return endpoint

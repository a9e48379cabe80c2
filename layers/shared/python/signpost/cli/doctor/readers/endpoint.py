"""Examines the endpoint as a client without a credential sees it, and the issuer of tokens as the gateway sees it."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from signpost.cli.doctor.rules.endpoint import EndpointAnswer, EndpointFacts, judge_endpoint
from signpost.cli.doctor.rules.issuer import IssuerFacts, judge_issuer
from signpost.cli.failure import CommandFailed
from signpost.cli.login import http
from signpost.errors import Unavailable
from signpost.model import as_object

if TYPE_CHECKING:
    from signpost.cli.doctor.findings import Finding
    from signpost.cli.doctor.readers.examined_stack import ExaminedStack
    from signpost.cli.doctor.readers.partial_reads import PartialReads
    from signpost.model import JsonObject

ANSWER_TIMEOUT = 35.0
"""Seconds to wait for an answer: longer than the API waits for a function that starts."""
JSON_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def examine_endpoint(stack: "ExaminedStack", _: "PartialReads") -> "Iterator[Finding]":
    mcp_url = stack.outputs["McpUrl"]
    health = _answer_of(lambda: _fetch_health(mcp_url))
    facts = EndpointFacts(mcp_url, health)
    if isinstance(health, EndpointAnswer):
        challenge = _answer_of(
            lambda: http.post_json(mcp_url, b"{}", JSON_HEADERS, patience=ANSWER_TIMEOUT, longest=http.LARGEST_ANSWER)
        )
        facts = EndpointFacts(mcp_url, health, challenge, _read_metadata(mcp_url, challenge))
    return judge_endpoint(facts, stack.parameters)


def read_health(mcp_url: str) -> EndpointAnswer:
    """Read the health of the endpoint. Raises CommandFailed without an answer."""
    return _convert(_fetch_health(mcp_url))


def _fetch_health(mcp_url: str) -> http.JsonDocument:
    """Fetch the health. It is the first request, which may wait for a function that starts."""
    return http.fetch(_url_of(mcp_url, "/health"), ANSWER_TIMEOUT)


def examine_issuer(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    issuer = stack.parameters.get("OidcIssuer")
    if not issuer or not stack.parameters.accepts_tokens:
        return iter(())
    from signpost.identity.tokens import ALGORITHMS  # noqa: PLC0415 - the JWT library is slow to import

    stored = reads.read("keys of the issuer in the registry", lambda: stack.adapters.issuer_key_sets.read(issuer))
    return judge_issuer(
        IssuerFacts(
            issuer=issuer,
            mcp_url=stack.outputs["McpUrl"],
            keys=_fetch_keys(issuer),
            key_types=ALGORITHMS,
            fetched_at=stored.fetched_at if stored is not None else None,
            now=time.time(),
        ),
        stack.parameters,
    )


def _fetch_keys(issuer: str) -> "Mapping[str, JsonObject] | str":
    """Fetch the keys as the gateway does; a text is the reason why that failed."""
    from signpost.adapters.oidc import HttpKeySetSource  # noqa: PLC0415 - a part of the checks needs it

    try:
        return HttpKeySetSource().fetch(issuer)
    except Unavailable as fault:
        return str(fault) if fault.__cause__ is None else f"{str(fault).rstrip('.')} ({fault.__cause__})."


def _read_metadata(mcp_url: str, challenge: EndpointAnswer | str) -> EndpointAnswer | str:
    named = challenge.metadata_url if isinstance(challenge, EndpointAnswer) else None
    path = f"/.well-known/oauth-protected-resource{urlsplit(mcp_url).path}"
    return _answer_of(lambda: http.fetch(named or _url_of(mcp_url, path)))


def _answer_of(fetch: Callable[[], http.JsonDocument]) -> EndpointAnswer | str:
    try:
        return _convert(fetch())
    except CommandFailed as fault:
        return str(fault).rstrip(".")


def _convert(document: http.JsonDocument) -> EndpointAnswer:
    return EndpointAnswer(document.status, document.headers, as_object(dict(document.fields)))  # pyright: ignore[reportArgumentType] - parsed from JSON


def _url_of(mcp_url: str, path: str) -> str:
    parts = urlsplit(mcp_url)
    return f"{parts.scheme}://{parts.netloc}{path}"

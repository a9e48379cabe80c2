"""The endpoint of the stack: its health, its challenge to a request without a credential, and the metadata of it."""

import re
from collections.abc import Iterator, Mapping

from signpost.cli.doctor.findings import Finding, error
from signpost.cli.doctor.rules.parameters import StackParameters
from signpost.model import JsonObject
from signpost.records import dataclass

CHALLENGE_HEADERS = ("www-authenticate", "x-amzn-remapped-www-authenticate")
"""API Gateway sends the header on under the second name."""
METADATA_URL = re.compile(r'resource_metadata="([^"]+)"')
WELL_KNOWN = "the well-known path"
"""Where the metadata is asked for if the challenge names no URL."""
GATEWAY_LOG = "Read the log of the gateway (docs/operations.md#watch)."


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """The answer of the endpoint to one request."""

    status: int
    headers: Mapping[str, str]
    """The names in lower case."""
    document: JsonObject
    """Empty if the answer is no JSON object."""

    @property
    def challenge(self) -> str:
        return next((self.headers[name] for name in CHALLENGE_HEADERS if name in self.headers), "")

    @property
    def metadata_url(self) -> str | None:
        found = METADATA_URL.search(self.challenge)
        return found[1] if found else None


@dataclass(frozen=True, slots=True)
class EndpointFacts:
    mcp_url: str
    health: EndpointAnswer | str
    """A text is the reason why there was no answer."""
    without_credential: EndpointAnswer | str = ""
    metadata: EndpointAnswer | str = ""
    """The answer at the URL that the challenge names, or at the well-known path without one."""


def judge_endpoint(facts: EndpointFacts, parameters: StackParameters) -> Iterator[Finding]:
    if isinstance(facts.health, str):
        yield _find_unreachable(facts.mcp_url, facts.health)
    elif facts.health.status != 200:
        problem = f"GET /health is answered with {facts.health.status} instead of 200."
        yield error("health_failed", facts.mcp_url, problem, GATEWAY_LOG)
    elif facts.health.document.get("configured") is False and parameters.auth_mode != "none":
        problem = "The gateway answers that it is not configured, and refuses all requests with 503."
        remedy = (
            "Send any request to the endpoint: the answer names the setting. Correct that parameter and deploy again."
        )
        yield error("not_configured", facts.mcp_url, problem, remedy)
    elif parameters.auth_mode in ("jwt", "api-key", "both"):
        yield from _judge_challenge(facts, parameters)


def _judge_challenge(facts: EndpointFacts, parameters: StackParameters) -> Iterator[Finding]:
    answer = facts.without_credential
    if isinstance(answer, str):
        yield _find_unreachable(facts.mcp_url, answer)
    elif answer.status != 401 or not answer.challenge.startswith("Bearer"):
        problem = (
            f"A request without a credential is answered with {answer.status} and "
            f"{'another' if answer.challenge else 'no'} challenge, instead of 401 with a Bearer challenge."
        )
        remedy = "Look for a proxy, a firewall or an authorizer in front of the function that answers in its place."
        yield error("no_challenge", facts.mcp_url, problem, remedy)
    elif parameters.accepts_tokens:
        yield from _judge_metadata(facts, answer.metadata_url or WELL_KNOWN, parameters)


def _judge_metadata(facts: EndpointFacts, url: str, parameters: StackParameters) -> Iterator[Finding]:
    """Judge the document by which a client finds the issuer of tokens."""
    answer = facts.metadata
    if isinstance(answer, str) or answer.status != 200:
        reason = answer if isinstance(answer, str) else f"it is answered with {answer.status}"
        problem = f"Clients cannot find the issuer: the metadata at {url} cannot be read: {reason}."
        remedy = "Check PublicUrl and DomainName, and any proxy in front of the API."
        yield error("metadata_wrong", facts.mcp_url, problem, remedy)
        return
    issuers, resource = answer.document.get("authorization_servers"), answer.document.get("resource")
    if issuers != [parameters.get("OidcIssuer")] or resource != facts.mcp_url:
        problem = f"The metadata at {url} names the resource {resource} and the issuers {issuers}."
        remedy = f"It should name {facts.mcp_url} and {parameters.get('OidcIssuer')}: deploy the stack again."
        yield error("metadata_wrong", facts.mcp_url, problem, remedy)


def _find_unreachable(url: str, reason: str) -> Finding:
    remedy = "Check PublicUrl and DomainName with its DNS record (docs/operations.md#a-domain-of-your-own)."
    return error("endpoint_unreachable", url, f"The endpoint does not answer this machine: {reason}.", remedy)

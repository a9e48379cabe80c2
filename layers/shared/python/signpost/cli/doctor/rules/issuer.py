"""The issuer of access tokens: whether its keys can be read, and whether the gateway accepts their algorithms."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from signpost.cli.doctor.findings import Finding, error, note, warning
from signpost.cli.doctor.rules.parameters import StackParameters
from signpost.model import JsonObject
from signpost.records import dataclass

ACCEPTED_CURVES: Mapping[str, str | None] = {"RS256": None, "PS256": None, "ES256": "P-256"}
"""The curve that a key of each accepted algorithm must have."""
PAGE = "docs/operations.md#tokens-of-your-identity-provider"
RECENTLY = 3_600.0
"""Seconds for which a gateway uses the keys of the issuer without asking again."""


@dataclass(frozen=True, slots=True)
class IssuerFacts:
    issuer: str
    mcp_url: str
    keys: Mapping[str, JsonObject] | str
    """The signing keys by their ids; a text is the reason why they could not be read."""
    key_types: Mapping[str, str]
    """The accepted algorithms, with the key type of each."""
    fetched_at: float | None
    """The time at which a gateway last read the keys."""
    now: float


def judge_issuer(facts: IssuerFacts, parameters: StackParameters) -> Iterator[Finding]:
    if isinstance(facts.keys, str):
        yield _find_unreachable(facts, facts.keys)
    else:
        yield from _judge_keys(facts, facts.keys)
    yield from _judge_audience(facts, parameters.get("OidcAudience"))


def _find_unreachable(facts: IssuerFacts, reason: str) -> Finding:
    remedy = f"Open {facts.issuer.rstrip('/')}/.well-known/openid-configuration and its jwks_uri ({PAGE})."
    if facts.fetched_at is not None and facts.now - facts.fetched_at < RECENTLY:
        problem = f"{reason} A gateway has read them within the last hour, so only this machine may be cut off."
        return warning("issuer_not_reached_from_here", facts.issuer, problem, remedy)
    problem = f"{reason} No gateway has read them within the last hour: access tokens will be refused."
    return error("issuer_unreachable", facts.issuer, problem, remedy)


def _judge_keys(facts: IssuerFacts, keys: Mapping[str, JsonObject]) -> Iterator[Finding]:
    ignored = {kid: key for kid, key in keys.items() if not is_accepted(key, facts.key_types)}
    if len(ignored) == len(keys):
        yield error(
            "issuer_keys_unusable",
            facts.issuer,
            f"The issuer publishes no key that the gateway accepts{_describe_keys(ignored)}.",
            f"Let the issuer sign with {', '.join(facts.key_types)}, each key with a kid ({PAGE}).",
        )
    elif ignored:
        yield note(
            "issuer_key_ignored",
            facts.issuer,
            f"Tokens signed with some keys of the issuer are refused{_describe_keys(ignored)}.",
            f"Let the issuer sign access tokens with {', '.join(facts.key_types)} ({PAGE}).",
        )


def is_accepted(key: JsonObject, key_types: Mapping[str, str]) -> bool:
    """Tell whether the gateway accepts tokens that are signed with the key, in one algorithm at least."""
    return any(
        key.get("kty") == key_type
        and key.get("alg", algorithm) == algorithm
        and ACCEPTED_CURVES.get(algorithm) in (None, key.get("crv"))
        for algorithm, key_type in key_types.items()
    )


def _describe_keys(keys: Mapping[str, JsonObject]) -> str:
    described = [
        f"{kid}: {' '.join(str(key[name]) for name in ('kty', 'crv', 'alg') if name in key)}"
        for kid, key in keys.items()
    ]
    return f" ({'; '.join(described)})" if described else ""


def _judge_audience(facts: IssuerFacts, audience: str) -> Iterator[Finding]:
    if audience and urlsplit(audience).netloc != urlsplit(facts.mcp_url).netloc:
        yield note(
            "audience_not_endpoint",
            "OidcAudience",
            f"Tokens must name the audience {audience}. Clients that ask the issuer for a token of {facts.mcp_url} "
            "get one that is refused, unless the issuer maps it.",
            f"Leave OidcAudience empty if the issuer can name the endpoint ({PAGE}).",
        )

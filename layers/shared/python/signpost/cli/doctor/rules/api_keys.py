"""The API keys of the known tenants: whether there are any, and which expire."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import Finding, warning
from signpost.cli.doctor.rules.parameters import StackParameters
from signpost.cli.terminal import format_time
from signpost.identity.api_keys import find_ending
from signpost.identity.credentials import ApiKey
from signpost.records import dataclass

SOON = 14 * 86_400.0
PAGE = "docs/operations.md#keys"


@dataclass(frozen=True, slots=True)
class ApiKeyFacts:
    stack: str
    tenants: Sequence[str]
    keys: Sequence[ApiKey]
    """Of all these tenants."""
    now: float


def judge_api_keys(facts: ApiKeyFacts, parameters: StackParameters) -> Iterator[Finding]:
    kept = [key for key in facts.keys if key.revoked_at is None]
    valid = [key for key in facts.keys if find_ending(key, facts.now) is None]
    if not parameters.accepts_api_keys:
        yield from _judge_refused(valid, parameters)
        return
    if parameters.auth_mode == "api-key" and not valid:
        yield warning(
            "no_api_key",
            "API keys",
            f"AuthMode is api-key, and no valid key is known of the tenants {', '.join(facts.tenants)}.",
            f"`signpost keys create NAME --tenant TENANT --stack {facts.stack}` ({PAGE}).",
        )
    for key in kept:
        if key.expires_at is not None and key.expires_at <= facts.now + SOON:
            yield _find_expiry(facts, key, key.expires_at)


def _judge_refused(valid: Sequence[ApiKey], parameters: StackParameters) -> Iterator[Finding]:
    if valid:
        yield warning(
            "api_keys_not_accepted",
            "API keys",
            f"AuthMode {parameters.auth_mode} refuses API keys, although {len(valid)} are neither revoked nor expired.",
            "Deploy with AuthMode both to accept them, or revoke them with `signpost keys revoke`.",
        )


def _find_expiry(facts: ApiKeyFacts, key: ApiKey, at: float) -> Finding:
    subject = f"API key {key.key_id} ({key.name}) of tenant {key.tenant}"
    names = f"--tenant {key.tenant} --stack {facts.stack}"
    revoke = f"`signpost keys revoke {key.key_id} {names}`"
    renew = f"`signpost keys create NAME {names}`, move the client to the new key, then {revoke} ({PAGE})."
    if at <= facts.now:
        return warning("api_key_expired", subject, f"The key expired at {format_time(at)} and is refused.", renew)
    return warning("api_key_expires_soon", subject, f"The key expires at {format_time(at)}.", renew)

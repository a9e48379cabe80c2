"""Reads the token of a running function, for every request that the function sends to the gateway."""

from signpost.signing.capability_tokens import CapabilityGrant, TokenMint


def read_live_grant(mint: TokenMint, token: str, now: float) -> CapabilityGrant | str:
    """Return the contents of a token whose call may still be running, or the code of the failure."""
    grant = mint.read_grant(token)
    if grant is None:
        return "invalid_token"
    # The lease of a workflow step lasts longer than its call: a function that has been stopped sends nothing.
    return "token_expired" if now >= min(grant.deadline, grant.expires_at) else grant

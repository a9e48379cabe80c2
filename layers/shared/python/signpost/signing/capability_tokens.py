"""Capability tokens: each lets one executor run one call of one function, and nothing else.

A token carries two signatures. One is for the executor, under a key that the gateway derives for it and that only these
two hold, so no executor can mint tokens for another. The other is for the gateway itself, under a key that never leaves
it: a function that calls another one through the gateway can only show a token that the gateway minted.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, field, fields
from typing import TYPE_CHECKING, Any

from signpost.contract import FunctionCall
from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.signing.key_ring import REREAD_AT_ONCE, KeyRing, derive_key
from signpost.signing.signed_text import is_signature, parse_signed_text, sign, write_signed_text

if TYPE_CHECKING:
    from signpost.ports import Clock

FOR_EXECUTOR, FOR_GATEWAY = "capability", "capability:nested"
DEEPEST_CALL = 3
"""The number of nested calls allowed beneath the function that a client called."""


@dataclass(frozen=True, slots=True)
class CapabilityGrant:
    """The contents of a capability token. All fields are checked, and a token with fewer or more fields is refused.

    `calls`, `thread` and `claims` are left out where they are empty: executors of an earlier release do not know them.
    Such executors declare no calls and take no client, and are sent no claims.
    """

    executor: str
    function: str
    call: str
    step: str | None
    content: str
    """Digest of the call's arguments, answers, state, idempotency key and the place where its result is kept, and of
    its client, if it has one."""
    subject: str
    tenant: str
    issuer: str
    roles: tuple[str, ...]
    principal_permissions: tuple[str, ...]
    human: bool
    permissions: tuple[str, ...]
    depth: int
    deadline: float
    expires_at: float
    calls: tuple[str, ...] = ()
    """The functions that nested calls with this token may name."""
    thread: str = ""
    """The id that stays the same over all rounds of the request that the call belongs to."""
    claims: JsonObject = field(default_factory=dict[str, Json])
    """The claims of the principal that the deployment names."""

    @property
    def principal(self) -> Principal:
        return Principal(
            subject=self.subject,
            tenant=self.tenant,
            issuer=self.issuer,
            roles=frozenset(self.roles),
            permissions=frozenset(self.principal_permissions),
            human=self.human,
            claims=self.claims,
        )


def grant_of(call: FunctionCall, executor_arn: str, expires_at: float) -> CapabilityGrant:
    """Builds the grant that allows exactly this call."""
    principal = call.principal
    return CapabilityGrant(
        executor=executor_arn,
        function=call.function,
        call=call.call_id,
        step=call.step,
        content=_digest_of(
            call.arguments, call.answers, call.state, call.idempotency_key, call.keep_at, *_client_content(call)
        ),
        subject=principal.subject,
        tenant=principal.tenant,
        issuer=principal.issuer,
        roles=tuple(sorted(principal.roles)),
        principal_permissions=tuple(sorted(principal.permissions)),
        human=principal.human,
        permissions=tuple(sorted(call.permissions)),
        depth=call.depth,
        deadline=call.deadline,
        expires_at=expires_at,
        calls=tuple(sorted(call.callees)),
        thread="" if call.client is None else call.client.thread,
        claims=principal.claims,
    )


def _client_content(call: FunctionCall) -> Sequence[Json]:
    """Return the client as a part of the content that a token covers; nothing for a call without one, whose token is
    that of an earlier release."""
    return () if call.client is None else (asdict(call.client),)


def derive_executor_key(key: str, executor_arn: str) -> str:
    """Derives the key of an executor from a key of the stack."""
    return derive_key(key, f"executor:{executor_arn}")


class TokenMint:
    """Mints tokens at a gateway, which holds the keys of the stack and derives every executor's key from them."""

    def __init__(self, stack_keys: KeyRing) -> None:
        self._keys = stack_keys

    def mint(self, grant: CapabilityGrant) -> str:
        members = {name: value for name, value in asdict(grant).items() if value or name not in OPTIONAL_FIELDS}
        text = json.dumps(members, separators=(",", ":"), sort_keys=True).encode()
        key = self._keys.current
        executor_key = derive_key(derive_executor_key(key, grant.executor), FOR_EXECUTOR)
        return write_signed_text(text, sign(text, executor_key), sign(text, derive_key(key, FOR_GATEWAY)))

    def read_grant(self, token: str) -> CapabilityGrant | None:
        """Returns the grant of a token that a gateway of this stack minted; None for any other text."""
        text, _, mac = parse_signed_text(token, signatures=2)
        is_ours = self._keys.has_key_that(
            lambda key: is_signature(mac, text, derive_key(key, FOR_GATEWAY)), reread_after=REREAD_AT_ONCE
        )
        return _parse_grant(text) if text and is_ours else None


class TokenVerifier:
    """Verifies tokens at an executor, which holds its own keys and no others."""

    def __init__(self, own_keys: KeyRing, *, clock: "Clock") -> None:
        self._keys = own_keys
        self._clock = clock

    def refusal(self, token: str, call: FunctionCall) -> str | None:
        """Why the token does not allow the call, as a code of `calling/failures.py`; None if it allows the call."""
        text, mac, _ = parse_signed_text(token, signatures=2)
        is_for_this_executor = self._keys.has_key_that(
            lambda key: is_signature(mac, text, derive_key(key, FOR_EXECUTOR)), reread_after=REREAD_AT_ONCE
        )
        grant = _parse_grant(text) if text and is_for_this_executor else None
        # The executor need not be compared: only the executor that the token was minted for has the key.
        if grant is None or grant != grant_of(call, grant.executor, grant.expires_at):
            return "invalid_token"
        if self._clock.now() >= grant.expires_at:
            return "token_expired"
        return "too_deep" if grant.depth > DEEPEST_CALL else None


def _digest_of(*content: Json) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


GRANT_FIELDS = frozenset(each.name for each in fields(CapabilityGrant))
OPTIONAL_FIELDS = frozenset({"calls", "thread", "claims"})


def _parse_grant(text: bytes) -> CapabilityGrant | None:
    try:
        members: Json = json.loads(text)
    except ValueError:
        return None
    if not isinstance(members, dict) or not GRANT_FIELDS - OPTIONAL_FIELDS <= members.keys() <= GRANT_FIELDS:
        return None
    # Only a holder of the key signs these fields, so their types are those that the mint wrote.
    values: dict[str, Any] = {name: _list_to_tuple(value) for name, value in members.items()}
    return CapabilityGrant(**values)


def _list_to_tuple(value: Json) -> Any:
    return tuple(value) if isinstance(value, list) else value

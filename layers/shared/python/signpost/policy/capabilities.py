"""Capability tokens: what lets one function run one call, and nothing else.

A token carries two signatures. One is for the executor, with a key that the gateway derives for it and that only it
holds besides, so no executor can mint for another. The other is for the gateway itself, with a key that never leaves
it: when a function calls another one through the gateway, it can show only what it was really given.
"""

import hashlib
import json
from dataclasses import asdict, fields
from typing import Any

from signpost.contract import FunctionCall
from signpost.model import Json, Principal
from signpost.policy.key_ring import AT_ONCE, KeyRing, derived
from signpost.policy.signed_text import is_signature, parts, signature, signed
from signpost.ports import Clock
from signpost.records import dataclass

FOR_EXECUTOR, FOR_GATEWAY = "capability", "capability:nested"
DEEPEST = 3
"""How many functions may call each other beneath the one that a client called."""


@dataclass(frozen=True, slots=True)
class Capability:
    """What a token says. All of it is checked, and a token that says more or less is refused."""

    executor: str
    function: str
    call: str
    step: str | None
    content: str
    """Digest of what the call brings along: arguments, answers, state, idempotency key, where to keep its result."""
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

    @property
    def principal(self) -> Principal:
        return Principal(
            subject=self.subject,
            tenant=self.tenant,
            issuer=self.issuer,
            roles=frozenset(self.roles),
            permissions=frozenset(self.principal_permissions),
            human=self.human,
        )


def capability_of(call: FunctionCall, executor_arn: str, expires_at: float) -> Capability:
    """What allows just this call."""
    principal = call.principal
    return Capability(
        executor=executor_arn,
        function=call.function,
        call=call.call_id,
        step=call.step,
        content=_digest_of(call.arguments, call.answers, call.state, call.idempotency_key, call.keep_at),
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
    )


def executor_key(key: str, executor_arn: str) -> str:
    """The key of an executor, from a key of the stack."""
    return derived(key, f"executor:{executor_arn}")


class TokenMint:
    """At a gateway: it holds the keys of the stack, from which it derives every executor's."""

    def __init__(self, stack_keys: KeyRing) -> None:
        self._keys = stack_keys

    def mint(self, capability: Capability) -> str:
        text = json.dumps(asdict(capability), separators=(",", ":"), sort_keys=True).encode()
        key = self._keys.current
        executors = derived(executor_key(key, capability.executor), FOR_EXECUTOR)
        return signed(text, signature(text, executors), signature(text, derived(key, FOR_GATEWAY)))

    def read(self, token: str) -> Capability | None:
        """What a token says that a gateway of this stack minted; None for anything else."""
        text, _, mac = parts(token, signatures=2)
        is_ours = self._keys.recognises(
            lambda key: is_signature(mac, text, derived(key, FOR_GATEWAY)), look_again_after=AT_ONCE
        )
        return _said_by(text) if text and is_ours else None


class TokenVerifier:
    """At an executor: it holds its own keys and no others."""

    def __init__(self, own_keys: KeyRing, *, clock: Clock) -> None:
        self._keys = own_keys
        self._clock = clock

    def refusal(self, token: str, call: FunctionCall) -> str | None:
        """Why the token does not allow the call, as a code of `execution/failures.py`; None if it does."""
        text, mac, _ = parts(token, signatures=2)
        is_for_us = self._keys.recognises(
            lambda key: is_signature(mac, text, derived(key, FOR_EXECUTOR)), look_again_after=AT_ONCE
        )
        said = _said_by(text) if text and is_for_us else None
        # The executor is not compared: whoever has the key is the one that it was minted for.
        if said is None or said != capability_of(call, said.executor, said.expires_at):
            return "invalid_token"
        if self._clock.now() >= said.expires_at:
            return "token_expired"
        return "too_deep" if said.depth > DEEPEST else None


def _digest_of(*content: Json) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


NAMES = frozenset(field.name for field in fields(Capability))


def _said_by(text: bytes) -> Capability | None:
    try:
        said: Json = json.loads(text)
    except ValueError:
        return None
    if not isinstance(said, dict) or said.keys() != NAMES:
        return None
    # Only the holder of a key writes these, so their types are what the mint made of them.
    values: dict[str, Any] = {name: _unlisted(value) for name, value in said.items()}
    return Capability(**values)


def _unlisted(value: Json) -> Any:
    return tuple(value) if isinstance(value, list) else value

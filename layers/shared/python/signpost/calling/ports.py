"""Ports of a function call: its executor, its state, its settings and its breaker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from signpost.calling.effects import EffectKey, EffectRecord
    from signpost.calling.grants import GrantHolder, Grants, HeldGrant
    from signpost.calling.handles import HandleOwner, ListedHandle, StoredHandle
    from signpost.contract import (
        BreakerState,
        CallReply,
        CallRequest,
        FunctionState,
        HostedFunction,
        OpenBreakers,
        TransportFailure,
    )
    from signpost.model import JsonObject, Principal, SettingValue


class FunctionInvoker(Protocol):
    def invoke(self, request: CallRequest) -> CallReply:
        """Make one attempt. Returns before `request.ends_at`, even if the function runs on."""
        ...


class NestedCallService(Protocol):
    def answer(self, message: JsonObject, ends_at: float) -> JsonObject:
        """Answer a nested call, or a context operation, with a reply of the contract."""
        ...


class LambdaTransport(Protocol):
    """Sends payloads to Lambda functions."""

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> bytes | TransportFailure:
        """Send the payload once, without retries, and return the answer, at the latest at `give_up_at`."""
        ...


class FunctionStates(Protocol):
    def read(self, tenant: str, function: str) -> FunctionState: ...


class PlacedFunctions(Protocol):
    """The functions of executors in the directory, for lists."""

    def functions(self, tenant: str | None) -> Sequence[HostedFunction]:
        """Return the functions of a tenant by id; the tenant None stands for those that the deployment ships."""
        ...


class GrantStore(Protocol):
    """The grants of principals."""

    def of(self, principal: Principal) -> Grants:
        """Return the grants of the principal by name, including those that are over and not yet removed."""
        ...

    def of_tenant(self, tenant: str) -> Sequence[GrantHolder]:
        """Return all principals of the tenant with grants."""
        ...

    def give(self, principal: Principal, grant: HeldGrant) -> bool:
        """Add a grant, which replaces one of the same name. False if the principal holds as many others as it can."""
        ...

    def take(self, principal: Principal, name: str, now: float) -> bool:
        """Remove a grant; False if the principal does not hold it."""
        ...


class RuntimeSettings(Protocol):
    """The settings that an operator sets without a deploy. The function None stands for all functions of the tenant,
    the tenant None for all tenants."""

    def of_tenant(self, tenant: str | None) -> Mapping[str | None, Mapping[str, SettingValue]]:
        """Return the settings of a tenant by function."""
        ...

    def set(self, tenant: str | None, function: str | None, name: str, value: SettingValue) -> None: ...

    def unset(self, tenant: str | None, function: str | None, name: str) -> None: ...


class Breakers(Protocol):
    """The breakers that are not closed, shared by all gateways. A digest stands for the principal that a breaker stops,
    None for the breaker that stops all callers."""

    def of_tenant(self, tenant: str) -> Mapping[str, OpenBreakers]:
        """Return the open breakers of a tenant by function."""
        ...

    def open(self, tenant: str, function: str, state: BreakerState, principal: str | None = None) -> OpenBreakers:
        """Open a breaker and return all open breakers of the function. At most MOST_STOPPED_PRINCIPALS are kept."""
        ...

    def claim_probe(self, tenant: str, function: str, now: float, until: float, principal: str | None = None) -> bool:
        """Return True for one caller only or, once the breaker is closed again, for every caller."""
        ...

    def release_probe(self, tenant: str, function: str, until: float, principal: str | None = None) -> None:
        """Let the next caller probe: the probe that was claimed until this time has shown nothing. A later claim is
        kept."""
        ...

    def close_for(self, tenant: str, function: str, principal: str) -> None:
        """Close the breaker of one principal."""
        ...

    def close(self, tenant: str, function: str) -> bool:
        """Close all breakers of the function. Return False if none was open."""
        ...


class EffectRecords(Protocol):
    """The records of effects (`ctx.once`)."""

    def add(self, key: EffectKey, record: EffectRecord) -> EffectRecord:
        """Add a record if the effect has none. Return the record that stands then."""
        ...

    def replace(self, key: EffectKey, claim: str, record: EffectRecord) -> EffectRecord | None:
        """Replace a record that has this claim and no outcome. Return the record that stands then; None without one."""
        ...

    def remove(self, key: EffectKey, claim: str) -> None:
        """Remove a record that has this claim and no outcome."""
        ...


class Handles(Protocol):
    """The handles of all principals (`ctx.handles`)."""

    def add(self, owner: HandleOwner, handle: StoredHandle, now: float) -> StoredHandle:
        """Add a handle if there is none of its id, or only an expired one. Return the handle that stands then."""
        ...

    def read(self, owner: HandleOwner, handle_id: str) -> StoredHandle | None:
        """Read a handle, which may have expired."""
        ...

    def replace(self, owner: HandleOwner, handle: StoredHandle, version: int, now: float) -> StoredHandle | None:
        """Replace a handle that has this version and has not expired. Return the handle that stands then; None without
        one."""
        ...

    def remove(self, owner: HandleOwner, handle_id: str) -> None: ...

    def list(self, owner: HandleOwner, prefix: str, now: float, most: int) -> Sequence[ListedHandle]:
        """List at most so many handles whose ids begin with a text and that have not expired."""
        ...

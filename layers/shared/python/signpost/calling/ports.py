"""Ports of a function call: its executor, its state, its settings and its breaker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from signpost.contract import (
        BreakerState,
        CallReply,
        CallRequest,
        FunctionState,
        HostedFunction,
        OpenBreakers,
        TransportFailure,
    )
    from signpost.model import SettingValue


class FunctionInvoker(Protocol):
    def invoke(self, request: CallRequest) -> CallReply:
        """Make one attempt. Returns before `request.ends_at`, even if the function runs on."""
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

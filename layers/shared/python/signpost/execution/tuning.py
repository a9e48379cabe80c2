"""What an operator may set while everything runs: for one function, or for all functions of a tenant."""

from collections.abc import Mapping
from dataclasses import dataclass

from signpost.contract import FunctionState, Placement


@dataclass(frozen=True, slots=True)
class Setting:
    default: int
    least: int
    most: int
    says: str
    for_functions: bool = True
    """False if it makes sense for the whole tenant only."""


SETTINGS: Mapping[str, Setting] = {
    "tool_timeout_ms": Setting(30_000, 1, 900_000, "how long a function may take"),
    "breaker_failures": Setting(3, 0, 1_000, "failures in a row that open a function's breaker; 0 for never"),
    "breaker_pause_ms": Setting(300_000, 1_000, 86_400_000, "how long an open breaker leaves the function alone"),
    "state_timeout_ms": Setting(
        10_000, 1_000, 900_000, "how long a section or a prompt waits for its function", for_functions=False
    ),
    "shipped_content": Setting(1, 0, 1, "whether the tenant sees what the deployment ships", for_functions=False),
}


def effective(state: FunctionState, name: str) -> int:
    """What was set for the function, else for its tenant, else the default."""
    setting = SETTINGS[name]
    if setting.for_functions and name in state.settings:
        return state.settings[name]
    return of_tenant(state.tenant_settings, name)


def of_tenant(settings: Mapping[str, int], name: str) -> int:
    """What counts where only this is set for the tenant."""
    return settings.get(name, SETTINGS[name].default)


def timeout_ms(state: FunctionState, placement: Placement) -> int:
    """How long the function may take. Its author knows it better than who set something for all functions, and who
    set something for this one knows better still; its executor ends either way."""
    declared = placement.hosted.timeout_ms
    of_tenant = effective(state, "tool_timeout_ms") if declared is None else declared
    return min(state.settings.get("tool_timeout_ms", of_tenant), placement.executor.timeout_ms)


def placement_of(state: FunctionState) -> Placement | None:
    """Where the function of this name runs for this tenant."""
    if state.own is not None:
        return state.own
    return state.shipped if effective(state, "shipped_content") else None


def problem_with(name: str, value: int, *, function: str | None, placement: Placement | None) -> str | None:
    """A sentence that says why this cannot be set, and what can; None if it can. The function None is all functions
    of the tenant, the placement that of the function if it has one already."""
    setting = SETTINGS.get(name)
    if setting is None:
        return f"There is no setting {name!r}. {_names_like(name)}"
    if not setting.least <= value <= setting.most:
        return f"{name} is a number from {setting.least} to {setting.most}, not {value}: {setting.says}."
    if function is not None and not setting.for_functions:
        return f"{name} is set for a whole tenant: leave out --function."
    if name == "tool_timeout_ms" and placement is not None and value > placement.executor.timeout_ms:
        return _too_long(value, placement)
    return None


def _names_like(name: str) -> str:
    # A tenth of what a gateway imports, for a sentence that only an operator reads.
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(name, SETTINGS, n=1)
    return f"Did you mean {close[0]}?" if close else f"There are {', '.join(SETTINGS)}."


def _too_long(value: int, placement: Placement) -> str:
    function, executor = placement.hosted.function, placement.executor
    return (
        f"{function} cannot be given {value} ms: its executor {executor.arn} ends after {executor.timeout_ms} ms. "
        f"Set {executor.timeout_ms} or less, or first deploy the executor with a longer Timeout and load it again."
    )

"""What an operator may set while everything runs: for one function, or for all functions of a tenant."""

import re
from collections.abc import Mapping, Sequence

from signpost.contract import FunctionState, Placement
from signpost.model import SettingValue
from signpost.records import dataclass
from signpost.spelling import meant

LONGEST_QUOTE = 100
LONGEST_WAIT_MS = 25_000
"""A client waits for its call: what may come behind it for API Gateway fits between this and its thirty seconds."""


@dataclass(frozen=True, slots=True)
class Number:
    default: int
    least: int
    most: int
    says: str
    for_functions: bool = True
    """False if it makes sense for the whole tenant only."""

    @property
    def form(self) -> str:
        return f"a number from {self.least} to {self.most}"

    def takes(self, value: SettingValue) -> bool:
        return isinstance(value, int) and self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class Text:
    default: str
    form: str
    pattern: re.Pattern[str]
    longest: int
    says: str
    for_functions: bool = False

    def takes(self, value: SettingValue) -> bool:
        return isinstance(value, str) and len(value) <= self.longest and self.pattern.fullmatch(value) is not None


NUMBERS: Mapping[str, Number] = {
    "tool_timeout_ms": Number(30_000, 1, 900_000, "how long a function may take"),
    "breaker_failures": Number(3, 0, 1_000, "failures in a row that open a function's breaker; 0 for never"),
    "breaker_pause_ms": Number(300_000, 1_000, 86_400_000, "how long an open breaker leaves the function alone"),
    "state_timeout_ms": Number(
        10_000, 1_000, 900_000, "how long a section or a prompt waits for its function", for_functions=False
    ),
    "shipped_content": Number(1, 0, 1, "whether the tenant sees what the deployment ships", for_functions=False),
    "require_expose": Number(
        0, 0, 1, "whether only functions that say so are tools at /mcp/functions and /mcp/flat", for_functions=False
    ),
}
TEXTS: Mapping[str, Text] = {
    "hidden_prefixes": Text(
        "",
        "prefixes of function ids, separated by commas",
        re.compile(r"(?:[A-Za-z0-9_.:-]+(?:, *[A-Za-z0-9_.:-]+)*)?"),
        1_000,
        "functions that are no tools at /mcp/functions and /mcp/flat",
    ),
}
SETTINGS: Mapping[str, Number | Text] = {**NUMBERS, **TEXTS}


def effective(state: FunctionState, name: str) -> int:
    """What was set for the function, else for its tenant, else the default."""
    of_function = state.settings.get(name)
    if NUMBERS[name].for_functions and isinstance(of_function, int):
        return of_function
    return of_tenant(state.tenant_settings, name)


def of_tenant(settings: Mapping[str, SettingValue], name: str) -> int:
    """What counts where only this is set for the tenant."""
    value = settings.get(name)
    return value if isinstance(value, int) else NUMBERS[name].default


def words_of_tenant(settings: Mapping[str, SettingValue], name: str) -> Sequence[str]:
    """The same of a setting that is words separated by commas."""
    value = settings.get(name)
    text = value if isinstance(value, str) else TEXTS[name].default
    return [word for part in text.split(",") if (word := part.strip())]


def value_of(name: str, written: str) -> SettingValue:
    """What somebody wrote on a command line; `problem_with` says whether it can be set."""
    return int(written) if name not in TEXTS and re.fullmatch(r"-?[0-9]{1,18}", written) else written


def declared_timeout_ms(state: FunctionState) -> int | None:
    """The same where somebody said so of this function; None where it is what goes for all of them."""
    placement = placement_of(state)
    if placement is None or (placement.hosted.timeout_ms is None and "tool_timeout_ms" not in state.settings):
        return None
    return timeout_ms(state, placement)


def outlasts_a_call(state: FunctionState) -> bool:
    """Whether somebody said of this function that it may take longer than a client waits."""
    declared = declared_timeout_ms(state)
    return declared is not None and declared > LONGEST_WAIT_MS


def timeout_ms(state: FunctionState, placement: Placement) -> int:
    """How long the function may take. Its author knows it better than who set something for all functions, and who
    set something for this one knows better still; its executor ends either way."""
    declared = placement.hosted.timeout_ms
    is_set = "tool_timeout_ms" in state.settings
    wanted = effective(state, "tool_timeout_ms") if declared is None or is_set else declared
    return min(wanted, placement.executor.timeout_ms)


def placement_of(state: FunctionState) -> Placement | None:
    """Where the function of this name runs for this tenant."""
    if state.own is not None:
        return state.own
    return state.shipped if effective(state, "shipped_content") else None


def problem_with(name: str, value: SettingValue, *, function: str | None, placement: Placement | None) -> str | None:
    """A sentence that says why this cannot be set, and what can; None if it can. The function None is all functions
    of the tenant, the placement that of the function if it has one already."""
    setting = SETTINGS.get(name)
    if setting is None:
        return f"There is no setting {name!r}. {_names_like(name)}"
    if not setting.takes(value):
        return f"{name} is {setting.form}, not {repr(value)[:LONGEST_QUOTE]}: {setting.says}."
    if function is not None and not setting.for_functions:
        return f"{name} is set for a whole tenant: leave out --function."
    if name == "tool_timeout_ms" and isinstance(value, int) and placement is not None:
        return _too_long(value, placement) if value > placement.executor.timeout_ms else None
    return None


def _names_like(name: str) -> str:
    close = meant(name, SETTINGS)
    return f"Did you mean {close}?" if close else f"There are {', '.join(SETTINGS)}."


def _too_long(value: int, placement: Placement) -> str:
    function, executor = placement.hosted.function, placement.executor
    return (
        f"{function} cannot be given {value} ms: its executor {executor.arn} ends after {executor.timeout_ms} ms. "
        f"Set {executor.timeout_ms} or less, or first deploy the executor with a longer Timeout and load it again."
    )

"""The settings that an operator may set at run time, for one function or for all functions of a tenant."""

import re
from collections.abc import Mapping, Sequence

from signpost.contract import TASK_NEVER, FunctionState, HostedFunction, Placement
from signpost.model import SettingValue
from signpost.records import dataclass
from signpost.spelling import suggest_name

LONGEST_QUOTE = 100
UNDECLARED_ARGUMENTS, REFUSE = "undeclared_arguments", "refuse"
SERVER_NAME, SERVER_TITLE, SERVER_INSTRUCTIONS = "server_name", "server_title", "server_instructions"
LONGEST_WAIT_MS = 25_000
"""Milliseconds that a client waits for a call. The rest of API Gateway's thirty seconds is for the work around it."""


@dataclass(frozen=True, slots=True)
class NumberSetting:
    default: int
    least: int
    most: int
    says: str
    for_functions: bool = True
    """False for a setting that applies to a whole tenant only."""
    for_all_tenants: bool = False

    @property
    def form(self) -> str:
        return f"a number from {self.least} to {self.most}"

    def is_valid(self, value: SettingValue) -> bool:
        return isinstance(value, int) and self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class TextSetting:
    default: str
    form: str
    pattern: re.Pattern[str]
    longest: int
    says: str
    for_functions: bool = False
    for_all_tenants: bool = False
    """Whether an operator may set it for all tenants at once."""
    is_read_by_models: bool = False
    """Whether clients hand the text to models, so that it may have no hazards."""

    def is_valid(self, value: SettingValue) -> bool:
        return isinstance(value, str) and len(value) <= self.longest and self.pattern.fullmatch(value) is not None


NUMBERS: Mapping[str, NumberSetting] = {
    "tool_timeout_ms": NumberSetting(30_000, 1, 900_000, "how long a function may take"),
    "breaker_failures": NumberSetting(3, 0, 1_000, "failures in a row that open a function's breaker; 0 for never"),
    "breaker_pause_ms": NumberSetting(300_000, 1_000, 86_400_000, "how long an open breaker refuses calls"),
    "state_timeout_ms": NumberSetting(
        10_000, 1_000, 900_000, "how long a section or a prompt waits for its function", for_functions=False
    ),
    "shipped_content": NumberSetting(1, 0, 1, "whether the tenant sees what the deployment ships", for_functions=False),
    "require_expose": NumberSetting(
        0,
        0,
        1,
        "whether only exposed functions are tools at /mcp/functions and /mcp/flat, and sections",
        for_functions=False,
    ),
}
TEXTS: Mapping[str, TextSetting] = {
    "hidden_prefixes": TextSetting(
        "",
        "prefixes of function ids, separated by commas",
        re.compile(r"(?:[A-Za-z0-9_.:-]+(?:, *[A-Za-z0-9_.:-]+)*)?"),
        1_000,
        "functions that are neither tools at /mcp/functions and /mcp/flat nor sections, resources or prompts",
    ),
    UNDECLARED_ARGUMENTS: TextSetting(
        "accept",
        f"accept or {REFUSE}",
        re.compile(rf"accept|{REFUSE}"),
        10,
        "whether workflows and their transitions without a schema take any object, or an empty one only",
    ),
    SERVER_NAME: TextSetting(
        "signpost",
        "1 to 64 letters, digits, dots, hyphens and underscores, the first a letter or digit",
        re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
        64,
        "the name by which the server introduces itself to clients",
        for_all_tenants=True,
        is_read_by_models=True,
    ),
    SERVER_TITLE: TextSetting(
        "Signpost",
        "one line of 1 to 100 characters",
        re.compile(r"(?=.*\S)[^\x00-\x1f\x7f\ud800-\udfff]+"),
        100,
        "the title of the server, which clients show to people",
        for_all_tenants=True,
        is_read_by_models=True,
    ),
    SERVER_INSTRUCTIONS: TextSetting(
        "",
        "a text of at most 1000 characters",
        re.compile(r"[^\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]*"),
        1_000,
        "a text that the server adds to the instructions that it gives to clients",
        for_all_tenants=True,
        is_read_by_models=True,
    ),
}
SETTINGS: Mapping[str, NumberSetting | TextSetting] = {**NUMBERS, **TEXTS}


def effective_setting(state: FunctionState, name: str) -> int:
    """Return the value set for the function, else the value for its tenant, else the default."""
    of_function = state.settings.get(name)
    if NUMBERS[name].for_functions and isinstance(of_function, int):
        return of_function
    return tenant_setting(state.tenant_settings, name)


def tenant_setting(settings: Mapping[str, SettingValue], name: str) -> int:
    """Return the value set for the tenant, else the default."""
    value = settings.get(name)
    return value if isinstance(value, int) else NUMBERS[name].default


def tenant_words(settings: Mapping[str, SettingValue], name: str) -> Sequence[str]:
    """Return the words of a tenant setting that is a text of words separated by commas."""
    return [word for part in tenant_text(settings, name).split(",") if (word := part.strip())]


def tenant_text(settings: Mapping[str, SettingValue], name: str) -> str:
    """Return the text set for the tenant, else the default."""
    value = settings.get(name)
    return value if isinstance(value, str) else TEXTS[name].default


def is_exposed(hosted: HostedFunction, settings: Mapping[str, SettingValue]) -> bool:
    """Tell whether the exposure settings of the tenant leave the function to clients, as a tool or in a section."""
    if has_hidden_prefix(hosted.function, settings):
        return False
    return hosted.exposed or not tenant_setting(settings, "require_expose")


def has_hidden_prefix(function: str, settings: Mapping[str, SettingValue]) -> bool:
    """Tell whether the tenant hides the function from clients by a prefix of its id."""
    return function.startswith(tuple(tenant_words(settings, "hidden_prefixes")))


def refuses_undeclared_arguments(settings: Mapping[str, SettingValue]) -> bool:
    """Tell whether workflows and their transitions without a schema take an empty object only."""
    return settings.get(UNDECLARED_ARGUMENTS) == REFUSE


def parse_value(name: str, text: str) -> SettingValue:
    """Read a setting from a command-line argument; `problem_with` tells whether it can be set."""
    return int(text) if name not in TEXTS and re.fullmatch(r"-?[0-9]{1,18}", text) else text


def declared_timeout_ms(state: FunctionState) -> int | None:
    """Return the timeout that the author declared, or that an operator set for this function or for all functions of
    the tenant; None if only the default applies."""
    placement = placement_of(state)
    if placement is None:
        return None
    is_set = "tool_timeout_ms" in state.settings or "tool_timeout_ms" in state.tenant_settings
    return timeout_ms(state, placement) if is_set or placement.hosted.timeout_ms is not None else None


def is_declared_long(hosted: HostedFunction) -> bool:
    """Tell whether the author declared a timeout that is longer than a client waits, and did not refuse that calls
    become tasks or runs."""
    return hosted.task != TASK_NEVER and (hosted.timeout_ms or 0) > LONGEST_WAIT_MS


def may_be_long(hosted: HostedFunction, settings: Mapping[str, SettingValue]) -> bool:
    """Tell whether calls of the function may become runs: by the timeout that its author declared, or, without one, by
    the setting for all functions of the tenant. The timeout of its executor may still be shorter."""
    for_all = settings.get("tool_timeout_ms")
    return is_declared_long(hosted) or (
        hosted.task != TASK_NEVER
        and hosted.timeout_ms is None
        and isinstance(for_all, int)
        and for_all > LONGEST_WAIT_MS
    )


def is_long_call(state: FunctionState) -> bool:
    """Tell whether the declared timeout of this function is longer than a client waits, unless its author refuses that
    calls become tasks or runs."""
    declared, placement = declared_timeout_ms(state), placement_of(state)
    is_refused = placement is not None and placement.hosted.task == TASK_NEVER
    return declared is not None and declared > LONGEST_WAIT_MS and not is_refused


def timeout_ms(state: FunctionState, placement: Placement) -> int:
    """Return how long the function may take.

    A timeout that an operator set for this function goes before the one its author declared, and that before the one
    set for all functions of the tenant. The timeout of the executor limits all of them.
    """
    declared = placement.hosted.timeout_ms
    is_set = "tool_timeout_ms" in state.settings
    chosen = effective_setting(state, "tool_timeout_ms") if declared is None or is_set else declared
    return min(chosen, placement.executor.timeout_ms)


def placement_of(state: FunctionState) -> Placement | None:
    """Return the placement of the function for this tenant: its own, else the shipped one unless that is switched
    off."""
    if state.own is not None:
        return state.own
    return state.shipped if effective_setting(state, "shipped_content") else None


def problem_with(
    name: str,
    value: SettingValue,
    *,
    function: str | None,
    placement: Placement | None,
    for_all_tenants: bool = False,
) -> str | None:
    """Say why a setting cannot be set and which values can; None if it can.

    The function None stands for all functions of the tenant. The placement is that of the function, if it has one.
    """
    setting = SETTINGS.get(name)
    if setting is None:
        return f"There is no setting {name!r}. {_suggest_names(name)}"
    if not setting.is_valid(value):
        return f"{name} must be {setting.form}, not {repr(value)[:LONGEST_QUOTE]}: {setting.says}."
    if function is not None and not setting.for_functions:
        return f"{name} can only be set for a whole tenant: leave out --function."
    if for_all_tenants and not setting.for_all_tenants:
        return f"{name} cannot be set for all tenants at once: set it for each by --tenant."
    return _problem_with_value(name, setting, value, placement)


def _problem_with_value(
    name: str, setting: NumberSetting | TextSetting, value: SettingValue, placement: Placement | None
) -> str | None:
    if isinstance(setting, TextSetting) and setting.is_read_by_models:
        return _hazard_problem(name, str(value))
    if name == "tool_timeout_ms" and isinstance(value, int) and placement is not None:
        return _timeout_problem(value, placement) if value > placement.executor.timeout_ms else None
    return None


def _hazard_problem(name: str, text: str) -> str | None:
    """Return a message about the first hazard in a text that models read; None if it has none."""
    # Imported on first use: only changes of these settings need them.
    from signpost.hazards.secrets import find_secrets  # noqa: PLC0415
    from signpost.hazards.texts import find_text_hazards  # noqa: PLC0415 - as above

    found = [*find_text_hazards(text), *(secret.hazard for secret in find_secrets(text))]
    if not found:
        return None
    place = f"line {found[0].line}: " if found[0].line else ""
    return (
        f"{name} was not set. {place}{found[0].message} [{found[0].code}] Clients hand this text to models: remove "
        "that part, and set the text again."
    )


def _suggest_names(name: str) -> str:
    close = suggest_name(name, SETTINGS)
    return f"Did you mean {close}?" if close else f"The settings are {', '.join(SETTINGS)}."


def _timeout_problem(value: int, placement: Placement) -> str:
    function, executor = placement.hosted.function, placement.executor
    return (
        f"{function} cannot have {value} ms: its executor {executor.arn} ends calls after {executor.timeout_ms} ms. "
        f"Set {executor.timeout_ms} or less, or first deploy the executor with a longer Timeout and load it again."
    )

"""The settings that apply to a tenant, and the limits of the gateway.

Only the settings that are listed here are shown, so that none is shown by mistake.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.calling.runtime_settings import (
    SERVER_INSTRUCTIONS,
    SERVER_NAME,
    SERVER_TITLE,
    SETTINGS,
    UNDECLARED_ARGUMENTS,
)
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Call, JsonObject, Principal
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.list_revisions import ListRevisions, RevisionView

SHOWN_SETTINGS = (
    "tool_timeout_ms",
    "breaker_failures",
    "breaker_pause_ms",
    "state_timeout_ms",
    "shipped_content",
    "require_expose",
    UNDECLARED_ARGUMENTS,
    SERVER_NAME,
    SERVER_TITLE,
    SERVER_INSTRUCTIONS,
)
"""The settings that every caller of the tenant may read."""
SHOWN_TO_ADMINISTRATORS = (*SHOWN_SETTINGS, "hidden_prefixes")
"""With the prefixes of functions that are kept from clients."""
LIMIT_PREFIX = "limits."


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that no setting changes."""

    name: str
    value: int
    says: str


class ConfigurationOverview:
    def __init__(self, *, revisions: "RevisionView", limits: Sequence[Limit]) -> None:
        self._revisions = revisions
        self._limits: Mapping[str, Limit] = {f"{LIMIT_PREFIX}{limit.name}": limit for limit in limits}

    def read_all(self, call: Call) -> JsonObject:
        return {
            "tenant": call.principal.tenant,
            "settings": list(self._settings_of(call.principal)),
            "limits": [_limit_entry(key, limit) for key, limit in self._limits.items()],
        }

    def read_one(self, name: str, call: Call) -> JsonObject | None:
        if name in self._limits:
            return _limit_entry(name, self._limits[name])
        return next((entry for entry in self._settings_of(call.principal) if entry["key"] == name), None)

    def list_names(self, call: Call) -> Sequence[str]:
        return [*_shown_settings(call.principal), *self._limits]

    def _settings_of(self, principal: Principal) -> Iterator[JsonObject]:
        revisions = self._revisions.of(principal.tenant)
        return (_setting_entry(name, revisions) for name in _shown_settings(principal))


def _shown_settings(principal: Principal) -> Sequence[str]:
    return SHOWN_TO_ADMINISTRATORS if ADMINISTRATION in principal.permissions else SHOWN_SETTINGS


def _setting_entry(name: str, revisions: "ListRevisions") -> JsonObject:
    setting = SETTINGS[name]
    default = revisions.deployment_settings.get(name, setting.default)
    return {
        "key": name,
        "value": revisions.own_settings.get(name, default),
        "default": default,
        "isSet": name in revisions.own_settings,
        "form": setting.form,
        "description": setting.says,
        "perFunction": setting.for_functions,
    }


def _limit_entry(key: str, limit: Limit) -> JsonObject:
    return {"key": key, "value": limit.value, "description": limit.says}

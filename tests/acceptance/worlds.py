"""Where a case happens: what the player of cases asks of it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from signpost.calling.wire_fields import WIRE_VERSION
from signpost.contract import HostedFunction
from signpost.directory.manifest import parse_manifest
from signpost.model import SettingValue
from tests.acceptance.cases import Case, Step
from tests.acceptance.expectations import Seen
from tests.acceptance.outcomes import CaseNotPlayed
from tests.acceptance.values import elements_of

KINDS = ("call", "stub", "config", "storage", "subscribe")
"""Of what may be given."""


class GivenFailed(CaseNotPlayed):
    """What a case takes for granted could not be had; the message says what came instead."""


class World(Protocol):
    """A tenant of a case's own, in which nothing has happened yet."""

    def prepare(self, case: Case) -> None:
        """Makes true what is given. Raises GivenFailed."""
        ...

    def play(self, step: Step) -> Seen:
        """Without calls and events."""
        ...

    def calls(self) -> Sequence[Any]:
        """The functions that were called since the last time."""
        ...

    def mark(self) -> None:
        """What happens from here on belongs to the next step."""
        ...

    def events(self) -> Sequence[Sequence[Any]]:
        """What was told of changes between one mark and the next."""
        ...


def registry_answer_seen(answer: Any) -> Seen:
    """An answer of the registry function."""
    match answer:
        case {"error": {"code": str(), "message": str(message)}}:
            return Seen(error=message)
        case _:
            return Seen(answer)


def check_given(entry: Mapping[str, Any], answered: Seen) -> None:
    if answered.error is not None:
        raise GivenFailed(f"given {entry['call']}: {answered.error}")


def check_known(case: Case) -> None:
    for entry in case.given:
        if not any(kind in entry for kind in KINDS):
            raise GivenFailed(f"this runner does not know what is given by {', '.join(entry)}")


def hosted_of(stubs: Sequence[Mapping[str, Any]]) -> Sequence[HostedFunction]:
    """As an executor would offer them."""
    offered = [
        {
            "id": stub["stub"],
            "inputSchema": stub.get("request_format"),
            "metadata": stub.get("metadata"),
            "readableInSections": stub.get("readable", False),
        }
        for stub in stubs
    ]
    return parse_manifest(json.dumps({"signpost": WIRE_VERSION, "manifest": {"functions": offered}}).encode()).functions


def settings_of(entry: Mapping[str, Any]) -> Mapping[str, SettingValue]:
    """The configuration that is given, as `signpost settings set` takes it."""
    return {name: setting_value_of(value) for name, value in entry.get("config", {}).items()}


def setting_value_of(value: Any) -> SettingValue:
    elements = elements_of(value)
    return ", ".join(elements) if elements is not None else int(value)

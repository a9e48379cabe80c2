"""The event source mappings and the rules that start functions of the stack."""

from collections.abc import Iterator

from signpost.cli.doctor.findings import REMAKE, Finding, error, note, warning
from signpost.records import dataclass

SOUND_RESULTS = ("OK", "No records processed")


@dataclass(frozen=True, slots=True)
class EventSource:
    name: str
    """The logical id."""
    uuid: str
    state: str | None
    """None if there is no such mapping."""
    last_result: str = ""
    """Empty if Lambda reports none."""


@dataclass(frozen=True, slots=True)
class EventRule:
    name: str
    """The logical id."""
    rule: str
    bus: str
    state: str | None
    """None if there is no such rule."""


def judge_event_source(source: EventSource) -> Iterator[Finding]:
    enable = f"`aws lambda update-event-source-mapping --uuid {source.uuid} --enabled`"
    if source.state is None:
        problem = f"The event source mapping {source.uuid} does not exist: its function gets no events."
        yield error("event_source_missing", source.name, problem, REMAKE)
    elif source.state in ("Disabled", "Disabling"):
        problem = f"The event source mapping is {source.state}: its function gets no events."
        yield error("event_source_disabled", source.name, problem, f"{enable}.")
    elif source.state != "Enabled":
        problem = f"The event source mapping is {source.state}, and passes no events on until it is Enabled."
        yield note("event_source_changing", source.name, problem, "Wait a minute, and run this command again.")
    elif source.last_result and not source.last_result.startswith(SOUND_RESULTS):
        problem = f"The last batch failed: {source.last_result}."
        remedy = "Read the log of its function (docs/operations.md#watch). The batch is tried again."
        yield warning("event_source_failing", source.name, problem, remedy)


def judge_rule(rule: EventRule) -> Iterator[Finding]:
    if rule.state is None:
        problem = f"The rule {rule.rule} does not exist: its target is not started."
        yield error("rule_missing", rule.name, problem, REMAKE)
    elif rule.state == "DISABLED":
        problem = "The rule is disabled: its target is not started."
        enable = f"aws events enable-rule --name {rule.rule} --event-bus-name {rule.bus}"
        yield error("rule_disabled", rule.name, problem, f"`{enable}`.")

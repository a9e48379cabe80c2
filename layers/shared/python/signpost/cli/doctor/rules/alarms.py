"""The alarms of the stack: which ring, and whether a person is told."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import REMAKE, Finding, error, warning
from signpost.records import dataclass

PAGE = "docs/operations.md#watch"
PENDING = "PendingConfirmation"


@dataclass(frozen=True, slots=True)
class StackAlarm:
    name: str
    """The logical id."""
    physical_id: str
    state: str | None
    """None if there is no such alarm."""
    description: str = ""
    reason: str = ""
    may_act: bool = True
    topics: Sequence[str] = ()
    """The ARNs that it notifies."""


@dataclass(frozen=True, slots=True)
class AlarmFacts:
    alarms: Sequence[StackAlarm]
    subscriptions: Sequence[str] | None
    """The ARN of each subscription of the topic; the word PendingConfirmation for one that is not confirmed. None if
    they could not be read."""
    is_in_account: bool
    """On a laptop cloud no mail is sent, and alarms need no subscriber."""


def judge_alarms(facts: AlarmFacts) -> Iterator[Finding]:
    for alarm in facts.alarms:
        if alarm.state is None:
            yield warning("alarm_missing", alarm.name, "The alarm does not exist.", REMAKE)
        elif alarm.state == "ALARM":
            problem = f"The alarm rings. {alarm.description} ({alarm.reason})"
            yield error("alarm_ringing", alarm.name, problem, f"The table at {PAGE} has the first step.")
        if not alarm.may_act:
            remedy = f"`aws cloudwatch enable-alarm-actions --alarm-names {alarm.physical_id}`"
            yield warning("alarm_actions_off", alarm.name, "The actions of the alarm are switched off.", remedy)
    if facts.is_in_account and facts.subscriptions is not None:
        yield from _judge_subscribers(facts.alarms, facts.subscriptions)


def _judge_subscribers(alarms: Sequence[StackAlarm], subscriptions: Sequence[str]) -> Iterator[Finding]:
    confirmed = [arn for arn in subscriptions if arn != PENDING]
    if any(not alarm.topics for alarm in alarms if alarm.state is not None) or not subscriptions:
        problem = "Alarms notify no topic with a subscriber: no one is notified of an alarm."
        remedy = "Deploy with AlarmEmail, and confirm the mail (docs/operations.md#parameters)."
        yield warning("alarms_without_subscriber", "AlarmEmail", problem, remedy)
    elif not confirmed:
        problem = "The subscription of AlarmEmail is not confirmed: no mail is sent."
        remedy = "Confirm it with the mail of AWS; `aws sns subscribe` sends the mail again."
        yield warning("alarm_subscription_pending", "AlarmEmail", problem, remedy)

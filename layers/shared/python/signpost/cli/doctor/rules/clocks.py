"""The clock of this machine against the clock of AWS."""

from collections.abc import Iterator

from signpost.cli.doctor.findings import Finding, error, warning
from signpost.records import dataclass

SIGNATURE_TOLERANCE = 300.0
"""Seconds by which the time in a signed request may differ before AWS refuses it."""
ISSUER_TOLERANCE = 10.0
"""Seconds by which the clocks of issuer and gateway may differ."""
REMEDY = "Set the clock of this machine by NTP: `timedatectl set-ntp true`."


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The time that AWS answered, and the times of this machine around the request."""

    sent_at: float
    answered: float
    """To the second."""
    received_at: float

    @property
    def skew(self) -> float:
        """The seconds by which this machine is certainly ahead of AWS; negative if it is behind."""
        if self.sent_at > self.answered + 1:
            return self.sent_at - self.answered - 1
        return min(self.received_at - self.answered, 0.0)


def judge_clock(reading: ClockReading) -> Iterator[Finding]:
    skew = reading.skew
    problem = f"The clock of this machine is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} AWS"
    if abs(skew) >= SIGNATURE_TOLERANCE:
        consequence = "AWS refuses signed requests, and links to objects."
        yield error("clock_skew", "clock", f"{problem}: {consequence}", REMEDY)
    elif abs(skew) > ISSUER_TOLERANCE:
        consequence = "times in findings and lists are off, and tokens of an issuer here may be refused."
        yield warning("clock_differs", "clock", f"{problem}: {consequence}", REMEDY)

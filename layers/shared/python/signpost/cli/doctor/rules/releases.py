"""The release of the stack and the forms of its stored rows, against those of this command."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import Finding, error, warning
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class StoredFormat:
    """The version of the form in which rows of one kind are stored, and the latest one that this release reads."""

    kind: str
    stored: int
    readable: int


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    command: str
    """The release of this command."""
    stack: str | None
    """The release that the gateway answers with; None if it does not answer."""
    formats: Sequence[StoredFormat]


def judge_releases(facts: ReleaseFacts) -> Iterator[Finding]:
    if facts.stack is not None and facts.stack != facts.command:
        yield warning(
            "release_differs",
            f"release {facts.stack}",
            f"The stack is of release {facts.stack}, and this command of release {facts.command}.",
            "Use the command of the stack's release, or deploy this one (docs/operations.md#upgrade-and-rollback).",
        )
    for form in facts.formats:
        if form.stored > form.readable:
            yield error(
                "stored_format_newer",
                form.kind,
                f"Rows of {form.kind} are stored in form {form.stored}; release {facts.command} reads forms up to "
                f"{form.readable}. A later release wrote them, so going back to this one is not possible.",
                "Deploy the later release again, and use its command (docs/operations.md#upgrade-and-rollback).",
            )

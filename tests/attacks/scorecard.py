"""The scorecard of docs/security.md."""

import re
from collections.abc import Mapping, Sequence

from local.marked_part import MarkedPart
from tests.attacks.arena import Finding

PAGE = "docs/security.md"
SCORECARD = MarkedPart("<!-- attacks: filled by make attacks -->", "<!-- /attacks -->")
_ROW = re.compile(r"^\| (?P<id>[AF]\d+(?:\.\d+)?) \| (?P<title>[^|]+) \| (?P<answer>[^|]+) \|$", re.MULTILINE)
_SCORED = re.compile(r"^\| (?P<id>[AF]\d+(?:\.\d+)?) \| \w+ \|", re.MULTILINE)
PLAYED = "played"


def format_scorecard(findings: Sequence[Finding], date: str) -> str:
    """Format the sentence with the totals, and a table with a row for each attack."""
    held = sum(finding.has_passed for finding in findings)
    removed = sum(finding.has_passed and bool(finding.attack.defences) for finding in findings)
    rows = [f"| {it.attack.id} | {it.verdict} | {it.attack.control_name} |" for it in findings]
    lines = [
        f"On {date} {held} of {len(findings)} attacks were held. In {removed} of the controls the same attack",
        f"succeeded without the defence, in {held - removed} a benign twin succeeded.",
        "",
        "| attack | result | its control succeeded |",
        "|---|---|---|",
        *rows,
    ]
    return "\n".join([*lines, ""])


def read_listed(page: str) -> Mapping[str, tuple[str, str]]:
    """Return the attacks that the page lists: the title and the answer, by id. The answer is `played` or a reason."""
    without_scorecard = SCORECARD.removed(page)
    return {row["id"]: (row["title"], row["answer"]) for row in _ROW.finditer(without_scorecard)}


def read_scored(page: str) -> Sequence[str]:
    """Return the ids of the attacks in the scorecard of the page, in their order."""
    scorecard = page.partition(SCORECARD.begin)[2].partition(SCORECARD.end)[0]
    return _SCORED.findall(scorecard)

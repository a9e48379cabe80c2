"""The command that plays attacks against a deployed stack and writes the scorecard."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from local.interruption import STOPPING, Interruption
from local.progress import Progress
from tests.attacks.arena import Arena, Finding, list_defences
from tests.attacks.attack import Attack
from tests.attacks.catalogue import ATTACKS
from tests.attacks.scorecard import PAGE, SCORECARD, format_scorecard
from tests.support.laptop import Laptop

PROJECT = Path(__file__).resolve().parents[2]


def main() -> int:
    options = _parser().parse_args()
    progress = Progress(sys.stdout)
    attacks = choose_attacks(ATTACKS, options.only)
    if options.list:
        for attack in attacks:
            progress.say(f"{attack.id}: {attack.title}; control: {attack.control_name}")
        return 0
    if not attacks:
        progress.say("There is no attack with this id. List the attacks: --list")
        return 2
    findings: list[Finding] = []
    with contextlib.suppress(KeyboardInterrupt), Interruption(progress, STOPPING):
        _play_all(attacks, progress, findings)
    findings.sort(key=lambda finding: attacks.index(finding.attack))
    return _report(findings, len(attacks), progress, writes_page=len(attacks) == len(ATTACKS))


def choose_attacks(attacks: Sequence[Attack], ids: Sequence[str]) -> Sequence[Attack]:
    """Return the attacks with these ids, or of these classes, or all attacks if there are no ids."""
    return [attack for attack in attacks if not ids or {attack.id, attack.id.partition(".")[0]} & set(ids)]


def sort_by_group(attacks: Sequence[Attack]) -> Sequence[Attack]:
    """Return the attacks in the order in which they are played: those of one group together, so that few stacks are
    deployed at a time."""
    groups = list(dict.fromkeys(attack.group for attack in attacks))
    return sorted(attacks, key=lambda attack: groups.index(attack.group))


def _play_all(attacks: Sequence[Attack], progress: Progress, findings: list[Finding]) -> None:
    with tempfile.TemporaryDirectory(prefix="signpost-attacks-") as folder, Laptop(Path(folder)) as laptop:
        arena = Arena(laptop, list_defences(ATTACKS))
        planned = sort_by_group(attacks)
        for number, attack in enumerate(planned, 1):
            finding = arena.play(attack)
            progress.say(f"{number} of {len(planned)}  {finding}  {progress.dim(f'{finding.seconds:.1f} s')}")
            findings.append(finding)
            if attack.group and attack.group not in {other.group for other in planned[number:]}:
                arena.release(attack.group)


def _report(findings: Sequence[Finding], planned: int, progress: Progress, *, writes_page: bool) -> int:
    held = sum(finding.has_passed for finding in findings)
    progress.say(f"\n{held} of {planned} attacks were held and succeeded in their control.")
    for finding in findings:
        if not finding.has_passed:
            progress.say(f"  {finding}")
    if writes_page and len(findings) == planned:
        page, date = PROJECT / PAGE, datetime.now(UTC).strftime("%Y-%m-%d")
        page.write_text(SCORECARD.replaced(page.read_text("utf-8"), f"\n{format_scorecard(findings, date)}\n"), "utf-8")
        progress.say(f"The scorecard is in {PAGE}.")
    return 0 if held == planned else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.attacks", description="Plays attacks against a deployed stack, each with its control."
    )
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="only this attack, or this class")
    parser.add_argument("--list", action="store_true", help="list the attacks without playing them")
    return parser

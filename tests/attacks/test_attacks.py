"""The list of attacks, their controls, and a few of them played."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.attacks.arena import Arena, Finding, list_defences
from tests.attacks.attack import Attack, Outcome, held, succeeded
from tests.attacks.catalogue import ATTACKS
from tests.attacks.command import sort_by_group
from tests.attacks.defence import Defence, Removal
from tests.attacks.scorecard import PAGE, PLAYED, SCORECARD, format_scorecard, read_listed, read_scored
from tests.attacks.target import Target
from tests.support.laptop import Laptop

PROJECT = Path(__file__).resolve().parents[2]
DEFENCES = list_defences(ATTACKS)
SMOKE = ("A9.1", "A9.2", "A9.8", "F7", "F9")
"""The attacks of `make test`. They show in one stack with and two without defences that attacks can be played."""
RUN_ATTACKS = "Run `make attacks`, which writes the scorecard."

each_defence = pytest.mark.parametrize("defence", DEFENCES, ids=lambda defence: defence.name)


@pytest.fixture(scope="module")
def arena(laptop: Laptop) -> Arena:
    return Arena(laptop, DEFENCES)


@pytest.mark.cloud
@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.id in SMOKE], ids=lambda attack: attack.id)
def test_an_attack_is_held_and_succeeds_without_the_defence(arena: Arena, attack: Attack) -> None:
    finding = arena.play(attack)
    assert finding.verdict == "held", finding


@pytest.mark.cloud
def test_an_attack_that_its_control_does_not_show_is_vacuous(arena: Arena) -> None:
    def never_succeed(target: Target) -> Outcome:
        return held(target.tenant)

    finding = arena.play(Attack("A0.0", "Never succeed", never_succeed, twin=never_succeed))
    assert finding.verdict == "VACUOUS"


@pytest.mark.cloud
def test_an_attack_that_cannot_be_played_is_undecided(arena: Arena) -> None:
    def fail(target: Target) -> Outcome:
        raise ValueError(f"no such thing as {target.stack.url}")

    finding = arena.play(Attack("A0.0", "Fail", fail, twin=fail))
    assert (finding.verdict, finding.observation[:10]) == ("UNDECIDED", "ValueError")


@each_defence
def test_a_removal_of_a_defence_fits_the_sources(defence: Defence) -> None:
    sources: dict[str, str] = {}
    for removal in defence.removals:
        source = sources.get(removal.file) or (PROJECT / removal.file).read_text()
        sources[removal.file] = defence.remove_from(removal, source)
        assert sources[removal.file] != source


def test_the_page_lists_the_attacks_that_are_played() -> None:
    listed = read_listed((PROJECT / PAGE).read_text())
    played = {number: title for number, (title, answer) in listed.items() if answer == PLAYED}
    assert played == {attack.id: attack.title for attack in ATTACKS}


def test_the_page_gives_a_reason_for_each_attack_that_is_not_played() -> None:
    listed = read_listed((PROJECT / PAGE).read_text())
    answers = {answer for _, answer in listed.values() if answer != PLAYED}
    assert [answer for answer in answers if not re.match(r"(does not apply|not defended yet): ", answer)] == []


def test_the_scorecard_has_only_attacks_that_are_played() -> None:
    """An attack that was added is not in the scorecard yet: the proof below asks for it."""
    scored = read_scored((PROJECT / PAGE).read_text())
    obsolete = set(scored) - {attack.id for attack in ATTACKS}
    assert not obsolete, f"The scorecard has attacks that are not played any more: {sorted(obsolete)}. {RUN_ATTACKS}"


@pytest.mark.prove
def test_the_scorecard_has_exactly_the_attacks_that_are_played() -> None:
    """Only in a proof, which plays all attacks before: while an attack is written, the scorecard may wait."""
    scored = read_scored((PROJECT / PAGE).read_text())
    assert scored == [attack.id for attack in ATTACKS], RUN_ATTACKS


def test_the_attacks_of_a_scorecard_are_read_in_their_order() -> None:
    attacks = [Attack(number, "Knock", lambda _: held(""), twin=lambda _: succeeded("")) for number in ("F2", "A1.10")]
    scorecard = format_scorecard([Finding(attack, "held", "", "") for attack in attacks], "2026-11-19")
    page = f"| A2 | Listed | played |\n{SCORECARD.begin}\n{scorecard}{SCORECARD.end}\n| A3 | held | benign twin |\n"
    assert read_scored(page) == ["F2", "A1.10"]


def test_attacks_and_defences_have_names_of_their_own() -> None:
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)
    by_name = {defence.name: defence for attack in ATTACKS for defence in attack.defences}
    assert {it for attack in ATTACKS for it in attack.defences} == set(by_name.values())


def test_attacks_of_one_group_are_played_together() -> None:
    played = [attack.group for attack in sort_by_group(ATTACKS)]
    changes = [group for before, group in pairwise([*played[:1], *played]) if before != group]
    assert len(changes) == len(set(played)) - 1


def test_an_attack_needs_a_control() -> None:
    with pytest.raises(ValueError, match=r"A0\.0 needs either defences that can be removed, or a benign twin"):
        Attack("A0.0", "Show nothing", lambda _: succeeded(""))


def test_defences_of_several_groups_are_not_removed_together() -> None:
    one, other = (Defence(group, group, (Removal("a.py", "1", "2"),), group) for group in ("one", "other"))
    with pytest.raises(ValueError, match=r"The defences of A0\.0 belong to several groups"):
        Attack("A0.0", "Show too much", lambda _: succeeded(""), (one, other))


def test_the_scorecard_names_the_control_of_each_attack() -> None:
    defence = Defence("guard", "the guard", (Removal("a.py", "1", "2"),))
    by_removal = Finding(Attack("A1.1", "Enter", lambda _: held(""), (defence,)), "held", "refused", "entered")
    by_twin = Finding(Attack("A1.2", "Knock", lambda _: held(""), twin=lambda _: succeeded("")), "held", "", "")
    failed = Finding(Attack("A1.3", "Stay", lambda _: held(""), (defence,)), "VACUOUS", "in the control: refused")
    text = format_scorecard([by_removal, by_twin, failed], "2026-11-19")
    assert text.startswith("On 2026-11-19 2 of 3 attacks were held. In 1 of the controls the same attack")
    assert "| A1.1 | held | without the guard |\n| A1.2 | held | benign twin |\n| A1.3 | VACUOUS |" in text

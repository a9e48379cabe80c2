"""One cloud in one home."""

import os
from pathlib import Path

import pytest

from local.errors import CloudError
from local.home import Home, ReadyNotice


def test_an_unused_home_has_no_occupant(tmp_path: Path) -> None:
    home = Home(tmp_path / "cloud")
    assert home.occupant() is None
    assert not home.exists


def test_a_claimed_home_has_an_occupant_until_its_release(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.claim():
        assert home.occupant() == os.getpid()
    assert home.occupant() is None


def test_a_second_claim_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with Home(tmp_path).claim(), pytest.raises(CloudError, match="make down"), Home(tmp_path).claim():
        pass


def test_a_ready_notice_holds_only_while_the_cloud_runs(tmp_path: Path) -> None:
    home, ready = Home(tmp_path), ReadyNotice(8765, "closing words")
    with home.claim():
        assert home.ready_notice() is None
        home.announce(ready)
        assert home.ready_notice() == ready
    assert home.ready_notice() is None


def test_a_ready_notice_of_a_killed_cloud_is_ignored(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.announce(ReadyNotice(8765, "closing words"))
    assert home.ready_notice() is None


def test_a_home_is_for_its_user_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "cloud")
    home.create()
    assert home.path.stat().st_mode & 0o077 == 0

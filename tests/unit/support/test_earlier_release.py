"""The earlier release whose stacks are upgraded in tests, as it comes from the history of the repository."""

import pytest

from tests.support.earlier_release import MissingHistoryError, unpack_release


def test_a_repository_without_the_history_says_how_to_fetch_it() -> None:
    with pytest.raises(MissingHistoryError, match=r"no commit 0{40}.*Fetch it: git fetch --unshallow"):
        unpack_release("0" * 40)

"""The issuer's keys: asked for seldom, shared by a row, never a way to be let in without one."""

from collections.abc import Mapping

import pytest

from signpost.adapters.memory import MemoryIssuerKeySets
from signpost.errors import Unavailable
from signpost.identity.credentials import IssuerKeySet
from signpost.identity.key_set import (
    GIVE_UP_AFTER,
    REFRESH_AT_MOST_EVERY,
    REFRESH_LEASE,
    RENEW_AFTER,
    TRY_AGAIN_AFTER,
    IssuerKeyCache,
)
from signpost.model import JsonObject
from tests.support.memory_gateway import ManualClock

ISSUER = "https://issuer.test"


class Issuer:
    def __init__(self, *kids: str) -> None:
        self.kids = kids
        self.asked = 0
        self.down = False

    def fetch(self, issuer: str) -> Mapping[str, JsonObject]:
        assert issuer == ISSUER
        self.asked += 1
        if self.down:
            raise Unavailable("The issuer is down.")
        return {kid: {"kid": kid} for kid in self.kids}


class CountedRows(MemoryIssuerKeySets):
    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def read(self, issuer: str) -> IssuerKeySet | None:
        self.reads += 1
        return super().read(issuer)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def issuer() -> Issuer:
    return Issuer("a")


@pytest.fixture
def rows() -> CountedRows:
    return CountedRows()


@pytest.fixture
def keys(rows: CountedRows, issuer: Issuer, clock: ManualClock) -> IssuerKeyCache:
    return IssuerKeyCache(issuer=ISSUER, rows=rows, source=issuer, clock=clock)


def another_gateway(rows: CountedRows, issuer: Issuer, clock: ManualClock) -> IssuerKeyCache:
    return IssuerKeyCache(issuer=ISSUER, rows=rows, source=issuer, clock=clock)


def test_the_first_request_reads_the_issuer_and_the_next_reads_the_cache(
    keys: IssuerKeyCache, issuer: Issuer, rows: CountedRows
) -> None:
    assert keys.find_key("a") == {"kid": "a"}
    reads = rows.reads
    assert keys.find_key("a") == {"kid": "a"}
    assert (issuer.asked, rows.reads) == (1, reads)


def test_another_gateway_reads_the_shared_row(
    keys: IssuerKeyCache, rows: CountedRows, issuer: Issuer, clock: ManualClock
) -> None:
    keys.find_key("a")
    assert another_gateway(rows, issuer, clock).find_key("a") == {"kid": "a"}
    assert issuer.asked == 1


@pytest.mark.invariant(6)
def test_unknown_kids_cause_at_most_one_fetch_in_five_minutes(
    keys: IssuerKeyCache, rows: CountedRows, issuer: Issuer, clock: ManualClock
) -> None:
    keys.find_key("a")
    clock.advance(REFRESH_AT_MOST_EVERY)
    gateways = [keys, *(another_gateway(rows, issuer, clock) for _ in range(5))]
    for number in range(50):
        assert gateways[number % 6].find_key(f"made-up-{number}") is None
        clock.advance(1)
    assert issuer.asked == 2


def test_unknown_kids_cause_at_most_one_row_read_in_two_seconds(
    keys: IssuerKeyCache, rows: CountedRows, clock: ManualClock
) -> None:
    keys.find_key("a")
    before = rows.reads
    for number in range(40):
        keys.find_key(f"made-up-{number}")
        clock.advance(0.1)
    assert rows.reads - before <= 2


def test_a_rotated_key_is_found_once_five_minutes_have_passed(
    keys: IssuerKeyCache, issuer: Issuer, clock: ManualClock
) -> None:
    keys.find_key("a")
    issuer.kids = ("a", "b")
    assert keys.find_key("b") is None
    clock.advance(REFRESH_AT_MOST_EVERY)
    assert keys.find_key("b") == {"kid": "b"}


def test_a_withdrawn_key_is_refused_when_the_set_is_renewed(
    keys: IssuerKeyCache, issuer: Issuer, clock: ManualClock
) -> None:
    keys.find_key("a")
    issuer.kids = ("b",)
    clock.advance(RENEW_AFTER + 1)
    assert keys.find_key("a") is None


def test_while_the_issuer_is_down_the_known_keys_serve_for_a_day(
    keys: IssuerKeyCache, issuer: Issuer, clock: ManualClock
) -> None:
    keys.find_key("a")
    issuer.down = True
    clock.advance(RENEW_AFTER + 1)
    assert keys.find_key("a") == {"kid": "a"}
    clock.advance(GIVE_UP_AFTER)
    with pytest.raises(Unavailable):
        keys.find_key("a")


def test_without_any_keys_an_issuer_that_is_down_is_unavailable(keys: IssuerKeyCache, issuer: Issuer) -> None:
    issuer.down = True
    with pytest.raises(Unavailable):
        keys.find_key("a")


def test_after_a_failed_first_attempt_a_gateway_tries_again_in_five_seconds(
    keys: IssuerKeyCache, issuer: Issuer, clock: ManualClock
) -> None:
    issuer.down = True
    for _request in range(20):
        with pytest.raises(Unavailable):
            keys.find_key("a")
        clock.advance(0.2)
    assert issuer.asked == 1
    issuer.down = False
    clock.advance(TRY_AGAIN_AFTER)
    assert keys.find_key("a") == {"kid": "a"}


@pytest.mark.invariant(6)
def test_an_issuer_that_is_down_gets_at_most_one_fetch_in_ten_seconds(
    keys: IssuerKeyCache, rows: CountedRows, issuer: Issuer, clock: ManualClock
) -> None:
    keys.find_key("a")
    issuer.down = True
    clock.advance(RENEW_AFTER + 1)
    gateways = [keys, *(another_gateway(rows, issuer, clock) for _ in range(5))]
    before = issuer.asked
    for number in range(300):
        assert gateways[number % 6].find_key("a") == {"kid": "a"}
        clock.advance(0.2)
    assert issuer.asked - before <= 60 / REFRESH_LEASE + 1


def test_a_new_kid_is_not_refused_while_another_gateway_is_reading_the_keys(
    keys: IssuerKeyCache, rows: CountedRows, issuer: Issuer, clock: ManualClock
) -> None:
    keys.find_key("a")
    issuer.kids = ("a", "b")
    clock.advance(REFRESH_AT_MOST_EVERY)
    assert rows.claim_refresh(ISSUER, clock.now(), clock.now() + REFRESH_LEASE)  # another gateway begins
    with pytest.raises(Unavailable):
        keys.find_key("b")
    assert keys.find_key("a") == {"kid": "a"}
    newer = IssuerKeySet({"a": {"kid": "a"}, "b": {"kid": "b"}}, clock.now(), clock.now() + REFRESH_AT_MOST_EVERY)
    rows.save(ISSUER, newer)  # and ends
    clock.advance(2)
    assert keys.find_key("b") == {"kid": "b"}
    assert issuer.asked == 1


def test_the_first_request_ever_does_not_wait_for_another_gateways_attempt(
    rows: CountedRows, issuer: Issuer, clock: ManualClock
) -> None:
    assert rows.claim_refresh(ISSUER, clock.now(), clock.now() + 10)  # another gateway is asking right now
    assert another_gateway(rows, issuer, clock).find_key("a") == {"kid": "a"}

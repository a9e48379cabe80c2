"""What was given up is sent once more, and whatever cannot be sent stays where it was."""

from collections.abc import Sequence

import pytest

from signpost.adapters.sqs import QueueMessage
from signpost.cli.deliveries import DeliveryRetry
from signpost.errors import Unavailable


class FakeDeadLetters:
    def __init__(self, *bodies: str) -> None:
        self.waiting = [QueueMessage(f"r{number}", body) for number, body in enumerate(bodies)]
        self.taken = list[QueueMessage]()

    def receive(self) -> Sequence[QueueMessage]:
        self.taken, self.waiting = self.waiting, []
        return list(self.taken)

    def settle(self, message: QueueMessage) -> None:
        self.taken.remove(message)

    def put_back(self, message: QueueMessage) -> None:
        self.taken.remove(message)
        self.waiting.append(message)

    @property
    def left(self) -> list[str]:
        assert self.taken == []
        return [message.body for message in self.waiting]


class FakeQueue:
    """Takes so much and no more."""

    def __init__(self, takes: int = 100) -> None:
        self.takes = takes
        self.put_in: list[str] = []

    def put(self, text: str) -> None:
        if len(self.put_in) >= self.takes:
            raise Unavailable("Overloaded.")
        self.put_in.append(text)

    def put_off(self, receipt: str, seconds: int) -> None:
        raise NotImplementedError


def ignore_line(_: str) -> None: ...


def test_changes_and_deliveries_go_back_to_their_queues() -> None:
    changes, deliveries = FakeQueue(), FakeQueue()
    unheard, failed = FakeDeadLetters('{"id": 1}', '{"id": 2}'), FakeDeadLetters("a", "b", "c")
    assert DeliveryRetry(unheard, failed, changes, deliveries).run(ignore_line, dry=False) == (2, 3)
    assert (changes.put_in, deliveries.put_in) == (['{"id": 1}', '{"id": 2}'], ["a", "b", "c"])
    assert (unheard.left, failed.left) == ([], [])


def test_a_dry_run_counts_and_moves_nothing() -> None:
    changes, deliveries, unheard, failed = FakeQueue(), FakeQueue(), FakeDeadLetters("{}"), FakeDeadLetters("a", "b")
    said: list[str] = []
    assert DeliveryRetry(unheard, failed, changes, deliveries).run(said.append, dry=True) == (1, 2)
    assert (changes.put_in, deliveries.put_in, unheard.left, failed.left) == ([], [], ["{}"], ["a", "b"])
    assert said == ["1 changes to be sent again", "2 deliveries to be sent again"]


def test_messages_that_cannot_be_sent_stay_in_their_queue() -> None:
    changes, deliveries, unheard, failed = (
        FakeQueue(1),
        FakeQueue(1),
        FakeDeadLetters("1", "2", "3"),
        FakeDeadLetters("a", "b"),
    )
    with pytest.raises(Unavailable):
        DeliveryRetry(unheard, failed, changes, deliveries).run(ignore_line, dry=False)
    assert (unheard.left, failed.left) == (["2", "3"], ["a", "b"])
    with pytest.raises(Unavailable):
        DeliveryRetry(FakeDeadLetters(), failed, changes, deliveries).run(ignore_line, dry=False)
    assert failed.left == ["b"]

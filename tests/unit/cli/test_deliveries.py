"""What was given up is sent once more, and whatever cannot be sent stays where it was."""

import json
from collections.abc import Sequence

import pytest

from signpost.adapters.clock import SystemClock
from signpost.adapters.sqs import Message
from signpost.cli.deliveries import Retry
from signpost.cli.failure import CommandFailed
from signpost.contract import Undelivered
from signpost.errors import Unavailable


class Given:
    def __init__(self, *bodies: str) -> None:
        self.waiting = [Message(f"r{number}", body) for number, body in enumerate(bodies)]
        self.taken = list[Message]()

    def received(self) -> Sequence[Message]:
        self.taken, self.waiting = self.waiting, []
        return list(self.taken)

    def settle(self, message: Message) -> None:
        self.taken.remove(message)

    def put_back(self, message: Message) -> None:
        self.taken.remove(message)
        self.waiting.append(message)

    @property
    def left(self) -> list[str]:
        assert self.taken == []
        return [message.body for message in self.waiting]


class World:
    """The subscriber function and the queue, which take so much and no more."""

    def __init__(self, takes: int = 100) -> None:
        self.takes = takes
        self.told: list[object] = []
        self.put_in: list[str] = []

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> bytes | Undelivered:
        assert (function_arn, give_up_at > SystemClock().now()) == ("subscriber", True)
        if len(self.told) >= self.takes:
            return Undelivered("crashed")
        self.told.append(json.loads(payload))
        return b"1"

    def put(self, text: str) -> None:
        if len(self.put_in) >= self.takes:
            raise Unavailable("Overloaded.")
        self.put_in.append(text)

    def put_off(self, receipt: str, seconds: int) -> None:
        raise NotImplementedError

    def retry(self, unheard: Given, failed: Given) -> Retry:
        return Retry(unheard, failed, self, self, "subscriber", SystemClock())


def silent(_: str) -> None: ...


def test_changes_go_to_the_subscriber_and_deliveries_to_the_queue() -> None:
    world, unheard, failed = World(), Given('{"requestPayload": {"id": 1}}', '{"id": 2}'), Given("a", "b", "c")
    assert world.retry(unheard, failed).run(silent, dry=False) == (2, 3)
    assert (world.told, world.put_in) == ([{"id": 1}, {"id": 2}], ["a", "b", "c"])
    assert (unheard.left, failed.left) == ([], [])


def test_a_dry_run_counts_and_leaves_everything() -> None:
    world, unheard, failed = World(), Given("{}"), Given("a", "b")
    said: list[str] = []
    assert world.retry(unheard, failed).run(said.append, dry=True) == (1, 2)
    assert (world.told, world.put_in, unheard.left, failed.left) == ([], [], ["{}"], ["a", "b"])
    assert said == ["1 changes to be told again", "2 deliveries to be tried again"]


def test_what_cannot_be_sent_stays_where_it_was() -> None:
    world, unheard, failed = World(takes=1), Given('{"id": 1}', '{"id": 2}', '{"id": 3}'), Given("a", "b")
    with pytest.raises(CommandFailed, match=r"The subscriber function failed \(crashed\)"):
        world.retry(unheard, failed).run(silent, dry=False)
    assert (unheard.left, failed.left) == (['{"id": 2}', '{"id": 3}'], ["a", "b"])
    with pytest.raises(Unavailable):
        world.retry(Given(), failed).run(silent, dry=False)
    assert failed.left == ["b"]

"""The queues of the stack on the emulator: what is taken out, put off, put back and settled."""

import uuid
from typing import Any

import pytest

from signpost.adapters.sqs import Message, SetAside, SqsQueue, SqsWorkQueue
from signpost.wakes import Message as Look
from signpost.wakes import Posted, message_of
from tests.support.laptop import Laptop

pytestmark = pytest.mark.cloud


@pytest.fixture
def client(laptop: Laptop) -> Any:
    return laptop.client("sqs")


@pytest.fixture
def url(client: Any) -> str:
    return client.create_queue(QueueName=f"queue-{uuid.uuid4().hex[:12]}")["QueueUrl"]


def test_what_is_put_in_is_received_once_until_it_is_put_back_or_settled(client: Any, url: str) -> None:
    queue, given_up = SqsQueue(lambda: client, url), SetAside(lambda: client, url)
    texts = {f"größe {number}" for number in range(12)}
    for text in texts:
        queue.put(text)
    messages = given_up.received()
    assert {message.body for message in messages} == texts
    assert given_up.received() == []
    kept, *others = messages
    for message in others:
        given_up.settle(message)
    given_up.put_back(kept)
    assert [message.body for message in given_up.received()] == [kept.body]


def test_what_was_put_off_is_not_shown_before_its_time(client: Any, url: str) -> None:
    queue = SqsQueue(lambda: client, url)
    queue.put("later")
    (taken,) = client.receive_message(QueueUrl=url, VisibilityTimeout=0)["Messages"]
    (taken,) = client.receive_message(QueueUrl=url)["Messages"]
    queue.put_off(taken["ReceiptHandle"], 600)
    assert SetAside(lambda: client, url).received() == []
    queue.put_off(taken["ReceiptHandle"], 0)
    assert [Message("", message.body) for message in SetAside(lambda: client, url).received()] == [Message("", "later")]


def test_what_is_to_be_looked_at_later_waits_for_its_time(client: Any, url: str) -> None:
    queue = SqsWorkQueue(lambda: client, url)
    queue.put(Posted(Look("acme", "wf_later"), 900))
    queue.put(Posted(Look("acme", "wf_now")))
    (shown,) = SetAside(lambda: client, url).received()
    assert message_of(shown.body) == Look("acme", "wf_now")

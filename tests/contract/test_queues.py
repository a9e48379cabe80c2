"""The queues of the stack on the emulator: what is taken out, put off, put back and settled."""

import uuid
from typing import Any

import pytest

from signpost.adapters.sqs import QueueMessage, SqsDeadLetters, SqsQueue, SqsWorkQueue
from signpost.workflow.wakes import QueuedWake, message_of
from signpost.workflow.wakes import WakeMessage as Look
from tests.support.laptop import Laptop

pytestmark = pytest.mark.cloud


@pytest.fixture
def client(laptop: Laptop) -> Any:
    return laptop.client("sqs")


@pytest.fixture
def url(client: Any) -> str:
    return client.create_queue(QueueName=f"queue-{uuid.uuid4().hex[:12]}")["QueueUrl"]


def test_a_message_is_received_once_until_it_is_put_back(client: Any, url: str) -> None:
    queue, given_up = SqsQueue(lambda: client, url), SqsDeadLetters(lambda: client, url)
    texts = {f"größe {number}" for number in range(12)}
    for text in texts:
        queue.put(text)
    messages = given_up.receive()
    assert {message.body for message in messages} == texts
    assert given_up.receive() == []
    kept, *others = messages
    for message in others:
        given_up.settle(message)
    given_up.put_back(kept)
    assert [message.body for message in given_up.receive()] == [kept.body]


def test_a_postponed_message_is_not_received_early(client: Any, url: str) -> None:
    queue = SqsQueue(lambda: client, url)
    queue.put("later")
    (taken,) = client.receive_message(QueueUrl=url, VisibilityTimeout=0)["Messages"]
    (taken,) = client.receive_message(QueueUrl=url)["Messages"]
    queue.put_off(taken["ReceiptHandle"], 600)
    assert SqsDeadLetters(lambda: client, url).receive() == []
    queue.put_off(taken["ReceiptHandle"], 0)
    assert [QueueMessage("", message.body) for message in SqsDeadLetters(lambda: client, url).receive()] == [
        QueueMessage("", "later")
    ]


def test_a_delayed_wake_is_not_received_early(client: Any, url: str) -> None:
    queue = SqsWorkQueue(lambda: client, url)
    queue.put(QueuedWake(Look("acme", "wf_later"), 900))
    queue.put(QueuedWake(Look("acme", "wf_now")))
    (shown,) = SqsDeadLetters(lambda: client, url).receive()
    assert message_of(shown.body) == Look("acme", "wf_now")

"""The queues of the stack: the delivery queue, the work queue, and the dead letters."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters.aws import call, code_of
from signpost.records import dataclass

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from signpost.workflow.wakes import QueuedWake

VISIBILITY_SECONDS = 3_600
"""Seconds for which a received message is hidden from other receivers. If the receiver dies it reappears after them."""
NOT_HELD_CODES = frozenset({"InvalidParameterValue", "MessageNotInflight"})
"""Error codes of a message that another receiver has got, or can get, by now."""
WAIT_SECONDS = 2
MESSAGES_PER_CALL = 10


@dataclass(frozen=True, slots=True)
class QueueMessage:
    receipt: str
    body: str


class _Queue:
    """A queue. Takes a function that makes the client, since many invocations need none."""

    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._make_client = client
        self._url = url

    @cached_property
    def _client(self) -> "SQSClient":
        return self._make_client()

    def put_off(self, receipt: str, seconds: int) -> None:
        message = {"QueueUrl": self._url, "ReceiptHandle": receipt}
        call(self._client.change_message_visibility, **message, VisibilityTimeout=seconds)


class SqsQueue(_Queue):
    """A queue of texts, received by Lambda."""

    def put(self, text: str) -> None:
        call(self._client.send_message, QueueUrl=self._url, MessageBody=text)


class SqsWorkQueue(_Queue):
    """The queue of wake messages, each for an instance that a worker has to continue."""

    def put(self, posted: "QueuedWake") -> None:
        """Send one message: for a batch of ten the emulator demands a permission that does not exist on AWS."""
        arguments = {"MessageBody": posted.message.text, "DelaySeconds": posted.seconds}
        call(self._client.send_message, QueueUrl=self._url, **arguments)


class SqsDeadLetters(_Queue):
    """A queue of dead letters: messages end in it after their last failed attempt."""

    def receive(self) -> Sequence[QueueMessage]:
        """Receive messages until the queue is empty."""
        return list(self._receive_batches())

    def settle(self, message: QueueMessage) -> None:
        call(self._client.delete_message, QueueUrl=self._url, ReceiptHandle=message.receipt)

    def put_back(self, message: QueueMessage) -> None:
        """Make the message visible again, unless it already is."""
        try:
            self.put_off(message.receipt, 0)
        except ClientError as fault:
            if code_of(fault) not in NOT_HELD_CODES:
                raise

    def _receive_batches(self) -> Iterator[QueueMessage]:
        while messages := call(
            self._client.receive_message,
            QueueUrl=self._url,
            MaxNumberOfMessages=MESSAGES_PER_CALL,
            VisibilityTimeout=VISIBILITY_SECONDS,
            WaitTimeSeconds=WAIT_SECONDS,
        ).get("Messages"):
            for message in messages:
                yield QueueMessage(message.get("ReceiptHandle", ""), message.get("Body", ""))

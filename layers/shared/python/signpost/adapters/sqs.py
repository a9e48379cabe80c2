"""Queues of the stack: that of deliveries, that of work, and those in which failures end."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters.aws import call, code_of
from signpost.records import dataclass

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from signpost.wakes import Posted

BELONGING_TO_US = 3_600
"""Seconds in which nobody else gets what was received. Whoever dies gives it back by that."""
NOT_OURS = frozenset({"InvalidParameterValue", "MessageNotInflight"})
"""What SQS says of a message that somebody else has got, or may get, by now."""
WAIT = 2
AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class Message:
    receipt: str
    body: str


class _Queue:
    """Takes a function that makes the client: many invocations need none."""

    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._make_client = client
        self._url = url

    @cached_property
    def _client(self) -> "SQSClient":
        return self._make_client()

    def put_off(self, receipt: str, seconds: int) -> None:
        place = {"QueueUrl": self._url, "ReceiptHandle": receipt}
        call(self._client.change_message_visibility, **place, VisibilityTimeout=seconds)


class SqsQueue(_Queue):
    """The queue of deliveries. Lambda takes out what is in it."""

    def put(self, text: str) -> None:
        call(self._client.send_message, QueueUrl=self._url, MessageBody=text)


class SqsWorkQueue(_Queue):
    """The queue of workflows that are to be looked at."""

    def put(self, posted: "Posted") -> None:
        """One at a time: the emulator asks for a permission for ten at once that AWS does not know."""
        about = {"MessageBody": posted.message.text, "DelaySeconds": posted.seconds}
        call(self._client.send_message, QueueUrl=self._url, **about)


class SetAside(_Queue):
    """A queue in which failures end."""

    def received(self) -> Sequence[Message]:
        """All there are."""
        return list(self._received())

    def settle(self, message: Message) -> None:
        call(self._client.delete_message, QueueUrl=self._url, ReceiptHandle=message.receipt)

    def put_back(self, message: Message) -> None:
        """Where it is not back already."""
        try:
            self.put_off(message.receipt, 0)
        except ClientError as fault:
            if code_of(fault) not in NOT_OURS:
                raise

    def _received(self) -> Iterator[Message]:
        while messages := call(
            self._client.receive_message,
            QueueUrl=self._url,
            MaxNumberOfMessages=AT_ONCE,
            VisibilityTimeout=BELONGING_TO_US,
            WaitTimeSeconds=WAIT,
        ).get("Messages"):
            for message in messages:
                yield Message(message.get("ReceiptHandle", ""), message.get("Body", ""))

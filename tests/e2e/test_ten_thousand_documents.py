"""A tenant with thousands of skill documents, over HTTP and with the calls to AWS counted: five thousand in
`make test`, ten thousand in `make prove`."""

import json
import re
import time
import uuid
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb import DynamoContentStore, DynamoRuntimeSettings
from signpost.adapters.dynamodb.content_store import RECENT_SECONDS
from signpost.adapters.s3 import S3Bodies, S3ChangeBatchStore
from signpost.content.documents import build_skill
from signpost.content.markdown import LARGEST_INDEX
from signpost.content.model import ScopeNames, SkillChange
from tests.support.counted_gateway import CountedGateway, counted_gateway
from tests.support.effort import count_repetitions
from tests.support.laptop import Laptop, Stack
from tests.support.slowdown import SlowdownMeter

pytestmark = pytest.mark.cloud

MANY = count_repetitions(5_000, proof=10_000)
MAX_DELIVERY_SECONDS = 300.0
PAGE = 1_000
LONGEST_INDEX_SECONDS = 2.0
REVALIDATED_AFTER = 2.1
DOCUMENT_CALLS = {"BatchGetItem": 1, "GetObject": 1}
REVISION_CALLS = {"BatchGetItem": 1}
API_KEY_CALLS = {"GetItem": 1}
"""Of whoever asks, once in two seconds."""


@dataclass(frozen=True, slots=True)
class Library:
    stack: Stack
    key: str
    tenant: str

    def request(self, method: str, **params: Any) -> Any:
        answer = self.stack.request(self.key, method, params)
        assert answer.status == 200, answer.text
        return answer.json["result"]


def build_body(number: int) -> str:
    """With all that a line of the index shows: thousands of them are more than it may have."""
    return f"# Procedure {number}\n\n{f'What to do in case {number}. ' * 8}\n"


@pytest.fixture(scope="module")
def library(laptop: Laptop, product_stack: Stack) -> Library:
    dynamodb, s3 = laptop.client("dynamodb"), laptop.client("s3")
    table, bucket = (product_stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    tenant = f"library-{uuid.uuid4().hex[:8]}"
    skills = [build_skill(f"library/procedure-{n}", build_body(n), "2026-01-01T00:00:00Z") for n in range(MANY)]
    S3Bodies(lambda: s3, bucket).keep(tenant, skills[42].digest, build_body(42).encode())
    store = DynamoContentStore(dynamodb, table, S3ChangeBatchStore(lambda: s3, bucket), ScopeNames("skills", "prompts"))
    with wait_for_deliveries(laptop, product_stack, MANY):
        store.apply(tenant, [SkillChange(skill.id, skill) for skill in skills])
    backdate_publication(laptop, product_stack, tenant)
    DynamoRuntimeSettings(dynamodb, table).set(tenant, None, "shipped_content", 0)
    return Library(product_stack, laptop.make_key(product_stack, tenant), tenant)


@contextmanager
def wait_for_deliveries(laptop: Laptop, stack: Stack, sequence: int) -> Generator[None]:
    """Until everybody has heard of the change of this number: while the emulator tells of thousands, which takes it
    half a minute, whatever else it is asked takes twice as long."""
    name, bus = f"last-{uuid.uuid4().hex[:8]}", stack.deployed.outputs["EventBusName"]
    sqs, events = laptop.client("sqs"), laptop.client("events")
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["signpost"], "resources": [f"urn:signpost:seq:{sequence}"]}
    events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
    yield
    until = time.monotonic() + MAX_DELIVERY_SECONDS
    while "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1):
        assert time.monotonic() < until, f"Change {sequence} was never told."
    while has_messages(sqs, stack.deployed.outputs["ChangesUrl"]):
        assert time.monotonic() < until, "The subscriber never heard all of it."
        time.sleep(0.5)  # another process: there is no clock to turn


def has_messages(sqs: Any, queue: str) -> bool:
    counts = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=counts)["Attributes"]
    return any(int(found[count]) for count in counts)


def backdate_publication(laptop: Laptop, stack: Stack, tenant: str) -> None:
    """For a minute after a publication that was more than a transaction takes, readers look twice."""
    laptop.client("dynamodb").update_item(
        TableName=stack.deployed.outputs["RegistryTableName"],
        Key=dict(keys.content_version(tenant)),
        UpdateExpression="SET settled_at = settled_at - :seconds",
        ExpressionAttributeValues={":seconds": {"N": str(RECENT_SECONDS)}},
    )


@pytest.fixture
def fresh_gateway(laptop: Laptop, library: Library) -> Iterator[CountedGateway]:
    """A gateway that knows nothing yet."""
    with counted_gateway(laptop, library.stack) as gateway:
        yield gateway


def test_the_pages_of_a_list_name_each_document_once(library: Library) -> None:
    uris: list[str] = []
    page = library.request("resources/list")
    assert len(page["resources"]) == PAGE
    while True:
        uris += [resource["uri"] for resource in page["resources"]]
        if "nextCursor" not in page:
            break
        page = library.request("resources/list", cursor=page["nextCursor"])
    assert uris == ["iii://skills", *sorted(f"iii://library/procedure-{n}" for n in range(MANY))]


def test_the_index_is_written_in_time_and_counts_the_omitted_documents(library: Library, laptop: Laptop) -> None:
    with SlowdownMeter() as machine:
        seconds, text = measure_first_index(library, laptop)
    assert seconds <= machine.extend(LONGEST_INDEX_SECONDS)
    assert len(text.encode()) <= LARGEST_INDEX
    named = len(re.findall(r"^ *- \[`library/procedure-\d+`\]", text, re.MULTILINE))
    said = re.search(r"(\d+) more are registered", text)
    assert said
    assert 0 < named < MANY
    assert named + int(said[1]) == MANY


def measure_first_index(library: Library, laptop: Laptop) -> tuple[float, str]:
    laptop.restart_function(library.stack.deployed.outputs["GatewayFunctionName"])
    library.request("tools/list")  # a sandbox that has started and knows no document
    began = time.monotonic()
    text = library.request("resources/read", uri="iii://skills")["contents"][0]["text"]
    return time.monotonic() - began, text


def test_a_document_costs_one_read_of_the_table_and_one_of_the_bucket(
    library: Library, fresh_gateway: CountedGateway
) -> None:
    """Beside who asks, and by which rules, both once in two seconds."""
    uri = {"uri": "iii://library/procedure-42"}
    answer, calls = fresh_gateway.request(library.key, "resources/read", uri)
    assert answer.json["result"]["contents"][0]["text"] == build_body(42)
    assert Counter(calls) == Counter(DOCUMENT_CALLS) + Counter(REVISION_CALLS) + Counter(API_KEY_CALLS)
    _, again = fresh_gateway.request(library.key, "resources/read", uri)
    assert again == DOCUMENT_CALLS


@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/list", {}), ("resources/read", {"uri": "iii://skills"}), ("skills/list", {}), ("prompts/list", {})],
)
def test_lists_and_the_index_read_no_body_and_are_cached_for_two_seconds(
    library: Library, fresh_gateway: CountedGateway, method: str, params: dict[str, Any]
) -> None:
    answer, calls = fresh_gateway.request(library.key, method, params)
    assert answer.status == 200
    assert "GetObject" not in calls
    fresh_gateway.clock.advance(REVALIDATED_AFTER)
    assert fresh_gateway.request(library.key, method, params)[1] == REVISION_CALLS | API_KEY_CALLS
    assert fresh_gateway.request(library.key, method, params)[1] == {}

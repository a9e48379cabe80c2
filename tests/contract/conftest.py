"""Fixtures that run one suite of promises on every port in memory, on the emulator and on a second DynamoDB engine."""

import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from local.ports import free_port
from signpost.adapters import keys
from signpost.adapters.dynamodb import (
    DynamoApiKeys,
    DynamoBreakers,
    DynamoContentStore,
    DynamoDirectory,
    DynamoFunctionStates,
    DynamoIssuerKeySets,
    DynamoPlacedFunctions,
    DynamoRevisionRows,
    DynamoRuntimeSettings,
    rows,
)
from signpost.adapters.dynamodb.function_states import NO_SETTINGS
from signpost.adapters.dynamodb.loaded_executors import DynamoLoadedExecutors
from signpost.adapters.dynamodb.outbox import ChangeBatchStore, events_of
from signpost.adapters.memory import (
    FunctionTable,
    MemoryApiKeys,
    MemoryBodies,
    MemoryBreakers,
    MemoryContentStore,
    MemoryDirectory,
    MemoryFunctionStates,
    MemoryIssuerKeySets,
    MemoryLoadedExecutors,
    MemoryPlacedFunctions,
    MemoryRevisionRows,
    MemoryRuntimeSettings,
    MemoryTextStore,
)
from signpost.adapters.s3 import S3Bodies, S3ChangeBatchStore, S3Values
from signpost.calling.ports import Breakers, FunctionStates, PlacedFunctions, RuntimeSettings
from signpost.content.model import ChangeEvent, ScopeNames
from signpost.content.ports import Bodies, ContentStore
from signpost.directory.ports import Directory, LoadedExecutors
from signpost.identity.ports import ApiKeys, IssuerKeySets
from signpost.list_revisions import RevisionRows
from signpost.model import SettingValue
from signpost.ports import TextStore
from tests.support.laptop import Laptop

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

DYNOXIDE = Path(".tools/node/node_modules/@dynoxide/linux-x64/dynoxide")
ENGINES = [
    "memory",
    pytest.param("ministack", marks=pytest.mark.cloud),
    pytest.param(
        "dynoxide",
        marks=[
            pytest.mark.cloud,
            pytest.mark.skipif(not DYNOXIDE.exists(), reason="dynoxide is published for Linux on x86-64 only"),
        ],
    ),
]


@pytest.fixture(scope="session")
def dynoxide() -> Iterator[str]:
    port = free_port()
    child = subprocess.Popen([DYNOXIDE, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait()


@pytest.fixture(scope="session")
def dynamodb(request: pytest.FixtureRequest) -> Callable[[str], "DynamoDBClient"]:
    """Return a function that makes the client of an engine, with a table of the template's shape."""
    clients: dict[str, DynamoDBClient] = {}

    def client(engine: str) -> "DynamoDBClient":
        if engine not in clients:
            clients[engine] = connect_dynamodb(_address(engine, request))
            _create_table(clients[engine])
        return clients[engine]

    return client


def _address(engine: str, request: pytest.FixtureRequest) -> str:
    if engine == "dynoxide":
        return request.getfixturevalue("dynoxide")
    laptop: Laptop = request.getfixturevalue("laptop")
    return laptop.emulator.url


def connect_dynamodb(address: str) -> "DynamoDBClient":
    # The first connection may be attempted before the engine listens, hence the retries.
    config = Config(retries={"total_max_attempts": 5, "mode": "standard"})
    return boto3.client(
        "dynamodb",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=config,
    )


TABLE = "registry"


def _create_table(client: "DynamoDBClient") -> None:
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    client.get_waiter("table_exists").wait(TableName=TABLE)


@pytest.fixture
def tenant() -> str:
    """Return a new tenant, so that tests can share a table."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture(params=ENGINES)
def api_keys(request: pytest.FixtureRequest, dynamodb: Any) -> ApiKeys:
    return MemoryApiKeys() if request.param == "memory" else DynamoApiKeys(dynamodb(request.param), TABLE)


@pytest.fixture(params=ENGINES)
def key_sets(request: pytest.FixtureRequest, dynamodb: Any) -> IssuerKeySets:
    return MemoryIssuerKeySets() if request.param == "memory" else DynamoIssuerKeySets(dynamodb(request.param), TABLE)


@dataclass(frozen=True, slots=True)
class FunctionPorts:
    """The ports that write facts about functions, and the port that reads them."""

    states: FunctionStates
    placed_functions: PlacedFunctions
    revisions: RevisionRows
    directory: Directory
    settings: RuntimeSettings
    breakers: Breakers
    loaded_executors: LoadedExecutors
    list_events: Callable[[str], Sequence[ChangeEvent]]
    """Returns the events for the bus about the loads of a tenant."""


type Deployment = Mapping[str, SettingValue]
"""The settings of the deployment for tenants that set nothing themselves."""


def build_memory_functions(deployment: Deployment) -> FunctionPorts:
    table = FunctionTable(deployment=deployment)
    return FunctionPorts(
        states=MemoryFunctionStates(table),
        placed_functions=MemoryPlacedFunctions(table),
        revisions=MemoryRevisionRows(MemoryContentStore(table)),
        directory=MemoryDirectory(table),
        settings=MemoryRuntimeSettings(table),
        breakers=MemoryBreakers(table),
        loaded_executors=MemoryLoadedExecutors(table),
        list_events=lambda tenant: [event for event in table.load_events if event.tenant == tenant],
    )


def build_dynamo_functions(client: "DynamoDBClient", deployment: Deployment = NO_SETTINGS) -> FunctionPorts:
    def list_events(tenant: str) -> Sequence[ChangeEvent]:
        outbox = rows.query(client, TABLE, keys.outbox_of(tenant))
        return [event for row in outbox for event in events_of(row, MemoryChangeBatchStore())]

    return FunctionPorts(
        states=DynamoFunctionStates(client, TABLE, deployment),
        placed_functions=DynamoPlacedFunctions(client, TABLE),
        revisions=DynamoRevisionRows(client, TABLE, deployment),
        directory=DynamoDirectory(client, TABLE),
        settings=DynamoRuntimeSettings(client, TABLE),
        breakers=DynamoBreakers(client, TABLE),
        loaded_executors=DynamoLoadedExecutors(client, TABLE),
        list_events=list_events,
    )


@pytest.fixture(params=ENGINES)
def make_functions(request: pytest.FixtureRequest, dynamodb: Any) -> Callable[[Deployment], FunctionPorts]:
    if request.param == "memory":
        return build_memory_functions
    return lambda deployment: build_dynamo_functions(dynamodb(request.param), deployment)


@pytest.fixture
def functions(make_functions: Callable[[Deployment], FunctionPorts]) -> FunctionPorts:
    return make_functions(NO_SETTINGS)


BUCKET = "content"
SCOPES = ScopeNames(skills="skills", prompts="prompts")


class MemoryChangeBatchStore:
    """A change batch store in memory, for an engine that has tables only."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def keep(self, tenant: str | None, batch_id: str, body: bytes) -> str:
        key = f"{tenant}/{batch_id}"
        self._objects[key] = body
        return key

    def read(self, key: str) -> bytes:
        return self._objects[key]


@pytest.fixture(scope="session")
def bucket(laptop: Laptop) -> Any:
    """Return a client of the emulator's S3, with the bucket created."""
    client = laptop.client("s3")
    client.create_bucket(Bucket=BUCKET)
    return client


@dataclass(frozen=True, slots=True)
class ContentPorts:
    store: ContentStore
    revisions: RevisionRows
    settings: RuntimeSettings
    list_events: Callable[[str | None], Sequence[ChangeEvent]]
    """Returns the events for the bus about a tenant."""


def build_memory_content() -> ContentPorts:
    table = FunctionTable()
    store = MemoryContentStore(table)

    def list_events(tenant: str | None) -> Sequence[ChangeEvent]:
        return [event for event in store.events if event.tenant == tenant]

    return ContentPorts(store, MemoryRevisionRows(store), MemoryRuntimeSettings(table), list_events)


def build_dynamo_content(client: "DynamoDBClient", publications: ChangeBatchStore) -> ContentPorts:
    def list_events(tenant: str | None) -> Sequence[ChangeEvent]:
        outbox = rows.query(client, TABLE, keys.outbox_of(tenant))
        return [event for row in outbox for event in events_of(row, publications)]

    return ContentPorts(
        DynamoContentStore(client, TABLE, publications, SCOPES),
        DynamoRevisionRows(client, TABLE),
        DynamoRuntimeSettings(client, TABLE),
        list_events,
    )


def build_change_batch_store(engine: str, request: pytest.FixtureRequest) -> ChangeBatchStore:
    if engine == "dynoxide":
        return MemoryChangeBatchStore()
    client = request.getfixturevalue("bucket")
    return S3ChangeBatchStore(lambda: client, BUCKET)


@pytest.fixture(params=ENGINES)
def content(request: pytest.FixtureRequest, dynamodb: Any) -> ContentPorts:
    if request.param == "memory":
        return build_memory_content()
    return build_dynamo_content(dynamodb(request.param), build_change_batch_store(request.param, request))


@pytest.fixture(params=ENGINES[:2])
def bodies(request: pytest.FixtureRequest) -> Bodies:
    if request.param == "memory":
        return MemoryBodies()
    client = request.getfixturevalue("bucket")
    return S3Bodies(lambda: client, BUCKET)


@dataclass(frozen=True, slots=True)
class RemoteEngine:
    """An engine that a test may interfere with: a client of its own, and the content as other processes reach it."""

    client: "DynamoDBClient"
    change_batches: ChangeBatchStore
    others: ContentPorts


@pytest.fixture(params=ENGINES[1:])
def remote(request: pytest.FixtureRequest, dynamodb: Any) -> RemoteEngine:
    publications = build_change_batch_store(request.param, request)
    address = dynamodb(request.param).meta.endpoint_url
    return RemoteEngine(
        connect_dynamodb(address), publications, build_dynamo_content(connect_dynamodb(address), publications)
    )


@pytest.fixture(params=ENGINES[1:])
def own_client(request: pytest.FixtureRequest, dynamodb: Any) -> "DynamoDBClient":
    """Return a client that a test may interfere with."""
    return connect_dynamodb(dynamodb(request.param).meta.endpoint_url)


def build_text_store(engine: str, request: pytest.FixtureRequest) -> TextStore:
    """Return the store of long values beside the tables of an engine."""
    if engine == "dynoxide":
        return MemoryTextStore()
    client = request.getfixturevalue("bucket")
    return S3Values(lambda: client, BUCKET)

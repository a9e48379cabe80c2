"""Every port in memory, on the emulator and on a second DynamoDB engine, under one suite of promises."""

import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from local.ports import free_port
from signpost.adapters.dynamodb import (
    DynamoApiKeys,
    DynamoBreakers,
    DynamoCatalogue,
    DynamoDirectory,
    DynamoFunctionStates,
    DynamoIssuerKeySets,
    DynamoRuntimeSettings,
)
from signpost.adapters.memory import (
    FunctionTable,
    MemoryApiKeys,
    MemoryBreakers,
    MemoryCatalogue,
    MemoryDirectory,
    MemoryFunctionStates,
    MemoryIssuerKeySets,
    MemoryRuntimeSettings,
)
from signpost.ports import ApiKeys, Breakers, Catalogue, Directory, FunctionStates, IssuerKeySets, RuntimeSettings
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
    """The client of an engine, with a table of the template's shape behind it."""
    clients: dict[str, DynamoDBClient] = {}

    def client(engine: str) -> "DynamoDBClient":
        if engine not in clients:
            clients[engine] = client_of(_address(engine, request))
            _create_table(clients[engine])
        return clients[engine]

    return client


def _address(engine: str, request: pytest.FixtureRequest) -> str:
    if engine == "dynoxide":
        return request.getfixturevalue("dynoxide")
    laptop: Laptop = request.getfixturevalue("laptop")
    return laptop.emulator.url


def client_of(address: str) -> "DynamoDBClient":
    # The first connection may come before the engine listens, hence the retries.
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
    """A tenant of the test's own, so that tests can share a table."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture(params=ENGINES)
def api_keys(request: pytest.FixtureRequest, dynamodb: Any) -> ApiKeys:
    return MemoryApiKeys() if request.param == "memory" else DynamoApiKeys(dynamodb(request.param), TABLE)


@pytest.fixture(params=ENGINES)
def key_sets(request: pytest.FixtureRequest, dynamodb: Any) -> IssuerKeySets:
    return MemoryIssuerKeySets() if request.param == "memory" else DynamoIssuerKeySets(dynamodb(request.param), TABLE)


@pytest.fixture(params=ENGINES)
def catalogue(request: pytest.FixtureRequest, dynamodb: Any) -> Catalogue:
    return MemoryCatalogue() if request.param == "memory" else DynamoCatalogue(dynamodb(request.param), TABLE)


@dataclass(frozen=True, slots=True)
class Functions:
    """The ports that write about functions, and the one that reads what they wrote."""

    states: FunctionStates
    directory: Directory
    settings: RuntimeSettings
    breakers: Breakers


def memory_functions() -> Functions:
    table = FunctionTable()
    return Functions(
        states=MemoryFunctionStates(table),
        directory=MemoryDirectory(table),
        settings=MemoryRuntimeSettings(table),
        breakers=MemoryBreakers(table),
    )


def dynamo_functions(client: "DynamoDBClient") -> Functions:
    return Functions(
        states=DynamoFunctionStates(client, TABLE),
        directory=DynamoDirectory(client, TABLE),
        settings=DynamoRuntimeSettings(client, TABLE),
        breakers=DynamoBreakers(client, TABLE),
    )


@pytest.fixture(params=ENGINES)
def functions(request: pytest.FixtureRequest, dynamodb: Any) -> Functions:
    return memory_functions() if request.param == "memory" else dynamo_functions(dynamodb(request.param))


@pytest.fixture(params=ENGINES[1:])
def own_client(request: pytest.FixtureRequest, dynamodb: Any) -> "DynamoDBClient":
    """A client that a test may interfere with."""
    return client_of(dynamodb(request.param).meta.endpoint_url)

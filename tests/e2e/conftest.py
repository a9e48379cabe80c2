"""The executors of the test stage beside a gateway that may call them."""

import uuid

import pytest

from tests.support import executors as executor_stack
from tests.support.commands import ProcessRunner, build_process_runner
from tests.support.executors import SHORT_LEASE_MARGIN_MS, STACK, Executors
from tests.support.laptop import Laptop


@pytest.fixture(scope="session")
def executors(laptop: Laptop) -> Executors:
    allowed = ",".join(executor_stack.list_arns(STACK))
    gateway = laptop.deploy(
        "calling",
        variant="test",
        AuthMode="both",
        ExecutorFunctions=allowed,
        LeaseMarginMs=SHORT_LEASE_MARGIN_MS,
    )
    deployed = executor_stack.deploy_executors(laptop, gateway, STACK)
    for name in ("blocking", "trials"):
        deployed.place_manifest(name, tenant=None)
    return deployed


@pytest.fixture
def tenant(executors: Executors) -> str:
    """Return a new tenant with breakers off: most tests here are about single failures."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    executors.set_settings(name, breaker_failures=0)
    return name


@pytest.fixture
def key(executors: Executors, tenant: str) -> str:
    return executors.make_key(tenant)


@pytest.fixture
def signpost(laptop: Laptop) -> ProcessRunner:
    """Return a runner of the command, with the rights of the account's owner."""
    return build_process_runner(laptop)

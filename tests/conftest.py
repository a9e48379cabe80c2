"""Fixtures and hooks for all kinds of tests."""

import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from stage.samples import TENANT
from tests.support.coverage_of_tests import drop_coverage_lock, untraced
from tests.support.effort import count_examples, is_proof
from tests.support.executors import FIXTURE_NAMES, Executors, deploy_executors, list_arns
from tests.support.function_logs import LAPTOP, attach_logs
from tests.support.laptop import Laptop, MakeKey, Stack
from tests.support.line_output import ShowLine
from tests.support.run_report import RunReport
from tests.support.schedule import sort_by_length

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("prove", settings.get_profile("any machine"), max_examples=count_examples(100))
settings.load_profile("prove" if is_proof() else "any machine")
"""The profiles have no deadline, because the speed of the machine is not tested. Hypothesis spends a second on tables
of characters on a new machine."""


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker(config):
        choices = ("markexpr", "keyword", "lf", "collectonly")
        takes_all = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not any(map(config.getoption, choices))
        workers = config.getoption("numprocesses", None) or 1
        report = RunReport(shows_lines=config.get_verbosity() < 0, has_all_tests=takes_all, workers=workers)
        config.pluginmanager.register(report, "run report")


@pytest.fixture(scope="session", autouse=True)
def interruptible_coverage() -> None:
    drop_coverage_lock()


def is_worker(config: pytest.Config) -> bool:
    """Return whether pytest-xdist started this process."""
    return hasattr(config, "workerinput")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked `prove` unless this run is `make prove`; in workers, sort the longest files first."""
    if is_worker(config):
        sort_by_length(items)
    if is_proof():
        return
    left_out = [item for item in items if item.get_closest_marker("prove")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("prove")]


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Trace no test marked `no_cover`. Runs inside the hook of pytest-cov for this mark."""
    if item.get_closest_marker("no_cover"):
        with untraced():
            return (yield)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    attach_logs(item, call, report)
    return report


@pytest.fixture
def show_line(capsys: pytest.CaptureFixture[str]) -> ShowLine:
    """Return a function that writes a line that is shown even if the test passes."""

    def write_line(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")

    return write_line


@pytest.fixture(scope="session")
def laptop(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Laptop]:
    with Laptop(tmp_path_factory.mktemp("laptop")) as laptop:
        pytestconfig.stash[LAPTOP] = laptop
        yield laptop
        del pytestconfig.stash[LAPTOP]


FIXTURES_STACK = "stage-fixtures"
SHARED_STACKS = {"both", "stage", "calling", "stage-executors", FIXTURES_STACK, "aws-sam-cli-managed-default"}
"""Stacks of session fixtures. Every other stack is deleted after its module."""


@pytest.fixture(scope="module", autouse=True)
def module_stacks(pytestconfig: pytest.Config) -> Iterator[None]:
    """Delete the stacks that the module deployed. Each keeps a dozen sandboxes and polls its streams and queues."""
    yield
    if laptop := pytestconfig.stash.get(LAPTOP, None):
        for name in laptop.list_stacks() - SHARED_STACKS:
            laptop.delete(name)


@pytest.fixture(scope="session")
def product_stack(laptop: Laptop) -> Stack:
    """Deploy the stack as `make run` does: with API keys and tokens."""
    return laptop.deploy("both", AuthMode="both")


@pytest.fixture(scope="session")
def make_key(laptop: Laptop) -> MakeKey:
    def make(stack: Stack) -> str:
        return laptop.make_key(stack, "default")

    return make


@pytest.fixture(scope="session")
def stage(laptop: Laptop) -> Stack:
    """Deploy the test stage in local mode: callers from this machine are in the tenant that sees the fixtures."""
    allowed = ",".join(list_arns(FIXTURES_STACK, FIXTURE_NAMES))
    return laptop.deploy("stage", variant="test", AuthMode="local", DefaultTenant=TENANT, ExecutorFunctions=allowed)


@pytest.fixture(scope="session")
def fixture_executors(laptop: Laptop, stage: Stack) -> Executors:
    """Deploy the executors of the functions that the conformance suite and official clients call, beside the stage."""
    deployed = deploy_executors(laptop, stage, FIXTURES_STACK, "fixtures.yaml")
    for name in FIXTURE_NAMES:
        deployed.place_manifest(name, TENANT)
    deployed.set_settings(TENANT, breaker_failures=0)  # some fail on purpose
    return deployed

"""The README's blocks, run as pasted: from an empty registry to a skill that is read, a slash command rendered and a
workflow listed."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.emulator import PROJECT
from tests.support import client_programs
from tests.support.client_programs import NODE_MODULES
from tests.support.make_run import MakeRun, three_free_ports

pytestmark = pytest.mark.cloud
PAGE = (PROJECT / "README.md").read_text()
OPERATOR, CLIENT = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRun]:
    running = MakeRun(tmp_path_factory.mktemp("readme") / "home", three_free_ports())
    try:
        running.start()
        yield running
    finally:
        running.stop()


def published(make_run: MakeRun) -> str:
    env = f"{sys.executable} -m local env --home {make_run.home}"
    assert "$(make env)" in OPERATOR
    command = ["bash", "-euo", "pipefail", "-c", OPERATOR.replace("make env", env)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=120).stdout


def asked(make_run: MakeRun, home: Path) -> str:
    (home / "node_modules").symlink_to(NODE_MODULES)
    block = CLIENT
    for written, here in (
        ("http://localhost:8765/mcp", f"http://localhost:{make_run.port}/mcp"),
        (".local/cloud/sample-api-key", str(make_run.home / "sample-api-key")),
    ):
        assert written in block
        block = block.replace(written, here)
    return client_programs.run(["bash", "-euo", "pipefail", "-c", block], home)


def test_from_an_empty_registry_to_a_skill_a_slash_command_and_a_workflow(make_run: MakeRun, tmp_path: Path) -> None:
    said = published(make_run)
    assert "+ welcome/greeting\n" in said
    assert "+ prompt:greet\n" in said
    assert "+ workflow:deploy_pipeline\n" in said
    seen = asked(make_run, tmp_path)
    document = (PROJECT / "examples/welcome/skills/welcome/greeting.md").read_text()
    assert document.partition("\n")[0] in seen
    assert "Greet Ada warmly" in seen
    assert "Deploy a service" in seen


def test_publishing_again_changes_nothing(make_run: MakeRun) -> None:
    published(make_run)
    assert "0 added, 0 changed, 3 same, 0 removed" in published(make_run)

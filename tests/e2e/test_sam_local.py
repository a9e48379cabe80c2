"""One function by `sam local invoke` in a container. `make sam-local` runs all events, as a part of `make prove`."""

import subprocess
import sys

import pytest

from local.sam_local.engine import docker_answers
from local.sam_local.podman import has_image
from local.stack import PROJECT

pytestmark = pytest.mark.cloud

LONGEST_SECONDS = 500
"""Many times what it takes on a machine that has nothing else to do."""


@pytest.fixture
def engine() -> None:
    if not (docker_answers() or has_image()):
        pytest.skip("no Docker engine answers, and podman has no image of functions; `make sam-local` makes one")


@pytest.mark.usefixtures("engine")
def test_a_function_in_a_container_answers_with_the_data_of_a_stack() -> None:
    command = [sys.executable, "-m", "local.sam_local", "--function", "gateway", "--case", "search"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gateway/search" in done.stdout, done.stdout
    assert "1 passed, 0 failed" in done.stdout, done.stdout

"""A person logs in to a deployed stack and uses the token, with the commands as processes and the issuer's page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import jwt
import pytest

from tests.support.browser import choose, fetch
from tests.support.laptop import Stack

pytestmark = pytest.mark.cloud

SIGNPOST = [sys.executable, "-u", "-c", "import sys; from signpost.cli import main; sys.exit(main())"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def log_in(stack: Stack, person: str, environment: dict[str, str]) -> str:
    command = [*SIGNPOST, "login", "--no-browser", "--url", stack.url]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        page = next(found[0] for line in child.stdout if (found := re.search(r"http://\S+", line)))
        assert fetch("GET", choose(page, person).headers["location"]).status == 200
        said = child.stdout.read()
        assert child.wait(60) == 0
    return said


def test_a_person_logs_in_and_is_known_as_one(both: Stack, environment: dict[str, str]) -> None:
    assert both.url in log_in(both, "approver", environment)
    printed = subprocess.run(
        [*SIGNPOST, "token", "--url", both.url], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    token = printed.stdout.strip()
    assert both.ask(token).status == 200
    claims = jwt.decode(token, options={"verify_signature": False})
    assert (claims["sub"], claims["aud"], bool(claims["amr"])) == ("approver", both.url, True)

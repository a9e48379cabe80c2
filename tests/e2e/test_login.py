"""A person logs in to a deployed stack and uses the token, with the commands as processes and the issuer's page."""

import os
import subprocess
from pathlib import Path

import jwt
import pytest

from tests.support.laptop import Stack
from tests.support.logged_in import SIGNPOST, log_in

pytestmark = pytest.mark.cloud


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_a_person_logs_in_and_is_known_as_one(both: Stack, environment: dict[str, str]) -> None:
    assert both.url in log_in(both, "approver", environment)
    printed = subprocess.run(
        [*SIGNPOST, "token", "--url", both.url], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    token = printed.stdout.strip()
    assert both.ask(token).status == 200
    claims = jwt.decode(token, options={"verify_signature": False})
    assert (claims["sub"], claims["aud"], bool(claims["amr"])) == ("approver", both.url, True)

"""A person logs in to a deployed stack and uses the token, with the commands as processes and the issuer's page."""

import os
import subprocess
from pathlib import Path

import jwt
import pytest

from tests.support.laptop import Stack
from tests.support.login_command import SIGNPOST_COMMAND, log_in

pytestmark = pytest.mark.cloud


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_a_person_logs_in_and_gets_a_token_that_identifies_a_person(
    product_stack: Stack, environment: dict[str, str]
) -> None:
    assert product_stack.url in log_in(product_stack, "approver", environment)
    printed = subprocess.run(
        [*SIGNPOST_COMMAND, "token", "--url", product_stack.url],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    token = printed.stdout.strip()
    assert product_stack.request(token).status == 200
    claims = jwt.decode(token, options={"verify_signature": False})
    assert (claims["sub"], claims["aud"], bool(claims["amr"])) == ("approver", product_stack.url, True)

"""Logs a person in with the login command and the issuer's page."""

import re
import subprocess
import sys
from collections.abc import Mapping

from tests.support.browser import choose_person, fetch
from tests.support.laptop import Stack

SIGNPOST_COMMAND = [sys.executable, "-u", "-c", "import sys; from signpost.cli import main; sys.exit(main())"]


def log_in(stack: Stack, person: str, environment: Mapping[str, str]) -> str:
    command = [*SIGNPOST_COMMAND, "login", "--no-browser", "--url", stack.url]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        page = next(found[0] for line in child.stdout if (found := re.search(r"http://\S+", line)))
        assert fetch("GET", choose_person(page, person).headers["location"]).status == 200
        output = child.stdout.read()
        assert child.wait(60) == 0
    return output

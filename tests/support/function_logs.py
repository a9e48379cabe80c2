"""Shows the logs of functions for a failed test."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.support.laptop import Laptop

LAPTOP = pytest.StashKey[Laptop]()
"""The laptop cloud of this process, as soon as a test has asked for it."""
MAX_LINES = 60


def read_logs_since(laptop: Laptop, seconds: float) -> Iterator[str]:
    """Return the last log lines of each function that has logged since this time."""
    logs = laptop.client("logs")
    groups = [
        group["logGroupName"]
        for page in logs.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    for group in groups:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=int(seconds * 1000))
        lines = [event["message"].rstrip() for page in pages for event in page["events"]]
        if lines:
            yield "\n".join([f"{group}:", *lines[-MAX_LINES:]])


def attach_logs(item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Add a section with the logs to the report of a failure, if the test has used the laptop cloud."""
    laptop = item.config.stash.get(LAPTOP, None)
    if laptop is None or not report.failed or "laptop" not in getattr(item, "fixturenames", ()):
        return
    try:
        text = "\n\n".join(read_logs_since(laptop, call.start))
    except (BotoCoreError, ClientError) as error:
        text = f"The logs could not be read from the emulator: {error}. Its own log is {laptop.emulator.log}."
    report.sections.append(("The logs of the functions since the test began", text or "nothing"))

"""Keeps a sandbox of the gateway busy for as long as a request says, so that a test can have many of them."""

import os
import time
from collections.abc import Mapping
from typing import Any

PAUSE_HEADER = "x-pause"
"""The header of a request with the seconds for which its sandbox stays busy after it has its answer."""
PROCESS_HEADER = "x-process"
"""The header of the answer to such a request, with the id of the process of the sandbox."""


def pause_if_asked(event: Mapping[str, Any], answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer after the pause that the request asks for, if it does."""
    headers: Mapping[str, str] = event.get("headers") or {}
    seconds = headers.get(PAUSE_HEADER)
    if seconds is None:
        return answer
    time.sleep(float(seconds))
    return {**answer, "headers": {**answer["headers"], PROCESS_HEADER: str(os.getpid())}}

"""Starts sandboxes of the gateway before a test, so that its callers compete for a row and not for a sandbox."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from stage.pauses import PAUSE_HEADER, PROCESS_HEADER
from tests.support.laptop import Stack
from tests.support.memory_gateway import build_modern_request
from tests.support.waiting import wait_for

_BUSY_SECONDS = 1.5
"""The time for which each call keeps its sandbox, in which others start for the calls that wait."""


def start_gateways(stack: Stack, key: str, count: int) -> None:
    """Return when `count` sandboxes of the gateway of a test stage are ready."""
    wait_for(
        f"{count} sandboxes of the gateway",
        lambda: len(_keep_busy(stack, key, count)),
        lambda found: found == count,
    )


def _keep_busy(stack: Stack, key: str, count: int) -> set[str]:
    """Send `count` requests at once, and return the processes that answered them."""
    message, headers = build_modern_request("tools/list", {})
    sent = {**headers, "authorization": f"Bearer {key}", PAUSE_HEADER: str(_BUSY_SECONDS)}
    together = Barrier(count)

    def ask(_: int) -> str:
        together.wait()
        answer = stack.send("POST", "/mcp", body=json.dumps(message), headers=sent)
        return answer.headers.get(PROCESS_HEADER, "")

    with ThreadPoolExecutor(count) as threads:
        return {process for process in threads.map(ask, range(count)) if process}

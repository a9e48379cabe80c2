"""Functions that the programs in the process of a contender share, to call a handler as Lambda would."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, Protocol

STATUS_FILE = Path("/proc/self/status")


class Context:
    """The context of a Lambda invocation."""

    aws_request_id = function_name = "bench"
    function_version = "$LATEST"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"
    memory_limit_in_mb = "1024"

    def get_remaining_time_in_millis(self) -> int:
        return 29000


class Handler(Protocol):
    def __call__(self, event: dict[str, Any], context: Context, /) -> dict[str, Any]: ...


def fresh_event(text: str) -> dict[str, Any]:
    """Read the event and set its time to now, because the deadline of the gateway counts from it."""
    event: dict[str, Any] = json.loads(text)
    event["requestContext"]["timeEpoch"] = int(time.time() * 1000)
    return event


def read_result(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the result of an MCP answer, or end the process with an error if it has none."""
    body = json.loads(answer["body"])
    if answer["statusCode"] != 200 or "result" not in body:
        sys.exit(f"unexpected answer: {answer}")
    result: dict[str, Any] = body["result"]
    return result


def peak_mb() -> float:
    """Return the peak memory of this process. On Linux, getrusage would include the memory that the parent had when it
    started the process."""
    if STATUS_FILE.exists():
        line = next(line for line in STATUS_FILE.read_text().split("\n") if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource  # noqa: PLC0415 - only on systems without /proc, where getrusage does not include the parent

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def report(findings: dict[str, float]) -> NoReturn:
    """Write the findings as the last line of stderr, because stdout is for logs, and end the process.

    os._exit skips the clean-up of the interpreter, for which Lambda does not wait either.
    """
    print(json.dumps(findings), file=sys.stderr, flush=True)
    os._exit(0)

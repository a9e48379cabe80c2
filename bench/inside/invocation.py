"""What the programs of a bench share that run in a contender's process: how Lambda would call a handler."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, Protocol

RUNNING = Path("/proc/self/status")


class Context:
    aws_request_id = function_name = "bench"
    function_version = "$LATEST"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"
    memory_limit_in_mb = "1024"

    def get_remaining_time_in_millis(self) -> int:
        return 29000


class Handler(Protocol):
    def __call__(self, event: dict[str, Any], context: Context, /) -> dict[str, Any]: ...


def fresh(text: str) -> dict[str, Any]:
    """The event as it would arrive now: the gateway's deadline counts from its time."""
    event: dict[str, Any] = json.loads(text)
    event["requestContext"]["timeEpoch"] = int(time.time() * 1000)
    return event


def result(answer: dict[str, Any]) -> dict[str, Any]:
    body = json.loads(answer["body"])
    if answer["statusCode"] != 200 or "result" not in body:
        sys.exit(f"not an answer: {answer}")
    found: dict[str, Any] = body["result"]
    return found


def peak_mb() -> float:
    """The most memory this process held. getrusage would count in what the parent held when it started us."""
    if RUNNING.exists():
        line = next(line for line in RUNNING.read_text().split("\n") if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource  # noqa: PLC0415 - only where there is no /proc, and there it does not mix the two up

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def report(findings: dict[str, float]) -> NoReturn:
    """On the last line of stderr, since stdout belongs to the logs. Leaves by os._exit: Lambda does not wait for an
    interpreter to tidy up either."""
    print(json.dumps(findings), file=sys.stderr, flush=True)
    os._exit(0)

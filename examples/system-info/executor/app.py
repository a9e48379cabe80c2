"""An executor with one tool that describes the sandbox in which it runs."""

import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signpost.toolkit import Toolkit, executor

BYTES_A_KB = 1024
SPACE = {
    "type": "object",
    "properties": {"total_bytes": {"type": "integer"}, "free_bytes": {"type": "integer"}},
    "required": ["total_bytes", "free_bytes"],
}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


kit = Toolkit("system", category="System", version="1.0.0")


@kit.tool(
    title="System info",
    annotations={"read_only_hint": True, "open_world_hint": False},
    output_schema={
        "type": "object",
        "properties": {
            "architecture": {"type": "string"},
            "system": {"type": "string"},
            "python": {"type": "string"},
            "processors": or_null({"type": "integer"}),
            "memory": or_null(SPACE),
            "disk": or_null(SPACE),
            "uptime_seconds": or_null({"type": "number"}),
            "load": or_null({"type": "array", "items": {"type": "number"}}),
        },
    },
)
def system_info() -> dict[str, Any]:
    """Describes the machine behind this skill: architecture, Python, memory, disk, uptime and load."""
    return {
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "memory": _known(_memory),
        "disk": _known(_disk),
        "uptime_seconds": _known(_uptime),
        "load": _known(_load),
    }


def _memory() -> dict[str, int]:
    lines = Path("/proc/meminfo").read_text().splitlines()
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    total, free = (kilobytes[name] * BYTES_A_KB for name in ("MemTotal", "MemAvailable"))
    return {"total_bytes": total, "free_bytes": free}


def _disk() -> dict[str, int]:
    """Measure the disk of /tmp, the only directory that a function may write to."""
    used = shutil.disk_usage("/tmp")  # noqa: S108 - it is only measured
    return {"total_bytes": used.total, "free_bytes": used.free}


def _uptime() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])


def _load() -> list[float]:
    """Read the load of the last minute, the last five, and the last fifteen."""
    return list(os.getloadavg())


def _known[Fact](ask: Callable[[], Fact]) -> Fact | None:
    """Ask for a fact; None if the system does not provide it."""
    try:
        return ask()
    except (OSError, KeyError, ValueError, IndexError):
        return None


handler = executor(kit)

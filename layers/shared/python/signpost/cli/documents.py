"""Files in YAML or JSON that people write, for commands."""

from pathlib import Path
from typing import Any

from signpost.adapters import written_files
from signpost.adapters.written_files import SUFFIXES, Unreadable
from signpost.cli.failure import CommandFailed

__all__ = ["SUFFIXES", "parsed"]


def parsed(path: Path) -> Any:
    try:
        return written_files.parsed(path)
    except Unreadable as fault:
        raise CommandFailed(str(fault)) from fault

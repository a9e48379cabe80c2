"""Reads files in YAML or JSON for commands."""

from pathlib import Path
from typing import Any

from signpost.adapters import source_files
from signpost.adapters.source_files import SUFFIXES, UnreadableFile
from signpost.cli.failure import CommandFailed

__all__ = ["SUFFIXES", "read_document"]


def read_document(path: Path) -> Any:
    """Read the values of a file. Raises CommandFailed if it cannot be read."""
    try:
        return source_files.read_values(path)
    except UnreadableFile as fault:
        raise CommandFailed(str(fault)) from fault

"""Writes files that only their owner may read."""

import os
from pathlib import Path
from tempfile import mkstemp


def write(path: Path, text: str) -> None:
    """Write a file as a whole or not at all.

    Other users can never read it: mkstemp gives it the mode 0600 before anything is written to it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise

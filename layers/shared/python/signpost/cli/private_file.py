"""Files that only their owner may read."""

import os
from pathlib import Path
from tempfile import mkstemp


def write(path: Path, text: str) -> None:
    """Seen whole or not at all, and never readable by others: mkstemp makes it 0600 before a byte is in it."""
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

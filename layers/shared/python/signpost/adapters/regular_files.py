"""Reads regular files of limited size: at a pipe a reader would wait, and a huge file would fill the memory."""

import errno
import os
import stat
from pathlib import Path


def read_regular_file(path: Path, largest: int) -> bytes:
    """Read a regular file of at most this many bytes. Raises OSError for any other, with a sentence for its author."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - a descriptor
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if status.st_size > largest:
            raise OSError(errno.EFBIG, f"it has {status.st_size} bytes, at most {largest}", str(path))
        return file.read(largest + 1)

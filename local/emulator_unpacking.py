"""Lets the sandboxes of the emulator share the unpacked code of functions and layers.

The emulator unpacks both anew for every sandbox: ten restarts of the gateway cost 15 seconds of a processor, and 2.3 if
they share the code. On AWS `/var/task` and `/opt` are read-only, so no function can tell.
"""

import hashlib
import threading
import types
import zipfile
from pathlib import Path
from typing import Any


class SharedArchives:
    """Unpacked archives by the digest of their bytes, in a folder that ends with the emulator."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def link(self, archive: Path, target: Path) -> None:
        """Puts a link to the unpacked archive in the place of the empty folder `target`."""
        with archive.open("rb") as file:
            shared = self._folder / hashlib.file_digest(file, "sha256").hexdigest()
        with self._lock:
            if not shared.exists():
                draft = shared.with_suffix(".draft")
                with zipfile.ZipFile(archive) as opened:
                    opened.extractall(draft)
                draft.rename(shared)
        target.rmdir()
        target.symlink_to(shared, target_is_directory=True)
        archive.unlink()


def share_archives(lambda_runtime: Any, folder: Path) -> None:
    """Has `ministack.core.lambda_runtime` unpack archives through `SharedArchives`."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = SharedArchives(folder)

    class SharingZipFile(zipfile.ZipFile):
        def namelist(self) -> list[str]:
            """Nothing: the emulator looks at every name for paths out of the folder, which the build does not make."""
            return []

        def extractall(self, path: Any = None, members: Any = None, pwd: Any = None) -> None:
            del members, pwd
            shared.link(Path(str(self.filename)), Path(path))

    lambda_runtime.zipfile = types.SimpleNamespace(**{**vars(zipfile), "ZipFile": SharingZipFile})

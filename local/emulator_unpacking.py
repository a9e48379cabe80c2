"""Let the sandboxes of the emulator share the unpacked code of functions and layers.

The emulator unpacks both again for every sandbox: ten restarts of the gateway cost 15 seconds of CPU time, and 2.3 if
they share the code. On AWS `/var/task` and `/opt` are read-only, so no function can tell the difference.
"""

import hashlib
import threading
import types
import zipfile
from pathlib import Path
from typing import Any


class SharedArchives:
    """Unpacked archives by the digest of their bytes, in a folder that is deleted with the emulator."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def link(self, archive: Path, target: Path) -> None:
        """Replace the empty folder `target` by a link to the unpacked archive."""
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
    """Make `ministack.core.lambda_runtime` unpack archives through `SharedArchives`."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = SharedArchives(folder)

    class SharingZipFile(zipfile.ZipFile):
        def namelist(self) -> list[str]:
            """Return no names: the emulator checks each for a path out of the folder, and the build makes none."""
            return []

        def extractall(self, path: Any = None, members: Any = None, pwd: Any = None) -> None:
            del members, pwd
            shared.link(Path(str(self.filename)), Path(path))

    lambda_runtime.zipfile = types.SimpleNamespace(**{**vars(zipfile), "ZipFile": SharingZipFile})
